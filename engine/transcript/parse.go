package transcript

import (
	"encoding/json"
	"fmt"
	"time"
)

// wire is the part of an entry that a Header is derived from.
type wire struct {
	UUID             string          `json:"uuid"`
	ParentUUID       string          `json:"parentUuid"`
	Type             string          `json:"type"`
	Subtype          string          `json:"subtype"`
	Timestamp        string          `json:"timestamp"`
	IsMeta           bool            `json:"isMeta"`
	IsAPIError       bool            `json:"isApiErrorMessage"`
	IsSidechain      bool            `json:"isSidechain"`
	IsCompactSummary bool            `json:"isCompactSummary"`
	Message          json.RawMessage `json:"message"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type wireBlock struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
}

// Parse makes an Entry of one transcript line. The entry keeps raw itself, not a
// copy: the caller must not change it afterwards. An error means raw is not a
// JSON object; unknown types and odd messages are no error.
func Parse(raw []byte) (Entry, error) {
	var w wire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Entry{}, fmt.Errorf("transcript entry: %w", err)
	}
	h := Header{UUID: w.UUID, Parent: w.ParentUUID, Type: w.Type, Subtype: w.Subtype, Size: len(raw)}
	if t, err := time.Parse(time.RFC3339Nano, w.Timestamp); err == nil {
		h.Time = t.UTC()
	}
	h.mark(w.IsMeta, Meta)
	h.mark(w.IsAPIError, APIError)
	h.mark(w.IsSidechain, Sidechain)
	h.mark(w.IsCompactSummary, CompactSummary)
	var m wireMessage
	if len(w.Message) > 0 && json.Unmarshal(w.Message, &m) == nil {
		h.Role = m.Role
		h.readContent(m.Content)
	}
	return Entry{Header: h, Raw: raw}, nil
}

func (h *Header) mark(set bool, f Flags) {
	if set {
		h.Flags |= f
	}
}

// readContent notes the tool calls and results; content that is a plain string
// has none.
func (h *Header) readContent(content json.RawMessage) {
	var blocks []wireBlock
	if json.Unmarshal(content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			h.ToolUses = append(h.ToolUses, b.ID)
		case "tool_result":
			h.ToolResults = append(h.ToolResults, b.ToolUseID)
			h.mark(b.IsError, ErrorResult)
		}
	}
}
