package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// page prints what a person reads at once: headings, wrapped text, tables. What a
// model or a tool wrote is cleaned on its way.
type page struct {
	*bufio.Writer
	width  int
	colour bool
}

// newPage fits the terminal; what is no terminal is as wide as COLUMNS says, or as
// wide as we ever print.
func newPage(out io.Writer) *page {
	p := &page{Writer: bufio.NewWriter(out), width: maxWidth}
	width, known := 0, false
	if f, ok := out.(*os.File); ok && term.IsTerminal(f.Fd()) {
		p.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		w, _, err := term.GetSize(f.Fd())
		width, known = w, err == nil && w > 0
	} else if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
		width, known = w, true
	}
	if known {
		p.width = min(max(width, minWidth), maxWidth)
	}
	return p
}

// heading is a line that stands out.
func (p *page) heading(format string, args ...any) {
	text := ansi.Truncate(strings.ReplaceAll(clean(fmt.Sprintf(format, args...)), "\n", " "), p.width, "…")
	if p.colour {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Fprintln(p, text)
}

// text prints words within the width, each line behind the indent.
func (p *page) text(indent, text string) {
	if lines := (&screen{width: p.width}).wrap(indent, text); lines != "" {
		fmt.Fprintln(p, lines)
	}
}

// line prints one line, cut to the width.
func (p *page) line(indent, text string) {
	fmt.Fprintln(p, strings.TrimRight(ansi.Truncate(indent+oneLine(text), p.width, "…"), " "))
}

// oneLine is a cleaned text without line ends.
func oneLine(text string) string {
	return strings.Join(strings.Fields(clean(text)), " ")
}

// column is one of a table.
type column struct {
	head  string
	right bool // numbers
	// drop: of the columns that do not fit, those with the highest go first; those
	// with 0 stay.
	drop int
	flex bool // is cut to the space that is left
}

// flexMin is what a flex column has at least before others are dropped for it.
const flexMin = 12

const columnGap = 2

// table prints rows below the heads of the columns, within the width. total rows at
// the end stand out.
func (p *page) table(columns []column, rows [][]string, totals int) {
	cells := [][]string{make([]string, len(columns))}
	for i, c := range columns {
		cells[0][i] = c.head
	}
	for _, row := range rows {
		line := make([]string, len(columns))
		for i := range columns {
			line[i] = oneLine(row[i])
		}
		cells = append(cells, line)
	}
	widths := fit(columns, cells, p.width)
	for i, row := range cells {
		line := tableLine(columns, row, widths)
		if p.colour && (i == 0 || i >= len(cells)-totals) {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		fmt.Fprintln(p, line)
	}
}

// fit gives each column its width, 0 to those that are left out.
func fit(columns []column, cells [][]string, width int) []int {
	widths := make([]int, len(columns))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for {
		least, spare := -columnGap, 0
		for i, c := range columns {
			if widths[i] == 0 {
				continue
			}
			w := widths[i]
			if c.flex {
				w = min(w, flexMin)
				spare += widths[i] - w
			}
			least += w + columnGap
		}
		if least <= width {
			shrink(columns, widths, least+spare-width, flexMin)
			return widths
		}
		victim := -1
		for i, c := range columns {
			if widths[i] > 0 && c.drop > 0 && (victim < 0 || c.drop > columns[victim].drop) {
				victim = i
			}
		}
		if victim < 0 {
			shrink(columns, widths, least+spare-width, 1)
			return widths
		}
		widths[victim] = 0
	}
}

// shrink takes excess cells from the flex columns, from the widest first; each keeps
// its least.
func shrink(columns []column, widths []int, excess, least int) {
	for ; excess > 0; excess-- {
		widest := -1
		for i, c := range columns {
			if c.flex && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func tableLine(columns []column, row []string, widths []int) string {
	var parts []string
	for i, c := range columns {
		if widths[i] == 0 {
			continue
		}
		cell := ansi.Truncate(row[i], widths[i], "…")
		pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
		if c.right {
			cell = pad + cell
		} else {
			cell += pad
		}
		parts = append(parts, cell)
	}
	return strings.TrimRight(strings.Join(parts, strings.Repeat(" ", columnGap)), " ")
}

// grouped writes a number with commas between its thousands.
func grouped[N int | int64 | uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	var parts []string
	for len(digits) > 3 {
		parts = append(parts, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	parts = append(parts, digits)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}

// count is a number with its noun.
func count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// byteSize is a size on disk for a person.
func byteSize(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
}

// tokenText is a number of tokens in a few characters.
func tokenText[N int | int64](n N) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(int64(n), 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// entryCount is a number of entries.
func entryCount(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return grouped(n) + " entries"
}
