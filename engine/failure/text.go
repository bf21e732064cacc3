package failure

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// message is a text made ready for the tables: the same words in any case,
// with any separators and escapes, look the same.
type message struct {
	// flat is lower case with every run of white space as one blank, for
	// rules that need punctuation.
	flat string
	// words are lower case, without punctuation, identifiers taken apart
	// (contextLengthExceeded, RATE_LIMIT), "can't" as "cant".
	words []string
	// han is flat without blanks, "" where nothing is Chinese.
	han string
}

// maxText bounds what is read of a message: its head and its tail, in bytes.
const maxText = 16 << 10

// lazily compiles an expression when it is first looked for: most runs of a program meet
// no failure, and all the expressions here take more than a millisecond.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

var (
	ansiEscape = lazily(`\x1b\[[0-9;:?]*[A-Za-z]`)
	jsonEscape = lazily(`\\u[0-9a-fA-F]{4}|\\[nrt]`)
)

func read(text string) message {
	text = unescape(bound(text))
	folded := strings.Map(fold, text)
	m := message{
		flat:  strings.ToLower(strings.Join(strings.Fields(folded), " ")),
		words: splitWords(folded),
	}
	if strings.ContainsFunc(folded, isHan) {
		m.han = strings.ReplaceAll(m.flat, " ", "")
	}
	return m
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func bound(text string) string {
	if len(text) > maxText {
		text = text[:maxText/2] + " " + text[len(text)-maxText/2:]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// unescape undoes what carriers of an error's text do to it: terminals,
// web pages, JSON within JSON.
func unescape(text string) string {
	if strings.Contains(text, "\x1b[") {
		text = ansiEscape().ReplaceAllString(text, "")
	}
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	if strings.Contains(text, `\`) {
		text = jsonEscape().ReplaceAllStringFunc(text, func(escape string) string {
			if len(escape) == 2 {
				return " "
			}
			code, _ := strconv.ParseUint(escape[2:], 16, 32)
			return string(rune(code)) // half a surrogate pair becomes U+FFFD
		})
	}
	return text
}

// fold maps full-width forms to ASCII, and the look-alikes of the apostrophe
// and the blank to these.
func fold(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case r == '’' || r == '‘' || r == 'ʼ' || r == '`' || r == '´':
		return '\''
	case r == '“' || r == '”':
		return '"'
	case unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B':
		return ' '
	default:
		return r
	}
}

func splitWords(text string) []string {
	var words []string
	word := func(s string) {
		if s != "" {
			words = append(words, strings.ToLower(s))
		}
	}
	start, digits := -1, false
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case inWord && start < 0:
			start, digits = i, unicode.IsDigit(r)
		case inWord && (r < utf8.RuneSelf) != (text[start] < utf8.RuneSelf):
			// 错误码400 holds two words.
			splitIdentifier(text[start:i], digits, word)
			start, digits = i, unicode.IsDigit(r)
		case inWord:
			digits = digits || unicode.IsDigit(r)
		case start >= 0 && !apostropheInside(text, i):
			splitIdentifier(text[start:i], digits, word)
			start = -1
		}
	}
	if start >= 0 {
		splitIdentifier(text[start:], digits, word)
	}
	return words
}

// apostropheInside reports whether the byte at i is the apostrophe of a word
// like "can't", which then stays one word.
func apostropheInside(text string, i int) bool {
	return text[i] == '\'' && i > 0 && i+1 < len(text) && isLetter(text[i-1]) && isLetter(text[i+1])
}

// splitIdentifier gives the words of a token such as RemoteProtocolError or
// APIError. A token with digits stays whole: ids of requests look like names.
func splitIdentifier(token string, digits bool, word func(string)) {
	token = strings.ReplaceAll(token, "'", "")
	if digits || token[0] >= utf8.RuneSelf {
		word(token)
		return
	}
	from := 0
	for i := 1; i < len(token); i++ {
		lowerUpper := isLower(token[i-1]) && isUpper(token[i])
		acronymEnd := isUpper(token[i-1]) && isUpper(token[i]) && i+1 < len(token) && isLower(token[i+1])
		if lowerUpper || acronymEnd {
			word(token[from:i])
			from = i
		}
	}
	word(token[from:])
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
