package playback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/engine/model"
)

// difference is a place in a request where it is not the recorded one. A side that
// has nothing there is nil.
type difference struct {
	path          string
	recorded, now any
}

// maxDifferences bounds what is looked for in one request.
const maxDifferences = 20

// recordedRequest is a request as the recording has it.
type recordedRequest struct {
	head     json.RawMessage
	messages []json.RawMessage
	// cuts are the messages in which a continuing process told of a cut, and parts of
	// answers that a stopped one left; by their index.
	cuts map[int]cut
}

// cut is what a message has to do with the end of a process.
type cut int

const (
	told cut = iota + 1 // the agent was told of the cut, behind what it was told anyway
	half                // a run that is not cut off has no such message
)

// memory is what of a conversation was found to be the same, so that it is not looked
// at again: a request repeats all of the one before it.
type memory struct {
	head     hash   // of the present request
	headSame bool   // the recorded one has the head it had then
	messages []hash // of the present request
	kept     int    // so many messages the recorded one has as it had them then
	// The numbers that stand for the ids of calls.
	then, now map[string]string
}

func newMemory() *memory { return &memory{then: map[string]string{}, now: map[string]string{}} }

// comparison collects the differences of two requests.
type comparison struct {
	names  renamer
	memory *memory
	found  []difference
	err    error // a side that cannot be read
}

// compare is all that differs, in the order in which it is sent.
func (q *recordedRequest) compare(now model.Request, names renamer, m *memory) ([]difference, error) {
	c := comparison{names: names, memory: m}
	head, messages := hashHead(now), hashMessages(now.Messages)
	if !m.headSame || m.head != head {
		c.heads(c.decode(q.head, names), c.decode(headJSON(now), nil))
	}
	c.messages(q, now, messages)
	if c.err == nil && len(c.found) == 0 {
		m.head, m.headSame, m.messages, m.kept = head, true, messages, len(q.messages)
	}
	return c.found, c.err
}

// sameMessages reports whether the conversations are the same.
func (q *recordedRequest) sameMessages(now model.Request, names renamer) (bool, error) {
	c := comparison{names: names, memory: newMemory()}
	c.messages(q, now, hashMessages(now.Messages))
	return len(c.found) == 0, c.err
}

// decode is a piece of JSON with the present places in it. Numbers stay as they are
// written.
func (c *comparison) decode(raw []byte, names renamer) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil && c.err == nil {
		c.err = err
	}
	return names.value(v)
}

func (c *comparison) add(path string, recorded, now any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, difference{path, recorded, now})
	}
}

// messages compares the conversations, but for what was the same before.
func (c *comparison) messages(q *recordedRequest, now model.Request, hashes []hash) {
	m := c.memory
	at := 0 // the present message
	for i := range q.messages {
		if q.cuts[i] == half {
			continue
		}
		if at >= len(hashes) || i >= m.kept || at >= len(m.messages) || m.messages[at] != hashes[at] {
			c.pair(q, i, now.Messages, at)
		}
		at++
	}
	for ; at < len(hashes); at++ {
		c.add(fmt.Sprintf("messages[%d]", at), nil, c.decode(messageJSON(now.Messages[at]), nil))
	}
}

// pair compares two messages. Ids of calls are replaced by numbers, on both sides.
func (c *comparison) pair(q *recordedRequest, i int, now []model.Message, at int) {
	path := fmt.Sprintf("messages[%d]", at)
	a := c.decode(q.messages[i], c.names)
	numberCalls(a, c.memory.then)
	if at >= len(now) {
		c.add(path, a, nil)
		return
	}
	b := c.decode(messageJSON(now[at]), nil)
	numberCalls(b, c.memory.now)
	if len(q.cuts) > 0 { // which moved the breakpoints
		a, b = withoutMarks(a), withoutMarks(b)
	}
	c.message(path, a, b, q.cuts[i] == told)
}

// withoutMarks is a message without breakpoints of the cache.
func withoutMarks(message any) any {
	m, ok := message.(map[string]any)
	if !ok {
		return message
	}
	m = maps.Clone(m)
	blocks := slices.Clone(content(message))
	for i, b := range blocks {
		if block, ok := b.(map[string]any); ok && block["cache_control"] != nil {
			block = maps.Clone(block)
			delete(block, "cache_control")
			blocks[i] = block
		}
	}
	m["content"] = blocks
	return m
}

// at is a list's item, nil behind its end.
func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// message compares two messages. told: in the recorded one a continuing process has
// told of the cut, in blocks behind the others and in results of its own.
func (c *comparison) message(path string, recorded, now any, told bool) {
	a, b := content(recorded), content(now)
	c.value(path+".role", field(recorded, "role"), field(now, "role"))
	n := max(len(a), len(b))
	if told {
		n = len(b)
	}
	for i := range n {
		c.block(fmt.Sprintf("%s.content[%d]", path, i), at(a, i), at(b, i), told)
	}
}

func field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func content(message any) []any {
	list, _ := field(message, "content").([]any)
	return list
}

func (c *comparison) block(path string, recorded, now any, told bool) {
	a, ok := recorded.(map[string]any)
	b, also := now.(map[string]any)
	if !ok || !also {
		c.value(path, recorded, now)
		return
	}
	a, b = maps.Clone(a), maps.Clone(b)
	if a["type"] == "tool_result" && b["type"] == "tool_result" {
		was, is := isError(a), isError(b)
		if was != is && !told {
			c.add(path+".is_error", outcome(a), outcome(b))
		}
		delete(a, "is_error")
		delete(b, "is_error")
		a["content"], b["content"] = withoutText(a["content"]), withoutText(b["content"])
	}
	c.value(path, a, b)
}

func isError(result map[string]any) bool { return result["is_error"] == true }

// outcome is a result in words: that it is an error where it differs says little
// without its text.
func outcome(result map[string]any) string {
	if isError(result) {
		return "an error: " + texts(result["content"])
	}
	return "a result: " + texts(result["content"])
}

func texts(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	var out []string
	list, _ := content.([]any)
	for _, b := range list {
		if s, ok := field(b, "text").(string); ok {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// withoutText is the content of a result but for its texts.
func withoutText(content any) []any {
	list, _ := content.([]any)
	return slices.DeleteFunc(slices.Clone(list), func(b any) bool { return field(b, "type") == "text" })
}

// numberCalls gives the calls of a message numbers in the place of their ids, and
// their results the same.
func numberCalls(message any, numbers map[string]string) {
	for _, b := range content(message) {
		block, _ := b.(map[string]any)
		name := map[any]string{"tool_use": "id", "tool_result": "tool_use_id"}[block["type"]]
		id, ok := block[name].(string)
		if !ok {
			continue
		}
		if numbers[id] == "" {
			numbers[id] = "call " + strconv.Itoa(len(numbers)+1)
		}
		block[name] = numbers[id]
	}
}

// heads compares what stands before the conversations: model, system prompt, tools.
func (c *comparison) heads(recorded, now any) {
	a, _ := recorded.(map[string]any)
	b, _ := now.(map[string]any)
	if lower(a["max_tokens"], b["max_tokens"]) {
		a["max_tokens"] = b["max_tokens"]
	}
	if was, is := toolNames(a), toolNames(b); was != is {
		// One tool more would make all behind it differ.
		c.add("tools", was, is)
		delete(a, "tools")
		delete(b, "tools")
	}
	c.objects("", a, b)
}

func lower(recorded, now any) bool {
	a, aErr := strconv.Atoi(fmt.Sprint(recorded))
	b, bErr := strconv.Atoi(fmt.Sprint(now))
	return aErr == nil && bErr == nil && a < b
}

func toolNames(head map[string]any) string {
	var names []string
	list, _ := head["tools"].([]any)
	for _, t := range list {
		names = append(names, fmt.Sprint(field(t, "name")))
	}
	return strings.Join(names, "\n")
}

// value compares anything, down to where it differs.
func (c *comparison) value(path string, recorded, now any) {
	if reflect.DeepEqual(recorded, now) {
		return
	}
	switch a := recorded.(type) {
	case map[string]any:
		if b, ok := now.(map[string]any); ok {
			c.objects(path, a, b)
			return
		}
	case []any:
		if b, ok := now.([]any); ok {
			for i := range max(len(a), len(b)) {
				c.value(fmt.Sprintf("%s[%d]", path, i), at(a, i), at(b, i))
			}
			return
		}
	case string:
		b, ok := now.(string)
		if ok {
			recorded, now = steady(a), steady(b)
		}
		if ok && recorded == now {
			return
		}
	}
	c.add(path, recorded, now)
}

func (c *comparison) objects(path string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.value(strings.TrimPrefix(path+"."+name, "."), a[name], b[name])
	}
}
