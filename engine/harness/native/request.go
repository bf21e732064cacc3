package native

import (
	"encoding/json"
	"maps"

	"github.com/flowerlua/flower/engine/model"
)

// wide is how many blocks a message may have before it gets a breakpoint of its
// own within: a provider looks back twenty blocks for what it has kept.
const wide = 15

// build makes the next request of the thread.
func (t *thread) build(maxTokens int) model.Request {
	messages := t.history.render()
	mark(messages)
	return model.Request{
		Model:     t.prefix.Model,
		MaxTokens: maxTokens,
		System:    t.prefix.System,
		Tools:     t.prefix.Tools,
		Messages:  messages,
		Extra:     maps.Clone(t.prefix.Extra),
		Previous:  t.previous,
		Meta: model.Meta{Step: t.run.turn.Step, Role: t.role, Session: t.run.session, Agent: t.id,
			Turn: t.answers + 1, Dir: t.dir},
	}
}

// mark sets the moving breakpoints: at the end of the last two user messages, and
// one more within the last where that is wide. With the one behind the system
// prompt these are four at most.
func mark(messages []model.Message) {
	left := 2
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		m := messages[i]
		if m.Role != "user" {
			continue
		}
		if n := len(m.Content); left == 2 && n > wide {
			m.Content[n-1-wide] = kept(m.Content[n-1-wide])
		}
		m.Content[len(m.Content)-1] = kept(m.Content[len(m.Content)-1])
		left--
	}
}

// kept is a block with a breakpoint of five minutes. The block itself is shared
// with the history and stays as it is.
func kept(raw json.RawMessage) json.RawMessage {
	end := len(raw) - 1
	for end > 0 && raw[end] != '}' {
		end--
	}
	if end == 0 || member(raw, "cache_control") != nil {
		return raw
	}
	out := append(make([]byte, 0, len(raw)+44), raw[:end]...)
	return append(out, `,"cache_control":{"type":"ephemeral"}}`...)
}

// weight is about how many bytes a request is.
func weight(r model.Request) int {
	n := 4096
	for _, raw := range r.System {
		n += len(raw) + 1
	}
	for _, raw := range r.Tools {
		n += len(raw) + 1
	}
	for _, m := range r.Messages {
		for _, raw := range m.Content {
			n += len(raw) + 1
		}
	}
	return n
}
