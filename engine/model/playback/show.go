package playback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Bounds of what an error shows.
const (
	maxPaths     = 6
	maxDiffLines = 60
	longLine     = 300 // characters, from which on a line is cut around what differs
	aroundChange = 80
)

// showDifference compares the two sides of a difference, line by line.
func showDifference(d difference) string {
	a, b := sideText(d.recorded), sideText(d.now)
	if long(a) || long(b) {
		return shorten(excerpts(a, b))
	}
	text := udiff.Unified("recorded", "now", a+"\n", b+"\n")
	return shorten(strings.TrimSuffix(text, "\n"))
}

// sideText is a text as it is, anything else as JSON.
func sideText(v any) string {
	if v == nil {
		return "(nothing)"
	}
	if s, ok := v.(string); ok {
		return strings.TrimSuffix(s, "\n")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // not of what was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func long(s string) bool {
	for line := range strings.Lines(s) {
		if len(line) > longLine {
			return true
		}
	}
	return false
}

// excerpts are both texts around their first difference.
func excerpts(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return "--- recorded, from character " + fmt.Sprint(utf8.RuneCountInString(a[:n])+1) + "\n" + excerpt(a, n, "-") +
		"\n+++ now\n" + excerpt(b, n, "+")
}

// excerpt is the text around its n-th byte, every line behind a mark.
func excerpt(s string, n int, mark string) string {
	before, after := []rune(s[:n]), []rune(s[n:])
	text := ""
	if len(before) > aroundChange {
		text = "…"
		before = before[len(before)-aroundChange:]
	}
	text += string(before)
	if len(after) > 2*aroundChange {
		text += string(after[:2*aroundChange]) + "…"
	} else {
		text += string(after)
	}
	return mark + strings.ReplaceAll(text, "\n", "\n"+mark)
}

// shorten bounds the lines of a diff.
func shorten(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxDiffLines {
		return text
	}
	return strings.Join(lines[:maxDiffLines], "\n") + fmt.Sprintf("\n… %d more lines", len(lines)-maxDiffLines)
}
