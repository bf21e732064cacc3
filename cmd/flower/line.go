package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// line is what a person is typing. It may have line ends, from a paste.
type line struct {
	text string
	at   int // byte offset of the cursor, between two characters as a person counts them

	history []string
	back    int    // how far back in history we are; 0: not at all
	draft   string // what was typed before going back
}

// maxHistory bounds the lines that can be had again.
const maxHistory = 100

// press does what a key means. On Enter it gives the line, and starts a new one.
func (l *line) press(k key) (text string, entered bool) {
	switch k.code {
	case keyText:
		l.insert(cleanTyped(k.text))
	case keyEnter:
		return l.enter(), true
	case keyBackspace:
		l.cut(l.left(), l.at)
	case keyDelete:
		l.cut(l.at, l.right())
	case keyLeft:
		l.at = l.left()
	case keyRight:
		l.at = l.right()
	case keyHome:
		l.at = 0
	case keyEnd:
		l.at = len(l.text)
	case keyWordLeft:
		l.at = l.wordLeft()
	case keyWordRight:
		l.at = l.wordRight()
	case keyKillToEnd:
		l.cut(l.at, len(l.text))
	case keyKillToStart:
		l.cut(0, l.at)
	case keyKillWord:
		l.cut(l.wordLeft(), l.at)
	case keyUp:
		l.recall(l.back + 1)
	case keyDown:
		l.recall(l.back - 1)
	}
	return "", false
}

// cleanTyped cleans a text that is stored: its tabs stay.
func cleanTyped(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = clean(parts[i])
	}
	return strings.Join(parts, "\t")
}

// insert puts a text before the cursor, as far as the line may grow.
func (l *line) insert(text string) {
	if room := maxLine - len(l.text); len(text) > room {
		text = strings.ToValidUTF8(text[:max(0, room)], "")
	}
	end := len(l.text) - l.at // what follows the cursor keeps its place
	l.text = l.text[:l.at] + text + l.text[l.at:]
	l.at = len(l.text) - end
	l.settle()
}

// settle moves the cursor out of a character that has grown around it.
func (l *line) settle() {
	for at := range l.characters() {
		if at >= l.at {
			l.at = at
			return
		}
	}
	l.at = len(l.text)
}

func (l *line) cut(from, to int) {
	l.text = l.text[:from] + l.text[to:]
	l.at = from
	l.settle()
}

func (l *line) enter() string {
	text := l.text
	if strings.TrimSpace(text) != "" && (len(l.history) == 0 || l.history[len(l.history)-1] != text) {
		l.history = append(l.history, text)
		l.history = l.history[max(0, len(l.history)-maxHistory):]
	}
	l.text, l.at, l.back, l.draft = "", 0, 0, ""
	return text
}

// recall shows the line that was entered so many lines ago.
func (l *line) recall(back int) {
	if back < 0 || back > len(l.history) {
		return
	}
	if l.back == 0 {
		l.draft = l.text
	}
	if l.back = back; back == 0 {
		l.text = l.draft
	} else {
		l.text = l.history[len(l.history)-back]
	}
	l.at = len(l.text)
}

// characters are the line's characters with their offsets: what a person sees as
// one, of several code points or not.
func (l *line) characters() func(yield func(at int, c string) bool) {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(l.text); {
			c, _ := character(l.text[at:])
			if !yield(at, c) {
				return
			}
			at += len(c)
		}
	}
}

// tabWidth is how many spaces show a tab.
const tabWidth = 4

// character is the first character of a text that is not empty, and its width.
func character(text string) (c string, width int) {
	switch text[0] {
	case '\n':
		return "\n", 0
	case '\t':
		return "\t", tabWidth
	}
	if c, width = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth); c == "" {
		return text[:1], 1
	}
	return c, width
}

func (l *line) left() int {
	last := 0
	for at := range l.characters() {
		if at >= l.at {
			break
		}
		last = at
	}
	return last
}

func (l *line) right() int {
	if l.at == len(l.text) {
		return l.at
	}
	c, _ := character(l.text[l.at:])
	return l.at + len(c)
}

func (l *line) wordLeft() int {
	word := strings.TrimRightFunc(l.text[:l.at], unicode.IsSpace)
	space := strings.LastIndexFunc(word, unicode.IsSpace)
	if space < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(word[space:])
	return space + size
}

func (l *line) wordRight() int {
	rest := l.text[l.at:]
	trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
	if end := strings.IndexFunc(trimmed, unicode.IsSpace); end >= 0 {
		return l.at + len(rest) - len(trimmed) + end
	}
	return len(l.text)
}

// layout breaks the line into rows of at most width cells, the first behind the
// prompt and the others as far in, and gives the cursor's row and column.
func (l *line) layout(prompt string, width int) (rows []string, row, column int) {
	indent := strings.Repeat(" ", ansi.StringWidth(prompt))
	current, used := prompt, len(indent)
	next := func() {
		rows = append(rows, current)
		current, used = indent, len(indent)
	}
	for at, c := range l.characters() {
		_, w := character(c)
		if c != "\n" && used+w > width && used > len(indent) {
			next()
		}
		if at == l.at {
			row, column = len(rows), used
		}
		if c == "\n" {
			next()
			continue
		}
		if c == "\t" {
			c = strings.Repeat(" ", w)
		}
		current += c
		used += w
	}
	if l.at == len(l.text) {
		if used >= width && used > len(indent) {
			next()
		}
		row, column = len(rows), used
	}
	return append(rows, current), row, column
}
