package messagesapi

// JSON read without losing what it was: the fields of an object in their order,
// each as raw bytes, because caching and pairing depend on the bytes. A long
// conversation is read again with every request, so the readers here only find
// where values end; that the body is JSON at all was checked before.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// field is one field of an object.
type field struct {
	name  string
	value json.RawMessage
}

// fields returns the fields of an object in their order, as parts of raw; false
// when raw is none.
func fields(raw json.RawMessage) ([]field, bool) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, false
	}
	var out []field
	for i = space(raw, i+1); i < len(raw) && raw[i] != '}'; {
		end := skip(raw, i)
		var f field
		if text("", raw[i:end], &f.name) != nil {
			return nil, false
		}
		i = min(space(raw, space(raw, end)+1), len(raw)) // behind the colon
		end = skip(raw, i)
		f.value = raw[i:end:end]
		out = append(out, f)
		i = next(raw, end)
	}
	return out, true
}

// elements returns the elements of an array, as parts of raw; false when raw is
// none.
func elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, false
	}
	var out []json.RawMessage
	for i = space(raw, i+1); i < len(raw) && raw[i] != ']'; {
		end := skip(raw, i)
		out = append(out, raw[i:end:end])
		i = next(raw, end)
	}
	return out, true
}

// space is the first index from i on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// next is the index behind a value, and behind the comma if there is one.
func next(b []byte, i int) int {
	i = space(b, i)
	if i < len(b) && b[i] == ',' {
		i = space(b, i+1)
	}
	return i
}

// skip is the index behind the value that begins at i.
func skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default: // a number or a word
			for i < len(b) && bytes.IndexByte([]byte(",:]} \n\r\t"), b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipString is the index behind the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		slashes := 0
		for slashes < n && b[i+n-1-slashes] == '\\' {
			slashes++
		}
		i += n
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// text reads a string.
func text(path string, raw json.RawMessage, into *string) error {
	n := len(raw)
	if n < 2 || raw[0] != '"' {
		return invalid("%s: Input should be a valid string", path)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		*into = string(raw[1 : n-1])
		return nil
	}
	return decode(path, raw, into)
}

// canonical is a block as the cache compares it: without white space and without
// breakpoints, which may move without changing the prompt.
func canonical(raw json.RawMessage) []byte {
	b := bytes.NewBuffer(make([]byte, 0, len(raw)))
	writeCanonical(b, raw)
	return b.Bytes()
}

func writeCanonical(b *bytes.Buffer, raw json.RawMessage) {
	object, ok := fields(raw)
	if !ok {
		writeCompact(b, raw)
		return
	}
	b.WriteByte('{')
	first := true
	for _, f := range object {
		if f.name == "cache_control" {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(quoted(f.name))
		b.WriteByte(':')
		list, isList := elements(f.value)
		if f.name != "content" || !isList {
			writeCompact(b, f.value)
			continue
		}
		b.WriteByte('[')
		for i, e := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, e)
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
}

// writeCompact writes raw without white space between its tokens.
func writeCompact(b *bytes.Buffer, raw json.RawMessage) {
	for i := 0; i < len(raw); {
		end := i + 1
		switch raw[i] {
		case '"':
			end = skipString(raw, i)
		case ' ', '\n', '\r', '\t':
			i++
			continue
		}
		b.Write(raw[i:end])
		i = end
	}
}

// plainJSON is v as JSON without the escaping that is for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quoted is a string as JSON.
func quoted(s string) []byte {
	q, _ := plainJSON(s) // a string always encodes
	return q
}

// checkJSON refuses what the API's parser refuses and Go's does not: bytes that
// are not UTF-8, and halves of surrogate pairs.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return invalid("The request body is not valid JSON: it is not valid UTF-8")
	}
	if !json.Valid(body) {
		var v any
		return invalid("The request body is not valid JSON: %v", json.Unmarshal(body, &v))
	}
	if at := loneSurrogate(body); at >= 0 {
		return invalid("The request body is not valid JSON: %s", fmt.Sprintf("no low surrogate in string: line 1 column %d (char %d)", at+1, at))
	}
	return nil
}

// loneSurrogate finds an escaped half of a surrogate pair; -1 when there is none.
func loneSurrogate(body []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(body[i:], '\\')
		if n < 0 || i+n+1 >= len(body) {
			return -1
		}
		i += n
		if body[i+1] != 'u' {
			i += 2
			continue
		}
		r := escaped(body[i:])
		width := 6
		if utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(body[min(i+6, len(body)):])) == utf8.RuneError {
				return i
			}
			width = 12
		}
		i += width
	}
}

// escaped reads the \uXXXX that b begins with; 0 when it begins otherwise.
func escaped(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil {
		return 0
	}
	return rune(n)
}
