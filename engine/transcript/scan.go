package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
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

// fields yields the members of the object at s, in order; none when it is not an
// object.
func fields(b []byte, s span) iter.Seq[field] {
	return func(yield func(field) bool) {
		for i := enter(b, s, '{'); i >= 0 && b[i] == '"'; {
			f := field{at: i}
			end := skipString(b, i)
			if end < 0 {
				return
			}
			f.key = plainKey(b[i:end])
			if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
				return
			}
			f.val.lo = skipSpace(b, i+1)
			if f.val.hi = skipValue(b, f.val.lo); f.val.hi < 0 || !yield(f) {
				return
			}
			i = nextItem(b, f.val.hi)
		}
	}
}

// items yields the elements of the array at s, in order; none when it is not an
// array.
func items(b []byte, s span) iter.Seq[span] {
	return func(yield func(span) bool) {
		for i := enter(b, s, '['); i >= 0 && b[i] != ']'; {
			v := span{i, skipValue(b, i)}
			if v.hi < 0 || !yield(v) {
				return
			}
			i = nextItem(b, v.hi)
		}
	}
}

// enter returns the place of the first thing behind the bracket at s, or -1.
func enter(b []byte, s span, bracket byte) int {
	if s.none() || s.lo >= len(b) || b[s.lo] != bracket {
		return -1
	}
	if i := skipSpace(b, s.lo+1); i < len(b) {
		return i
	}
	return -1
}

// nextItem returns the place of what follows the comma at i, or -1 when there is
// none.
func nextItem(b []byte, i int) int {
	if i = skipSpace(b, i); i >= len(b) || b[i] != ',' {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) {
		return i
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
	quoted := s.in(b)
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	return text, json.Unmarshal(quoted, &text) == nil
}

func isTrue(b []byte, s span) bool { return string(s.in(b)) == "true" }

// whole is the span of the value that b consists of.
func whole(b []byte) span {
	lo := skipSpace(b, 0)
	if hi := skipValue(b, lo); hi > 0 {
		return span{lo, hi}
	}
	return span{}
}

// appendQuoted appends text as a JSON string that is valid UTF-8 and leaves <, >
// and & as they are: the model reads it.
func appendQuoted(b []byte, text string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}
