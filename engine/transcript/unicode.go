package transcript

import (
	"bytes"
	"unicode/utf8"
)

// An entry with bytes that are not UTF-8 or with half a surrogate pair is refused
// by the Messages API, in every request that holds it. Parse marks such entries
// NotUnicode and a view mends them; what is stored stays.

// isUnicode reports whether raw, a JSON text, holds nothing but Unicode.
func isUnicode(raw []byte) bool {
	return utf8.Valid(raw) && nextHalf(raw, 0) < 0
}

// mendUnicode is raw with U+FFFD in the place of what is not Unicode.
func mendUnicode(raw []byte) []byte {
	raw = []byte(string([]rune(string(raw)))) // every byte that is no character becomes U+FFFD
	for i := nextHalf(raw, 0); i >= 0; i = nextHalf(raw, i+6) {
		copy(raw[i:], `\ufffd`)
	}
	return raw
}

// nextHalf is the place of the first escape from i on that is half a surrogate
// pair without the other half, or -1.
func nextHalf(raw []byte, i int) int {
	for i = nextEscape(raw, i); i >= 0; i = nextEscape(raw, i) {
		switch kind := surrogate(raw, i); {
		case kind == 0:
			i += 2
		case kind == 'h' && surrogate(raw, i+6) == 'l':
			i += 12
		default:
			return i
		}
	}
	return -1
}

// nextEscape is the place of the first \u from i on, or -1.
func nextEscape(raw []byte, i int) int {
	for {
		p := bytes.Index(raw[i:], []byte(`\u`))
		if p < 0 {
			return -1
		}
		i += p
		slashes := 0
		for i-1-slashes >= 0 && raw[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		i += 2
	}
}

// surrogate says which half of a pair is escaped at i: 'h', 'l', or 0 for none.
func surrogate(raw []byte, i int) byte {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' || raw[i+2]|0x20 != 'd' {
		return 0
	}
	switch raw[i+3] | 0x20 {
	case '8', '9', 'a', 'b':
		return 'h'
	case 'c', 'd', 'e', 'f':
		return 'l'
	}
	return 0
}
