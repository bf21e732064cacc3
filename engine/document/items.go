package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// bullets are the list markers beside numbers. A marker needs a blank behind
// it: "-5 °C" and "*.go" begin no item.
const bullets = "-*+•–"

func isBullet(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return strings.ContainsRune(bullets, r) && startsBlank(s[n:])
}

func startsBlank(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// markerLen returns the length of the list marker that s, which begins with no
// blank, begins with: a bullet or 1. 1) 1、 and its blank are one; so is a
// checkbox, alone or behind them.
func markerLen(s string) int {
	n := 0
	if isBullet(s) {
		_, n = utf8.DecodeRuneInString(s)
	} else if size := numberMarkerLen(s); size > 0 {
		n = size
	}
	n += blanksLen(s[n:])
	for _, box := range [...]string{"[ ]", "[x]", "[X]"} {
		if rest, ok := strings.CutPrefix(s[n:], box); ok && (rest == "" || startsBlank(rest)) {
			return n + len(box) + blanksLen(rest)
		}
	}
	return n
}

func numberMarkerLen(s string) int {
	n := 0
	for n < len(s) && n < 9 && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return 0
	}
	for _, end := range [...]string{".", ")", "、"} {
		if rest, ok := strings.CutPrefix(s[n:], end); ok && startsBlank(rest) {
			return n + len(end)
		}
	}
	return 0
}

func startsNumbered(line string) bool {
	return numberMarkerLen(strings.TrimLeftFunc(line, unicode.IsSpace)) > 0
}

func blanksLen(s string) int {
	return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
}

// otherMark tells marks of enumerations that are no list markers: · ① (1) 1）
// and 一、.
func otherMark(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("·・●○■□▪◦‣", r) || r >= '①' && r <= '⓿' {
		return true
	}
	if s == "" || numberMarkerLen(s) > 0 {
		return false
	}
	_, size := leadingNumber(s)
	return size > 0 && s[size-1] != '.' // "3.5 s" is a figure
}

// parseItems reads the items of a list field, nested ones too. Without any
// marked item every line is one; behind a marked one an indented line goes on
// with the item above and other lines are no items. Items in none are left out.
func parseItems(text string, none map[string]bool) []string {
	p := itemParser{none: none}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		p.mixed = p.mixed || otherMark(strings.TrimLeftFunc(line, unicode.IsSpace))
	}
	for _, line := range lines {
		p.add(line)
	}
	p.flush()
	return p.items
}

type itemParser struct {
	none   map[string]bool
	mixed  bool // marks that are no list markers: nothing of the list may be lost
	marked bool // a marked item was seen
	item   string
	items  []string
}

func (p *itemParser) add(line string) {
	text := strings.TrimLeftFunc(line, unicode.IsSpace)
	if text == "" {
		return
	}
	size := p.markerLen(text)
	switch {
	case size > 0:
		if !p.marked && endsColon(p.item) {
			p.item = "" // the line that leads in to the list
		}
		p.flush()
		p.item, p.marked = text[size:], true
	case p.mixed && otherMark(text):
		p.flush()
		p.item = text
	case strings.HasPrefix(text, "#") && isHashLine(text):
	case !p.marked:
		p.flush()
		p.item = text
	case len(text) == len(line):
	case joinsByBlank(p.item, text):
		p.item += " " + text
	default:
		p.flush()
		p.item = text
	}
}

// markerLen is as the function, but in a list that mixes in other marks the
// typographic bullets are such marks too, and stay.
func (p *itemParser) markerLen(text string) int {
	if p.mixed && (strings.HasPrefix(text, "•") || strings.HasPrefix(text, "–")) {
		return 0
	}
	return markerLen(text)
}

func (p *itemParser) flush() {
	item := strings.TrimSpace(p.item)
	p.item = ""
	if item != "" && !isPlaceholder(item, p.none) {
		p.items = append(p.items, item)
	}
}

// joinsByBlank tells whether text continues a wrapped line. Chinese is not
// wrapped at blanks: an indented line of it is a point of its own.
func joinsByBlank(item, text string) bool {
	last, _ := utf8.DecodeLastRuneInString(item)
	first, _ := utf8.DecodeRuneInString(text)
	return item != "" && !(isHan(last) && isHan(first))
}

func endsColon(s string) bool {
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

func isHashLine(text string) bool {
	s := scanner{line: text}
	return s.hashes() > 0
}

var (
	placeholderSet = foldedSet(placeholders)
	noneSet        = foldedSet(placeholders, noneWords)
)

func foldedSet(lists ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, word := range list {
			for _, s := range spellings(word) {
				set[s] = true
			}
		}
	}
	return set
}

// isPlaceholder tells whether text, without one list marker and a final
// period, stands for nothing.
func isPlaceholder(text string, set map[string]bool) bool {
	if len(text) > 64 {
		return false
	}
	text = strings.Trim(text[markerLen(text):], "*_` ")
	text = strings.TrimSuffix(strings.TrimSuffix(text, "."), "。")
	var buf [96]byte
	return set[string(appendFolded(buf[:0], strings.Trim(text, "*_` ")))]
}
