package claudecode

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// maxWarm is how many programs wait at most; one takes about 200 MB.
const maxWarm = 4

// keepWarm prepares a run and keeps it when its program is ready.
func (h *Harness) keepWarm(ctx context.Context, r *run) error {
	r.patient = context.WithoutCancel(ctx)
	if err := r.prepare(ctx); err != nil {
		return err
	}
	select {
	case answer, ok := <-r.talk.ready:
		if !ok || answer.Subtype != "success" {
			died := r.talk.finish()
			if died == nil {
				died = r.talk.died()
			}
			return joinDiscard(died, r.release())
		}
		ready := make(chan response, 1)
		ready <- answer
		r.talk.ready = ready
	case <-ctx.Done():
		return joinDiscard(context.Cause(ctx), r.discard())
	}
	h.mu.Lock()
	h.warm = append(h.warm, r)
	var over *run
	if len(h.warm) > maxWarm {
		over, h.warm = h.warm[0], h.warm[1:]
	}
	h.mu.Unlock()
	if over != nil {
		return over.discard()
	}
	return nil
}

func joinDiscard(err, discarded error) error {
	if discarded != nil {
		return fmt.Errorf("%w (and then: %w)", err, discarded)
	}
	return err
}

// discard ends a prepared run that nobody wants.
func (r *run) discard() error {
	err := r.talk.finish()
	if end := r.release(); err == nil {
		err = end
	}
	return err
}

// adopt gives a waiting program to a run that wants one like it; nil where there
// is none.
func (h *Harness) adopt(r *run) *run {
	if r.turn.Session.Resume != "" {
		return nil
	}
	want := r.fingerprint()
	h.mu.Lock()
	var found *run
	for i, w := range h.warm {
		if w.fingerprint() == want {
			found = w
			h.warm = append(h.warm[:i:i], h.warm[i+1:]...)
			break
		}
	}
	h.mu.Unlock()
	if found == nil {
		return nil
	}
	select {
	case <-found.talk.program.ended: // while it waited
		_ = found.discard() // a new one is started, which says what is wrong
		return nil
	default:
	}
	found.become(r)
	return found
}

// become takes over another run's order.
func (r *run) become(o *run) {
	r.turn, r.policy, r.names = o.turn, o.policy, o.names
	r.servers.adopt(o.names)
	r.say.adopt(o.say)
	r.ledger.mu.Lock()
	r.ledger.limits, r.ledger.price = o.ledger.limits, o.ledger.price
	r.ledger.mu.Unlock()
	r.journal.mu.Lock()
	r.journal.store, r.journal.key.Project = o.turn.Store, o.turn.Project
	r.journal.mu.Unlock()
}

// fingerprint is all of an order that the program was started with.
func (r *run) fingerprint() string {
	var tools []tool.Definition
	for _, name := range r.servers.offered {
		tools = append(tools, r.names.host[name].Definition())
	}
	raw, _ := json.Marshal(struct { // all of it marshals
		Path, Model string
		Agent       harness.Agent
		Turns       int
		Handoff     bool
		Tools       []tool.Definition
	}{r.path, r.model, r.turn.Agent, r.turn.Limits.Turns, r.turn.Limits.ContextLine > 0, tools})
	return string(raw)
}
