package store

import (
	"context"
	"sync"

	"github.com/flowerlua/flower/engine/transcript"
)

// hub hands changes to those who watch. For each of them it keeps the newest
// change of a transcript until it is asked for: a slow one misses intermediate
// changes, never the last, and holds at most one change for each transcript.
type hub struct {
	mu     sync.Mutex
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct {
	hub    *hub
	prefix transcript.Key
	ready  chan struct{} // holds a token when there is something to take

	mu      sync.Mutex
	pending map[transcript.Key]uint64
	order   []transcript.Key
	ended   bool
}

func newHub() *hub { return &hub{subs: map[*subscriber]struct{}{}} }

func (h *hub) subscribe(prefix transcript.Key) (*subscriber, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed()
	}
	s := newSubscriber(prefix)
	s.hub = h
	h.subs[s] = struct{}{}
	return s, nil
}

func newSubscriber(prefix transcript.Key) *subscriber {
	return &subscriber{prefix: prefix, ready: make(chan struct{}, 1), pending: map[transcript.Key]uint64{}}
}

// publish never blocks.
func (h *hub) publish(key transcript.Key, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if below(key, s.prefix) {
			s.put(key, last)
		}
	}
}

// close ends all subscriptions; what is pending can still be taken.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		delete(h.subs, s)
		s.end()
	}
}

func (s *subscriber) put(key transcript.Key, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waiting := s.pending[key]; !waiting {
		s.order = append(s.order, key)
	}
	s.pending[key] = last
	s.wake()
}

func (s *subscriber) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *subscriber) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// stop ends the subscription.
func (s *subscriber) stop() {
	s.hub.mu.Lock()
	delete(s.hub.subs, s)
	s.hub.mu.Unlock()
	s.end()
}

// next waits for changes, in the order in which their transcripts first changed.
func (s *subscriber) next(ctx context.Context) ([]transcript.Change, error) {
	for {
		if out, ended := s.take(); len(out) > 0 {
			return out, nil
		} else if ended {
			return nil, errClosed()
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *subscriber) take() (out []transcript.Change, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.order {
		out = append(out, transcript.Change{Key: key, Last: s.pending[key]})
		delete(s.pending, key)
	}
	s.order = nil
	return out, s.ended
}
