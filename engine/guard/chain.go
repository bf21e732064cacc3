package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxRewrites bounds how often a rewritten input goes round the chain: two
// guards that undo each other must not turn for ever.
const maxRewrites = 8

// Chain runs guards in order. The zero Chain allows everything. A guard that is nil,
// panics, fails, takes too long or decides what is no Action denies the call.
type Chain struct {
	Guards []Guard
	// Timeout is how long one guard may take for one call; 0 means 60 seconds.
	// A guard that takes longer denies (before) or changes nothing (after).
	Timeout time.Duration
	// OnError is told of a guard that failed; nil tells nobody. It may be called
	// from several goroutines at once.
	OnError func(guard string, c Call, err error)
}

// Verdict is what a Chain decided about a call.
type Verdict struct {
	Denied bool
	Guard  string          // who denied
	Reason string          // for the model
	Input  json.RawMessage // the input to run the tool with
}

// Before asks every guard. The first denial wins. A rewrite makes all guards
// look again at the new input, so that no rewrite gets past a denial.
func (ch Chain) Before(ctx context.Context, c Call) Verdict {
	for range maxRewrites {
		before := c.Input
		for _, g := range ch.Guards {
			d, err := ch.ask(ctx, g, c)
			if err != nil {
				ch.report(g, c, err)
				return Verdict{Denied: true, Guard: nameOf(g), Input: c.Input,
					Reason: fmt.Sprintf("denied: the guard %q could not decide: %v. The call did not run; this is a fault of the guard, not of the call.", nameOf(g), err)}
			}
			switch d.Action {
			case Deny:
				return Verdict{Denied: true, Guard: nameOf(g), Reason: reason(g, d), Input: c.Input}
			case Rewrite:
				c.Input = d.Input
			}
		}
		if bytes.Equal(before, c.Input) {
			return Verdict{Input: c.Input}
		}
	}
	return Verdict{Denied: true, Guard: "chain", Input: c.Input,
		Reason: "denied: the guards keep rewriting each other's input"}
}

// After passes the reply through every guard in order.
func (ch Chain) After(ctx context.Context, c Call, r Reply) Reply {
	for _, g := range ch.Guards {
		if g == nil {
			continue // no call gets here: Before denied it
		}
		next, err := within(ctx, ch.timeout(), func(ctx context.Context) (Reply, error) { return g.After(ctx, own(c), r) })
		if err != nil {
			ch.report(g, c, err)
			continue
		}
		r = next
	}
	return r
}

func (ch Chain) ask(ctx context.Context, g Guard, c Call) (Decision, error) {
	if g == nil {
		return Decision{}, errors.New("it is nil; the program that runs the agent put no guard in its place")
	}
	d, err := within(ctx, ch.timeout(), func(ctx context.Context) (Decision, error) { return g.Before(ctx, own(c)) })
	if err != nil {
		return Decision{}, err
	}
	switch d.Action {
	case Allow, Deny:
	case Rewrite:
		if !isObject(d.Input) {
			return Decision{}, errors.New("the rewritten input is not a JSON object")
		}
		d.Input = bytes.Clone(d.Input) // the guard may keep and change what it gave
	default:
		return Decision{}, fmt.Errorf("its decision is %d, which is none: Allow, Deny or Rewrite", d.Action)
	}
	return d, nil
}

// own is the call with an input of its own: what one guard does to it must not get
// past the decision of another.
func own(c Call) Call {
	c.Input = bytes.Clone(c.Input)
	return c
}

// nameOf is a guard's name; a guard without one, or whose method panics, has a
// name that says so.
func nameOf(g Guard) (name string) {
	if g == nil {
		return "nil"
	}
	defer func() {
		if p := recover(); p != nil {
			name = fmt.Sprintf("%T", g)
		}
	}()
	return g.Name()
}

// reason is why a guard denies.
func reason(g Guard, d Decision) string {
	if strings.TrimSpace(d.Reason) != "" {
		return d.Reason
	}
	return fmt.Sprintf("denied by the guard %q, which gives no reason. Do not try this call again; do it in another way, or say in your answer that it was denied.", nameOf(g))
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

func (ch Chain) timeout() time.Duration {
	if ch.Timeout > 0 {
		return ch.Timeout
	}
	return time.Minute
}

func (ch Chain) report(g Guard, c Call, err error) {
	if ch.OnError != nil {
		ch.OnError(nameOf(g), own(c), err)
	}
}

// errTimeout is what a guard that hangs is reported as.
var errTimeout = errors.New("the guard timed out")

// within runs f and gives up on it after d: a guard that ignores its context
// must not hang the run. What such a guard returns later is dropped.
func within[T any](ctx context.Context, d time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errTimeout)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("the guard panicked: %v", p)
			}
			done <- o
		}()
		o.value, o.err = f(ctx)
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
