package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// pair is a key with its value.
type pair struct{ key, value []byte }

// append is Append.
func (e *engine) append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	if err := checkEntries(key, es); err != nil {
		return 0, err
	}
	last, err := e.appendLocked(key, expect, es)
	if err != nil || !e.o.SyncAlways {
		return last, err
	}
	return last, e.sync(ctx)
}

func checkEntries(key transcript.Key, es []transcript.Entry) error {
	if err := checkKey(key); err != nil {
		return err
	}
	for i := range es {
		if len(es[i].Raw) == 0 {
			return fmt.Errorf("append to %s: entry %d has no bytes: make entries with transcript.Parse", key, i)
		}
	}
	return nil
}

func (e *engine) appendLocked(key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	name := string(keyBytes(key))
	defer e.lock(name)()
	t, err := e.tail(key, name)
	if err != nil {
		return 0, err
	}
	fresh, err := e.fresh(key, t, expect, es)
	switch {
	case err != nil:
		return 0, err
	case len(fresh) > 0:
		return e.write(key, name, t, fresh)
	case t.head == nil:
		return 0, nil
	}
	return t.head.last, nil
}

// fresh are the entries of es that are to be written: none when expect is stale
// and es was written already.
func (e *engine) fresh(key transcript.Key, t *tail, expect uint64, es []transcript.Entry) ([]transcript.Entry, error) {
	last := uint64(0)
	if t.head != nil {
		last = t.head.last
	}
	if expect > last {
		return nil, conflict(key, last, expect)
	}
	out := make([]transcript.Entry, 0, len(es))
	var seen map[string]bool
	if len(es) > 1 {
		seen = make(map[string]bool, len(es))
	}
	for i := range es {
		id := es[i].UUID
		if id != "" {
			if seen[id] {
				continue
			}
			if seen != nil {
				seen[id] = true
			}
			there, err := e.holds(key, t, id, expect)
			if err != nil {
				return nil, err
			}
			if there {
				continue
			}
		}
		out = append(out, es[i])
	}
	if expect == last {
		return out, nil
	}
	return nil, e.checkRetry(key, t.head, expect, out)
}

// holds reports whether one of the entries up to a Seq has that uuid.
func (e *engine) holds(key transcript.Key, t *tail, uuid string, upTo uint64) (bool, error) {
	if may, err := e.mayKnow(t, uuid); err != nil || !may {
		return false, err
	}
	seq := uint64(0)
	err := e.view(func(txn *badger.Txn) (err error) {
		seq, err = e.find(txn, key, t.head, uuid)
		return err
	})
	return seq > 0 && seq <= upTo, err
}

// checkRetry is nil when the entries after expect are es, byte for byte.
func (e *engine) checkRetry(key transcript.Key, h *head, expect uint64, es []transcript.Entry) error {
	if uint64(len(es)) != h.last-expect {
		return conflict(key, h.last, expect)
	}
	return e.view(func(txn *badger.Txn) error {
		for i := range es {
			seq := expect + 1 + uint64(i)
			rec, err := e.record(txn, h.logOf(seq), seq)
			if err == nil {
				err = e.fill(&rec)
			}
			if err != nil {
				return damagedAt(key, *h, seq, err)
			}
			if !bytes.Equal(rec.raw, es[i].Raw) {
				return conflict(key, h.last, expect)
			}
		}
		return nil
	})
}

func conflict(key transcript.Key, last, expect uint64) error {
	return fmt.Errorf("append to %s after entry %d: its newest is %d, somebody else writes to it: load it again: %w",
		key, expect, last, transcript.ErrConflict)
}

// find is the Seq of the entry with that uuid, 0 when there is none. The index may
// hold leavings of a batch that never became visible, so a hit is checked.
func (e *engine) find(txn *badger.Txn, key transcript.Key, h *head, uuid string) (uint64, error) {
	for _, s := range h.spans(1, h.last) {
		v, err := getBytes(txn, uuidKey(s.log, uuid))
		if errors.Is(err, badger.ErrKeyNotFound) {
			continue
		}
		var seq uint64
		if err == nil {
			seq, err = decodeNumber(v)
		}
		if err != nil {
			return 0, fmt.Errorf("session %s: index entry of %.80q: %w: %w", key, uuid, err, transcript.ErrDamaged)
		}
		if seq < s.first || seq > s.last {
			continue
		}
		rec, err := e.record(txn, s.log, seq)
		if err != nil {
			return 0, damagedAt(key, *h, seq, err)
		}
		var hd transcript.Header
		if err := hd.UnmarshalBinary(rec.header); err != nil {
			return 0, damagedAt(key, *h, seq, err)
		}
		if hd.UUID == uuid {
			return seq, nil
		}
	}
	return 0, nil
}

// write stores es behind the others of t.
func (e *engine) write(key transcript.Key, name string, t *tail, es []transcript.Entry) (uint64, error) {
	size := 0
	for i := range es {
		size += len(es[i].Raw)
	}
	if err := e.writable(int64(size)); err != nil {
		return 0, err
	}
	next := head{}
	if t.head != nil {
		next = *t.head
	}
	if slices.ContainsFunc(es, large) {
		// Until the commit nobody may sweep the files that it refers to.
		e.blobs.sweep.RLock()
		defer e.blobs.sweep.RUnlock()
	}
	w := newBatch(size + len(es)*entryOverhead + 256)
	if t.head == nil {
		log, err := e.logs.next(e)
		if err != nil {
			return 0, err
		}
		next.log = log
		w.set(readerKey(log, key), number(ownerReads))
	}
	w, err := e.encodeEntries(w, &next, es)
	if err != nil {
		return 0, err
	}
	next.modified = max(e.o.Now().UnixNano(), next.modified+1)
	w.set(headKey(key), next.encode())
	if err := e.push(w); err != nil {
		return 0, err
	}
	e.moved(name, t, &next, es)
	e.tell(key, name, &next)
	return next.last, nil
}

// entryOverhead is about what is stored of an entry beside its bytes.
const entryOverhead = 320

// tell lets the witness and the watchers know of a committed change.
func (e *engine) tell(key transcript.Key, name string, h *head) {
	// A witness that lags behind protects less and loses nothing; sync writes it
	// anew.
	_ = e.witness.stored(name, mark{h.last, h.chain})
	e.hub.publish(key, h.last)
}

func large(en transcript.Entry) bool { return len(en.Raw) > maxInline }

// encodeEntries adds the pairs for es to w and moves h forward over them. What is more
// than one batch is written, without becoming visible, and the last batch returned.
func (e *engine) encodeEntries(w *batch, h *head, es []transcript.Entry) (*batch, error) {
	link := linker{sum: h.chain}
	for i := range es {
		en := &es[i]
		h.last++
		rec := record{raw: en.Raw}
		if large(*en) {
			var err error
			if rec.blob, err = e.blobs.put(en.Raw); err != nil {
				return nil, err
			}
			rec.size = uint64(len(en.Raw))
			w.set(blobKey(rec.blob, h.log, h.last), number(rec.size))
		}
		rec.chain = link.add(en.Raw)
		var header [256]byte
		var err error
		if rec.header, err = en.Header.AppendBinary(header[:0]); err != nil {
			return nil, err
		}
		w.begin(entryKey(h.log, h.last))
		w.b = rec.append(w.b)
		w.end()
		if en.UUID != "" {
			w.set(uuidKey(h.log, en.UUID), number(h.last))
		}
		if len(w.b) > batchMost {
			if err := e.push(w); err != nil {
				return nil, err
			}
			w = newBatch(batchMost)
		}
	}
	h.chain = link.sum
	return w, nil
}
