package human

import (
	"fmt"
	"slices"

	"github.com/flowerlua/flower/engine/event"
)

// attached is a run that uses the channel.
type attached struct {
	run  string
	sink event.Sink
}

func (c *Channel) attach(a *attached) (detach func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks = append(c.sinks, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := slices.Index(c.sinks, a)
		if at < 0 {
			return
		}
		c.sinks = slices.Delete(c.sinks, at, at+1)
		c.last = a
	}
}

// sinkFor is who is told what a run asks; nil: nobody.
func (c *Channel) sinkFor(run string) event.Sink {
	if c.o.Sink != nil {
		return c.o.Sink
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range slices.Backward(c.sinks) {
		if a.run == run {
			return a.sink
		}
	}
	switch {
	case len(c.sinks) > 0:
		return c.sinks[len(c.sinks)-1].sink
	case c.last != nil:
		return c.last.sink
	}
	return nil
}

// emit keeps a broken sink away from the run.
func (c *Channel) emit(sink event.Sink, e event.Event) {
	if sink == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.note(fmt.Errorf("a listener panicked: %v", p))
		}
	}()
	sink.Emit(e)
}
