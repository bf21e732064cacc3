package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Words are compared folded: lower case, without accents, in one Unicode form
// and one width, with plain dashes, apostrophes and blanks. What German writes
// as ä, ö, ü may also arrive as ae, oe, ue: that is no folding but a second
// spelling, see spellings.

// appendFolded appends the folded form of s to dst.
func appendFolded(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, lowerASCII(c))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = appendFoldedRune(dst, r, s[i:i+n])
		i += n
	}
	return dst
}

func fold(s string) string { return string(appendFolded(nil, s)) }

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// appendFoldedRune appends the folded form of one rune beyond ASCII, whose
// bytes are raw. Combining marks and invisible format characters vanish.
func appendFoldedRune(dst []byte, r rune, raw string) []byte {
	switch {
	case isHan(r):
		return append(dst, raw...)
	case unicode.In(r, unicode.Mn, unicode.Cf):
		return dst
	case r == 'ß' || r == 'ẞ':
		return append(dst, "ss"...)
	case r >= '\u2010' && r <= '\u2012':
		return append(dst, '-')
	case r == '\u2018' || r == '\u2019' || r == '\u02bc':
		return append(dst, '\'')
	case unicode.IsSpace(r):
		return append(dst, ' ')
	case unicode.Is(unicode.No, r):
		// ①, ² and ½ decompose into digits, which they are not here.
		return append(dst, raw...)
	}
	if d := norm.NFKD.PropertiesString(raw).Decomposition(); d != nil && string(d) != raw {
		return appendFolded(dst, string(d))
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

// isHan tells the unified ideographs, which have no case and no other form.
func isHan(r rune) bool {
	return r >= '\u4e00' && r <= '\u9fff' || r >= '\u3400' && r <= '\u4dbf'
}

// spellings returns the folded spellings of a word or heading of the tables:
// the umlauts as plain vowels and, where there are any, as digraphs.
func spellings(s string) []string {
	plain := fold(s)
	digraph := fold(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "ae", "Ö", "oe", "Ü", "ue").Replace(s))
	if digraph == plain {
		return []string{plain}
	}
	return []string{plain, digraph}
}

// isEmoji tells pictographs and the characters that modify or join them.
func isEmoji(r rune) bool {
	switch {
	case r < 0x2000:
		return r == '©' || r == '®'
	case r == 0x200d || r == 0x20e3 || r == 0xfe0f || r == 0x203c || r == 0x2049:
		return true
	case r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x25a0 && r <= 0x27bf, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	return r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299 ||
		r >= 0x1f000 && r <= 0x1faff || r >= 0xe0020 && r <= 0xe007f
}

// emojiLen returns the length of the run of emojis that s begins with, keycaps
// (a digit, U+FE0F, U+20E3) included.
func emojiLen(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < utf8.RuneSelf {
			size = keycapLen(s[n:])
		} else if !isEmoji(r) {
			size = 0
		}
		if size == 0 {
			break
		}
		n += size
	}
	return n
}

func keycapLen(s string) int {
	if s[0] != '#' && s[0] != '*' && (s[0] < '0' || s[0] > '9') {
		return 0
	}
	rest := strings.TrimPrefix(s[1:], "\ufe0f")
	if !strings.HasPrefix(rest, "\u20e3") {
		return 0
	}
	return len(s) - len(rest) + len("\u20e3")
}
