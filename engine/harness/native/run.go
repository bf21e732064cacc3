package native

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
)

// run is one turn of the harness: what its main thread and subagents share.
type run struct {
	h       *Harness
	turn    harness.Turn
	session string
	say     *speaker
	ledger  *ledger
	servers servers
	words   interrupt
	patient context.Context // of writes to the store

	places     []chan struct{} // at each depth, one for every subagent that may work
	mu         sync.Mutex      // guards what follows
	dispatches int             // of this turn
	working    map[string]bool // subagents, by id
	folders    map[string]int  // worktrees, with how many work in them
	git        sync.Mutex      // worktrees are made and removed one at a time
}

// newRun checks the order before anything is stored or spent.
func (h *Harness) newRun(ctx context.Context, t harness.Turn) (*run, error) {
	r := &run{h: h, turn: t, ledger: newLedger(t.Limits), working: map[string]bool{}, folders: map[string]int{},
		words: interrupt{done: make(chan struct{})}, say: &speaker{sink: t.Sink, run: t.Run, step: t.Step}}
	for range h.config.MaxDepth {
		r.places = append(r.places, make(chan struct{}, h.config.SideBySide))
	}
	if err := r.checkOrder(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Agent.Name, err)
	}
	if _, _, err := thinking(r.effort()); err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Agent.Name, err)
	}
	if t.Limits.USD > 0 {
		for _, name := range r.models() {
			if !h.Prices(ctx, name) {
				return nil, fmt.Errorf("agent %s: a budget is set, but the price of model %q is not known, so the budget cannot be held: name a model with a known price, or remove the budget",
					t.Agent.Name, name)
			}
		}
	}
	return r, nil
}

// models are all the models that the turn may use.
func (r *run) models() []string {
	names := []string{r.h.resolve(r.turn.Agent.Model)}
	for _, w := range r.turn.Agent.Workers {
		names = append(names, r.workerModel(w))
	}
	return names
}

// info is what is known of a model; nothing when nobody knows it, which only a
// budget minds.
func (r *run) info(ctx context.Context, name string) model.Info {
	info, err := infoOf(ctx, r.h.config.Model, name)
	if err != nil {
		return model.Info{Name: name}
	}
	return info
}

// run works from the opening of the session to the outcome.
func (r *run) run(ctx context.Context) (harness.Outcome, error) {
	var done func()
	r.patient, done = patient(ctx, lastWords)
	defer done()
	defer r.disconnect()
	if err := r.connect(ctx); err != nil {
		err = fmt.Errorf("agent %s: %w", r.turn.Agent.Name, err)
		return r.outcome(nil, ending{}, err), err
	}
	t, err := r.open(ctx)
	if err != nil {
		return r.outcome(nil, ending{}, err), err
	}
	defer t.close()
	work, stop := r.words.watch(ctx, r.turn.Interrupt)
	defer stop()
	end, err := t.work(work, r.turn.Prompt)
	stop() // from here on words stay in the channel, for the next turn
	if words, came := r.words.taken(); came && ctx.Err() == nil {
		end, err = ending{stop: harness.Interrupted, detail: "a person interrupted the turn", words: words}, nil
	}
	if e := t.journal.sync(); e != nil && err == nil {
		err = e
	}
	out := r.outcome(t, end, err)
	r.sayEnd(out, err)
	return out, err
}

// outcome is what the turn came to so far; t is nil when no session was opened.
func (r *run) outcome(t *thread, end ending, err error) harness.Outcome {
	out := harness.Outcome{SessionID: r.session, Stop: end.stop, Detail: end.detail, Words: end.words}
	if err != nil {
		out.Stop = harness.Failed
	}
	out.Usage, out.CostUSD = r.ledger.totals()
	out.Turns = out.Usage.Main.Turns
	if t != nil {
		out.Text, out.LastMessage, out.Context = t.prose(), t.last, t.context
	}
	return out
}

// journal starts the journal of a transcript.
func (r *run) journal(key transcript.Key, agent, dir string) *journal {
	c := r.h.config
	return &journal{store: r.turn.Store, key: key, now: c.Now, newID: c.NewID, patient: r.patient,
		wait:   outage{most: c.StoreWait, hurry: r.words.came(), tell: func(e event.Event) { e.Subagent = agent; r.say.emit(e) }},
		author: author{session: r.session, agent: agent, dir: dir, version: c.Version}}
}

// ended tells how a thread's work ends when its context does.
func (r *run) ended(ctx context.Context) (ending, error) {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return ending{stop: harness.Interrupted, detail: "interrupted"}, nil
	}
	return ending{}, context.Cause(ctx)
}
