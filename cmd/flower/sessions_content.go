package main

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/transcript"
)

// content is what a line of a transcript says. Lines come from more than one
// program: what is not as expected is left out.
type content struct {
	Summary string          `json:"summary"`
	Content json.RawMessage `json:"content"` // of system entries: a text
	Model   string          `json:"model"`   // of a prefix entry
	Tools   []any           `json:"tools"`
	System  []any           `json:"system"`
	Agent   struct {
		Type string `json:"type"`
	} `json:"agent"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// block is a part of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func contentOf(e *transcript.Entry) (c content) {
	if json.Unmarshal(e.Raw, &c) != nil {
		// Fields of another shape: take what the header knows.
		var m struct {
			Message json.RawMessage `json:"message"`
		}
		if json.Unmarshal(e.Raw, &m) == nil {
			_ = json.Unmarshal(m.Message, &c.Message) // what fits was taken
		}
	}
	return c
}

// blocks are the parts of a message; a plain text is one.
func blocks(raw json.RawMessage) []block {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return []block{{Type: "text", Text: text}}
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	var all []block
	for _, part := range parts {
		var b block
		if json.Unmarshal(part, &b) == nil {
			all = append(all, b)
		}
	}
	return all
}

// resultText is the text of a tool's result; images and the like are named.
func (b *block) resultText() string {
	var texts []string
	for _, part := range blocks(b.Content) {
		texts = append(texts, cmp.Or(part.Text, "("+part.Type+")"))
	}
	return strings.Join(texts, "\n")
}

// telling are the fields of a tool's input that say what it is about.
var telling = []string{"file_path", "notebook_path", "path", "command", "pattern", "url", "query", "description", "question", "prompt", "skill"}

// inputText is what a call is about, in one line.
func (b *block) inputText() string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.Input, &fields) == nil {
		for _, name := range telling {
			var text string
			if json.Unmarshal(fields[name], &text) == nil && text != "" {
				return text
			}
		}
	}
	if text := string(b.Input); text != "{}" {
		return text
	}
	return ""
}

// field is a text of a tool's input.
func (b *block) field(name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(b.Input, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return text
}

// chars is how much a part puts into the context; images count nothing.
func (b *block) chars() int {
	switch b.Type {
	case "text":
		return utf8.RuneCountInString(b.Text)
	case "thinking":
		return utf8.RuneCountInString(b.Thinking)
	case "tool_use":
		return utf8.RuneCount(b.Input)
	case "tool_result":
		n := 0
		for _, part := range blocks(b.Content) {
			n += utf8.RuneCountInString(part.Text)
		}
		return n
	}
	return 0
}
