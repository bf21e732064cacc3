package tool

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	nearLines = 8   // shown at most
	nearChars = 300 // of each
	// likeEnough is the share of letter pairs from which on a line is worth showing.
	likeEnough = 0.35
)

// nearest shows the lines of content that are most like old, which is not in it,
// and where they differ.
func nearest(content []byte, old string) string {
	lines := strings.Split(strings.TrimPrefix(clean(content), "\ufeff"), "\n")
	want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	anchor := longest(want)
	best, likest := -1, likeEnough
	pairs := pairsOf(want[anchor])
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		if l := pairs.likeness(pairsOf(lines[i])); l > likest {
			best, likest = i, l
		}
	}
	if best < 0 {
		return "no line in the file is like it; look for the place with Grep, or read the file again"
	}
	from := max(best-anchor, 0)
	to := min(from+len(want), len(lines), from+nearLines)
	var b strings.Builder
	b.WriteString("the nearest lines are:")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "\n%d\t%s", i+1, firstChars(lines[i], nearChars))
	}
	if d := difference(lines[from:min(from+len(want), len(lines))], want, from); d != "" {
		b.WriteString("\n" + d)
	}
	return b.String()
}

func longest(lines []string) int {
	at := 0
	for i, line := range lines {
		if len(strings.TrimSpace(line)) > len(strings.TrimSpace(lines[at])) {
			at = i
		}
	}
	return at
}

// difference says where the lines of the file (from line from+1 on) first differ
// from those wanted.
func difference(have, want []string, from int) string {
	spaces := len(have) == len(want)
	first := -1
	for i := range min(len(have), len(want)) {
		if have[i] != want[i] && first < 0 {
			first = i
		}
		spaces = spaces && squeezed(have[i]) == squeezed(want[i])
	}
	if first < 0 {
		return ""
	}
	if spaces {
		return fmt.Sprintf("(only white space differs, first in line %d)", from+first+1)
	}
	at := commonPrefix(have[first], want[first])
	for at > 0 && at < len(have[first]) && !utf8.RuneStart(have[first][at]) {
		at--
	}
	text := fmt.Sprintf("(line %d differs at character %d: the file has %s, old_string has %s)",
		from+first+1, chars(have[first][:at])+1, named(have[first][at:]), named(want[first][at:]))
	if strings.HasPrefix(have[first][at:], "\uFFFD") {
		text += "\n(the file has bytes there that are not UTF-8; take an old_string beside them)"
	}
	return text
}

// squeezed is a line without indentation and with single spaces.
func squeezed(line string) string {
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}

// named shows the first character of s so that look-alikes can be told apart.
func named(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return "the end of the line"
	}
	return fmt.Sprintf("%q (U+%04X)", string(r), r)
}

// pairSet is the set of neighbouring bytes in a line, hashed to 256 bits: cheap
// enough to compare every line of a large file.
type pairSet [4]uint64

func pairsOf(line string) pairSet {
	var set pairSet
	last := byte(' ')
	for i := range len(line) {
		c := line[i]
		if c == '\t' {
			c = ' '
		}
		if c == ' ' && last == ' ' {
			continue
		}
		h := (uint(last)*31 + uint(c)*131) & 255
		set[h>>6] |= 1 << (h & 63)
		last = c
	}
	return set
}

// likeness is the share of pairs in both of those in either, from 0 to 1.
func (p pairSet) likeness(q pairSet) float64 {
	both, either := 0, 0
	for i := range p {
		both += bits.OnesCount64(p[i] & q[i])
		either += bits.OnesCount64(p[i] | q[i])
	}
	if either == 0 {
		return 0
	}
	return float64(both) / float64(either)
}
