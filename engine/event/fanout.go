package event

import (
	"sync"
	"sync/atomic"
	"time"
)

// Options set up a Fanout. The zero value is ready for use.
type Options struct {
	// Queue is how many events wait for one slow sink before further ones are
	// dropped and counted; 0 means 1024.
	Queue int
	// Now is the clock that stamps events without a time; nil means time.Now.
	Now func() time.Time
}

// Fanout delivers every event to all its sinks, in order, each sink on a
// goroutine of its own behind a bounded queue. A sink that blocks loses
// events, counted in Dropped; a sink that panics is removed and counted in
// Broken. Neither delays Emit. A Fanout is itself a Sink and safe for
// concurrent use.
type Fanout struct {
	now   func() time.Time
	queue int

	mu     sync.Mutex
	seq    uint64
	sinks  map[*outlet]struct{}
	closed bool
	wait   sync.WaitGroup

	dropped atomic.Uint64
	broken  atomic.Uint64
}

// outlet is one sink with its queue.
type outlet struct {
	sink   Sink
	events chan Event
	off    sync.Once
}

// NewFanout makes a Fanout without sinks; nil options mean the defaults.
func NewFanout(o *Options) *Fanout {
	f := &Fanout{now: time.Now, queue: 1024, sinks: map[*outlet]struct{}{}}
	if o != nil && o.Now != nil {
		f.now = o.Now
	}
	if o != nil && o.Queue > 0 {
		f.queue = o.Queue
	}
	return f
}

// Add connects a sink from the next event on and returns the function that
// disconnects it, once what is queued for it has been delivered. After Close,
// Add does nothing.
func (f *Fanout) Add(s Sink) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return func() {}
	}
	o := &outlet{sink: s, events: make(chan Event, f.queue)}
	f.sinks[o] = struct{}{}
	f.wait.Go(func() { f.deliver(o) })
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.detach(o)
	}
}

// Emit stamps the event with its number, and with the time where it has none,
// and queues it for every sink. It never blocks. Events after Close are
// dropped.
func (f *Fanout) Emit(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.seq++
	e.Seq = f.seq
	if e.Time.IsZero() {
		e.Time = f.now()
	}
	for o := range f.sinks {
		select {
		case o.events <- e:
		default:
			f.dropped.Add(1)
		}
	}
}

// Dropped is the number of events, over all sinks, that a full queue lost.
func (f *Fanout) Dropped() uint64 { return f.dropped.Load() }

// Broken is the number of sinks removed because they panicked.
func (f *Fanout) Broken() uint64 { return f.broken.Load() }

// Close delivers what is queued, disconnects all sinks and waits for them. A
// sink that blocks for ever makes Close wait for ever; CloseWithin does not.
func (f *Fanout) Close() {
	f.shut()
	f.wait.Wait()
}

// CloseWithin is Close with a limit: it reports false, and leaves the rest to
// the sinks that still run, when they have not finished within d.
func (f *Fanout) CloseWithin(d time.Duration) bool {
	f.shut()
	done := make(chan struct{})
	go func() {
		f.wait.Wait()
		close(done)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (f *Fanout) shut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for o := range f.sinks {
		f.detach(o)
	}
}

// detach is called with the lock held.
func (f *Fanout) detach(o *outlet) {
	o.off.Do(func() {
		delete(f.sinks, o)
		close(o.events)
	})
}

// deliver runs on the sink's goroutine until its queue is closed and empty.
func (f *Fanout) deliver(o *outlet) {
	for e := range o.events {
		if !emitSafely(o.sink, e) {
			f.broken.Add(1)
			f.mu.Lock()
			f.detach(o)
			f.mu.Unlock()
			for range o.events { // nobody takes them any more
				f.dropped.Add(1)
			}
			return
		}
	}
}

func emitSafely(s Sink, e Event) (ok bool) {
	defer func() { ok = recover() == nil }()
	s.Emit(e)
	return true
}
