package document

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// lexicon is the table of words.go in the form the lexer looks it up.
type lexicon struct {
	words     map[string]*phrase
	han       map[rune][]hanPhrase // longest first
	numerals  map[string]int
	zero      map[string]bool
	dangling  map[string]bool
	compounds map[string]bool
}

// phrase is a node of the tree of phrases, one word deep each.
type phrase struct {
	class class // unknown where no phrase ends
	next  map[string]*phrase
}

type hanPhrase struct {
	text  string
	class class
}

// words is the lexicon. It is made when the first conclusion is read, not when the program
// starts: making it takes milliseconds.
var words = sync.OnceValue(newLexicon)

func newLexicon() *lexicon {
	l := &lexicon{
		words:     map[string]*phrase{},
		han:       map[rune][]hanPhrase{},
		numerals:  map[string]int{},
		zero:      foldedSet(zeroWords),
		dangling:  foldedSet(dangling),
		compounds: foldedSet(compounds),
	}
	for word, value := range numerals {
		for _, s := range spellings(word) {
			l.numerals[s] = value
		}
	}
	for _, row := range wordRows {
		for _, cell := range []string{row.en, row.es, row.de} {
			for _, text := range cells(cell) {
				l.addPhrase(text, row.class)
			}
		}
		for _, text := range cells(row.zh) {
			first, _ := utf8.DecodeRuneInString(text)
			l.han[first] = append(l.han[first], hanPhrase{text, row.class})
		}
	}
	for _, list := range l.han {
		sort.SliceStable(list, func(i, j int) bool { return len(list[i].text) > len(list[j].text) })
	}
	return l
}

// cells splits a list of phrases.
func cells(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

func (l *lexicon) addPhrase(text string, c class) {
	for _, s := range spellings(text) {
		level := l.words
		parts := strings.Split(s, " ")
		for i, word := range parts {
			node := level[word]
			if node == nil {
				node = &phrase{}
				level[word] = node
			}
			if i == len(parts)-1 {
				node.class = c
				continue
			}
			if node.next == nil {
				node.next = map[string]*phrase{}
			}
			level = node.next
		}
	}
}

// classOf is the class of a single word.
func (l *lexicon) classOf(word string) class {
	if node := l.words[word]; node != nil && node.class != unknown {
		return node.class
	}
	if strings.HasSuffix(word, "n't") {
		return negation
	}
	return unknown
}

// hanPrefix finds the longest phrase of the table that s begins with.
func (l *lexicon) hanPrefix(s string) (hanPhrase, bool) {
	first, _ := utf8.DecodeRuneInString(s)
	for _, p := range l.han[first] {
		if strings.HasPrefix(s, p.text) {
			return p, true
		}
	}
	return hanPhrase{}, false
}
