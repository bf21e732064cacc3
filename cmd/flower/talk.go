package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/term"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
)

// What a person types while a run works: answers, mail, questions from the side,
// words after an interrupt.

// input reads lines from standard input on one goroutine, for as long as the
// process lives.
type input struct {
	once  sync.Once
	lines chan string // closed at the end of the input
}

// maxLine bounds a typed line, in bytes.
const maxLine = 64 << 10

// lines are the lines that are typed, from the first call on: edited on the
// console, or as they come.
func (a *app) lines() <-chan string {
	if a.console != nil && a.console.edits() {
		return a.console.entered
	}
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

// errLeft is Ctrl-C where nothing has begun.
var errLeft = errors.New("left")

// readLine waits for one line; "" at the end of the input.
func (a *app) readLine(ctx context.Context) (string, error) {
	select {
	case line := <-a.lines():
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errInterrupted) {
			return "", errLeft
		}
		return "", context.Cause(ctx)
	}
}

// interactive: somebody can type.
func (a *app) interactive() bool {
	f, ok := a.in.(*os.File)
	return ok && !a.drained && term.IsTerminal(f.Fd()) && inForeground(f)
}

// conversation is what a person and a run say to each other at the terminal.
type conversation struct {
	b       *bed
	aside   *aside
	signals *signals
	prompt  func(string)

	mu      sync.Mutex
	release func(words string) (heard bool) // after Ctrl-C, until the words are there
	warned  bool                            // Ctrl-C found no agent at work
	expect  chan string                     // takes the next line instead; nil: none
}

// talk lets a person answer questions, send mail, ask from the side and interrupt
// during a run. Without a terminal it warns, once, that nobody can answer.
func (a *app) talk(c *cli, b *bed) {
	if !a.interactive() {
		var warn sync.Once
		b.sinks.onAsk = func() {
			warn.Do(func() {
				b.sinks.screen.say("! nobody can answer here: standard input is not a terminal (--timeout 0 asks nobody)")
			})
		}
		return
	}
	b.talk = &conversation{b: b, aside: c.newAside(b), signals: a.signals, prompt: a.console.setPrompt}
	if a.console.file != nil { // where the hint is seen
		a.signals.handle(b.talk.interrupt)
	}
	go func() { // for as long as the process lives, like the reader
		for line := range a.lines() {
			b.talk.line(line)
		}
	}()
}

// end stops what the conversation started. Ctrl-C ends the process again.
func (t *conversation) end() {
	t.signals.handle(nil)
	t.aside.close()
}

// interrupt is the first Ctrl-C: it stops the turn at once and waits for words. It
// reports false when the person wants to leave.
func (t *conversation) interrupt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.release != nil || t.warned {
		return false
	}
	release, ok := t.b.rt.Hold()
	if !ok {
		t.warned = true
		t.b.sinks.screen.say("* no agent is at work now; Ctrl-C again leaves, Enter goes on")
		return true
	}
	t.release = release
	t.prompt("say> ")
	t.b.sinks.screen.say("* interrupted: say something to the agent, or Enter alone to go on; Ctrl-C again leaves")
	return true
}

// line does what a typed line means.
func (t *conversation) line(line string) {
	say := t.b.sinks.screen.say
	if question, ok := sideQuestion(line); ok {
		say(t.aside.ask(question))
		return
	}
	text := strings.TrimSpace(line)
	t.mu.Lock()
	release, expect, warned := t.release, t.expect, t.warned
	t.release, t.expect, t.warned = nil, nil, false
	t.mu.Unlock()
	switch {
	case release != nil:
		if expect != nil {
			t.wants(expect)
		}
		t.prompt("> ")
		say(t.resume(release, text))
	case expect != nil:
		expect <- text
	case warned && text == "":
	default:
		say(t.pass(text))
	}
}

// resume lets the interrupted agents go on.
func (t *conversation) resume(release func(string) bool, words string) string {
	switch heard := release(words); {
	case heard && words == "":
		return "* the agent goes on"
	case heard:
		return "* the agent goes on with your words"
	case words == "":
		return ""
	}
	return t.pass(words) // it ended meanwhile
}

// pass gives a line to the channel.
func (t *conversation) pass(text string) string {
	if ch := t.b.rt.Channel(); ch != nil {
		return answer(ch, text)
	}
	if text == "" {
		return ""
	}
	return "! nobody reads this: the script has no channel. Ctrl-C interrupts the agent, and what you say then reaches it"
}

// wants makes the next line go to a channel with room for one.
func (t *conversation) wants(line chan string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expect = line
}

// sideQuestion is what follows a question mark at the beginning of a line.
func sideQuestion(line string) (question string, ok bool) {
	for _, mark := range []string{"?", "？"} {
		if rest, found := strings.CutPrefix(line, mark); found {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// answer does what a typed line means and gives the receipt: empty skips the
// oldest open question, digits in range choose an option, other text answers, or
// is mail when nothing is open.
func answer(ch *human.Channel, text string) string {
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
	if n, err := strconv.Atoi(strings.Map(narrowDigit, text)); err == nil && n >= 1 && n <= len(q.Options) {
		text = q.Options[n-1]
	}
	if !ch.Answer(q.ID, text) {
		return "! too late: the question is closed"
	}
	return "* answered: " + text
}

// narrowDigit makes the digits of East Asian keyboards ASCII.
func narrowDigit(r rune) rune {
	if r >= '０' && r <= '９' {
		return r - '０' + '0'
	}
	return r
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
	lines := []string{s.paint(bold, s.wrap("  ? ", e.Text))}
	options, _ := e.Payload["options"].([]string)
	for i, option := range options {
		lines = append(lines, s.wrap(fmt.Sprintf("    %d  ", i+1), option))
	}
	hint := "type the answer"
	if len(options) > 0 {
		hint = "type a number or the answer"
	}
	lines = append(lines, s.wrap("    ", "("+hint+"; Enter alone leaves it to the agent)"))
	return strings.Join(lines, "\n")
}

// pause waits until a person has looked at a handoff document.
func (a *app) pause(b *bed) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		b.sinks.screen.say(fmt.Sprintf("* the handoff is in %s; edit it if you like, Enter goes on", shownPath(path)))
		enter := make(chan string, 1)
		if b.talk != nil {
			b.talk.wants(enter)
		} else if a.drained {
			return nil // nobody can press it
		} else {
			go func() { enter <- <-a.lines() }()
		}
		select {
		case <-enter:
			return nil
		case <-ctx.Done():
			return cmp.Or(context.Cause(ctx), ctx.Err())
		}
	}
}
