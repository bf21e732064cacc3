package native

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object builds a JSON object field by field, so that the order of fields is ours
// and raw values keep their bytes.
type object struct{ b []byte }

func (o *object) raw(name string, value []byte) *object {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, quote(name)...)
	o.b = append(o.b, ':')
	o.b = append(o.b, value...)
	return o
}

func (o *object) str(name, value string) *object { return o.raw(name, quote(value)) }

func (o *object) flag(name string, value bool) *object {
	if value {
		return o.raw(name, []byte("true"))
	}
	return o.raw(name, []byte("false"))
}

func (o *object) any(name string, value any) *object { return o.raw(name, encode(value)) }

// bytes closes the object, which takes no field afterwards.
func (o *object) bytes() json.RawMessage {
	if len(o.b) == 0 {
		return json.RawMessage("{}")
	}
	return append(o.b, '}')
}

// list joins raw values to a JSON list.
func list(values []json.RawMessage) json.RawMessage {
	size := 2
	for _, v := range values {
		size += len(v) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// quote is s as a JSON string, without the escapes that HTML needs; bytes that
// are no UTF-8 become U+FFFD.
func quote(s string) []byte { return encode(strings.ToValidUTF8(s, "\uFFFD")) }

// encode is v as JSON, without the escapes that HTML needs. v is of our own types,
// which can be encoded.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// textBlock is a content block that says s.
func textBlock(s string) json.RawMessage {
	return new(object).str("type", "text").str("text", s).bytes()
}
