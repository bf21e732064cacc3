package luabind

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// What stops a script from within.
var (
	errCompute = errors.New("compute limit")
	errMemory  = errors.New("memory limit")
)

// tick is how often a computing script is looked at. A callback is done in
// microseconds; what computes for longer than this may be in an endless loop.
const tick = 20 * time.Millisecond

// clock is the context of every Lua thread of a state. Lua asks it before each
// instruction whether to stop; the answer is that of the innermost call from Go,
// so that one context serves all calls and all coroutines, whenever they were
// made.
//
// Its fields belong to the state's goroutine, but for those below mu: a timer
// looks at the span that computes, and stops it at its limit of time or memory.
type clock struct {
	limit  time.Duration
	memory uint64 // bytes that may be added while Lua computes; 0: not watched
	spans  []*span
	done   <-chan struct{} // of the innermost span

	// hold is set while memory is measured: the script waits for mu at its next
	// instruction, or it would count what it makes meanwhile.
	hold atomic.Bool

	mu      sync.Mutex
	timer   *time.Timer
	armed   bool
	watched *span // the one that computes; nil while Lua waits or rests
}

// span is one call from Go into Lua.
type span struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Below clock.mu.
	deadline time.Time
	heap     uint64 // where the heap stood when the timer first looked; 0: not yet
}

func newClock(limit time.Duration, memory uint64) *clock {
	return &clock{limit: limit, memory: memory}
}

// enter begins a call that ends with ctx or at a limit; leave ends it and reports
// what stopped it, nil when nothing did.
func (c *clock) enter(ctx context.Context) (leave func() error) {
	sp := &span{}
	sp.ctx, sp.cancel = context.WithCancelCause(ctx)
	c.spans = append(c.spans, sp)
	c.done = sp.ctx.Done()
	c.watch(sp)
	return func() error {
		c.watch(nil)
		stopped := context.Cause(sp.ctx)
		sp.cancel(nil)
		c.spans = c.spans[:len(c.spans)-1]
		c.done = nil
		if below := c.top(); below != nil {
			c.done = below.ctx.Done()
		}
		return stopped
	}
}

// pause stops the limits of the innermost call while Lua waits for Go; resume
// starts them anew.
func (c *clock) pause() (resume func()) {
	sp := c.top()
	c.watch(nil)
	return func() { c.watch(sp) }
}

// watch has the timer look at a span from now on, or at none.
func (c *clock) watch(sp *span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = sp
	if sp == nil {
		return
	}
	sp.deadline, sp.heap = time.Now().Add(c.limit), 0
	if c.armed {
		return // it comes within a tick and sees the new span
	}
	c.armed = true
	if next := min(tick, c.limit); c.timer == nil {
		c.timer = time.AfterFunc(next, c.look)
	} else {
		c.timer.Reset(next)
	}
}

// look runs on the timer's goroutine.
func (c *clock) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	sp := c.watched
	if sp == nil {
		c.armed = false
		return
	}
	left := time.Until(sp.deadline)
	switch {
	case sp.ctx.Err() != nil: // stopped already, and on its way out
	case left <= 0:
		sp.cancel(errCompute)
	case c.memory > 0 && c.grown(sp):
		sp.cancel(errMemory)
	}
	if left <= 0 || left > tick {
		left = tick
	}
	c.timer.Reset(left)
}

// grown reports whether the heap grew beyond the limit since the span was first
// looked at. Garbage does not count: before it says so it collects.
func (c *clock) grown(sp *span) bool {
	now := heap()
	if sp.heap == 0 {
		sp.heap = now
		return false
	}
	if now <= sp.heap+c.memory {
		return false
	}
	c.hold.Store(true)
	defer c.hold.Store(false)
	runtime.GC()
	return heap() > sp.heap+c.memory
}

// stop ends the timer; nothing is watched after it.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = nil
	if c.timer != nil {
		c.timer.Stop()
	}
}

// heap is what objects on the heap take, in bytes. Other parts of the process
// count too: a limit is for a script that fills the machine, not for accounts.
func heap() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 1
	}
	return sample[0].Value.Uint64()
}

// context is that of the innermost call.
func (c *clock) context() context.Context {
	if sp := c.top(); sp != nil {
		return sp.ctx
	}
	return context.Background()
}

func (c *clock) top() *span {
	if len(c.spans) == 0 {
		return nil
	}
	return c.spans[len(c.spans)-1]
}

// Deadline, Done, Err and Value make the clock a context.Context.
func (c *clock) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *clock) Value(key any) any           { return c.context().Value(key) }
func (c *clock) Err() error                  { return context.Cause(c.context()) }

// Done is asked before every instruction.
func (c *clock) Done() <-chan struct{} {
	if c.hold.Load() {
		c.wait()
	}
	return c.done
}

// wait returns when nobody measures.
func (c *clock) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
}
