package human

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
)

func (c *Channel) ask(ctx context.Context, who Asker, call, text string, options []string) Reply {
	text = strings.TrimSpace(text)
	if text == "" {
		return c.refuse(Question{Asker: who, State: Invalid})
	}
	if kept, ok := c.kept(ctx, call); ok {
		if kept.State != Asked {
			c.logMissing(kept)
			return c.reply(kept) // it ended while nobody listened
		}
		kept.Asker = who // the run that goes on asks, not the one that asked first
		return c.wait(ctx, c.open(kept, call, true))
	}
	q := Question{Asker: who, Text: text, Options: options, State: Asked, Asked: c.now()}
	if c.o.Timeout != nil && *c.o.Timeout <= 0 {
		q.State = TimedOut
		return c.refuse(q)
	}
	c.mu.Lock()
	if c.remaining() == 0 {
		c.mu.Unlock()
		q.State = OverBudget
		return c.refuse(q)
	}
	c.asked++
	c.mu.Unlock()
	q.ID = c.nextID(ctx)
	c.keep(ctx, call, q)
	return c.wait(ctx, c.open(q, call, false))
}

// refuse ends a question that nobody was asked.
func (c *Channel) refuse(q Question) Reply {
	if q.State != TimedOut {
		c.tell(q, false)
	}
	if q.Text != "" {
		c.logQuestion(q)
	}
	return c.reply(q)
}

func (c *Channel) open(q Question, call string, again bool) *pending {
	p := &pending{Question: q, call: call, done: make(chan struct{})}
	c.mu.Lock()
	c.pending = append(c.pending, p)
	c.mu.Unlock()
	c.tell(q, again)
	return p
}

// wait returns at the question's end, or leaves it open when ctx ends.
func (c *Channel) wait(ctx context.Context, p *pending) Reply {
	var timeout <-chan time.Time
	if c.o.Timeout != nil {
		timer := time.NewTimer(max(0, *c.o.Timeout-c.now().Sub(p.Asked)))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-p.done:
	case <-timeout:
		c.end(p.ID, TimedOut, "") // an answer in the same moment wins or loses as a whole
		<-p.done
	case <-ctx.Done():
		c.mu.Lock()
		open := len(c.pending)
		c.pending = slices.DeleteFunc(c.pending, func(other *pending) bool { return other == p })
		left := len(c.pending) < open
		q := p.Question
		c.mu.Unlock()
		if left {
			gone := q
			gone.State = Left
			c.tell(gone, false)
		}
		return c.reply(q)
	}
	c.mu.Lock()
	q := p.Question
	c.mu.Unlock()
	return c.reply(q)
}

// end closes an open question. The answer is stored before anyone hears of it.
func (c *Channel) end(id string, state State, answer string) bool {
	c.mu.Lock()
	at := slices.IndexFunc(c.pending, func(p *pending) bool { return p.ID == id })
	if at < 0 {
		c.mu.Unlock()
		return false
	}
	p := c.pending[at]
	c.pending = slices.Delete(c.pending, at, at+1)
	p.State, p.Answer = state, answer
	q := p.Question
	c.mu.Unlock()

	c.keep(context.Background(), p.call, q)
	c.logQuestion(q)
	c.tell(q, false)
	close(p.done)
	return true
}

// remaining is called with the lock held.
func (c *Channel) remaining() int {
	if c.o.MaxAsks == nil {
		return -1
	}
	return max(0, *c.o.MaxAsks-c.asked)
}

// reply is what the agent reads.
func (c *Channel) reply(q Question) Reply {
	text := q.Answer
	switch q.State {
	case Answered:
	case Asked:
		text = interrupted.in(c.o.Lang)
	default:
		text = noAnswer[q.State].in(c.o.Lang)
	}
	return Reply{Question: q, Text: text}
}

// tell raises the event of a question.
func (c *Channel) tell(q Question, again bool) {
	sink, remaining := c.sinkFor(q.Run), c.Remaining()
	payload := map[string]any{"kind": "question", "id": q.ID, "state": string(q.State), "remaining": remaining}
	if len(q.Options) > 0 {
		payload["options"] = q.Options
	}
	if q.State == Answered {
		payload["answer"] = q.Answer
	}
	if again {
		payload["again"] = true
	}
	c.emit(sink, event.Event{Kind: event.Ask, Run: q.Run, Step: q.Step, Session: q.Session, Subagent: q.Subagent, Text: q.Text, Payload: payload})
}

// note keeps a trouble, the newest hundred.
func (c *Channel) note(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.errs) == 100 {
		c.errs = c.errs[1:]
	}
	c.errs = append(c.errs, err)
}

var errNoStore = errors.New("no store")
