package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Views change a few values in a few entries and must leave every other byte as
// it is: thinking has to come back exactly as it was received, and the provider's
// cache is keyed by bytes. So entries are not decoded and encoded again; a reader
// finds the places of values, and what is changed is put there. It expects JSON
// that Parse has accepted; on anything else it stops early, and never panics.

// span is the place of a value in its text; the zero span is no value.
type span struct{ lo, hi int }

func (s span) in(b []byte) []byte { return b[s.lo:s.hi] }

func (s span) none() bool { return s.hi == 0 }

// field is one member of an object. Its whole text is b[at:val.hi].
type field struct {
	at  int
	key []byte
	val span
}

// walk calls visit for every member of the object at i. visit is told where the
// key and the value begin and returns the place behind the value, as skipValue
// does; a walk in a walk reads every byte once. walk returns the place behind the
// object, or -1. What is no object has no members.
func walk(b []byte, i int, visit func(key []byte, at, value int) int) int {
	if i >= len(b) || b[i] != '{' {
		return skipValue(b, i)
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i >= 0 && i < len(b) && b[i] == '"' {
		at, end := i, skipString(b, i)
		if end < 0 {
			return -1
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return -1
		}
		i = visit(plainKey(b[at:end]), at, skipSpace(b, i+1))
		var last bool
		if i, last = next(b, i, '}'); last {
			return i
		}
	}
	return -1
}

// walkItems does the same for the elements of the array at i.
func walkItems(b []byte, i int, visit func(at int) int) int {
	if i >= len(b) || b[i] != '[' {
		return skipValue(b, i)
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for i >= 0 && i < len(b) {
		i = visit(i)
		var last bool
		if i, last = next(b, i, ']'); last {
			return i
		}
	}
	return -1
}

// next goes from behind a value to the one after the comma, or behind the closing
// bracket; to -1 when there is neither.
func next(b []byte, i int, closing byte) (at int, last bool) {
	if i < 0 {
		return -1, false
	}
	if i = skipSpace(b, i); i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case ',':
		return skipSpace(b, i+1), false
	case closing:
		return i + 1, true
	}
	return -1, false
}

// fields yields the members of the object at s, in order.
func fields(b []byte, s span) iter.Seq[field] {
	return func(yield func(field) bool) {
		if s.none() || s.lo >= len(b) || b[s.lo] != '{' {
			return
		}
		walk(b, s.lo, func(key []byte, at, value int) int {
			end := skipValue(b, value)
			if end < 0 || !yield(field{at, key, span{value, end}}) {
				return -1
			}
			return end
		})
	}
}

// items yields the elements of the array at s, in order.
func items(b []byte, s span) iter.Seq[span] {
	return func(yield func(span) bool) {
		if s.none() || s.lo >= len(b) || b[s.lo] != '[' {
			return
		}
		walkItems(b, s.lo, func(at int) int {
			end := skipValue(b, at)
			if end < 0 || !yield(span{at, end}) {
				return -1
			}
			return end
		})
	}
}

// lastField is the value of key in the object at s; where it comes twice the last
// one counts, as everywhere in JSON.
func lastField(b []byte, s span, key string) (val span) {
	for f := range fields(b, s) {
		if string(f.key) == key {
			val = f.val
		}
	}
	return val
}

// whole is the object that b consists of.
func whole(b []byte) span { return span{skipSpace(b, 0), len(b)} }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place behind the string that starts at i, or -1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		i += q
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

// skipValue returns the place behind the value that starts at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	j := i
	for j < len(b) && !isEnd[b[j]] {
		j++
	}
	if j == i {
		return -1
	}
	return j
}

// isEnd marks the bytes that end a number or a word.
var isEnd = [256]bool{',': true, ']': true, '}': true, ' ': true, '\n': true, '\t': true, '\r': true, ':': true, '"': true}

func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// plainKey is a key without its quotes and escapes.
func plainKey(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	return []byte(s)
}

// textAt is the string at s, decoded; ok is false when it is not a string.
func textAt(b []byte, s span) (text string, ok bool) {
	if s.none() || b[s.lo] != '"' {
		return "", false
	}
	inner := b[s.lo+1 : s.hi-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	return string(appendDecoded(nil, inner)), true
}

// appendTextAt appends the string at s, decoded, to dst.
func appendTextAt(dst, b []byte, s span) (text []byte, ok bool) {
	if s.none() || b[s.lo] != '"' {
		return dst, false
	}
	return appendDecoded(dst, b[s.lo+1:s.hi-1]), true
}
