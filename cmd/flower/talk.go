package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/term"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
)

// What a person types while a run works: answers, mail.

// input reads lines from standard input on one goroutine, for as long as the
// process lives.
type input struct {
	once  sync.Once
	lines chan string // closed at the end of the input
}

// maxLine bounds a typed line, in bytes.
const maxLine = 64 << 10

// lines are the lines of standard input, from the first call on.
func (a *app) lines() <-chan string {
	a.typed.once.Do(func() {
		a.typed.lines = make(chan string)
		go func() {
			defer close(a.typed.lines)
			scanner := bufio.NewScanner(a.in)
			scanner.Buffer(nil, maxLine)
			for scanner.Scan() {
				a.typed.lines <- scanner.Text()
			}
		}()
	})
	return a.typed.lines
}

// readLine waits for one line; "" at the end of the input.
func (a *app) readLine() string { return strings.TrimSpace(<-a.lines()) }

// interactive: somebody can type.
func (a *app) interactive() bool {
	f, ok := a.in.(*os.File)
	return ok && !a.drained && term.IsTerminal(f.Fd())
}

// talk lets a person answer questions and send mail during a run. Without a
// terminal it warns, once, that nobody can answer.
func (a *app) talk(b *bed) {
	if !a.interactive() {
		var warn sync.Once
		b.sinks.onAsk = func() {
			warn.Do(func() {
				b.sinks.screen.say("! nobody can answer here: standard input is not a terminal (--timeout 0 asks nobody)")
			})
		}
		return
	}
	go func() {
		for line := range a.lines() {
			if ch := b.rt.Channel(); ch != nil {
				b.sinks.screen.say(answer(ch, line))
			} else if strings.TrimSpace(line) != "" {
				b.sinks.screen.say("! nobody reads this: the script has no channel")
			}
		}
	}()
}

// answer does what a typed line means and gives the receipt: empty skips the
// oldest open question, digits in range choose an option, other text answers, or
// is mail when nothing is open.
func answer(ch *human.Channel, line string) string {
	text := strings.TrimSpace(line)
	open := ch.Pending()
	switch {
	case len(open) == 0 && text == "":
		return ""
	case len(open) == 0:
		r := ch.Send(text)
		switch {
		case r.Amended:
			return "* mail sent, and written into the brief"
		case r.Err != nil:
			return "! mail sent, but not written into the brief: " + r.Err.Error()
		}
		return "* mail sent"
	case text == "":
		ch.Decline(open[0].ID)
		return "* skipped: the agent decides"
	}
	q := open[0]
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Options) {
		text = q.Options[n-1]
	}
	if !ch.Answer(q.ID, text) {
		return "! too late: the question is closed"
	}
	return "* answered: " + text
}

// renderAsk shows a question with its options, or a mail.
func (s *screen) renderAsk(e event.Event) string {
	switch e.Payload["state"] {
	case "asked":
	case "timeout":
		return "  * nobody answered in time"
	default:
		return ""
	}
	lines := []string{s.wrap("  ? ", e.Text)}
	options, _ := e.Payload["options"].([]string)
	for i, option := range options {
		lines = append(lines, s.wrap(fmt.Sprintf("    %d  ", i+1), option))
	}
	hint := "type the answer"
	if len(options) > 0 {
		hint = "type a number or the answer"
	}
	return strings.Join(append(lines, "    ("+hint+"; Enter alone leaves it to the agent)"), "\n")
}

// say prints a line of ours between those of the run.
func (s *screen) say(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearStatus()
	fmt.Fprintln(s.out, s.wrap("  ", text))
	s.drawStatus()
}
