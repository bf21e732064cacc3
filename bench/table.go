package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is what a section prints: a row a figure.
type table struct {
	title string
	rows  []row
	notes []string
}

// row is one figure beside its anchors and what it is to reach.
type row struct {
	what    string
	got     sample
	anchors []anchor
	reach   goal
	problem string // why it could not be measured; got is then nothing
}

// anchor is what a figure is compared with. Where several are given, the first is
// the one that the goal is about.
type anchor struct {
	name  string
	value quantity
	ratio float64 // how many times better than the anchor the figure is; 0: not told
}

// goal is what a figure is to reach. The zero goal is none.
type goal struct {
	atMost quantity
	ratio  float64
}

func (g goal) String() string {
	var parts []string
	if g.ratio > 0 {
		parts = append(parts, times(g.ratio).String())
	}
	if g.atMost.value > 0 {
		parts = append(parts, "≤ "+g.atMost.String())
	}
	return strings.Join(parts, ", ")
}

// met says in a word whether r reaches its goal: a table tells, it does not judge
// by an exit code.
func (r row) met() string {
	if r.reach == (goal{}) || r.problem != "" {
		return ""
	}
	short := r.reach.atMost.value > 0 && r.got.median.value > r.reach.atMost.value
	if r.reach.ratio > 0 {
		short = short || len(r.anchors) == 0 || r.anchors[0].ratio < r.reach.ratio
	}
	if short {
		return "no"
	}
	return "yes"
}

// cells are r's lines, one more for each anchor behind the first.
func (r row) cells() [][]string {
	if r.problem != "" {
		return [][]string{{r.what, "not measured", "", "", "", "", r.reach.String(), ""}}
	}
	lines := [][]string{{r.what, r.got.median.String(), r.got.spread(), "", "", "", r.reach.String(), r.met()}}
	for i, a := range r.anchors {
		if i > 0 {
			lines = append(lines, make([]string, len(lines[0])))
		}
		lines[i][3], lines[i][4] = a.name, a.value.String()
		if a.ratio > 0 {
			lines[i][5] = times(a.ratio).String()
		}
	}
	return lines
}

var heading = []string{"", "measured", "quartiles", "anchor", "", "ratio", "to reach", "met"}

// numeric are the columns that stand to the right.
var numeric = map[int]bool{1: true, 2: true, 4: true, 5: true, 6: true}

// print writes t as aligned text. The error is w's.
func (t table) print(w io.Writer) error {
	lines := [][]string{heading}
	notes := t.notes
	for _, r := range t.rows {
		lines = append(lines, r.cells()...)
		if r.problem != "" {
			notes = append(notes[:len(notes):len(notes)], fmt.Sprintf("%s: not measured: %s", r.what, r.problem))
		}
	}
	widths := make([]int, len(heading))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s\n\n", t.title)
	for _, cells := range lines {
		out.WriteString(aligned(cells, widths) + "\n")
	}
	for _, n := range notes {
		out.WriteString("  · " + n + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func aligned(cells []string, widths []int) string {
	var line strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		line.WriteString("  ")
		if numeric[i] {
			line.WriteString(pad + c)
		} else {
			line.WriteString(c + pad)
		}
	}
	return strings.TrimRight(line.String(), " ")
}
