package native

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errInterrupted is the cause of a work context that a person ended.
var errInterrupted = errors.New("interrupted by a person")

// interrupt waits for a person's words while a turn works.
type interrupt struct {
	done  chan struct{} // closed when the words are there
	mu    sync.Mutex
	words string
	here  bool
}

// came is closed when words have come.
func (i *interrupt) came() <-chan struct{} { return i.done }

// watch returns the context to work under, which ends when words come or ctx
// ends, and the function that stops watching and waits until nobody does. What
// comes after that stays in the channel.
func (i *interrupt) watch(ctx context.Context, words <-chan string) (work context.Context, stop func()) {
	work, cancel := context.WithCancelCause(ctx)
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		select {
		case w, open := <-words:
			if open {
				i.take(w)
				cancel(errInterrupted)
			}
		case <-done:
		}
	})
	return work, sync.OnceFunc(func() {
		close(done)
		wait.Wait()
		cancel(nil)
	})
}

func (i *interrupt) take(words string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.words, i.here = words, true
	close(i.done)
}

// taken returns the words, and whether there are any.
func (i *interrupt) taken() (words string, came bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.words, i.here
}

// When the work has been stopped from outside: how long the transcript may still be
// written, and how long the guards may still look at what a call gave.
const (
	lastWords = 5 * time.Second
	lastLook  = 2 * time.Second
)

// patient is ctx with a little more time: what has been done is written down also
// when the work is told to stop.
func patient(ctx context.Context, most time.Duration) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(most, func() {
			cancel(fmt.Errorf("the work was stopped, and %s were not enough to end: %w", most, context.Canceled))
		})
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() {
		stop()
		cancel(nil)
	}
}
