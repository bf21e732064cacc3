package messagesapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// reply is the message that answers a request.
type reply struct {
	id          string
	version     string
	model       string
	blocks      []Block // whole: ids, signatures and Raw filled in
	stopReason  string
	stopSeq     *string
	stopDetails json.RawMessage
	diagnostics json.RawMessage
	usage       Usage
}

// compose makes the message of a turn and accounts for it.
func (s *Server) compose(c *call, turn Turn, plan cachePlan) (*reply, error) {
	m := &reply{
		id: s.id("msg"), version: c.seen.Request.Version, model: c.seen.Request.Model,
		stopReason: turn.StopReason, stopDetails: turn.StopDetails,
	}
	if turn.StopSequence != "" {
		m.stopSeq = &turn.StopSequence
	}
	for _, b := range turn.Blocks {
		whole, err := s.complete(b)
		if err != nil {
			return nil, err
		}
		if whole.Type == "tool_use" && m.stopReason == "" {
			m.stopReason = "tool_use"
		}
		m.blocks = append(m.blocks, whole)
	}
	if m.stopReason == "" {
		m.stopReason = "end_turn"
	}
	m.diagnostics = s.diagnose(c, m.id, plan)
	m.usage = s.commit(plan)
	for _, b := range m.blocks {
		m.usage.Output += (len(b.Raw) + 3) / 4
	}
	if turn.Usage != nil {
		m.usage = *turn.Usage
	}
	c.seen.Usage = m.usage
	s.remember(m.blocks, m.stopReason)
	return m, nil
}

// complete fills in what the server makes of a block, and its Raw.
func (s *Server) complete(b Block) (Block, error) {
	if b.Raw != nil {
		if !json.Valid(b.Raw) {
			return b, &Error{Status: 500, Message: "messagesapi: a raw block of the turn is not JSON"}
		}
		err := json.Unmarshal(b.Raw, &struct{ Type, ID *string }{&b.Type, &b.ID})
		if err != nil {
			return b, &Error{Status: 500, Message: "messagesapi: a raw block of the turn: " + err.Error()}
		}
		return b, nil
	}
	sign(&b)
	switch b.Type {
	case "text":
		b.Raw = object("type", quoted(b.Type), "text", quoted(b.Text))
	case "thinking":
		b.Raw = object("type", quoted(b.Type), "thinking", quoted(b.Thinking), "signature", quoted(b.Signature))
	case "redacted_thinking":
		b.Raw = object("type", quoted(b.Type), "data", quoted(b.Signature))
	case "tool_use":
		if b.ID == "" {
			b.ID = s.id("toolu")
		}
		if len(b.Input) == 0 {
			b.Input = json.RawMessage("{}")
		}
		b.Raw = object("type", quoted(b.Type), "id", quoted(b.ID), "name", quoted(b.Name), "input", b.Input)
	default:
		return b, &Error{Status: 500, Message: fmt.Sprintf("messagesapi: a turn has a block of type %q without Raw", b.Type)}
	}
	return b, nil
}

// object writes a JSON object from names and raw values. Nothing is re-encoded:
// what a script gives is what is sent.
func object(pairs ...any) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := pairs[i].(string)
		b.Write(quoted(name))
		b.WriteByte(':')
		switch v := pairs[i+1].(type) {
		case json.RawMessage:
			b.Write(v)
		case []byte:
			b.Write(v)
		case int:
			b.WriteString(strconv.Itoa(v))
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

var null = json.RawMessage("null")

// orNull is raw, or null where there is none.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return null
	}
	return raw
}

// message is the message as JSON; at the start of a stream it is still empty.
func (m *reply) message(start bool) []byte {
	content, stop, seq, usage := []byte("[]"), null, null, m.usage
	if start {
		usage.Output = 1
	} else {
		raws := make([][]byte, 0, len(m.blocks))
		for _, b := range m.blocks {
			raws = append(raws, b.Raw)
		}
		content = append(append([]byte("["), bytes.Join(raws, []byte(","))...), ']')
		stop, seq = quoted(m.stopReason), m.sequence()
	}
	pairs := []any{
		"id", quoted(m.id), "type", quoted("message"), "role", quoted("assistant"), "model", quoted(m.model),
		"content", content, "stop_reason", stop, "stop_sequence", seq,
	}
	if m.version == Version2026 {
		details := null
		if !start {
			details = orNull(m.stopDetails)
		}
		pairs = append(pairs, "stop_details", details, "container", null, "diagnostics", orNull(m.diagnostics))
	}
	return object(append(pairs, "usage", m.usageJSON(usage, true))...)
}

func (m *reply) sequence() json.RawMessage {
	if m.stopSeq == nil {
		return null
	}
	return quoted(*m.stopSeq)
}

// usageJSON is a message's usage, with the breakdown of cache writes where full.
func (m *reply) usageJSON(u Usage, full bool) []byte {
	pairs := []any{
		"input_tokens", u.Input, "cache_creation_input_tokens", u.CacheWrite5m + u.CacheWrite1h,
		"cache_read_input_tokens", u.CacheRead, "output_tokens", u.Output,
	}
	if full {
		pairs = append(pairs, "cache_creation",
			object("ephemeral_5m_input_tokens", u.CacheWrite5m, "ephemeral_1h_input_tokens", u.CacheWrite1h),
			"service_tier", quoted("standard"))
	}
	if full && m.version == Version2026 {
		pairs = append(pairs, "inference_geo", quoted("global"), "speed", quoted("standard"), "server_tool_use", null)
	}
	return object(pairs...)
}

// frames is the message as the events of a stream.
func (m *reply) frames(piece int) [][]byte {
	if piece <= 0 {
		piece = 48
	}
	out := [][]byte{
		event("message_start", "message", m.message(true)),
		event("ping"),
	}
	for i, b := range m.blocks {
		out = append(out, event("content_block_start", "index", i, "content_block", startOf(b)))
		delta := func(kind, name, value string) {
			out = append(out, event("content_block_delta", "index", i, "delta", object("type", quoted(kind), name, quoted(value))))
		}
		switch b.Type {
		case "text":
			each(b.Text, piece, func(p string) { delta("text_delta", "text", p) })
		case "thinking":
			each(b.Thinking, piece, func(p string) { delta("thinking_delta", "thinking", p) })
			if b.Signature != "" {
				delta("signature_delta", "signature", b.Signature)
			}
		case "tool_use":
			if len(b.Input) > 0 {
				delta("input_json_delta", "partial_json", "")
			}
			each(string(b.Input), piece, func(p string) { delta("input_json_delta", "partial_json", p) })
		}
		out = append(out, event("content_block_stop", "index", i))
	}
	end := []any{"stop_reason", quoted(m.stopReason), "stop_sequence", m.sequence()}
	if m.version == Version2026 {
		end = append(end, "stop_details", orNull(m.stopDetails), "container", null)
	}
	return append(out,
		event("message_delta", "delta", object(end...), "usage", m.usageJSON(m.usage, false)),
		event("message_stop"))
}

// startOf is a block as its stream begins: its strings come in deltas, those of a
// raw block do not.
func startOf(b Block) []byte {
	switch {
	case b.Type == "text" && b.Text != "":
		return object("type", quoted(b.Type), "text", quoted(""))
	case b.Type == "thinking" && b.Signature != "":
		return object("type", quoted(b.Type), "thinking", quoted(""), "signature", quoted(""))
	case b.Type == "tool_use" && len(b.Input) > 0:
		return object("type", quoted(b.Type), "id", quoted(b.ID), "name", quoted(b.Name), "input", json.RawMessage("{}"))
	}
	return b.Raw
}

// event is one event as it goes over the wire.
func event(kind string, pairs ...any) []byte {
	data := object(append([]any{"type", quoted(kind)}, pairs...)...)
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
}

// each cuts s into pieces of at most n bytes that end on whole characters.
func each(s string, n int, f func(string)) {
	for len(s) > 0 {
		end := min(n, len(s))
		for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
			end--
		}
		if end == 0 { // one character is longer than a piece
			_, end = utf8.DecodeRuneInString(s)
		}
		f(s[:end])
		s = s[end:]
	}
}
