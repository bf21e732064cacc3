package main

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/flowerlua/flower/luabind"
)

// failure prints why a test failed.
func (t *tests) failure(r luabind.Tested) {
	name := r.File
	if len(r.Names) > 0 {
		name += " > " + r.Name()
	}
	fmt.Fprintf(t.page, "\n%s  %s\n", t.mark(r.State), oneLine(name))
	f := r.Failure
	place := ""
	switch {
	case f.File != "" && f.Line > 0:
		place = fmt.Sprintf("%s:%d: ", f.File, f.Line)
	case f.File != "":
		place = f.File + ": "
	}
	first, rest, _ := strings.Cut(f.Message, "\n")
	t.block("  ", place+first)
	t.block("    ", rest)
	t.compared(f)
	if f.Caller > 0 {
		t.block("  ", fmt.Sprintf("called from %s:%d", r.File, f.Caller))
	}
	if trace := strings.TrimSpace(f.Trace); t.c.Verbose && trace != "" {
		for line := range strings.Lines(trace) {
			t.block("    ", strings.TrimSpace(line))
		}
	}
	t.printed("  ", r)
}

// compared shows the two sides of an expectation: as a diff where both have several
// lines.
func (t *tests) compared(f *luabind.TestFailure) {
	if several(f.Want) && several(f.Got) {
		// The lines are cleaned first: a control character must not pass for a change.
		diff := strings.Split(strings.TrimRight(udiff.Unified("expected", "got", clean(f.Want), clean(f.Got)), "\n"), "\n")
		for _, line := range t.bounded(diff) {
			fmt.Fprintf(t.page, "    %s\n", t.coloured(line))
		}
		return
	}
	if f.Want == "" {
		t.side("got: ", f.Got)
		return
	}
	t.side("expected: ", f.Want)
	t.side("got:      ", f.Got)
}

// maxTestLines bounds what is shown of a diff, a value, or what was printed, without
// -v.
const maxTestLines = 60

func (t *tests) bounded(lines []string) []string {
	if len(lines) <= maxTestLines || t.c.Verbose {
		return lines
	}
	return append(lines[:maxTestLines:maxTestLines], fmt.Sprintf("... %d more lines (-v)", len(lines)-maxTestLines))
}

func several(text string) bool { return strings.Contains(text, "\n") }

// side is one side, of one line or of several below the word.
func (t *tests) side(word, text string) {
	switch {
	case text == "":
	case several(text):
		t.block("    ", strings.TrimSpace(word))
		t.block("      ", text)
	default:
		t.block("    ", word+text)
	}
}

// coloured is a line of a diff.
func (t *tests) coloured(line string) string {
	if !t.page.colour || line == "" {
		return line
	}
	switch line[0] {
	case '-':
		return testMarks[luabind.TestPassed].colour + line + "\x1b[0m"
	case '+':
		return testMarks[luabind.TestFailed].colour + line + "\x1b[0m"
	}
	return line
}
