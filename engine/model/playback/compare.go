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

// request is a request taken apart.
type request struct {
	head     map[string]any
	messages []any
	told     map[int]bool // messages that tell of a cut
	cut      bool         // there was a cut, so that breakpoints are elsewhere
}

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

// decode puts present places in and leaves out what a run has only that was cut off.
func (q recordedRequest) decode(names renamer) (request, error) {
	r := request{messages: make([]any, 0, len(q.messages))}
	if err := decode(q.head, &r.head); err != nil {
		return r, err
	}
	for i, raw := range q.messages {
		var m any
		if err := decode(raw, &m); err != nil {
			return r, err
		}
		switch q.cuts[i] {
		case half:
			continue
		case told:
			if r.told == nil {
				r.told = map[int]bool{}
			}
			r.told[len(r.messages)] = true
		}
		r.messages = append(r.messages, m)
	}
	r.cut = len(q.cuts) > 0
	names.value(r.head)
	names.value(r.messages)
	return r, nil
}

func decodeNow(req model.Request) (request, error) {
	q := recordedRequest{head: headJSON(req), messages: make([]json.RawMessage, len(req.Messages))}
	for i, m := range req.Messages {
		q.messages[i] = messageJSON(m)
	}
	return q.decode(nil)
}

// decode keeps numbers as they are written.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// comparison collects the differences of two requests.
type comparison struct{ found []difference }

func (c *comparison) add(path string, recorded, now any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, difference{path, recorded, now})
	}
}

// messages compares the conversations of both. Ids of calls are replaced by their
// order, on both sides.
func (c *comparison) messages(recorded, now request) {
	numberCalls(recorded.messages)
	numberCalls(now.messages)
	for i := range max(len(recorded.messages), len(now.messages)) {
		path := fmt.Sprintf("messages[%d]", i)
		a, b := at(recorded.messages, i), at(now.messages, i)
		if a == nil || b == nil {
			c.add(path, a, b)
			continue
		}
		if recorded.cut {
			a, b = withoutMarks(a), withoutMarks(b)
		}
		c.message(path, a, b, recorded.told[i])
	}
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

// numberCalls gives the calls of a conversation numbers in the place of their ids,
// and their results the same.
func numberCalls(messages []any) {
	numbers := map[string]string{}
	for _, m := range messages {
		for _, b := range content(m) {
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
}

// heads compares what stands before the conversations: model, system prompt, tools.
func (c *comparison) heads(recorded, now map[string]any) {
	if lower(recorded["max_tokens"], now["max_tokens"]) {
		recorded = maps.Clone(recorded)
		recorded["max_tokens"] = now["max_tokens"]
	}
	if was, is := toolNames(recorded), toolNames(now); was != is {
		// One tool more would make all behind it differ.
		c.add("tools", was, is)
		recorded, now = maps.Clone(recorded), maps.Clone(now)
		delete(recorded, "tools")
		delete(now, "tools")
	}
	c.value("", recorded, now)
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

// compare is all that differs, in the order in which it is sent.
func compare(recorded, now request) []difference {
	var c comparison
	c.heads(recorded.head, now.head)
	c.messages(recorded, now)
	return c.found
}

// sameMessages reports whether the conversations are the same.
func sameMessages(recorded, now request) bool {
	var c comparison
	c.messages(recorded, now)
	return len(c.found) == 0
}
