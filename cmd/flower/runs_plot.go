package main

import (
	"fmt"
	"strings"
)

const (
	plotHeight = 6
	plotMargin = 9 // for the numbers at the side
)

// plot draws the tokens of each turn as a column, from left to right in time.
// When there are more turns than cells, a column is the largest of several. Below
// it letters mark where each step begins.
func (p *page) plot(turns []contextTurn) {
	if len(turns) == 0 {
		return
	}
	cells := min(len(turns), p.width-plotMargin)
	wide := 1 // columns of few turns are wider
	if len(turns)*3 <= p.width-plotMargin {
		wide = 3
	}
	heights, top := make([]int, cells), 0
	for i, t := range turns {
		at := i * cells / len(turns)
		heights[at] = max(heights[at], t.Tokens)
		top = max(top, t.Tokens)
	}
	fmt.Fprintln(p)
	p.heading("context by turn")
	p.text("", fmt.Sprintf("main thread, %s, at most %s tokens", count(len(turns), "turn"), grouped(top)))
	for level := plotHeight; level >= 1; level-- {
		var line strings.Builder
		for _, h := range heights {
			// A turn is seen, however small it is beside the largest.
			mark := " "
			if (h*plotHeight+top-1)/top >= level {
				mark = "#"
			}
			line.WriteString(strings.Repeat(mark, wide))
		}
		side := ""
		if level == plotHeight || level == plotHeight/2 {
			side = tokenText(top * level / plotHeight)
		}
		fmt.Fprintf(p, "%*s |%s\n", plotMargin-2, side, strings.TrimRight(line.String(), " "))
	}
	fmt.Fprintf(p, "%*s +%s\n", plotMargin-2, "0", strings.Repeat("-", cells*wide))
	axis, legend := stepAxis(turns, cells, wide)
	fmt.Fprintln(p, strings.Repeat(" ", plotMargin)+axis)
	p.text("", legend)
}

const stepMarks = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// stepAxis marks where steps begin, each with a letter, and explains the letters.
// Where several begin in one cell the last is marked.
func stepAxis(turns []contextTurn, cells, wide int) (axis, legend string) {
	marks := []byte(strings.Repeat(" ", cells*wide))
	letters := map[string]byte{}
	var names []string
	last := ""
	for i, t := range turns {
		if t.Step == last {
			continue
		}
		last = t.Step
		letter, ok := letters[t.Step]
		if !ok {
			letter = '*'
			if n := len(letters); n < len(stepMarks) {
				letter = stepMarks[n]
				names = append(names, fmt.Sprintf("%c %s", letter, oneLine(t.Step)))
			}
			letters[t.Step] = letter
		}
		marks[i*cells/len(turns)*wide] = letter
	}
	return strings.TrimRight(string(marks), " "), strings.Join(names, ", ")
}
