package native

// Slicing of JSON that is known to be valid: entries come from the store and
// blocks from a decoder. Values are parts of the input, so that a session of
// thousands of entries is opened without copying it.

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// scanner walks over valid JSON. On anything else it stops early; it never reads
// beyond the input.
type scanner struct {
	text []byte
	pos  int
}

// space moves to the next byte that is no white space and returns it; 0 at the end.
func (s *scanner) space() byte {
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value moves over one value and returns it.
func (s *scanner) value() json.RawMessage {
	c := s.space()
	start := s.pos
	switch c {
	case '"':
		s.skipString()
	case '{', '[':
		s.skipNested()
	default:
		s.skipPlain()
	}
	return json.RawMessage(s.text[start:s.pos])
}

func (s *scanner) skipString() {
	start := s.pos + 1
	for s.pos = start; ; s.pos++ {
		end := bytes.IndexByte(s.text[min(s.pos, len(s.text)):], '"')
		if end < 0 {
			s.pos = len(s.text)
			return
		}
		s.pos += end
		escapes := 0
		for i := s.pos - 1; i >= start && s.text[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			s.pos++
			return
		}
	}
}

func (s *scanner) skipNested() {
	depth := 0
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '"':
			s.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return
		}
	}
}

// skipPlain moves over a number, true, false or null.
func (s *scanner) skipPlain() {
	for ; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return
		}
	}
}

// members calls f with every member of an object until f returns false; nothing
// happens when raw is no object. Names with escapes are passed as they stand.
func members(raw []byte, f func(name string, value json.RawMessage) bool) {
	s := scanner{text: raw}
	if s.space() != '{' {
		return
	}
	s.pos++
	for s.space() == '"' {
		name := s.value()
		if s.space() != ':' {
			return
		}
		s.pos++
		value := s.value()
		if len(name) < 2 || len(value) == 0 || !f(string(name[1:len(name)-1]), value) || s.space() != ',' {
			return
		}
		s.pos++
	}
}

// member returns the first member called name, nil when there is none.
func member(raw []byte, name string) json.RawMessage {
	var found json.RawMessage
	members(raw, func(n string, v json.RawMessage) bool {
		if n == name {
			found = v
		}
		return found == nil
	})
	return found
}

// withMember is an object with another value for a member, which comes first where
// there was none; the other values keep their bytes and their place.
func withMember(raw []byte, name string, value json.RawMessage) json.RawMessage {
	o := new(object)
	if member(raw, name) == nil {
		o.raw(name, value)
	}
	members(raw, func(n string, v json.RawMessage) bool {
		if n == name {
			v = value
		}
		o.raw(text(json.RawMessage(`"`+n+`"`)), v)
		return true
	})
	return o.bytes()
}

// elements are the elements of a list; ok is false when raw is none.
func elements(raw []byte) (list []json.RawMessage, ok bool) {
	s := scanner{text: raw}
	if s.space() != '[' {
		return nil, false
	}
	s.pos++
	for s.pos < len(raw) {
		if s.space() == ']' {
			return list, true
		}
		v := s.value()
		if len(v) == 0 {
			return list, false
		}
		list = append(list, v)
		switch s.space() {
		case ',':
			s.pos++
		case ']':
		default:
			return list, false
		}
	}
	return list, false
}

// text is the string that raw holds, empty when it holds none.
func text(raw json.RawMessage) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c == '\\' || c >= utf8.RuneSelf {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return ""
			}
			return s
		}
	}
	return string(inner)
}
