package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowerlua/flower/engine/shell"
)

// Parse makes an Entry of one transcript line. The entry keeps raw itself, not a
// copy: the caller must not change it afterwards. An error means raw is not a
// JSON object; unknown types and odd messages are no error.
func Parse(raw []byte) (Entry, error) {
	if !json.Valid(raw) {
		var text json.RawMessage
		return Entry{}, fmt.Errorf("transcript entry: %w", json.Unmarshal(raw, &text))
	}
	if raw[skipSpace(raw, 0)] != '{' {
		return Entry{}, fmt.Errorf("transcript entry: not a JSON object but %.20q", raw)
	}
	return Entry{Header: scanHeader(raw), Raw: raw}, nil
}

// scanHeader derives the header of raw, a JSON object. Where a key comes twice the
// last one counts, as everywhere in JSON.
func scanHeader(raw []byte) Header {
	h := Header{Size: len(raw)}
	walk(raw, skipSpace(raw, 0), func(key []byte, _, at int) int {
		if string(key) == "message" {
			return h.readMessage(raw, at)
		}
		end := skipValue(raw, at)
		if end >= 0 {
			h.readField(key, raw, span{at, end})
		}
		return end
	})
	h.mark(!isUnicode(raw), NotUnicode)
	return h
}

func (h *Header) readField(key, raw []byte, val span) {
	switch string(key) {
	case "uuid":
		h.UUID, _ = textAt(raw, val)
	case "parentUuid":
		h.Parent, _ = textAt(raw, val)
	case "type":
		h.Type = word(raw, val)
	case "subtype":
		h.Subtype = word(raw, val)
	case "timestamp":
		h.Time = timeAt(raw, val)
	case "isMeta":
		h.mark(isTrue(raw, val), Meta)
	case "isApiErrorMessage":
		h.mark(isTrue(raw, val), APIError)
	case "isSidechain":
		h.mark(isTrue(raw, val), Sidechain)
	case "isCompactSummary":
		h.mark(isTrue(raw, val), CompactSummary)
	case "toolDenialKind":
		h.mark(val.hi-val.lo > len(`""`) && raw[val.lo] == '"', Denied)
	}
}

// readMessage reads the message at the given place and returns the place behind it.
func (h *Header) readMessage(raw []byte, at int) int {
	h.Role, h.MessageID = "", ""
	h.noCalls()
	return walk(raw, at, func(key []byte, _, at int) int {
		if string(key) == "content" {
			h.noCalls()
			return readTools(raw, at, shell.Ephemeral, h.addCall)
		}
		end := skipValue(raw, at)
		switch {
		case end < 0:
		case string(key) == "role":
			h.Role = word(raw, span{at, end})
		case string(key) == "id":
			h.MessageID, _ = textAt(raw, span{at, end})
		}
		return end
	})
}

func (h *Header) noCalls() {
	h.ToolUses, h.ToolResults, h.tools = nil, nil, nil
	h.mark(false, ErrorResult)
}

func (h *Header) addCall(b block) {
	h.tools = append(h.tools, b)
	switch b.kind {
	case toolUse:
		h.ToolUses = append(h.ToolUses, b.id)
	case toolResult:
		h.ToolResults = append(h.ToolResults, b.id)
		if b.isError {
			h.mark(true, ErrorResult)
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

func isTrue(raw []byte, s span) bool { return string(s.in(raw)) == "true" }

func timeAt(raw []byte, s span) time.Time {
	text, _ := textAt(raw, s)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// knownTypes are the types of entries that Claude Code and we write.
var knownTypes = []string{
	"user", "assistant", "system", "summary", "attachment", "progress", "queue-operation", "last-prompt", "mode",
	"agent_metadata", "file-history-snapshot", "custom-title", "ai-title", "tag", "agent-name", "pr-link",
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
