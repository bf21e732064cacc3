package document

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// headings recognises the headings of one kind of document.
type headings struct {
	byFirst map[byte][]alias // longest first
	longest int
	fields  []names
}

type alias struct {
	name  string // folded
	field Field
}

func newHeadings(fields []names) *headings {
	h := &headings{byFirst: map[byte][]alias{}, fields: fields}
	for _, f := range fields {
		for _, cell := range [][]string{f.en, f.zh, f.es, f.de} {
			for _, name := range cell {
				for _, s := range spellings(name) {
					h.byFirst[s[0]] = append(h.byFirst[s[0]], alias{s, f.field})
					h.longest = max(h.longest, len(s))
				}
			}
		}
	}
	for _, list := range h.byFirst {
		sort.SliceStable(list, func(i, j int) bool { return len(list[i].name) > len(list[j].name) })
	}
	return h
}

// weight says how much a heading's marks are worth. A list dash or a number
// alone may just as well be an item of a list.
type weight uint8

const (
	plain    weight = iota // nothing, an emoji or 【】
	dashed                 // a list dash alone
	numbered               // a number alone
	strong                 // # or bold
)

// heading is a line that may open a section, or with foreign set may end one.
type heading struct {
	alias   alias
	foreign bool // a # line that is no alias of the document
	level   int  // how many #, 0 without
	weight  weight
	indent  int
	number  int    // of numbered ones
	alone   bool   // the alias is all there is: no colon, no dash, no text
	text    string // behind the alias on the same line
}

// scanner reads one line from left to right.
type scanner struct {
	line    string
	pos     int
	blank   bool   // a blank was just skipped
	bold    string // the mark of a bold that is open: ** or __
	bracket bool   // 【 is open
}

// scan reads a line as a heading. Whether one that is only dashed or numbered
// is taken depends on what came before it: see splitter.accepts.
func (t *headings) scan(line string) (heading, bool) {
	s := scanner{line: line}
	var h heading
	s.skipBlanks()
	if h.indent = s.pos; utf8.RuneCountInString(line[:s.pos]) > 3 || strings.IndexByte(line[:s.pos], '\t') >= 0 {
		return heading{}, false
	}
	s.marks(&h)
	a, size := t.match(s.line[s.pos:])
	if size == 0 {
		h.foreign = h.level > 0
		return h, h.foreign
	}
	h.alias = a
	s.pos += size
	if !s.tail(&h) {
		h.foreign = h.level > 0
		return h, h.foreign
	}
	return h, true
}

// match finds the longest alias that s begins with and its length in s.
func (t *headings) match(s string) (alias, int) {
	if s == "" {
		return alias{}, 0
	}
	if s[0] < utf8.RuneSelf && t.byFirst[lowerASCII(s[0])] == nil {
		return alias{}, 0
	}
	var folded [128]byte
	var starts [128]int // where in s the rune of each folded byte begins
	n := 0
	for i := 0; i < len(s) && n <= t.longest; {
		_, size := utf8.DecodeRuneInString(s[i:])
		grown := appendFolded(folded[:n], s[i:i+size])
		if len(grown) > len(folded) {
			break
		}
		if n > 0 && folded[n-1] == ' ' && len(grown) == n+1 && grown[n] == ' ' {
			grown = grown[:n]
		}
		for ; n < len(grown); n++ {
			starts[n] = i
		}
		i += size
		starts[min(n, len(starts)-1)] = i
	}
	if n == 0 {
		return alias{}, 0
	}
	for _, a := range t.byFirst[folded[0]] {
		if size := len(a.name); size <= n && string(folded[:size]) == a.name && !splitsRune(starts[:], size, n) {
			return a, starts[size]
		}
	}
	return alias{}, 0
}

// splitsRune tells whether the folded byte at size still belongs to the rune
// of the byte before it.
func splitsRune(starts []int, size, n int) bool {
	return size < n && starts[size] == starts[size-1]
}

func (s *scanner) skipBlanks() {
	s.blank = false
	for s.pos < len(s.line) {
		r, n := utf8.DecodeRuneInString(s.line[s.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		s.pos += n
		s.blank = true
	}
}

func (s *scanner) take(prefix string) bool {
	if !strings.HasPrefix(s.line[s.pos:], prefix) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// marks skips what may stand in front of an alias and notes it in h.
func (s *scanner) marks(h *heading) {
	h.level = s.hashes()
	dash := h.level == 0 && s.dash()
	number := false
	for s.skipBlanks(); s.mark(h, &number); s.skipBlanks() {
	}
	switch {
	case h.level > 0 || s.bold != "":
		h.weight = strong
	case dash:
		h.weight = dashed
	case number:
		h.weight = numbered
	}
}

// mark skips one mark: bold and a number once each, an opening 【, emojis.
func (s *scanner) mark(h *heading, number *bool) bool {
	rest := s.line[s.pos:]
	if rest == "" {
		return false
	}
	if s.bold == "" && s.openBold(rest) {
		return true
	}
	if value, size := leadingNumber(rest); size > 0 && !*number {
		h.number, *number = value, true
		s.pos += size
		return true
	}
	if !s.bracket && s.take("【") {
		s.bracket = true
		return true
	}
	size := emojiLen(rest)
	s.pos += size
	return size > 0
}

// hashes skips one to six # with a blank behind them.
func (s *scanner) hashes() int {
	rest := s.line[s.pos:]
	n := len(rest) - len(strings.TrimLeft(rest, "#"))
	if n == 0 || n > 6 {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(rest[n:]); !unicode.IsSpace(r) {
		return 0
	}
	s.pos += n
	return n
}

func (s *scanner) dash() bool {
	rest := s.line[s.pos:]
	_, n := utf8.DecodeRuneInString(rest)
	if !isBullet(rest) {
		return false
	}
	s.pos += n
	return true
}

func (s *scanner) openBold(rest string) bool {
	for _, mark := range [...]string{"**", "__"} {
		// Three in a row are bold italics, which are no mark.
		if strings.HasPrefix(rest, mark) && !strings.HasPrefix(rest[2:], mark[:1]) {
			s.bold = mark
			s.pos += 2
			return true
		}
	}
	return false
}

// tail reads what follows the alias and fills in h.text. It reports whether
// what follows makes the line a heading.
func (s *scanner) tail(h *heading) bool {
	ended := s.closers()
	rest := s.line[s.pos:]
	if h.level > 0 && strings.Trim(rest, "#") == "" {
		rest = ""
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		h.alone = true
		return true
	case r == ':' || r == '：':
		s.pos += size
		s.closeAfterColon()
	case s.blank && dashLen(rest) > 0:
		s.pos += dashLen(rest)
	case ended:
	default:
		return false
	}
	h.text = s.text(h.level)
	return true
}

// closers skips the end of the bold and of the bracket, remarks in parentheses
// and emojis. It reports whether a bold or a bracket ended.
func (s *scanner) closers() (ended bool) {
	for {
		s.skipBlanks()
		rest := s.line[s.pos:]
		switch {
		case rest == "":
			return ended
		case s.bold != "" && s.take(s.bold):
			s.bold, ended = "", true
		case s.bracket && s.take("】"):
			s.bracket, ended = false, true
		case remarkLen(rest) > 0:
			s.pos += remarkLen(rest)
		case emojiLen(rest) > 0:
			s.pos += emojiLen(rest)
		default:
			return ended
		}
	}
}

func (s *scanner) closeAfterColon() {
	if s.bold != "" && s.take(s.bold) {
		s.bold = ""
	}
	if s.bracket && s.take("】") {
		s.bracket = false
	}
}

// text is the rest of the line without closing hashes and without the end of
// a bold or bracket that opened before the alias.
func (s *scanner) text(level int) string {
	text := strings.TrimSpace(s.line[s.pos:])
	if level > 0 {
		if cut := strings.TrimRight(text, "#"); cut == "" || cut != strings.TrimRightFunc(cut, unicode.IsSpace) {
			text = strings.TrimRightFunc(cut, unicode.IsSpace)
		}
	}
	if s.bold != "" && strings.Count(text, s.bold)%2 == 1 {
		text = removeEnd(text, s.bold)
	}
	if s.bracket {
		text = removeEnd(text, "】")
	}
	return strings.TrimSpace(text)
}

// removeEnd removes mark at the end of text, or where it first stands.
func removeEnd(text, mark string) string {
	if cut, ok := strings.CutSuffix(text, mark); ok {
		return cut
	}
	return strings.Replace(text, mark, "", 1)
}

// remarkLen returns the length of the remark in parentheses s begins with.
func remarkLen(s string) int {
	if s[0] != '(' && !strings.HasPrefix(s, "（") {
		return 0
	}
	depth := 0
	for i, r := range s {
		switch r {
		case '(', '（':
			depth++
		case ')', '）':
			depth--
		}
		if depth == 0 {
			return i + utf8.RuneLen(r)
		}
	}
	return 0
}

// dashLen returns the length of the dash s begins with, if a blank or the end
// follows it. Chinese writes its dash as two.
func dashLen(s string) int {
	for _, dash := range [...]string{"-", "–", "——", "—"} {
		if rest, ok := strings.CutPrefix(s, dash); ok {
			if r, _ := utf8.DecodeRuneInString(rest); rest == "" || unicode.IsSpace(r) {
				return len(dash)
			}
		}
	}
	return 0
}

// leadingNumber reads a number as it stands before a heading: 3. 3) 3、 3）
// (3) （3） and 一、 to 十、.
func leadingNumber(s string) (value, size int) {
	if value, size = hanNumeral(s); size > 0 {
		if strings.HasPrefix(s[size:], "、") {
			return value, size + len("、")
		}
		return 0, 0
	}
	open := 0
	if s[0] == '(' {
		open = 1
	} else if strings.HasPrefix(s, "（") {
		open = len("（")
	}
	size = open
	for size < len(s) && size < open+3 && '0' <= s[size] && s[size] <= '9' {
		value = value*10 + int(s[size]-'0')
		size++
	}
	if size == open {
		return 0, 0
	}
	ends := [...]string{")", "）", ".", "、"}
	for i, end := range ends {
		if (open == 0 || i < 2) && strings.HasPrefix(s[size:], end) {
			return value, size + len(end)
		}
	}
	return 0, 0
}

func hanNumeral(s string) (value, size int) {
	r, n := utf8.DecodeRuneInString(s)
	for i, numeral := range [...]rune{'一', '二', '三', '四', '五', '六', '七', '八', '九', '十'} {
		if r == numeral {
			return i + 1, n
		}
	}
	return 0, 0
}
