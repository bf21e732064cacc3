package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// heldRun starts a Run whose first turn a Hold ends; stop is what the harness
// makes of it.
func heldRun(t *testing.T, ctx context.Context, stop harness.Stop) (p *process, release func(string) bool, done chan engine.Result) {
	t.Helper()
	ready := make(chan func(string) bool, 1)
	p = newBench(t).start(answer{text: "first", stop: stop, do: func(_ context.Context, turn harness.Turn) {
		release, ok := p.Hold()
		if !ok {
			t.Error("Hold found no active run")
		}
		if stop == harness.Interrupted {
			<-turn.Interrupt
		}
		ready <- release
	}}, answer{text: "second"})
	done = make(chan engine.Result, 1)
	go func() {
		r, err := p.Run(ctx, engine.Spec{Name: "x"}, "go", engine.RunOptions{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	return p, <-ready, done
}

func TestHold_keeps_the_run_until_the_words_are_there(t *testing.T) {
	p, release, done := heldRun(t, t.Context(), harness.Interrupted)
	select {
	case r := <-done:
		t.Fatalf("the run went on: %+v", r)
	case <-time.After(20 * time.Millisecond):
	}
	if n := len(p.script.orders()); n != 1 {
		t.Errorf("%d orders while it is held", n)
	}
	if !release("use the other file") {
		t.Error("nobody heard the words")
	}
	if release("again") {
		t.Error("released twice")
	}
	r := <-done
	if o := p.script.orders()[1]; !r.OK || r.Text != "second" || o.Resume != "s1" || !strings.Contains(o.Prompt, "use the other file") {
		t.Errorf("result %+v, order %+v", r, o)
	}
}

func TestHold_without_words_goes_on_without_a_message(t *testing.T) {
	p, release, done := heldRun(t, t.Context(), harness.Interrupted)
	release("")
	r := <-done
	if o := p.script.orders()[1]; !r.OK || r.Attempts != 1 || !strings.Contains(o.Prompt, "no message") {
		t.Errorf("result %+v, order %+v", r, o)
	}
}

func TestHold_of_a_turn_that_ends_in_the_same_moment_loses_no_words(t *testing.T) {
	p, release, done := heldRun(t, t.Context(), harness.EndTurn)
	release("one more thing")
	r := <-done
	if orders := p.script.orders(); !r.OK || r.Text != "second" || len(orders) != 2 || !strings.Contains(orders[1].Prompt, "one more thing") {
		t.Errorf("result %+v, orders %+v", r, orders)
	}
	p, release, done = heldRun(t, t.Context(), harness.EndTurn)
	release("")
	if r := <-done; !r.OK || r.Text != "first" || len(p.script.orders()) != 1 {
		t.Errorf("result %+v", r)
	}
}

func TestHold_ends_with_the_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p, release, done := heldRun(t, ctx, harness.Interrupted)
	cancel(errors.New("leave"))
	if r := <-done; r.OK || r.Error != "leave" || len(p.script.orders()) != 1 {
		t.Errorf("result %+v", r)
	}
	if release("too late") {
		t.Error("a run that is over heard something")
	}
}

func TestHold_finds_nobody(t *testing.T) {
	if _, ok := newBench(t).start().Hold(); ok {
		t.Error("Hold found a run")
	}
}
