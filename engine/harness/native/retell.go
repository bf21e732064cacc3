package native

// An answer can be damaged on its way so that its provider refuses it for ever:
// thinking that is not what was signed. It is then told in words of the user's
// side, with its calls and their results; nothing of the work gets lost.

import (
	"encoding/json"
	"slices"
)

// retells reports whether an answer is told in words.
func (h *history) retells(m message) bool {
	return slices.ContainsFunc(m.blocks, func(b block) bool { return b.seq > 0 && slices.Contains(h.cut.Retold, b.seq) })
}

// retold is an answer in words of the user's side, for a provider that does not
// take it back as it was. Thinking stays out.
func (m message) retold() []json.RawMessage {
	words := "(Your answer before this could not be kept in its form. This is what you said and did.)"
	for _, b := range m.blocks {
		switch b.kind {
		case "text":
			words += "\n\nYou said: " + text(member(b.raw, "text"))
		case "tool_use":
			words += "\n\nYou called " + text(member(b.raw, "name")) + " with " + string(member(b.raw, "input"))
		}
	}
	return []json.RawMessage{textBlock(words)}
}

// calls are the calls of an answer, by id.
func (m message) calls() map[string]block {
	out := map[string]block{}
	for _, b := range m.blocks {
		if b.kind == "tool_use" {
			out[b.id] = b
		}
	}
	return out
}

// retoldResults are the results of calls that were told in words, in words too.
func (m message) retoldResults(told map[string]block) []json.RawMessage {
	var out []json.RawMessage
	for _, b := range m.blocks {
		c, ok := told[b.id]
		if b.kind != "tool_result" || !ok {
			continue
		}
		content := member(b.raw, "content")
		words := "The result of your call of " + text(member(c.raw, "name")) + " was: "
		if s := text(content); s != "" {
			out = append(out, textBlock(words+s))
			continue
		}
		parts, _ := elements(content)
		out = append(append(out, textBlock(words)), parts...)
	}
	return out
}
