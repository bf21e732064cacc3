package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// queue is the writes that are in the journal and not yet in the database, which takes
// many at a time much more cheaply than one by one. Whoever reads the database has it take
// all that waits first (see view), so that nobody sees a write missing.
type queue struct {
	mu      sync.Mutex // makes the order in the queue that in the journal
	waiting [][]byte   // bodies of batches
	size    int
	last    journalPlace  // of what was pushed last
	pushed  atomic.Uint64 // batches so far
	taken   atomic.Uint64 // of these, in the database
	working sync.Mutex    // held to write to the database
	turning sync.Mutex    // held to replace the journal
	wake    chan struct{} // there is much to be written
}

const (
	// queueEnough is how much waits until it is written in the background, in bytes;
	// queueMost is how much may wait.
	queueEnough = 512 << 10
	queueMost   = 4 << 20
)

// push writes a batch: when it returns, the batch survives the end of the process.
func (e *engine) push(t *batch) error {
	if err := e.unbroken(); err != nil {
		return err
	}
	record := t.seal()
	if len(record) > maxJournalRecord {
		return fmt.Errorf("a write of %d bytes at once: %w", len(record), errRecord)
	}
	q := &e.queue
	q.mu.Lock()
	last, err := e.journal.append(record)
	if err == nil {
		q.last = last
		q.waiting = append(q.waiting, record[frame:])
		q.size += len(record)
		q.pushed.Add(1)
	}
	size := q.size
	q.mu.Unlock()
	if errors.Is(err, errTorn) {
		err = unavailable("store %s: its journal did not take a write (%v): close the store and open it again", e.dir, err)
		e.broken.CompareAndSwap(nil, &err)
		return err
	}
	if err != nil {
		return unavailable("store %s: its journal did not take a write (%v): make room and try again; nothing was lost", e.dir, err)
	}
	if size > queueEnough {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	if size > queueMost {
		return e.settleQueue()
	}
	return nil
}

// commit writes pairs, those without a value to be removed, all of them or none.
func (e *engine) commit(pairs ...pair) error {
	size := 0
	for _, p := range pairs {
		size += pairLead + len(p.key) + len(p.value)
	}
	t := newBatch(size)
	for _, p := range pairs {
		if p.value == nil {
			t.remove(p.key)
		} else {
			t.set(p.key, p.value)
		}
	}
	return e.push(t)
}

// settleQueue returns when all that was pushed before is in the database.
func (e *engine) settleQueue() error {
	q := &e.queue
	want := q.pushed.Load()
	if q.taken.Load() >= want {
		return nil
	}
	q.working.Lock()
	defer q.working.Unlock()
	if q.taken.Load() >= want {
		return nil
	}
	if err := e.unbroken(); err != nil {
		return err
	}
	q.mu.Lock()
	bodies, size, last, upTo := q.waiting, q.size, q.last, q.pushed.Load()
	if err := e.roomFor(size); err != nil {
		q.mu.Unlock()
		return err
	}
	q.waiting, q.size = nil, 0
	q.mu.Unlock()
	if err := e.toDatabase(append(bodies, e.takenMark(last))); err != nil {
		return err
	}
	q.taken.Store(upTo)
	return nil
}

// toDatabase writes the pairs of batches. After an error it is not known what the database
// holds: nothing more is written until the store is opened again, with the journal.
func (e *engine) toDatabase(bodies [][]byte) error {
	w := e.db.NewWriteBatch()
	defer w.Cancel()
	var err error
	for _, body := range bodies {
		if err == nil {
			err = eachPair(body, func(key, value []byte) error {
				if value == nil {
					return w.Delete(key)
				}
				return w.Set(key, value)
			})
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		err = unavailable("the database did not take a write (%v): close the store and open it again", err)
		e.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// emptyQueue works in the background.
func (e *engine) emptyQueue(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.queue.wake:
		}
		// What fails is tried again: by the next one who reads, or pushes.
		_ = e.inside(func() error {
			if err := e.settleQueue(); err != nil || !e.journal.large() {
				return err
			}
			return e.turnJournal()
		})
	}
}

// turnJournal makes the database safe against a power cut and removes the journals that
// are not needed any more.
func (e *engine) turnJournal() error {
	e.queue.turning.Lock()
	defer e.queue.turning.Unlock()
	e.queue.mu.Lock()
	upTo, files := e.journal.turn()
	e.queue.mu.Unlock()
	if len(files) == 0 {
		return nil
	}
	if err := e.settleQueue(); err != nil {
		return err
	}
	mark := newBatch(64)
	mark.set([]byte(keySynced), number(upTo))
	if err := e.toDatabase([][]byte{mark.b[frame:]}); err != nil {
		return err
	}
	if err := e.syncDatabase(); err != nil {
		return err
	}
	return e.journal.remove(files)
}

// takenMark lets the database tell up to which place of the journal it was written to. Until
// the machine is started anew it then holds all of it.
func (e *engine) takenMark(p journalPlace) []byte {
	b := append(number(p.file), number(p.end)...)
	mark := newBatch(128)
	mark.set([]byte(keyTaken), append(b, e.witness.boot...))
	return mark.b[frame:]
}

// marks reads what the database tells of the journals: synced is the newest that is not
// needed any more, taken the place up to which it was written to.
func (e *engine) marks() (synced uint64, taken journalPlace, err error) {
	err = e.snapshot(func(txn *badger.Txn) error {
		b, err := getBytes(txn, []byte(keySynced))
		if err == nil {
			synced, err = decodeNumber(b)
		}
		if err != nil && !errors.Is(err, badger.ErrKeyNotFound) {
			return err
		}
		b, err = getBytes(txn, []byte(keyTaken))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		r := reader{b: b}
		r.version()
		p := journalPlace{file: r.uint()}
		r.version()
		p.end = r.uint()
		if boot := string(r.b); !r.bad && boot != "" && boot == e.witness.boot {
			taken = p
		}
		return err
	})
	return synced, taken, err
}

// replay gives the database what the journals of earlier owners hold and it has not. A
// journal that is damaged is laid aside as well: what is missing shows when the sessions
// are read.
func (e *engine) replay(found []journalContent) error {
	synced, taken, err := e.marks()
	if err != nil {
		return err
	}
	e.journal.startBehind(max(synced, taken.file))
	if err := e.roomFor(e.journal.held()); err != nil {
		return err
	}
	for _, c := range found {
		if c.number <= synced {
			continue // it was to be removed
		}
		if c.torn {
			to, err := layAside(c.path, filepath.Join(e.dir, dirDamaged))
			if err != nil {
				return err
			}
			if c.anew {
				e.found.aside = append(e.found.aside, to) // not needed if nothing is missed
			}
		}
		if err := e.toDatabase(c.behind(taken)); err != nil {
			return err
		}
	}
	return nil
}
