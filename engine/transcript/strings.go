package transcript

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The strings of a transcript are most of its bytes, so that they are decoded here
// and not by encoding/json, which looks at every byte four times.

// appendDecoded appends the text between the quotes of a JSON string, with U+FFFD
// for what is no Unicode.
func appendDecoded(dst, inner []byte) []byte {
	start := len(dst)
	for len(inner) > 0 {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			dst = append(dst, inner...)
			break
		}
		dst = append(dst, inner[:n]...)
		var size int
		dst, size = appendEscape(dst, inner[n:])
		inner = inner[n+size:]
	}
	if utf8.Valid(dst[start:]) {
		return dst
	}
	return append(dst[:start], string([]rune(string(dst[start:])))...)
}

// chars is how many characters the text between the quotes of a JSON string has.
func chars(inner []byte) (n int) {
	for len(inner) > 0 {
		plain := bytes.IndexByte(inner, '\\')
		if plain < 0 {
			return n + utf8.RuneCount(inner)
		}
		n += utf8.RuneCount(inner[:plain]) + 1
		inner = inner[plain+escapeSize(inner[plain:]):]
	}
	return n
}

// escapeSize is the size of the escape at the beginning of b.
func escapeSize(b []byte) int {
	switch {
	case len(b) < 2 || b[1] != 'u':
		return min(len(b), 2)
	case surrogate(b, 0) == 'h' && surrogate(b, 6) == 'l':
		return 12
	}
	return min(len(b), 6)
}

// escapes are what stands for itself or for a control character behind a
// backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendEscape appends what the escape at the beginning of b stands for, and tells
// its size.
func appendEscape(dst, b []byte) (out []byte, size int) {
	if len(b) < 2 {
		return append(dst, "\uFFFD"...), len(b)
	}
	if b[1] != 'u' {
		return append(dst, escapes[b[1]]), 2
	}
	r := codeUnit(b)
	if pair := utf16.DecodeRune(r, codeUnit(b[min(6, len(b)):])); pair != utf8.RuneError {
		return utf8.AppendRune(dst, pair), 12
	}
	return utf8.AppendRune(dst, r), min(6, len(b)) // half a pair is appended as U+FFFD
}

// codeUnit is the number of the \uXXXX that b begins with, or that of U+FFFD.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// appendQuoted appends text as a JSON string that is valid UTF-8 and leaves <, >
// and & as they are: the model reads it.
func appendQuoted(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, text[done:]...)
	return append(dst, '"')
}
