package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxRewrites bounds how often a rewritten input goes round the chain: two
// guards that undo each other must not turn for ever.
const maxRewrites = 8

// Chain runs guards in order. The zero Chain allows everything.
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
				return Verdict{Denied: true, Guard: g.Name(), Input: c.Input,
					Reason: fmt.Sprintf("denied: the guard %q could not decide: %v. The call did not run; this is a fault of the guard, not of the call.", g.Name(), err)}
			}
			switch d.Action {
			case Deny:
				return Verdict{Denied: true, Guard: g.Name(), Reason: d.Reason, Input: c.Input}
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
		next, err := within(ctx, ch.timeout(), func(ctx context.Context) (Reply, error) { return g.After(ctx, c, r) })
		if err != nil {
			ch.report(g, c, err)
			continue
		}
		r = next
	}
	return r
}

func (ch Chain) ask(ctx context.Context, g Guard, c Call) (Decision, error) {
	d, err := within(ctx, ch.timeout(), func(ctx context.Context) (Decision, error) { return g.Before(ctx, c) })
	if err != nil {
		return Decision{}, err
	}
	if d.Action == Rewrite && !isObject(d.Input) {
		return Decision{}, errors.New("the rewritten input is not a JSON object")
	}
	return d, nil
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
		ch.OnError(g.Name(), c, err)
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
