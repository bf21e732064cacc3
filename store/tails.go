package store

import (
	"errors"
	"hash/maphash"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// tail is what the owner remembers of a transcript that is being written: enough to append
// to it without reading the database.
type tail struct {
	head *head // nil while there is no such transcript
	// known are the hashes of the uuids appended since the tail was made. Of a transcript
	// that was new then, these are all.
	known map[uint64]struct{}
	all   bool

	counted int // in tails.known
}

// tails holds the tails. mu guards which of them are there, and what is counted; the rest
// of a tail belongs to who holds the lock for writing to its name.
type tails struct {
	mu    sync.Mutex
	at    map[string]*tail
	known int // hashes in all of them
}

const (
	// maxTails and maxKnown bound them: what is forgotten is read again.
	maxTails = 4096
	maxKnown = 256 << 10
)

// tail is that of key, whose name is locked.
func (e *engine) tail(key transcript.Key, name string) (*tail, error) {
	if t := e.tails.get(name); t != nil {
		return t, nil
	}
	t := &tail{known: map[uint64]struct{}{}}
	err := e.lookup(key, func(_ *badger.Txn, h *head, lack error) error {
		t.head, t.all = h, h == nil
		return lack
	})
	return t, err
}

func (s *tails) get(name string) *tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[name]
}

// moved keeps a tail whose transcript has got another head and entries with these uuids.
func (e *engine) moved(name string, t *tail, h *head, es []transcript.Entry) {
	t.head = h
	for i := range es {
		if id := es[i].UUID; id != "" {
			t.known[maphash.String(e.seed, id)] = struct{}{}
		}
	}
	s := &e.tails
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at[name] != t {
		s.at[name], t.counted = t, 0
	}
	s.known += len(t.known) - t.counted
	t.counted = len(t.known)
	for other := range s.at {
		if len(s.at) <= maxTails && s.known <= maxKnown {
			return
		}
		s.forgetLocked(other)
	}
}

// forget drops a tail that is not true any more.
func (s *tails) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(name)
}

func (s *tails) forgetLocked(name string) {
	if t := s.at[name]; t != nil {
		s.known -= t.counted
		delete(s.at, name)
	}
}

// mayKnow reports whether the transcript may hold an entry with that uuid: if not, it
// surely does not. Without the queue, which is all in known, the database is asked.
func (e *engine) mayKnow(t *tail, uuid string) (bool, error) {
	if _, known := t.known[maphash.String(e.seed, uuid)]; known || t.all {
		return known, nil
	}
	found := false
	err := e.snapshot(func(txn *badger.Txn) error {
		for _, s := range t.head.spans(1, t.head.last) {
			_, err := txn.Get(uuidKey(s.log, uuid))
			if !errors.Is(err, badger.ErrKeyNotFound) {
				found = true
				return err
			}
		}
		return nil
	})
	return found, err
}
