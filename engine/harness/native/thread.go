package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
)

// thread is one transcript at work. It belongs to one goroutine; of its tool
// calls those that may run side by side have goroutines of their own, which touch
// the journal and the tools alone.
type thread struct {
	run   *run
	id    string // the subagent's; empty on the main thread
	call  string // the Agent call that dispatched it
	role  string
	depth int
	dir   string

	journal *journal
	history history
	prefix  prefix
	tools   kit
	set     *tool.Set

	info      model.Info
	maxTokens int
	thinking  int // tokens of maxTokens set aside for thinking

	// What the last request is known to have had.
	asked     time.Time
	idle      time.Duration // between the last two
	estimated int64
	context   int64
	previous  string // ID of the answer before
	cached    bool   // something of it was read from or written to the cache
	requests  int
	// cacheStarts: the next request begins a new prefix, so a miss is no surprise.
	cacheStarts bool

	callIDs map[string]bool // of all calls in the transcript

	pending   []draft // a new session's prefix, stored with its prompt
	news      string  // a workbench block to put in front of the prompt
	questions []call  // to a person, asked by an earlier process and still open

	usedLock sync.Mutex // guards used and cost: a search spends beside other calls
	used     harness.Account
	cost     float64

	answers int // of the model, in the whole transcript
	state   state
	texts   []string
	last    string
	turns   int // limit of turns; 0: none
}

// state is what the loop remembers from one answer to the next.
type state struct {
	asked  int // answers so far
	empty  bool
	cut    bool
	pauses int
	full   bool // told that the context is nearly full
	stuck  stuck
}

// ending is how a thread's work ended without an error.
type ending struct {
	stop   harness.Stop
	detail string
	words  string
}

// maxPauses is how often in a row the provider may pause an answer.
const maxPauses = 20

func (t *thread) sub() bool { return t.id != "" }

// prose is what the thread said, blocks joined by an empty line.
func (t *thread) prose() string { return strings.Join(t.texts, "\n\n") }

// close ends what the thread's tools started.
func (t *thread) close() {
	if t.set != nil {
		if err := t.set.Close(); err != nil {
			t.say(event.Event{Kind: event.Error, Text: err.Error()})
		}
	}
}

// work runs until the model ends its turn or something stops it.
func (t *thread) work(ctx context.Context, prompt string) (ending, error) {
	if err := t.begin(ctx, prompt); err != nil {
		return ending{}, err
	}
	for {
		if ctx.Err() != nil {
			return t.run.ended(ctx)
		}
		if end, stop := t.limit(); stop {
			return end, nil
		}
		if err := t.journal.sync(); err != nil {
			return ending{}, err
		}
		a, err := t.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return t.stopped(ctx, a)
		case errors.Is(err, errBudget):
			return ending{stop: harness.Budget, detail: err.Error()}, nil
		case err != nil:
			return ending{}, err
		}
		if end, done, err := t.take(ctx, a); done || err != nil {
			return end, err
		}
	}
}

// limit reports whether the thread stops before its next request.
func (t *thread) limit() (ending, bool) {
	line := t.run.turn.Limits.ContextLine
	switch old, fresh := t.inputTokens(); {
	case !t.sub() && line > 0 && t.context > 0 && (t.context >= line || t.state.asked > 0 && old+fresh >= line):
		return ending{stop: harness.ContextFull, detail: fmt.Sprintf("%d tokens of context, and the line is at %d", old+fresh, line)}, true
	case t.turns > 0 && t.state.asked >= t.turns:
		return ending{stop: harness.MaxTurns, detail: fmt.Sprintf("%d turns are the limit", t.turns)}, true
	}
	return ending{}, false
}

// stopped keeps what had arrived whole when the work was stopped.
func (t *thread) stopped(ctx context.Context, a answer) (ending, error) {
	var err error
	if a.reply.Usage.Context() > 0 {
		t.book(a.reply)
	}
	if worthKeeping(a.reply) {
		var calls []call
		if calls, err = t.record(a.reply); err == nil {
			_, err = t.answer(ctx, calls)
		}
	}
	if err != nil {
		return ending{}, errors.Join(context.Cause(ctx), err)
	}
	return t.run.ended(ctx)
}

// worthKeeping reports whether a broken reply has anything a reader can use.
func worthKeeping(r model.Reply) bool {
	for _, raw := range r.Content {
		switch text(member(raw, "type")) {
		case "tool_use":
			return true
		case "text":
			if !blank(member(raw, "text")) {
				return true
			}
		}
	}
	return false
}
