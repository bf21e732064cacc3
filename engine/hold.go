package engine

import (
	"context"
	"strings"
	"sync"
)

// held is one call of Hold, shared by the Runs that it found.
type held struct {
	released chan struct{}
	words    string // final once released is closed
}

func (rt *Runtime) hold() (release func(words string) bool, ok bool) {
	h := &held{released: make(chan struct{})}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if len(rt.active) == 0 {
		return nil, false
	}
	found := make([]*activeRun, 0, len(rt.active))
	for a := range rt.active {
		a.holds = append(a.holds, h)
		found = append(found, a)
		a.interrupt("")
	}
	var once sync.Once
	return func(words string) (heard bool) {
		once.Do(func() {
			h.words = words
			close(h.released)
			heard = rt.anyActive(found)
		})
		return heard
	}, true
}

func (rt *Runtime) anyActive(runs []*activeRun) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for _, a := range runs {
		if _, active := rt.active[a]; active {
			return true
		}
	}
	return false
}

// interrupt is called with the runtime's lock held. One that waits already is
// enough.
func (a *activeRun) interrupt(words string) {
	select {
	case a.words <- words:
	default:
	}
}

// hear gives what persons said to a run whose turn has ended: said, what came
// since, and the words of every hold, for which it waits. Nothing said by a
// person is lost because a turn ended in the same moment.
func (a *activeRun) hear(ctx context.Context, said string) string {
	words := []string{said}
	for {
		h := a.nextHold()
		if h == nil {
			break
		}
		select {
		case <-h.released:
			words = append(words, h.words)
		case <-ctx.Done():
			return ""
		}
	}
	select {
	case late := <-a.words:
		words = append(words, late)
	default:
	}
	return strings.Trim(strings.Join(words, "\n\n"), "\n")
}

func (a *activeRun) nextHold() *held {
	a.rt.mu.Lock()
	defer a.rt.mu.Unlock()
	if len(a.holds) == 0 {
		return nil
	}
	h := a.holds[0]
	a.holds = a.holds[1:]
	return h
}
