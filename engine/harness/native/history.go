package native

import (
	"encoding/json"
	"slices"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
)

// block is one content block with what requests have to know of it.
type block struct {
	raw   json.RawMessage
	kind  string
	id    string // of tool_use its id, of tool_result the id it answers
	seq   uint64 // of its entry
	media bool   // an image or document, or a result that holds one
	stale bool   // thinking that is not provably valid any more
}

func (b block) thinking() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// message is what one side said: one or more entries in a row.
type message struct {
	role   string
	id     string // of an answer, as the provider named it
	blocks []block
}

// history is the conversation as requests tell it. It is made from the entries of
// a view and of those alone, so that the same entries always give the same
// bytes. It belongs to one goroutine.
type history struct {
	messages []message

	spans span     // under which models the entries were made
	cut   omission // what the provider did not want to see again
	// keepLatest sends the thinking of the latest answer also where it is stale.
	keepLatest bool
}

// add takes an entry of the conversation; others are passed over.
func (h *history) add(e transcript.Entry) {
	if e.Type != e.Role || e.Role != "user" && e.Role != "assistant" {
		return
	}
	m := member(e.Raw, "message")
	content := member(m, "content")
	raws, isList := elements(content)
	if !isList {
		raws = []json.RawMessage{new(object).str("type", "text").raw("text", content).bytes()}
		if len(content) == 0 || content[0] != '"' {
			return
		}
	}
	blocks := make([]block, 0, len(raws))
	for _, raw := range raws {
		if b, ok := h.read(raw, e.Seq); ok {
			blocks = append(blocks, b)
		}
	}
	h.join(e.Role, text(member(m, "id")), blocks)
}

// join appends blocks to the message they belong to, or begins one.
func (h *history) join(role, id string, blocks []block) {
	n := len(h.messages)
	switch {
	case n > 0 && h.messages[n-1].role == role:
		n--
	case role == "assistant" && n > 1 && id != "" && h.messages[n-2].id == id:
		// Another writer splits an answer over several entries, with results of its
		// first calls between them.
		n -= 2
	default:
		h.messages = append(h.messages, message{role: role, id: id})
	}
	m := &h.messages[n]
	m.blocks = append(m.blocks, blocks...)
}

// read makes a block of its bytes; ok is false for one that says nothing.
func (h *history) read(raw json.RawMessage, seq uint64) (b block, ok bool) {
	raw = mend(raw)
	b = block{raw: raw, kind: text(member(raw, "type")), seq: seq}
	switch b.kind {
	case "text":
		return b, !blank(member(raw, "text"))
	case "tool_use":
		b.id = text(member(raw, "id"))
	case "tool_result":
		b.id = text(member(raw, "tool_use_id"))
		b.media = holdsMedia(member(raw, "content"))
	case "image", "document":
		b.media = true
	case "thinking", "redacted_thinking":
		b.stale = seq <= h.cut.Thinking || !h.spans.valid(seq)
	}
	if b.media && seq <= h.cut.Media {
		b = b.withoutMedia()
	}
	return b, b.kind != ""
}

// leaveOut applies an omission to what is there already.
func (h *history) leaveOut(o omission) {
	h.cut = o
	for i := range h.messages {
		blocks := h.messages[i].blocks
		for j, b := range blocks {
			if b.thinking() && b.seq <= o.Thinking {
				blocks[j].stale = true
			}
			if b.media && b.seq <= o.Media {
				blocks[j] = b.withoutMedia()
			}
		}
	}
}

// render is the conversation as messages that a provider takes: roles take turns,
// the first is the user's, nothing is empty, and every call has its result, in
// the order of the calls, right behind it. Every request passes here.
func (h *history) render() []model.Message {
	latest := h.latestAnswer()
	out := make([]model.Message, 0, len(h.messages)+1)
	var open []string         // calls of the message before
	var told map[string]block // calls that are told in words
	for i, m := range h.messages {
		switch {
		case m.role != "assistant":
			content := append(m.retoldResults(told), m.reply(open)...)
			out, open, told = joinMessage(out, m.role, content), nil, nil
		case h.retells(m):
			told = m.calls()
			out = joinMessage(out, "user", m.retold())
		default:
			var content []json.RawMessage
			content, open = m.answer(h.keepLatest && i == latest)
			out = joinMessage(out, m.role, content)
		}
	}
	return joinMessage(out, "user", lost(open))
}

// joinMessage appends content to the last message where the role is the same.
func joinMessage(out []model.Message, role string, content []json.RawMessage) []model.Message {
	n := len(out)
	switch {
	case len(content) == 0:
		return out
	case n > 0 && out[n-1].Role == role:
		out[n-1].Content = append(out[n-1].Content, content...)
		return out
	case n == 0 && role == "assistant":
		out = append(out, model.Message{Role: "user", Content: []json.RawMessage{textBlock(missingStart)}})
	}
	return append(out, model.Message{Role: role, Content: content})
}

// missingStart stands where a conversation begins with an answer.
const missingStart = "(The beginning of this conversation is not available.)"

// latestAnswer is the index of the last assistant message, -1 without one.
func (h *history) latestAnswer() int {
	for i := len(h.messages) - 1; i >= 0; i-- {
		if h.messages[i].role == "assistant" {
			return i
		}
	}
	return -1
}

// answer is the content of an assistant message and the calls it leaves open.
// Thinking that nothing follows is left out: no message may end with it.
func (m message) answer(keepStale bool) (content []json.RawMessage, calls []string) {
	end := len(m.blocks)
	for end > 0 && m.blocks[end-1].thinking() {
		end--
	}
	for _, b := range m.blocks[:end] {
		if b.stale && !keepStale {
			continue
		}
		content = append(content, b.raw)
		if b.kind == "tool_use" {
			calls = append(calls, b.id)
		}
	}
	return content, calls
}

// reply is the content of a user message: the results of the open calls first,
// in the order of the calls, then the rest. A result that nobody waits for is
// left out; a call without one gets one.
func (m message) reply(open []string) []json.RawMessage {
	content := make([]json.RawMessage, 0, len(m.blocks)+1)
	for _, id := range open {
		at := slices.IndexFunc(m.blocks, func(b block) bool { return b.kind == "tool_result" && b.id == id })
		if at < 0 {
			content = append(content, lost([]string{id})...)
			continue
		}
		content = append(content, m.blocks[at].raw)
	}
	for _, b := range m.blocks {
		if b.kind != "tool_result" {
			content = append(content, b.raw)
		}
	}
	return content
}

// latestSeq is the entry of the latest answer, 0 without one.
func (h *history) latestSeq() uint64 {
	for i := len(h.messages) - 1; i >= 0; i-- {
		m := h.messages[i]
		if m.role == "assistant" && !h.retells(m) && len(m.blocks) > 0 {
			return m.blocks[len(m.blocks)-1].seq
		}
	}
	return 0
}

// lost are the results of calls of which no result is recorded.
func lost(ids []string) []json.RawMessage {
	var out []json.RawMessage
	for _, id := range ids {
		out = append(out, resultBlock(id, quote(lostResult), false))
	}
	return out
}

const lostResult = "No result of this call was recorded: the run was cut off. The call may have taken effect in part or in full; look before you repeat it."

// resultBlock is a tool_result with content that is JSON already.
func resultBlock(id string, content json.RawMessage, isError bool) json.RawMessage {
	o := new(object).str("type", "tool_result").str("tool_use_id", id).raw("content", content)
	if isError {
		o.flag("is_error", true)
	}
	return o.bytes()
}

// tokens is about how many tokens the conversation has, by its size.
func (h *history) tokens() int64 {
	var n int64
	for _, m := range h.messages {
		for _, b := range m.blocks {
			if b.media {
				n += max(2000, int64(len(b.raw)/50))
			} else {
				n += int64(len(b.raw)/bytesPerToken) + 1
			}
		}
	}
	return n
}

// dropsLatest reports whether thinking of the latest answer is left out.
func (h *history) dropsLatest() bool {
	at := h.latestAnswer()
	return at >= 0 && !h.keepLatest && slices.ContainsFunc(h.messages[at].blocks, func(b block) bool { return b.stale })
}

// hasMedia reports whether any image or document is still sent.
func (h *history) hasMedia() bool { return h.mediaUpTo(1) > 0 }

// mediaUpTo is the entry up to which images and documents have to go to save so
// many bytes; the last one that has any when that is not enough, 0 without any.
func (h *history) mediaUpTo(bytes int) (seq uint64) {
	for _, m := range h.messages {
		for _, b := range m.blocks {
			if !b.media || b.seq == 0 {
				continue
			}
			if bytes <= 0 && b.seq != seq {
				return seq
			}
			bytes -= len(b.raw)
			seq = max(seq, b.seq)
		}
	}
	return seq
}
