package anthropic

// A block is put together from raw JSON: a string grows by the escaped characters
// of its pieces, so that it stays what the API sent even where decoding it would
// not (halves of a surrogate pair in two pieces), and fields nobody here knows
// stay as they are.

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/flowerlua/flower/engine/model"
)

// block is a content block while it arrives.
type block struct {
	fields []field
	kind   string
	input  []byte          // escaped characters of the pieces of a tool's input
	raw    json.RawMessage // the whole block once done; nil when its input is no JSON
	done   bool
}

// field is a field of an object, its value as it came.
type field struct {
	name  string
	value json.RawMessage
}

// newBlock begins a block with what content_block_start says of it.
func newBlock(raw json.RawMessage) (*block, error) {
	fields, err := objectFields(raw)
	if err != nil {
		return nil, garbled("the beginning of a block cannot be read")
	}
	b := &block{fields: fields}
	b.kind = b.text("type")
	if b.kind == "" {
		return nil, garbled("a block without a type")
	}
	return b, nil
}

// objectFields reads an object, its fields in order.
func objectFields(raw json.RawMessage) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, garbled("no object")
	}
	var out []field
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		f := field{}
		f.name, _ = t.(string)
		if err := dec.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// isCall tells whether the block asks for a tool, ours or the API's own.
func (b *block) isCall() bool { return strings.HasSuffix(b.kind, "tool_use") }

// find returns the field called name; nil when there is none.
func (b *block) find(name string) *field {
	for i := range b.fields {
		if b.fields[i].name == name {
			return &b.fields[i]
		}
	}
	return nil
}

// text is a field's value as a string; empty when it is none.
func (b *block) text(name string) string {
	f := b.find(name)
	if f == nil {
		return ""
	}
	return unquote(f.value)
}

func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "" // not a string
	}
	return s
}

// isString tells whether raw is a string.
func isString(raw json.RawMessage) bool { return len(raw) >= 2 && raw[0] == '"' }

// inner is what stands between the quotes of a string.
func inner(raw json.RawMessage) []byte { return raw[1 : len(raw)-1] }

// grow adds a piece, and returns what to show of it.
func (b *block) grow(raw json.RawMessage) (model.DeltaKind, string, error) {
	var d struct {
		Type     string          `json:"type"`
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
		Partial  json.RawMessage `json:"partial_json"`
		Citation json.RawMessage `json:"citation"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", "", garbled("a piece of a block cannot be read")
	}
	switch {
	case d.Type == "text_delta" && isString(d.Text):
		b.extend("text", d.Text)
		return model.TextDelta, unquote(d.Text), nil
	case d.Type == "thinking_delta" && isString(d.Thinking):
		b.extend("thinking", d.Thinking)
		return model.ThinkingDelta, unquote(d.Thinking), nil
	case d.Type == "input_json_delta" && isString(d.Partial):
		b.input = append(b.input, inner(d.Partial)...)
		return "", "", nil
	case d.Type == "citations_delta" && len(d.Citation) > 0:
		b.cite(d.Citation)
		return "", "", nil
	case d.Type == "text_delta" || d.Type == "thinking_delta" || d.Type == "input_json_delta" || d.Type == "citations_delta":
		return "", "", garbled("a piece of the type %s is empty", d.Type)
	}
	return "", "", b.merge(raw)
}

// extend lengthens a string by one that came; a field that is none yet begins
// with it.
func (b *block) extend(name string, more json.RawMessage) {
	f := b.find(name)
	if f == nil {
		b.fields = append(b.fields, field{name: name, value: bytes.Clone(more)})
		return
	}
	if !isString(f.value) {
		f.value = bytes.Clone(more)
		return
	}
	f.value = append(f.value[:len(f.value)-1], more[1:]...)
}

// cite adds a citation to those of the block.
func (b *block) cite(citation json.RawMessage) {
	f := b.find("citations")
	if f == nil {
		b.fields = append(b.fields, field{name: "citations"})
		f = &b.fields[len(b.fields)-1]
	}
	switch list := bytes.TrimSpace(f.value); {
	case len(list) < 2 || list[0] != '[' || len(bytes.TrimSpace(list[1:len(list)-1])) == 0:
		f.value = bytes.Join([][]byte{[]byte("["), citation, []byte("]")}, nil)
	default:
		f.value = bytes.Join([][]byte{list[:len(list)-1], []byte(","), citation, []byte("]")}, nil)
	}
}

// merge adds a piece of a kind that is not known: its strings lengthen the
// block's, other values replace them. That is how all kinds known so far work,
// signature_delta among them.
func (b *block) merge(raw json.RawMessage) error {
	fields, err := objectFields(raw)
	if err != nil {
		return garbled("a piece of a block cannot be read")
	}
	for _, f := range fields {
		switch old := b.find(f.name); {
		case f.name == "type":
		case isString(f.value):
			b.extend(f.name, f.value)
		case old == nil:
			b.fields = append(b.fields, f)
		default:
			old.value = f.value
		}
	}
	return nil
}

// finish makes the whole of the block.
func (b *block) finish() {
	b.done = true
	if len(b.input) > 0 {
		var input string
		quoted := append(append([]byte{'"'}, b.input...), '"')
		if json.Unmarshal(quoted, &input) != nil || !json.Valid([]byte(input)) {
			return // cut off by max_tokens, or garbled: the stream decides
		}
		if f := b.find("input"); f != nil {
			f.value = json.RawMessage(input)
		} else {
			b.fields = append(b.fields, field{name: "input", value: json.RawMessage(input)})
		}
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, f := range b.fields {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(f.name) // a string always marshals
		out.Write(name)
		out.WriteByte(':')
		out.Write(f.value)
	}
	out.WriteByte('}')
	b.raw, b.fields, b.input = out.Bytes(), nil, nil
}
