package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/internal/live"
)

// view shows the run of another process on this terminal, as that process shows it on
// its own, and passes on what is typed.
type view struct {
	a      *app
	client *live.Client
	screen *screen

	mu      sync.Mutex
	open    []human.Question // as far as the events told
	paused  bool             // the run waits for Enter
	asking  bool             // the next line interrupts
	waiting int              // requests without a reply
	silence *time.Timer      // runs while there are any
}

func (a *app) newView(c *cli, client *live.Client) *view {
	v := &view{a: a, client: client, screen: newScreen(a.openConsole(c), c.Verbose)}
	hello := client.Hello()
	v.screen.start, v.screen.cost = hello.Started, hello.CostUSD
	v.silence = time.AfterFunc(live.Patience, func() {
		v.screen.say("! the run does not answer: it is stopped, perhaps; what you typed waits for it")
	})
	v.silence.Stop()
	return v
}

// follow shows the run until it ends.
func (v *view) follow() error {
	defer v.screen.stop()
	defer v.silence.Stop()
	hello := v.client.Hello()
	v.greet(hello)
	listening := false
	var seq uint64
	for {
		// What is typed means what it means to somebody who has seen what was before.
		if !listening && seq >= hello.Seq {
			listening = true
			v.listen()
		}
		line, err := v.client.Read()
		if err != nil {
			return gone(err)
		}
		ended, at, err := v.take(line, hello.Seq)
		if ended || err != nil {
			return err
		}
		seq = max(seq, at)
	}
}

func (v *view) greet(hello live.Hello) {
	v.screen.say(fmt.Sprintf("* attached to %s, at work since %s", oneLine(hello.Script), clock(hello.Started, time.Now())))
	if v.screen.console.edits() {
		v.a.signals.handle(v.interrupt)
		v.screen.say("* what you type answers or is mail; ? asks from the side; Ctrl-C and words interrupt; Ctrl-C twice detaches")
	}
}

// clock is a time of day, with its date where that is not today's.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// listen passes on what is typed, from now on.
func (v *view) listen() {
	go func() { // for as long as the process lives, like the reader
		for line := range v.a.lines() {
			v.line(line)
		}
	}()
}

// take shows a line of the stream and gives its number, if it is an event.
func (v *view) take(line []byte, backlog uint64) (ended bool, seq uint64, err error) {
	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return false, 0, fmt.Errorf("the run sent what is no JSON: %w", err)
	}
	switch string(e.Kind) {
	case live.KindEnd:
		return true, 0, v.end(line)
	case live.KindReply:
		return false, 0, v.reply(line)
	case live.KindAside:
		var answer live.Aside
		err := json.Unmarshal(line, &answer)
		v.screen.sayAside(answer.OK, answer.Text)
		return false, 0, err
	case live.KindDropped:
		var lost live.Dropped
		err := json.Unmarshal(line, &lost)
		v.screen.say(fmt.Sprintf("! %s not shown: this terminal was too slow", count(lost.Count, "event")))
		return false, 0, err
	case live.KindHello:
		return false, 0, nil
	}
	if e.Seq <= backlog && e.Kind == event.Result {
		e.Payload = nil // the hello has counted it
	}
	v.note(e)
	v.screen.Emit(e)
	return false, e.Seq, nil
}

// note keeps what a typed line can be meant for.
func (v *view) note(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.Kind == event.Handoff:
		v.paused = e.Payload["phase"] == phasePaused
	case e.Kind == event.Ask && e.Payload["kind"] != "mail":
		id, _ := e.Payload["id"].(string)
		v.open = slices.DeleteFunc(v.open, func(q human.Question) bool { return q.ID == id })
		if e.Payload["state"] == string(human.Asked) {
			v.open = append(v.open, human.Question{ID: id, Text: e.Text, Options: optionsOf(e)})
		}
	}
}

// end shows how the run ended, which is no failure of ours.
func (v *view) end(line []byte) error {
	var e end
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("the run sent an end that cannot be read: %w", err)
	}
	note := ""
	if v.client.Hello().Rehearsed {
		note = "rehearsed"
	}
	if e.Error != "" {
		v.screen.say("! " + e.Error)
	}
	v.screen.stop()
	v.screen.summary(e.OK, time.Duration(e.DurationS*float64(time.Second)), e.CostUSD, note, e.Manifest)
	return nil
}

// line does what a typed line means.
func (v *view) line(line string) {
	if question, ok := sideQuestion(line); ok {
		v.ask(live.Request{Do: live.Ask, Text: question})
		return
	}
	text := strings.TrimSpace(line)
	v.mu.Lock()
	asking, goOn := v.asking, v.paused && text == "" && len(v.open) == 0
	v.asking = false
	v.mu.Unlock()
	switch {
	case asking:
		v.screen.console.setPrompt("> ")
		if text == "" {
			v.screen.say("* nothing was said; the run goes on")
		} else {
			v.ask(live.Request{Do: live.Interrupt, Text: text})
		}
	case goOn:
		v.ask(live.Request{Do: live.Continue})
	default:
		v.screen.say(answer(v, text, v.screen.sends))
	}
}

// interrupt is Ctrl-C: the next line interrupts the run. It reports false when the
// person wants to detach.
func (v *view) interrupt() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asking {
		return false
	}
	v.asking = true
	v.screen.console.setPrompt("interrupt> ")
	v.screen.say("* what you type now interrupts the agents at work; Enter alone says nothing; Ctrl-C again detaches, and the run goes on")
	return true
}

// Pending are the questions that are open.
func (v *view) Pending() []human.Question {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.open)
}

// Answer sends an answer. Whether it was in time comes later.
func (v *view) Answer(id, text string) bool {
	v.ask(live.Request{Do: live.Answer, ID: id, Text: text})
	return true
}

// Decline leaves a question to the agent.
func (v *view) Decline(id string) bool {
	v.ask(live.Request{Do: live.Decline, ID: id})
	return true
}

// Send sends mail.
func (v *view) Send(text string) human.Receipt {
	v.ask(live.Request{Do: live.Mail, Text: text})
	return human.Receipt{}
}

// ask sends a request.
func (v *view) ask(r live.Request) {
	r.Ref = r.Do
	v.mu.Lock()
	if v.waiting++; v.waiting == 1 {
		v.silence.Reset(live.Patience)
	}
	v.mu.Unlock()
	_ = v.client.Send(r) // a connection that is gone ends follow
}

// reply shows what became of a request, unless an event does.
func (v *view) reply(line []byte) error {
	var r live.Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("the run sent a reply that cannot be read: %w", err)
	}
	v.mu.Lock()
	if v.waiting--; v.waiting == 0 {
		v.silence.Stop()
	} else {
		v.silence.Reset(live.Patience)
	}
	v.mu.Unlock()
	switch {
	case !r.OK:
		v.screen.say("! " + r.Error)
	case strings.HasPrefix(r.Receipt, halfWritten):
		v.screen.say("! " + r.Receipt)
	case r.Ref == live.Ask:
		v.screen.say("* " + r.Receipt)
	}
	return nil
}
