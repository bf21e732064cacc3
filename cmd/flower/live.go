package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/internal/live"
)

// The run's side of flower attach: what another process asks for.

// liveDir is where the runs at work in a run directory are told of.
func liveDir(runDir string) string { return filepath.Join(runDir, "live") }

// openLive lets other processes look at the run. Without it the run goes on.
func (a *app) openLive(b *bed, hello live.Hello) {
	server, err := live.Open(live.Options{Dir: liveDir(b.rt.RunDir()), Hello: hello, Handle: b.handle})
	if err != nil {
		b.sinks.screen.say("! flower attach cannot reach this run: " + err.Error())
		return
	}
	a.live, b.live = server, server
	a.signals.before(func() {
		a.console.close()
		server.Forget()
	})
	b.sinks.fan.Add(server)
}

// handle does what another process asks for.
func (b *bed) handle(r live.Request, tell func(any)) (receipt string, err error) {
	switch r.Do {
	case live.Answer, live.Decline:
		return b.closeQuestion(r)
	case live.Mail:
		return b.mail(r.Text)
	case live.Interrupt:
		if !b.rt.Interrupt(strings.TrimSpace(r.Text)) {
			return "", errors.New("no agent is at work now")
		}
		return "the agents at work are interrupted", nil
	case live.Ask:
		return b.aside.ask(strings.TrimSpace(r.Text), func(ok bool, text string) {
			tell(live.Aside{Kind: live.KindAside, Ref: r.Ref, OK: ok, Text: text})
		})
	case live.Continue:
		if !b.pause.end() {
			return "", errors.New("the run waits for nothing")
		}
		return "the run goes on", nil
	}
	return "", fmt.Errorf("there is no %q: it is one of %s", r.Do,
		strings.Join([]string{live.Answer, live.Decline, live.Mail, live.Interrupt, live.Ask, live.Continue}, ", "))
}

var errNoChannel = errors.New("nobody reads this: the script has no channel; an interrupt reaches the agents at work")

func (b *bed) closeQuestion(r live.Request) (receipt string, err error) {
	ch := b.rt.Channel()
	if ch == nil {
		return "", errNoChannel
	}
	done, receipt := false, "skipped: the agent decides"
	switch {
	case r.Do == live.Decline:
		done = ch.Decline(r.ID)
	case strings.TrimSpace(r.Text) == "":
		return "", errors.New("the answer is empty; decline leaves the question to the agent")
	default:
		done, receipt = ch.Answer(r.ID, r.Text), "answered"
	}
	if !done {
		return "", notOpen(r.ID, ch)
	}
	return receipt, nil
}

// notOpen says that a question cannot be answered (any more), and which ones can.
func notOpen(id string, ch *human.Channel) error {
	var open []string
	for _, q := range ch.Pending() {
		open = append(open, q.ID)
	}
	if len(open) == 0 {
		return fmt.Errorf("%s: question %q is not open, and no other is", late, id)
	}
	return fmt.Errorf("%s: question %q is not open; open: %s", late, id, strings.Join(open, ", "))
}

// The beginnings of what a person is told who does not get what he wants.
const (
	late        = "too late"
	halfWritten = "mail sent, but not written into the brief: "
)

func (b *bed) mail(text string) (receipt string, err error) {
	ch := b.rt.Channel()
	switch {
	case ch == nil:
		return "", errNoChannel
	case strings.TrimSpace(text) == "":
		return "", errors.New("the mail is empty")
	}
	switch r := ch.Send(text); {
	case r.Err != nil:
		return halfWritten + r.Err.Error(), nil
	case r.Amended:
		return "mail sent, and written into the brief", nil
	}
	return "mail sent", nil
}

// pause is a place where a run waits for a person, who need not be at its terminal.
type pause struct {
	mu   sync.Mutex
	wait chan struct{} // closed to go on; nil: the run does not wait
}

// begin gives what is closed when somebody lets the run go on.
func (p *pause) begin() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait = make(chan struct{})
	return p.wait
}

// end lets the run go on; false when it does not wait.
func (p *pause) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait == nil {
		return false
	}
	close(p.wait)
	p.wait = nil
	return true
}
