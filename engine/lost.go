package engine

import (
	"log/slog"
	"sync/atomic"

	"github.com/flowerlua/flower/engine/event"
)

// lostEvents are the accounts of events that no taker got.
type lostEvents struct {
	private atomic.Uint64 // of OnEvent, of Runs that are over
	broken  atomic.Uint64 // takers of these that panicked
	told    atomic.Uint64 // of which the logger was told, events and takers
	// log leads to the logger alone: what is told of events that are stuck does not wait
	// behind them, and a logger that blocks does not hold up a run.
	log *event.Fanout
}

func (l *lostEvents) open(logger *slog.Logger) {
	l.log = event.NewFanout(nil)
	if logger == nil {
		return
	}
	l.log.Add(event.SinkFunc(func(e event.Event) {
		logger.Warn(e.Text, "dropped", e.Payload["dropped"], "panicked", e.Payload["panicked"])
	}))
}

func (b *base) dropped() uint64 { return b.fan.Dropped() + b.lost.private.Load() }

// closePrivate ends the delivery to a Run's own taker.
func (b *base) closePrivate(f *event.Fanout) {
	f.CloseWithin(sinkPatience)
	b.lost.private.Add(f.Dropped())
	b.lost.broken.Add(f.Broken())
	b.tellLost()
}

// tellLost tells the logger where more was lost than it knows.
func (b *base) tellLost() {
	dropped, broken := b.dropped(), b.fan.Broken()+b.lost.broken.Load()
	if told := b.lost.told.Swap(dropped + broken); told < dropped+broken {
		b.lost.log.Emit(event.Event{Kind: event.Error, Text: "events were lost: a sink is slower than the runs, or panicked",
			Payload: map[string]any{"dropped": dropped, "panicked": broken}})
	}
}
