package native

import (
	"encoding/json"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/tool"
)

// contentJSON is a tool's result as the content of a tool_result block: a string
// where it is one text, else a list of blocks.
func contentJSON(r tool.Result) json.RawMessage {
	if len(r.Content) == 0 {
		return quote(resultText(""))
	}
	if len(r.Content) == 1 && r.Content[0].MediaType == "" {
		return quote(resultText(r.Content[0].Text))
	}
	blocks := make([]json.RawMessage, 0, len(r.Content))
	for _, c := range r.Content {
		blocks = append(blocks, admit(c))
	}
	return list(blocks)
}

// value is a result as guards see it: a string where it is one text, else a list
// of maps with a type and a text, or the media type of what is no text.
func value(r tool.Result) any {
	if len(r.Content) == 1 && r.Content[0].MediaType == "" {
		return r.Content[0].Text
	}
	parts := make([]any, 0, len(r.Content))
	for _, c := range r.Content {
		if c.MediaType == "" {
			parts = append(parts, map[string]any{"type": "text", "text": c.Text})
		} else {
			parts = append(parts, map[string]any{"type": "media", "media_type": c.MediaType})
		}
	}
	return parts
}

// withValue puts back what the guards made of a result. Images and documents keep
// their place as long as the list keeps its length.
func withValue(r tool.Result, reply guard.Reply) tool.Result {
	r.IsError = reply.IsError
	switch v := reply.Value.(type) {
	case string:
		r.Content = []tool.Content{{Text: v}}
	case []any:
		r.Content = parts(r.Content, v)
	default:
		r.Content = []tool.Content{{Text: string(encode(v))}}
	}
	return r
}

func parts(old []tool.Content, list []any) []tool.Content {
	out := make([]tool.Content, 0, len(list))
	for i, v := range list {
		m, _ := v.(map[string]any)
		s, isText := m["text"].(string)
		switch {
		case isText:
			out = append(out, tool.Content{Text: s})
		case m["type"] == "media" && len(old) == len(list) && old[i].MediaType != "":
			out = append(out, old[i])
		default:
			if s, ok := v.(string); ok {
				out = append(out, tool.Content{Text: s})
			} else {
				out = append(out, tool.Content{Text: string(encode(v))})
			}
		}
	}
	return out
}
