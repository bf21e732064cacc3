package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lexer turns a conclusion into tokens: words with their class, figures,
// verdict emojis, and the separators of clauses and sentences. Markup goes,
// and so does what is quoted.

type kind uint8

const (
	word     kind = iota
	figure        // a whole number
	fraction      // n/m, n in value and m in of
	percent       // n %
	other         // a quotation, a date, a version: nothing to read
	sign          // an emoji that is a verdict
	comma         // ends a clause
	colon         // : – and the like: ends a clause, and the reach of a doubt
	semi          // ; also ends the reach of a condition
	slash         // / and |: ends a clause and sets alternatives
	opening       // ( [ {
	closing       // ) ] }
	stop          // ends a sentence
	question      // ends a sentence that is a question
)

type token struct {
	kind      kind
	class     class  // of words and signs
	text      string // of words: folded; of separators: as written
	value, of int    // of figures
	soft      bool   // the first token behind a line break
	upper     bool   // the word begins with a capital or is Chinese
}

type lexer struct {
	tokens []token
	arena  []byte // holds folded words
	line   string
	pos    int
	list   bool // inside a list or table, whose rows are one sentence
	soft   bool
	// unclosed holds the quotes that have no end in the rest of the line, so
	// that each is looked for once.
	unclosed string
}

// lex cuts a conclusion into tokens. Fullwidth ASCII is narrowed first.
func lex(text string) []token {
	lx := lexer{tokens: make([]token, 0, 32)}
	blocks := layout(narrow(text))
	for _, b := range blocks {
		lx.list = b.list
		for i, line := range b.lines {
			lx.soft = i > 0
			if i > 0 && b.list {
				lx.emit(token{kind: comma})
			}
			lx.lexLine(line)
		}
		if last := len(lx.tokens) - 1; last >= 0 && lx.tokens[last].kind != stop {
			lx.emit(token{kind: stop})
		}
	}
	return matchPhrases(lx.tokens)
}

// narrow maps the fullwidth forms of ASCII to ASCII.
// So are the marks written for the apostrophe of "isn't".
func narrow(text string) string {
	if strings.Contains(text, "n‘t") || strings.Contains(text, "n´t") || strings.Contains(text, "n`t") {
		text = strings.NewReplacer("n‘t", "n't", "n´t", "n't", "n`t", "n't").Replace(text)
	}
	if !strings.ContainsRune(text, '\uff01'-1) && strings.IndexByte(text, 0xef) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= '\uff01' && r <= '\uff5e' {
			return r - 0xfee0
		}
		return r
	}, text)
}

func (lx *lexer) emit(t token) {
	t.soft = lx.soft && len(lx.tokens) > 0
	lx.soft = false
	lx.tokens = append(lx.tokens, t)
}

func (lx *lexer) lexLine(line string) {
	lx.line, lx.pos, lx.unclosed = line, 0, ""
	for lx.pos < len(line) {
		lx.next()
	}
}

// next reads one token, or skips one character that is none.
func (lx *lexer) next() {
	rest := lx.line[lx.pos:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == ' ' || r == '*' || r == '_':
		lx.pos += size
	case isHan(r):
		lx.hanRun()
	case unicode.IsLetter(r):
		lx.word()
	case '0' <= r && r <= '9':
		lx.figure()
	case lx.quotation(r, rest):
	case signs[r] != unknown:
		lx.pos += size
		lx.emit(token{kind: sign, class: signs[r]})
	default:
		lx.pos += size
		lx.punctuation(r, rest[size:])
	}
}

// quotation skips a quoted stretch: what is quoted is not said. Only a
// quotation of nothing but a negation counts: "not" done.
func (lx *lexer) quotation(r rune, rest string) bool {
	opened := string(r)
	closed := ""
	switch {
	case r == '\'' && lx.standsBefore() && len(rest) > 1 && !startsBlank(rest[1:]):
		closed = "'"
	case strings.HasPrefix(rest, "~~"):
		opened, closed = "~~", "~~"
	case quotes[r] != 0:
		closed = string(quotes[r])
	default:
		return false
	}
	if strings.Contains(lx.unclosed, opened) {
		return false
	}
	inner, after, ok := cutQuote(rest[len(opened):], closed)
	if !ok {
		lx.unclosed += opened
		return false
	}
	lx.pos = len(lx.line) - len(after)
	t := token{kind: other}
	if folded := fold(strings.TrimSpace(inner)); words().classOf(folded) == negation {
		t = token{kind: word, class: negation, text: folded}
	} else if p, ok := words().hanPrefix(folded); ok && p.text == folded && p.class == negation {
		t = token{kind: word, class: negation, text: folded}
	}
	lx.emit(t)
	return true
}

// standsBefore tells whether the character before the position is no part of
// a word, so that an apostrophe here opens a quotation.
func (lx *lexer) standsBefore() bool {
	r, _ := utf8.DecodeLastRuneInString(lx.line[:lx.pos])
	return lx.pos == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// cutQuote finds the end of a quotation. An apostrophe ends one only where no
// letter follows.
func cutQuote(s, closed string) (inner, after string, ok bool) {
	if closed != "'" {
		return strings.Cut(s, closed)
	}
	for i := range len(s) {
		if s[i] != '\'' {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(s[i+1:]); i+1 == len(s) || !unicode.IsLetter(r) {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// word reads a word of letters with the joiners that may stand inside one.
func (lx *lexer) word() {
	rest := lx.line[lx.pos:]
	n, plain, opaque, joined := 0, true, false, false
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		inside := unicode.IsLetter(r) && !isHan(r) || unicode.In(r, unicode.Mn, unicode.Nd)
		if !inside {
			next, _ := utf8.DecodeRuneInString(rest[n+size:])
			if !strings.ContainsRune("'’_-.@\\", r) || isHan(next) || !unicode.IsLetter(next) && !unicode.IsDigit(next) {
				break
			}
			opaque = opaque || r == '.' || r == '@' || r == '\\'
			joined = joined || r == '-' || r == '_'
		}
		plain = plain && 'a' <= r && r <= 'z'
		n += size
	}
	lx.pos += n
	raw := rest[:n]
	if opaque {
		lx.emit(token{kind: other})
		return
	}
	text := raw
	if !plain {
		from := len(lx.arena)
		lx.arena = appendFolded(lx.arena, raw)
		text = string(lx.arena[from:])
	}
	lx.emitWord(text, raw, joined)
}

func (lx *lexer) emitWord(text, raw string, joined bool) {
	if joined && len(text) < 64 && words().words[text] == nil {
		first, rest, _ := strings.Cut(strings.ReplaceAll(text, "_", "-"), "-")
		if words().compounds[first] {
			lx.emit(token{kind: word, text: first})
			lx.emitWord(rest, rest, strings.Contains(rest, "-"))
			return
		}
	}
	if value, ok := words().numerals[text]; ok && words().words[text] == nil {
		lx.emit(token{kind: figure, value: value, text: text})
		return
	}
	if other, ok := accented[text]; ok && len(raw) > len(text) {
		text = other
	}
	first, _ := utf8.DecodeRuneInString(raw)
	lx.emit(token{kind: word, text: text, upper: unicode.IsUpper(first)})
}

// hanRun reads a run of Chinese characters phrase by phrase. What the table
// does not know becomes one word.
func (lx *lexer) hanRun() {
	unread := false
	for lx.pos < len(lx.line) {
		rest := lx.line[lx.pos:]
		r, size := utf8.DecodeRuneInString(rest)
		if !isHan(r) {
			return
		}
		value, isNumeral := words().numerals[rest[:size]]
		p, ok := words().hanPrefix(rest)
		switch {
		case ok && !(p.text == "通过" && isVia(rest[len(p.text):])):
			lx.emit(token{kind: word, class: p.class, text: p.text, upper: true})
			size = len(p.text)
		case isNumeral:
			lx.emit(token{kind: figure, value: value, text: rest[:size]})
		case !unread:
			lx.emit(token{kind: word, text: rest[:size], upper: true})
			unread = true
			lx.pos += size
			continue
		}
		unread = unread && !ok && !isNumeral
		lx.pos += size
	}
}

// viaObjects may follow 通过 where it means passing; before anything else it
// means "by way of".
var viaObjects = []string{"了", "全部", "所有", "各", "每", "验收", "检查", "测试", "审核", "验证", "审查", "评审", "校验", "的", "项", "并", "且", "但"}

// viaEnds show in the same clause that 通过 was "by way of" after all.
var viaEnds = []string{"发现", "得知", "可知", "确认", "看出"}

func isVia(after string) bool {
	r, _ := utf8.DecodeRuneInString(after)
	if !isHan(r) {
		return false
	}
	clause := after[:min(len(after), 48)]
	if i := strings.IndexFunc(clause, func(r rune) bool { return !isHan(r) }); i >= 0 {
		clause = clause[:i]
	}
	for _, end := range viaEnds {
		if strings.Contains(clause, end) {
			return true
		}
	}
	if _, ok := words().hanPrefix(after); ok {
		return false
	}
	for _, object := range viaObjects {
		if strings.HasPrefix(after, object) {
			return false
		}
	}
	return true
}

// figure reads a number, a fraction or a percentage; numbers with a sign or a
// unit, decimals, dates and versions are none of them.
func (lx *lexer) figure() {
	rest := lx.line[lx.pos:]
	signed := lx.pos > 0 && strings.IndexByte("-+#", lx.line[lx.pos-1]) >= 0
	value, n := digits(rest)
	t := token{kind: figure, value: value}
	if of, size := denominator(rest[n:]); size > 0 {
		t = token{kind: fraction, value: value, of: of}
		n += size
	} else if after := strings.TrimLeft(rest[n:], " "); strings.HasPrefix(after, "%") {
		t.kind = percent
		n = len(rest) - len(after) + 1
	}
	tail := partOfFigure(rest[n:])
	if signed || tail > 0 {
		t = token{kind: other}
	}
	lx.pos += n + tail
	lx.emit(t)
}

func digits(s string) (value, n int) {
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		value = min(value*10+int(s[n]-'0'), 1e9)
		n++
	}
	if n > 1 && s[0] == '0' {
		value = -1 // 01 is no count
	}
	return value, n
}

// denominator reads "/m" with blanks around the slash.
func denominator(s string) (value, n int) {
	after, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "/")
	if !ok {
		return 0, 0
	}
	after = strings.TrimLeft(after, " ")
	value, size := digits(after)
	if size == 0 {
		return 0, 0
	}
	return value, len(s) - len(after) + size
}

// partOfFigure returns how many bytes more belong to a figure that so is none:
// the .5 of 1.5, the x of 3x, the /2024 of a date.
func partOfFigure(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		next, _ := utf8.DecodeRuneInString(s[n+size:])
		inside := unicode.IsLetter(r) && !isHan(r) || unicode.IsDigit(r) ||
			strings.ContainsRune(".,:/-_", r) && unicode.IsDigit(next)
		if !inside {
			break
		}
		n += size
	}
	return n
}

// punctuation reads a separator; the position is already behind it.
func (lx *lexer) punctuation(r rune, rest string) {
	text := string(r)
	switch r {
	case ',', '，', '、':
		lx.emit(token{kind: comma, text: text})
	case ';', '；':
		lx.emit(token{kind: semi})
	case ':', '=', '–', '—', '―', '→':
		lx.emit(token{kind: colon})
	case '-':
		if lx.blankBefore() && (rest == "" || startsBlank(rest)) {
			lx.emit(token{kind: colon})
		}
	case '/', '|':
		if lx.list {
			lx.emit(token{kind: comma})
			return
		}
		lx.emit(token{kind: slash})
	case '&':
		lx.emit(token{kind: word, class: and})
	case '(', '[', '{', '【', '（':
		lx.emit(token{kind: opening})
	case ')', ']', '}', '】', '）':
		lx.emit(token{kind: closing})
	case '.', '。', '!', '?', '…':
		lx.end(r, rest)
	}
}

func (lx *lexer) blankBefore() bool {
	r, _ := utf8.DecodeLastRuneInString(lx.line[:lx.pos-1])
	return lx.pos == 1 || unicode.IsSpace(r)
}

// end reads the end of a sentence. A period inside a word or figure is none,
// nor is one in a list, whose rows are read together; a question mark in
// parentheses questions nothing.
func (lx *lexer) end(r rune, rest string) {
	marks := rest[:len(rest)-len(strings.TrimLeft(rest, ".!?…"))]
	after := rest[len(marks):]
	next, _ := utf8.DecodeRuneInString(after)
	lx.pos += len(marks)
	switch {
	case r == '?' || strings.Contains(marks, "?"):
		if next != ')' {
			lx.emit(token{kind: question})
		}
	case r == '.' && marks == "" && (unicode.IsLetter(next) && !isHan(next) || unicode.IsDigit(next)):
	case lx.list:
		lx.emit(token{kind: comma})
	case r == '…' || strings.ContainsAny(marks, ".…"):
		lx.emit(token{kind: colon}) // not... achieved
	default:
		lx.emit(token{kind: stop})
	}
}

// matchPhrases gives the words their classes, longest phrase first; a phrase
// of several words becomes one token.
func matchPhrases(tokens []token) []token {
	kept := tokens[:0]
	for i := 0; i < len(tokens); {
		t := tokens[i]
		size := 1
		if t.class == unknown && t.text != "" && (t.kind == word || t.kind == figure) {
			if c, n := longest(tokens[i:]); n > 0 {
				t.kind, t.class, size = word, c, n
			} else if t.kind == word {
				t.class = words().classOf(t.text)
			}
		}
		kept = append(kept, t)
		i += size
	}
	return kept
}

// longest finds the longest phrase that the words of tokens begin with.
func longest(tokens []token) (c class, size int) {
	level := words().words
	for i, t := range tokens {
		if t.text == "" || t.kind != word && t.kind != figure {
			break
		}
		node := level[t.text]
		if node == nil {
			break
		}
		if node.class != unknown {
			c, size = node.class, i+1
		}
		level = node.next
	}
	return c, size
}
