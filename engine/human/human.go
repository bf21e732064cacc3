// Package human is the way between a run and a person.
//
// A Channel carries two things. A Question blocks the agent that asks until it is
// answered, declined or too old; every way of getting no answer tells the agent
// to decide itself. A Mail is what a person says unasked: it waits in the inbox
// and is written into the brief at once.
//
// With a store a channel outlives its process: an open question is opened again,
// not asked a second time, and an answer given meanwhile is its result.
//
// A channel serves one run after the other, and several at once: Attach gives each
// its events, and every question tells who asks (Asker). The numbers q1, q2, … are
// a channel's own, so that where there are several channels it is the run of the
// event that says which one to answer.
package human

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// Options set up a Channel. The zero value is a channel that waits for ever, asks
// without limit and keeps nothing.
type Options struct {
	// MaxAsks is how many questions may be asked: nil any number, 0 none.
	MaxAsks *int
	// Timeout is how long a question waits: nil for ever; zero or less not at all,
	// and nobody is bothered with it.
	Timeout *time.Duration
	// LogPath takes every question with its end and every mail; empty: none.
	LogPath string
	// AmendPath is the brief, to which mail is appended; empty: none.
	AmendPath string
	// Lang is the language of what agents and files are told: en (empty) or zh.
	Lang string
	// Sink is told of questions and mail, of every run; nil: the sinks that Attach
	// gives are told instead.
	Sink event.Sink
	// Store keeps open questions and mail, under Project; nil: they end with the
	// process.
	Store   transcript.Store
	Project string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// State is how far a question is.
type State string

// The states. A question that is not asked has come to its end.
const (
	Asked      State = "asked"
	Answered   State = "answered"
	TimedOut   State = "timeout"
	Declined   State = "declined"
	OverBudget State = "over_budget" // MaxAsks were asked before
	Invalid    State = "invalid"     // it was empty

	// Left is told in an event alone: the agent that asked was stopped, and nobody
	// can answer any more. The question stays asked for the process that goes on.
	Left State = "left"
)

// Asker is who asks: what its event carries. All of it is empty for a question that
// no run asks.
type Asker struct {
	Run      string `json:"run,omitempty"`
	Step     string `json:"step,omitempty"`
	Session  string `json:"session,omitempty"`
	Subagent string `json:"subagent,omitempty"` // its id; empty on the main thread
}

// Question is one question of an agent.
type Question struct {
	Asker
	ID      string    `json:"id"` // q1, q2, …
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	State   State     `json:"state"`
	Answer  string    `json:"answer,omitempty"`
	Asked   time.Time `json:"asked"`
}

// Reply is what the agent gets for a question.
type Reply struct {
	Question Question
	Text     string // the answer, or what to do without one
}

// Receipt tells a person what became of a mail.
type Receipt struct {
	ID      string
	Amended bool  // it was written into the brief
	Err     error // why it was not, or could not be kept; nil when all is well
}

// Channel is the way between a run and a person. Its methods may be called from
// any goroutine.
type Channel struct {
	o   Options
	now func() time.Time

	mu      sync.Mutex
	sinks   []*attached // of the runs that use the channel, the newest last
	last    *attached   // the newest of those that ended
	asked   int         // that count for MaxAsks
	lastID  int
	pending []*pending // in the order of asking
	mail    []string
	errs    []error
}

// pending is a question that waits; done is closed at its end.
type pending struct {
	Question
	call string
	done chan struct{}
}

// New makes a channel. With a Store it takes up the mail that an earlier process
// left. Errors name a value that makes no sense, or the store's trouble.
func New(o Options) (*Channel, error) {
	switch {
	case o.MaxAsks != nil && *o.MaxAsks < 0:
		return nil, fmt.Errorf("max_asks is %d; it must not be negative", *o.MaxAsks)
	case o.Lang != "" && o.Lang != "en" && o.Lang != "zh":
		return nil, fmt.Errorf("lang is %q; it is en or zh", o.Lang)
	case o.Store != nil && o.Project == "":
		return nil, errors.New("a channel with a store needs a project")
	}
	c := &Channel{o: o, now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	return c, c.takeUp(context.Background())
}

// Attach lets a run use the channel until detach is called, which may be called
// twice: sink is told of the questions whose Asker names the run. Mail, and what
// nobody's run asks, goes to the run attached last, and after the last detach still
// to that one. Options.Sink, where there is one, is told instead of all of them.
// RunWorkflow attaches the channel of its workflow by itself.
func (c *Channel) Attach(run string, sink event.Sink) (detach func()) {
	return c.attach(&attached{run: run, sink: sink})
}

// Ask is AskAs for a question that no run asks: a program's own.
func (c *Channel) Ask(ctx context.Context, call, text string, options []string) Reply {
	return c.AskAs(ctx, Asker{}, call, text, options)
}

// AskAs asks a person for an agent and blocks until there is an answer, or none will
// come. call is the tool_use_id: the same call asked again, by a process that
// continues, is the same question; empty: it is not kept. It returns when ctx ends;
// the question then stays open for the next process.
func (c *Channel) AskAs(ctx context.Context, who Asker, call, text string, options []string) Reply {
	return c.ask(ctx, who, call, text, options)
}

// Answer answers an open question; false when it is not open (any more). An answer
// without words is none: it declines.
func (c *Channel) Answer(id, text string) bool {
	if strings.TrimSpace(text) == "" {
		return c.Decline(id)
	}
	return c.end(id, Answered, text)
}

// Decline leaves the decision to the agent; false when the question is not open.
func (c *Channel) Decline(id string) bool { return c.end(id, Declined, "") }

// Pending are the open questions, oldest first. The caller owns the slice.
func (c *Channel) Pending() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []Question
	for _, p := range c.pending {
		open = append(open, p.Question)
	}
	return open
}

// Remaining is how many questions may still be asked; -1 when any number.
func (c *Channel) Remaining() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remaining()
}

// Send puts a mail into the inbox, and into the brief.
func (c *Channel) Send(text string) Receipt { return c.send(text) }

// Inbox takes out all mail, as the text an agent gets. It never blocks.
func (c *Channel) Inbox() string { return c.inbox() }

// Errs are the troubles with files, the store and sinks so far: they harm no run.
func (c *Channel) Errs() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]error(nil), c.errs...)
}
