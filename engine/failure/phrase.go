package failure

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The tables of this package are written in a small language of their own,
// so that they read like what servers say. An entry is a row of slots:
//
//	connection|connections ~ reset|refused    one word, gap, one word
//
//	a|b    either word
//	a|b?   either word or none
//	rate*  a word that begins so; *rate one that ends so; * alone is any
//	#*     a word that begins with a digit
//	~      up to three words; ~~ up to six
//
// Everything is lower case. Upper case, punctuation, taken-apart identifiers
// and white space are gone from a message before the tables are asked. The
// first and the last slot are a must. Matching needs time proportional to the
// message: an entry is only tried where its first word stands.

type slot struct {
	words    []pattern
	optional bool
	gap      int // up to so many units of anything; then words is empty
	wide     bool
}

// pattern is one word of a slot.
type pattern struct {
	text           string
	anyEnd         bool // more may follow text
	anyStart       bool // more may stand before text
	digitAtTheHead bool
}

func (p pattern) accepts(word string) bool {
	switch {
	case p.digitAtTheHead:
		return isDigit(word[0])
	case p.anyStart && p.anyEnd:
		return strings.Contains(word, p.text)
	case p.anyStart:
		return strings.HasSuffix(word, p.text)
	case p.anyEnd:
		return strings.HasPrefix(word, p.text)
	default:
		return word == p.text
	}
}

func (s slot) accepts(word string) bool {
	for _, p := range s.words {
		if p.accepts(word) {
			return true
		}
	}
	return false
}

func parseEntry(entry string) []slot {
	var slots []slot
	for field := range strings.FieldsSeq(entry) {
		switch field {
		case "~":
			slots = append(slots, slot{gap: 3})
		case "~~":
			slots = append(slots, slot{gap: 6, wide: true})
		default:
			words, optional := strings.CutSuffix(field, "?")
			s := slot{optional: optional}
			for word := range strings.SplitSeq(words, "|") {
				s.words = append(s.words, parsePattern(word))
			}
			slots = append(slots, s)
		}
	}
	return slots
}

func parsePattern(word string) pattern {
	var p pattern
	if word, p.digitAtTheHead = strings.CutPrefix(word, "#"); p.digitAtTheHead {
		return p
	}
	word, p.anyStart = strings.CutPrefix(word, "*")
	p.text, p.anyEnd = strings.CutSuffix(word, "*")
	return p
}

// wordTable is a set of entries over the words of a message. It is built when
// first asked: a run without an error does not pay for it.
type wordTable struct {
	build func() *wordIndex
}

type wordIndex struct {
	entries [][]slot
	exact   map[string][]int // first word → entries
	loose   []int            // entries whose first word is no plain one
}

// phrases matches whole words.
func phrases(entries ...string) wordTable {
	return wordTable{sync.OnceValue(func() *wordIndex { return indexWords(entries, false) })}
}

// fragments matches words too, but the first and the last of an entry may be
// glued to others ("xprompt is too longx").
func fragments(entries ...string) wordTable {
	return wordTable{sync.OnceValue(func() *wordIndex { return indexWords(entries, true) })}
}

func indexWords(entries []string, glued bool) *wordIndex {
	index := &wordIndex{exact: map[string][]int{}}
	for n, entry := range entries {
		slots := parseEntry(entry)
		if glued {
			first, last := slots[0].words, slots[len(slots)-1].words
			for i := range first {
				first[i].anyStart = true
			}
			for i := range last {
				last[i].anyEnd = true
			}
		}
		index.entries = append(index.entries, slots)
		isLoose := false
		for _, p := range slots[0].words {
			if p.anyStart || p.anyEnd || p.digitAtTheHead {
				isLoose = true
			} else {
				index.exact[p.text] = append(index.exact[p.text], n)
			}
		}
		if isLoose {
			index.loose = append(index.loose, n)
		}
	}
	return index
}

// in reports whether an entry matches anywhere in words.
func (t wordTable) in(words []string) bool {
	_, _, ok := t.find(words, 0)
	return ok
}

// find gives the borders of the first match that starts at from or later.
func (t wordTable) find(words []string, from int) (start, end int, ok bool) {
	index := t.build()
	for at := from; at < len(words); at++ {
		for _, entries := range [][]int{index.exact[words[at]], index.loose} {
			for _, n := range entries {
				if end, ok := matchWords(index.entries[n], words, at); ok {
					return at, end, true
				}
			}
		}
	}
	return 0, 0, false
}

func matchWords(slots []slot, words []string, at int) (end int, ok bool) {
	if len(slots) == 0 {
		return at, true
	}
	s, rest := slots[0], slots[1:]
	if s.gap > 0 {
		for skip := 0; skip <= s.gap && at+skip < len(words); skip++ {
			if end, ok := matchWords(rest, words, at+skip); ok {
				return end, true
			}
		}
		return 0, false
	}
	if at < len(words) && s.accepts(words[at]) {
		if end, ok := matchWords(rest, words, at+1); ok {
			return end, true
		}
	}
	if s.optional {
		return matchWords(rest, words, at)
	}
	return 0, false
}

// runTable is a set of entries over text without blanks: Chinese puts none
// between words. A slot is a run of characters, a gap up to five Chinese ones
// (~) or up to eighteen of any but the end of a clause (~~).
type runTable struct {
	build func() map[rune][][]slot // first character → entries
}

func runs(entries ...string) runTable {
	return runTable{sync.OnceValue(func() map[rune][][]slot {
		index := map[rune][][]slot{}
		for _, entry := range entries {
			slots := parseEntry(entry)
			firsts := map[rune]bool{}
			for _, p := range slots[0].words {
				r, _ := utf8.DecodeRuneInString(p.text)
				firsts[r] = true
			}
			for r := range firsts {
				index[r] = append(index[r], slots)
			}
		}
		return index
	})}
}

func (t runTable) in(text string) bool {
	if text == "" {
		return false
	}
	index := t.build()
	for at, r := range text {
		for _, slots := range index[r] {
			if matchRun(slots, text[at:]) {
				return true
			}
		}
	}
	return false
}

func matchRun(slots []slot, text string) bool {
	if len(slots) == 0 {
		return true
	}
	s, rest := slots[0], slots[1:]
	if s.gap > 0 {
		return matchAfterGap(s.wide, rest, text)
	}
	for _, p := range s.words {
		if p.digitAtTheHead {
			if text != "" && isDigit(text[0]) && matchRun(rest, text[1:]) {
				return true
			}
		} else if after, ok := strings.CutPrefix(text, p.text); ok && matchRun(rest, after) {
			return true
		}
	}
	return s.optional && matchRun(rest, text)
}

func matchAfterGap(wide bool, rest []slot, text string) bool {
	left := 5
	if wide {
		left = 18
	}
	for {
		if matchRun(rest, text) {
			return true
		}
		r, size := utf8.DecodeRuneInString(text)
		if left == 0 || size == 0 {
			return false
		}
		if wide && strings.ContainsRune(",.;:!?。、", r) || !wide && !unicode.Is(unicode.Han, r) {
			return false
		}
		left--
		text = text[size:]
	}
}
