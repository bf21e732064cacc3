package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// outage waits for a store that cannot be used now: the disk is full, its owner is
// gone. What is to be written stays in memory meanwhile, and nothing else is done.
type outage struct {
	most  time.Duration   // to wait; negative: not at all
	hurry <-chan struct{} // closed when a person wants the turn to end
	tell  func(event.Event)
}

// Between two tries; the pause doubles.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// until repeats a write until it succeeds, fails for another reason than that the
// store is unavailable, the time is up or ctx ends. A store that this process closed
// does not come back: nobody waits for it. The error is the store's.
func (o outage) until(ctx context.Context, write func() error) error {
	err := write()
	if !passes(err) || o.most < 0 {
		return err
	}
	o.tell(event.Event{Kind: event.Error, Text: fmt.Sprintf("the turn is paused, because what it did cannot be recorded; it goes on by itself when the store can be written again (free some space on the disk): %v", err),
		Payload: map[string]any{"paused": true}})
	begin := time.Now()
	end, hurry := begin.Add(o.most), o.hurry
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("after waiting %s: %w", time.Since(begin).Round(time.Second), err)
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
		case <-hurry:
			hurry, end = nil, earlier(end, time.Now().Add(lastWords))
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return err
		}
		if err = write(); !passes(err) {
			break
		}
	}
	if err == nil {
		took := time.Since(begin)
		o.tell(event.Event{Kind: event.System, Text: fmt.Sprintf("the store can be written again after %s; the turn goes on", took.Round(time.Second)),
			Payload: map[string]any{"paused": false, "waited_s": took.Seconds()}})
	}
	return err
}

// passes reports whether a store's trouble may pass by itself.
func passes(err error) bool {
	return errors.Is(err, transcript.ErrUnavailable) && !errors.Is(err, transcript.ErrClosed)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
