package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Parse makes an Entry of one transcript line. The entry keeps raw itself, not a
// copy: the caller must not change it afterwards. An error means raw is not a
// JSON object; unknown types and odd messages are no error.
func Parse(raw []byte) (Entry, error) {
	if !json.Valid(raw) {
		var text json.RawMessage
		return Entry{}, fmt.Errorf("transcript entry: %w", json.Unmarshal(raw, &text))
	}
	all := whole(raw)
	if raw[all.lo] != '{' {
		return Entry{}, fmt.Errorf("transcript entry: not a JSON object but %.20q", raw)
	}
	return Entry{Header: scanHeader(raw, all), Raw: raw}, nil
}

// scanHeader derives the header of raw, a JSON object. Where a key comes twice the
// last one counts, as everywhere in JSON.
func scanHeader(raw []byte, all span) Header {
	h := Header{Size: len(raw)}
	var message span
	for f := range fields(raw, all) {
		switch string(f.key) {
		case "uuid":
			h.UUID, _ = textAt(raw, f.val)
		case "parentUuid":
			h.Parent, _ = textAt(raw, f.val)
		case "type":
			h.Type = word(raw, f.val)
		case "subtype":
			h.Subtype = word(raw, f.val)
		case "timestamp":
			h.Time = timeAt(raw, f.val)
		case "isMeta":
			h.mark(isTrue(raw, f.val), Meta)
		case "isApiErrorMessage":
			h.mark(isTrue(raw, f.val), APIError)
		case "isSidechain":
			h.mark(isTrue(raw, f.val), Sidechain)
		case "isCompactSummary":
			h.mark(isTrue(raw, f.val), CompactSummary)
		case "toolDenialKind":
			kind, _ := textAt(raw, f.val)
			h.mark(kind != "", Denied)
		case "message":
			message = f.val
		}
	}
	h.readMessage(raw, message)
	h.mark(!isUnicode(raw), NotUnicode)
	return h
}

func (h *Header) readMessage(raw []byte, message span) {
	var content span
	for f := range fields(raw, message) {
		switch string(f.key) {
		case "role":
			h.Role = word(raw, f.val)
		case "id":
			h.MessageID, _ = textAt(raw, f.val)
		case "content":
			content = f.val
		}
	}
	for item := range items(raw, content) {
		switch b := readBlock(raw, item); b.kind {
		case toolUse:
			h.ToolUses = append(h.ToolUses, b.id)
		case toolResult:
			h.ToolResults = append(h.ToolResults, b.id)
			if b.isError {
				h.Flags |= ErrorResult
			}
		}
	}
}

func (h *Header) mark(set bool, f Flags) {
	if set {
		h.Flags |= f
	} else {
		h.Flags &^= f
	}
}

func timeAt(raw []byte, s span) time.Time {
	text, _ := textAt(raw, s)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// words are the values that nearly all entries share; they take no memory of
// their own.
var words = func() map[string]string {
	m := map[string]string{}
	for _, w := range append(slices.Clone(knownTypes), "compact_boundary", PrefixSubtype) {
		m[w] = w
	}
	return m
}()

func word(raw []byte, s span) string {
	if q := s.in(raw); len(q) > 2 && q[0] == '"' {
		if w, known := words[string(q[1:len(q)-1])]; known {
			return w
		}
	}
	text, _ := textAt(raw, s)
	return text
}

// block is one element of a message's content, as far as views look at it.
type block struct {
	span
	kind    blockKind
	id      string // of the tool call, in a tool_use and in a tool_result
	name    span   // of a tool_use
	input   span   // of a tool_use
	content span   // of a tool_result
	isError bool   // of a tool_result
}

type blockKind uint8

const (
	otherBlock blockKind = iota
	toolUse
	toolResult
)

func readBlock(raw []byte, at span) block {
	b := block{span: at}
	var id, useID span
	for f := range fields(raw, at) {
		switch string(f.key) {
		case "type":
			switch string(f.val.in(raw)) {
			case `"tool_use"`:
				b.kind = toolUse
			case `"tool_result"`:
				b.kind = toolResult
			default:
				b.kind = otherBlock
			}
		case "id":
			id = f.val
		case "tool_use_id":
			useID = f.val
		case "name":
			b.name = f.val
		case "input":
			b.input = f.val
		case "content":
			b.content = f.val
		case "is_error":
			b.isError = isTrue(raw, f.val)
		}
	}
	switch b.kind {
	case toolUse:
		b.id, _ = textAt(raw, id)
	case toolResult:
		b.id, _ = textAt(raw, useID)
	}
	return b
}
