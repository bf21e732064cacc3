package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
		nobody := "a script's channel with timeout = 0 asks nobody"
		if c.Run.Script == "" {
			nobody = "--timeout 0 asks nobody"
		}
		b.sinks.onAsk = func() {
			warn.Do(func() {
				b.sinks.screen.say("! nobody can answer here: standard input is not a terminal; flower attach answers from another one (" + nobody + ")")
			})
		}
		return
	}
	b.talk = &conversation{b: b, signals: a.signals, prompt: a.console.setPrompt}
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
		receipt, err := t.b.aside.ask(question, t.b.sinks.screen.sayAside)
		if err != nil {
			say("! " + err.Error())
			return
		}
		say("* " + receipt)
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
		return answer(ch, text, t.b.sinks.screen.sends)
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

// desk is where questions are answered and mail is left: a channel, or one of another
// process.
type desk interface {
	Pending() []human.Question
	Answer(id, text string) (open bool)
	Decline(id string) (open bool)
	Send(text string) human.Receipt
}

// answer does what a typed line means and says what went wrong with that: empty
// skips the oldest open question, digits in range choose an option, other text
// answers, or is mail when nothing is open. What went well is an event, for everybody
// who looks; sends is told of a mail before.
func answer(ch desk, text string, sends func(mail string)) string {
	open := ch.Pending()
	switch {
	case len(open) == 0 && text == "":
		return ""
	case len(open) == 0:
		sends(text)
		if r := ch.Send(text); r.Err != nil {
			return "! " + halfWritten + r.Err.Error()
		}
		return ""
	case text == "" && ch.Decline(open[0].ID):
		return ""
	}
	q := open[0]
	if n, err := strconv.Atoi(strings.Map(narrowDigit, text)); err == nil && n >= 1 && n <= len(q.Options) {
		text = q.Options[n-1]
	}
	if text == "" || !ch.Answer(q.ID, text) {
		return "! " + late + ": the question is closed"
	}
	return ""
}

// narrowDigit makes the digits of East Asian keyboards ASCII.
func narrowDigit(r rune) rune {
	if r >= '０' && r <= '９' {
		return r - '０' + '0'
	}
	return r
}

// renderAsk shows a question with its options and what became of it, or a mail,
// whoever it came from.
func (s *screen) renderAsk(e event.Event) string {
	if e.Payload["kind"] == "mail" {
		return s.renderMail(e)
	}
	switch e.Payload["state"] {
	case string(human.Asked):
	case string(human.Answered):
		text, _ := e.Payload["answer"].(string)
		return s.wrap("  ", "* answered: "+text)
	case string(human.Declined):
		if e.Session == "" {
			return "  * skipped"
		}
		return "  * skipped: the agent decides"
	case string(human.TimedOut):
		return "  * nobody answered in time"
	default:
		return ""
	}
	lines := []string{s.paint(bold, s.wrap("  ? ", e.Text))}
	options := optionsOf(e)
	for i, option := range options {
		lines = append(lines, s.wrap(fmt.Sprintf("    %d  ", i+1), option))
	}
	hint := "type the answer"
	if len(options) > 0 {
		hint = "type a number or the answer"
	}
	skip := "leaves it to the agent"
	if e.Session == "" { // the script itself asks
		skip = "leaves it unanswered"
	}
	lines = append(lines, s.wrap("    ", "("+hint+"; Enter alone "+skip+")"))
	return strings.Join(lines, "\n")
}

// maxMails bounds the mails whose events have not come yet.
const maxMails = 20

// sends is told of a mail that is sent from here: a receipt is enough then.
func (s *screen) sends(mail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, mail)
	s.mails = s.mails[max(0, len(s.mails)-maxMails):]
}

func (s *screen) renderMail(e event.Event) string {
	written := ""
	if e.Payload["amended"] == true {
		written = ", and written into the brief"
	}
	if i := slices.Index(s.mails, e.Text); i >= 0 {
		s.mails = slices.Delete(s.mails, i, i+1)
		return s.wrap("  ", "* mail sent"+written)
	}
	return s.wrap("  * ", "mail"+written+": "+e.Text)
}

// optionsOf are the options of a question, which may have been JSON.
func optionsOf(e event.Event) []string {
	switch list := e.Payload["options"].(type) {
	case []string:
		return list
	case []any:
		var options []string
		for _, v := range list {
			options = append(options, fmt.Sprint(v))
		}
		return options
	}
	return nil
}

// phasePaused is the phase of a handoff whose document a person may edit.
const phasePaused = "paused"

// pauseFor waits until a person, here or at another terminal, has looked at a handoff
// document.
func (a *app) pauseFor(b *bed) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		elsewhere := b.pause.begin()
		defer b.pause.end()
		b.rt.Emit(event.Event{Kind: event.Handoff, Text: fmt.Sprintf("the handoff is in %s; edit it if you like, Enter goes on", shownPath(path)),
			Payload: map[string]any{"phase": phasePaused, "path": path}})
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
		case <-elsewhere:
			if b.talk != nil {
				b.talk.wants(nil)
			}
			return nil
		case <-ctx.Done():
			return cmp.Or(context.Cause(ctx), ctx.Err())
		}
	}
}
