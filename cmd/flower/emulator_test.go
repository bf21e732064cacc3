package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// emulator is as much of a terminal as flower uses. It breaks lines and, when it
// gets another width, breaks them anew, as most terminals do.
type emulator struct {
	cols, rows int
	lines      []cells // all of them; the screen is the last rows
	y, x       int     // the cursor; y counts from the first line
	clip       bool    // rows are cut, not broken
	pending    []byte  // of a character or sequence that is not whole
	unknown    string
}

// cells are one row: "" is the right half of a wide character.
type cells struct {
	text    []string
	wrapped bool // goes on in the next row
}

func newEmulator(cols, rows int) *emulator {
	return &emulator{cols: cols, rows: rows, lines: make([]cells, 1)}
}

func (e *emulator) write(p []byte) {
	b := append(e.pending, p...)
	e.pending = nil
	for len(b) > 0 {
		n := 1
		switch c := b[0]; {
		case c == '\r':
			e.x = 0
		case c == '\n':
			e.down()
		case c == 0x1b:
			if n = e.sequence(string(b)); n == 0 {
				e.pending = b
				return
			}
		case c < 0x20 || c == 0x7f:
			e.unknown = fmt.Sprintf("control character %#x", c)
		case !utf8.FullRune(b):
			e.pending = b
			return
		default:
			var r rune
			r, n = utf8.DecodeRune(b)
			e.put(string(r))
		}
		b = b[n:]
	}
}

func (e *emulator) down() {
	if e.y++; e.y == len(e.lines) {
		e.lines = append(e.lines, cells{})
	}
}

func (e *emulator) put(char string) {
	w := ansi.StringWidth(char)
	if w == 0 && e.x > 0 {
		e.lines[e.y].text[e.x-1] += char
		return
	}
	if e.x+w > e.cols && e.clip {
		return
	}
	if e.x+w > e.cols {
		e.lines[e.y].wrapped = true
		e.x = 0
		e.down()
	}
	row := &e.lines[e.y]
	for len(row.text) < e.x+w {
		row.text = append(row.text, " ")
	}
	row.text[e.x] = char
	for i := 1; i < w; i++ {
		row.text[e.x+i] = ""
	}
	e.x += w
}

// sequence obeys an escape sequence and gives its length, 0 when it is not whole.
func (e *emulator) sequence(s string) int {
	end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= 0x40 && r != '[' })
	if end < 0 {
		return 0
	}
	end += 2
	body := strings.TrimPrefix(s[1:end], "[")
	final := body[len(body)-1]
	n, err := strconv.Atoi(body[:len(body)-1])
	if err != nil {
		n = 1
	}
	switch {
	case body == "?2004h" || body == "?2004l" || final == 'm':
	case body == "?7l", body == "?7h":
		e.clip = final == 'l'
	case final == 'A':
		e.y = max(e.top(), e.y-n)
	case final == 'C':
		e.x = min(e.cols-1, e.x+n)
	case body == "J":
		e.lines = e.lines[:e.y+1]
		e.eraseRight()
	case body == "H":
		e.y, e.x = e.top(), 0
	case body == "2J":
		for i := e.top(); i < len(e.lines); i++ {
			e.lines[i] = cells{}
		}
	default:
		e.unknown = fmt.Sprintf("%q", s[:end])
	}
	return end
}

func (e *emulator) eraseRight() {
	row := &e.lines[e.y]
	row.text = row.text[:min(len(row.text), e.x)]
	row.wrapped = false
}

func (e *emulator) top() int { return max(0, len(e.lines)-e.rows) }

// resize breaks the lines anew. The cursor stays on its character.
func (e *emulator) resize(cols, rows int) {
	old, y, x := e.lines, e.y, e.x
	e.cols, e.rows = cols, rows
	e.lines, e.y, e.x = make([]cells, 1), 0, 0
	cursorY, cursorX := 0, 0
	for i, row := range old {
		for at := 0; at <= len(row.text); at++ {
			if i == y && at == min(x, len(row.text)) {
				cursorY, cursorX = e.y, e.x+x-at
				if e.x == cols {
					cursorY, cursorX = e.y+1, 0
				}
			}
			if at < len(row.text) && row.text[at] != "" {
				e.put(row.text[at])
			}
		}
		if !row.wrapped && i < len(old)-1 {
			e.x = 0
			e.down()
		}
	}
	e.y, e.x = cursorY, cursorX
	for e.y >= len(e.lines) {
		e.lines = append(e.lines, cells{})
	}
}

// String is the screen, without what is empty at its end; a | stands at the
// cursor.
func (e *emulator) String() string {
	var out []string
	for i := e.top(); i < len(e.lines); i++ {
		text := e.lines[i].text
		if i == e.y {
			padded := append([]string{}, text...)
			for len(padded) < e.x {
				padded = append(padded, " ")
			}
			text = append(padded[:e.x:e.x], append([]string{"|"}, padded[e.x:]...)...)
		}
		out = append(out, strings.TrimRight(strings.Join(text, ""), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func TestEmulator_breaks_moves_and_erases(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                          "abc|",
		"abcdefg":                      "abcdef\ng|",
		"ab你好c":                        "ab你好\nc|",
		"one\r\ntwo\r\x1b[A\x1b[Jx":    "x|",
		"one\r\ntwo\x1b[A\r\x1b[2C":    "on|e\ntwo",
		"a\r\nb\r\nc\r\nd":             "b\nc\nd|",
		"a\x1b[1mb\x1b[0m\x1b[?2004hc": "abc|",
	} {
		e := newEmulator(6, 3)
		for _, b := range []byte(in) { // however it is cut
			e.write([]byte{b})
		}
		if got := e.String(); got != want || e.unknown != "" {
			t.Errorf("%q shows\n%s\nnot\n%s (%s)", in, got, want, e.unknown)
		}
	}
}

func TestEmulator_resize_breaks_lines_anew(t *testing.T) {
	e := newEmulator(6, 9)
	e.write([]byte("abcdefgh\r\nxyz"))
	e.resize(4, 9)
	if got := e.String(); got != "abcd\nefgh\nxyz|" {
		t.Errorf("%s", got)
	}
	e.resize(9, 9)
	if got := e.String(); got != "abcdefgh\nxyz|" {
		t.Errorf("%s", got)
	}
}
