package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// The width of what we print, in cells.
const (
	minWidth = 40
	maxWidth = 110
)

// screen makes lines of a run's events, and one status line. Everything a model or
// a tool wrote is stripped of control sequences first.
type screen struct {
	console *console
	verbose bool
	quiet   bool // a program reads the events: a person is told what else there is
	colour  bool
	width   int
	start   time.Time

	mu     sync.Mutex
	step   string
	label  string // of the attempt or judge that speaks
	index  int
	total  int
	tokens int64
	cost   float64
	mails  []string // sent from here, and not shown yet
	ended  bool
	done   chan struct{} // closed at the end
	wait   sync.WaitGroup
}

func newScreen(c *console, verbose bool) *screen {
	s := &screen{console: c, verbose: verbose, width: c.width(), start: time.Now(), done: make(chan struct{})}
	if c.file != nil {
		s.colour = os.Getenv("NO_COLOR") == ""
		s.wait.Go(s.tick)
	}
	return s
}

// tick keeps the elapsed time moving.
func (s *screen) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mu.Lock()
			s.showStatus()
			s.mu.Unlock()
		case <-s.done:
			return
		}
	}
}

// stop takes status line and typed line away; no event is shown afterwards.
func (s *screen) stop() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.mu.Unlock()
	close(s.done)
	s.wait.Wait()
	s.console.close()
}

// Emit prints an event.
func (s *screen) Emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.quiet {
		return
	}
	s.width = s.console.width()
	s.note(e)
	text := s.render(e)
	// What is sent back belongs to the attempt before, not to the one it begins.
	if text != "" && e.Kind != event.Step && e.Step != "" && e.Step != s.label && e.Payload["rejected"] != true {
		s.label = e.Step
		text = s.oneLine("-- ", e.Step) + "\n" + text
	}
	if text != "" {
		_ = s.console.print(text) // an output that is gone ends the process: see guarded
	}
	s.showStatus()
}

// say prints a line of ours between those of the run.
func (s *screen) say(text string) {
	prefix := "  "
	for _, mark := range []string{"* ", "! "} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			prefix, text = prefix+mark, rest
		}
	}
	s.sayBehind(prefix, text)
}

func (s *screen) sayBehind(prefix, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.width = s.console.width()
	if text = s.wrap(prefix, text); text != "" {
		_ = s.console.print(text) // see Emit
	}
}

// note keeps what the status line shows.
func (s *screen) note(e event.Event) {
	switch e.Kind {
	case event.Step:
		s.label = e.Text
		s.step, s.index, s.total = e.Text, number(e.Payload["index"]), number(e.Payload["total"])
	case event.Result:
		if usd, ok := e.Payload["cost_usd"].(float64); ok {
			s.cost += usd
		}
	}
	if e.Subagent == "" && e.Context > 0 {
		s.tokens = e.Context
	}
}

// number is a whole number of a payload, which may have been JSON.
func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}

// render is what a person sees of an event; "" is nothing.
func (s *screen) render(e event.Event) string {
	indent := "  "
	if e.Subagent != "" {
		if !s.verbose && e.Kind != event.ToolCall && !failed(e) {
			return ""
		}
		indent = "    | "
	}
	switch e.Kind {
	case event.Step:
		return s.rule(e)
	case event.Text:
		return s.wrap(indent, e.Text)
	case event.ToolCall:
		if e.Tool == engine.ToolAsk && !s.verbose {
			return "" // the question itself is shown
		}
		return s.paint(dim, s.oneLine(indent+"> "+e.Tool+": ", e.Text))
	case event.Task, event.System, event.Handoff, event.Reset:
		text := e.Text
		if words, _ := e.Payload["words"].(string); words != "" {
			text += ", told: " + words // by whoever interrupted it
		}
		return s.wrap(indent+"* ", text)
	case event.Ask:
		return s.renderAsk(e)
	case event.Error:
		return s.paint(red, s.wrap(indent+"! ", e.Text))
	case event.Retry:
		return s.wrap(indent+"~ ", fmt.Sprintf("again in %.0f s (attempt %d)", seconds(e.Payload["delay_s"]), number(e.Payload["attempt"])))
	case event.ToolResult:
		return s.renderResult(indent, e)
	case event.Thinking:
		if s.verbose {
			return s.wrap(indent+". ", e.Text)
		}
	}
	return ""
}

// failed: the call was refused, or went wrong.
func failed(e event.Event) bool {
	return e.Kind == event.ToolResult && (e.Payload["denied"] == true || e.Payload["is_error"] == true)
}

// renderResult shows that a call failed also to whoever does not want to see results.
func (s *screen) renderResult(indent string, e event.Event) string {
	look, mark := "", ". "
	switch {
	case e.Payload["denied"] == true:
		look, mark = red, "! refused: "
	case failed(e):
		look, mark = dim, "! failed: "
	case !s.verbose:
		return ""
	}
	if s.verbose {
		return s.paint(look, s.wrap(indent+mark, e.Text))
	}
	return s.paint(look, s.oneLine(indent+mark, e.Text))
}

func seconds(v any) float64 {
	f, _ := v.(float64)
	return f
}

// rule begins a step.
func (s *screen) rule(e event.Event) string {
	state := ""
	switch {
	case e.Payload["restored"] == true:
		state = ", restored"
	case e.Payload["resumed"] == true:
		state = ", resumed"
	}
	head := fmt.Sprintf("== %s (%d/%d%s) ", clean(e.Text), number(e.Payload["index"]), number(e.Payload["total"]), state)
	line := head + strings.Repeat("=", max(0, s.width-ansi.StringWidth(head)))
	return s.paint(bold, ansi.Truncate(line, s.width, "…"))
}

// The looks of a line.
const (
	bold = "1"
	dim  = "2"
	red  = "31"
)

// paint gives lines a look, on a terminal that has colour.
func (s *screen) paint(look, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[0m"
}

// solid stands for a hyphen while lines are broken: a flag and the name of a file stay
// whole. It is no character, so no text has it.
const solid = "\ufdd0"

// wrap breaks a text to the width, each line behind the indent. A word is broken only
// where it is wider than a line.
func (s *screen) wrap(indent, text string) string {
	text = strings.TrimRight(clean(text), "\n ")
	if text == "" {
		return ""
	}
	rest := strings.Repeat(" ", ansi.StringWidth(indent))
	if strings.HasSuffix(indent, "| ") {
		rest = indent
	}
	whole := ansi.Wrap(strings.ReplaceAll(text, "-", solid), s.width-ansi.StringWidth(indent), "")
	lines := strings.Split(strings.ReplaceAll(whole, solid, "-"), "\n")
	for i := range lines {
		prefix := rest
		if i == 0 {
			prefix = indent
		}
		lines[i] = strings.TrimRight(prefix+lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// oneLine cuts a text to one line.
func (s *screen) oneLine(prefix, text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(clean(text)), "\n", " ; ")
	return ansi.Truncate(prefix+text, s.width, "…")
}

// showStatus is called with the lock held.
func (s *screen) showStatus() {
	if s.step == "" || s.ended {
		return
	}
	text := fmt.Sprintf("[%d/%d] %s  %s  $%.4f", s.index, s.total, clean(s.step), elapsed(time.Since(s.start)), s.cost)
	if s.tokens > 0 {
		text += fmt.Sprintf("  context %s", short(s.tokens))
	}
	s.console.setStatus(text)
}

// closing prints how a workflow ended: the last line gives cost and the
// manifest's path. What is not a success is the returned error.
func (s *screen) closing(ctx context.Context, rt *engine.Runtime, e engine.Ending, note string, took time.Duration) error {
	s.stop()
	accounts := ""
	if len(e.Results) > 0 {
		accounts = rt.ManifestPath()
	}
	s.summary(e.OK, took, e.CostUSD, note, accounts)
	switch {
	case e.Interrupted && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case e.Interrupted:
		return fmt.Errorf("stopped: %s", e.Reason)
	case !e.OK && e.Aborted != "":
		return fmt.Errorf("step %s was aborted: %s", e.FailedAt, e.Reason)
	case !e.OK:
		return fmt.Errorf("step %s did not pass: %s\nRun the same command again to go on at this step", e.FailedAt, e.Reason)
	}
	return nil
}

// summary prints what it came to; without accounts no agent ran.
func (s *screen) summary(ok bool, took time.Duration, usd *float64, note, accounts string) {
	if s.quiet {
		return
	}
	state := "done"
	if !ok {
		state = "not done"
	}
	if accounts == "" {
		s.last(fmt.Sprintf("%s in %s, no agent ran", state, elapsed(took)))
		return
	}
	cost := "cost unknown"
	if usd != nil {
		cost = fmt.Sprintf("$%.4f", *usd)
	}
	if note != "" {
		cost += " (" + note + ")"
	}
	s.last(fmt.Sprintf("%s in %s, %s, accounts in %s", state, elapsed(took), cost, shownPath(accounts)))
}

// last prints a line when everything is over.
func (s *screen) last(text string) {
	if s.console.file != nil {
		text = s.wrap("", text)
	}
	fmt.Fprintln(s.console.out, text)
}

// shownPath is relative to the current folder where that is shorter.
func shownPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func short(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// clean removes what could do something to a terminal: escape sequences and
// control characters. Line ends and tabs stay, a carriage return ends a line.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = ansi.Strip(text)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < 0x20, r == 0x7f, r >= 0x80 && r < 0xa0,
			r >= 0x200e && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // change the direction
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
