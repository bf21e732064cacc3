package messagesapi

import (
	"encoding/json"
	"fmt"
)

// parsedBody is what of a request's body is not part of Request.
type parsedBody struct {
	hasMaxTokens bool
	thinking     json.RawMessage
	toolChoice   json.RawMessage
	cacheTTL     string   // of the breakpoint set for the whole request
	diagnose     bool     // the field diagnostics was there
	previous     string   // its previous_message_id
	unknown      []string // top-level fields the API does not know
}

// known are the top-level fields of the API; those of 2023-06-01 alone have false.
var known = map[string]bool{
	"model": true, "max_tokens": true, "messages": true, "system": true, "tools": true, "tool_choice": true, "stream": true,
	"stop_sequences": true, "thinking": true, "metadata": true, "service_tier": true, "container": true, "speed": true,
	"cache_control": true, "diagnostics": true, "output_config": true, "inference_geo": true, "thread": true,
	"temperature": false, "top_p": false, "top_k": false,
}

// parse reads body into r and p.
func (p *parsedBody) parse(body []byte, r *Request) error {
	top, ok := fields(body)
	if !ok {
		return invalid("Input should be an object")
	}
	for _, f := range top {
		var err error
		switch f.name {
		case "model":
			err = text(f.name, f.value, &r.Model)
		case "max_tokens":
			p.hasMaxTokens = true
			err = decode(f.name, f.value, &r.MaxTokens)
		case "stream":
			err = decode(f.name, f.value, &r.Stream)
		case "system":
			r.System, err = parseContent(f.name, f.value)
		case "tools":
			err = parseTools(f.value, r)
		case "messages":
			err = parseMessages(f.value, r)
		case "thinking":
			p.thinking = f.value
		case "tool_choice":
			p.toolChoice = f.value
		case "cache_control":
			p.cacheTTL, err = parseTTL(f.name, f.value)
		case "diagnostics":
			var d struct {
				Previous string `json:"previous_message_id"`
			}
			err = decode(f.name, f.value, &d)
			p.diagnose, p.previous = string(f.value) != "null", d.Previous
		default:
			if current, ok := known[f.name]; !ok || !current && r.Version != Version2023 {
				p.unknown = append(p.unknown, f.name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decode reads one field.
func decode(path string, raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return invalid("%s: Input should be a valid value: %v", path, err)
	}
	return nil
}

func parseTools(raw json.RawMessage, r *Request) error {
	list, ok := elements(raw)
	if !ok {
		return invalid("tools: Input should be a valid list")
	}
	for i, raw := range list {
		path := fmt.Sprintf("tools.%d", i)
		t, kind, schema := Tool{Raw: raw}, "", json.RawMessage(nil)
		err := eachField(path, raw, func(f field) (err error) {
			switch f.name {
			case "name":
				err = text(path+".name", f.value, &t.Name)
			case "type":
				err = text(path+".type", f.value, &kind)
			case "input_schema":
				schema = f.value
			case "cache_control":
				t.CacheTTL, err = parseTTL(path+".cache_control", f.value)
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, isObject := fields(schema); !isObject && (kind == "" || kind == "custom") {
			return invalid("%s.custom.input_schema: Field required", path)
		}
		r.Tools = append(r.Tools, t)
	}
	return nil
}

func parseMessages(raw json.RawMessage, r *Request) error {
	list, ok := elements(raw)
	if !ok {
		return invalid("messages: Input should be a valid list")
	}
	for i, raw := range list {
		path := fmt.Sprintf("messages.%d", i)
		var m Message
		var content json.RawMessage
		err := eachField(path, raw, func(f field) (err error) {
			switch f.name {
			case "role":
				err = text(path+".role", f.value, &m.Role)
			case "content":
				content = f.value
			}
			return err
		})
		if err == nil {
			m.Content, err = parseContent(path+".content", content)
		}
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, m)
	}
	return nil
}

// eachField calls f with the fields of an object until it fails.
func eachField(path string, raw json.RawMessage, f func(field) error) error {
	object, ok := fields(raw)
	if !ok {
		return invalid("%s: Input should be an object", path)
	}
	for _, one := range object {
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// parseContent reads a string or a list of blocks.
func parseContent(path string, raw json.RawMessage) ([]Block, error) {
	if len(raw) > 0 && raw[0] == '"' {
		b := Block{Type: "text", Raw: object("type", quoted("text"), "text", raw)}
		return []Block{b}, text(path, raw, &b.Text)
	}
	list, ok := elements(raw)
	if !ok {
		return nil, invalid("%s: Input should be a valid string or a valid list", path)
	}
	blocks := make([]Block, 0, len(list))
	for i, raw := range list {
		b, err := parseBlock(fmt.Sprintf("%s.%d", path, i), raw)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func parseBlock(path string, raw json.RawMessage) (Block, error) {
	b := Block{Raw: raw}
	var content, source json.RawMessage
	strings := map[string]*string{
		"type": &b.Type, "text": &b.Text, "thinking": &b.Thinking, "signature": &b.Signature, "data": &b.Signature,
		"id": &b.ID, "name": &b.Name, "tool_use_id": &b.ToolUseID,
	}
	err := eachField(path, raw, func(f field) (err error) {
		switch f.name {
		case "input":
			b.Input = f.value
		case "content":
			content = f.value
		case "source":
			source = f.value
		case "is_error":
			err = decode(path+".is_error", f.value, &b.IsError)
		case "cache_control":
			b.CacheTTL, err = parseTTL(path+".cache_control", f.value)
		default:
			if into := strings[f.name]; into != nil {
				err = text(path+"."+f.name, f.value, into)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return Block{}, err
	case b.Type == "":
		return Block{}, invalid("%s.type: Field required", path)
	case b.Type == "tool_result" && len(content) > 0:
		b.Content, err = parseContent(path+".content", content)
	case b.Type == "image" || b.Type == "document":
		b.blob, err = parseSource(path, b.Type, source)
	}
	return b, err
}

// parseTTL reads a cache_control; empty for none.
func parseTTL(path string, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var c struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	}
	if err := decode(path, raw, &c); err != nil {
		return "", err
	}
	if c.Type != "ephemeral" {
		return "", invalid("%s.type: Input should be 'ephemeral'", path)
	}
	switch c.TTL {
	case "":
		return "5m", nil
	case "5m", "1h":
		return c.TTL, nil
	}
	return "", invalid("%s.ttl: Input should be '5m' or '1h'", path)
}
