package engine

import (
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
)

// attach lets the run of a workflow use its channel until detach is called.
func (rt *Runtime) attach() (detach func()) {
	if rt.asks == nil {
		return func() {}
	}
	off := rt.asks.Attach(rt.id, event.SinkFunc(rt.emit))
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.asking[rt.id] = rt.asks
	return func() {
		off()
		rt.mu.Lock()
		defer rt.mu.Unlock()
		delete(rt.asking, rt.id)
	}
}

func (rt *Runtime) channelOf(run string) *human.Channel {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.asking[run]
}
