package luabind

import (
	"context"
	"errors"
	"time"
)

// errCompute is the cause of a stop by the compute limit.
var errCompute = errors.New("compute limit")

// clock is the context of every Lua thread of a state. Lua asks it before each
// instruction whether to stop; the answer is that of the innermost call from Go,
// so that one context serves all calls and all coroutines, whenever they were
// made. It belongs to the state's goroutine.
type clock struct {
	limit time.Duration
	calls []*span
}

// span is one call from Go into Lua.
type span struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func newClock(limit time.Duration) *clock { return &clock{limit: limit} }

// enter begins a call that ends with ctx or after the limit; leave ends it and
// reports what stopped it, nil when nothing did.
func (c *clock) enter(ctx context.Context) (leave func() error) {
	sp := &span{}
	sp.ctx, sp.cancel = context.WithCancelCause(ctx)
	sp.timer = time.AfterFunc(c.limit, func() { sp.cancel(errCompute) })
	c.calls = append(c.calls, sp)
	return func() error {
		sp.timer.Stop()
		stopped := context.Cause(sp.ctx)
		sp.cancel(nil)
		c.calls = c.calls[:len(c.calls)-1]
		return stopped
	}
}

// pause stops the limit of the innermost call while Lua waits for Go; resume
// starts it anew.
func (c *clock) pause() (resume func()) {
	sp := c.top()
	if sp == nil {
		return func() {}
	}
	sp.timer.Stop()
	return func() { sp.timer.Reset(c.limit) }
}

// context is that of the innermost call.
func (c *clock) context() context.Context {
	if sp := c.top(); sp != nil {
		return sp.ctx
	}
	return context.Background()
}

func (c *clock) top() *span {
	if len(c.calls) == 0 {
		return nil
	}
	return c.calls[len(c.calls)-1]
}

// Deadline, Done, Err and Value make the clock a context.Context.
func (c *clock) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *clock) Done() <-chan struct{}       { return c.context().Done() }
func (c *clock) Value(key any) any           { return c.context().Value(key) }
func (c *clock) Err() error {
	if err := context.Cause(c.context()); err != nil {
		return err
	}
	return c.context().Err()
}
