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

// chunkBytes bounds one transaction. A batch that is larger goes into several; the
// head comes last and makes all of it visible at once.
const chunkBytes = 8 << 20

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
	defer e.lock(string(keyBytes(key)))()
	var old *head
	var fresh []transcript.Entry
	err := e.lookup(key, func(txn *badger.Txn, h *head, lack error) (err error) {
		if lack != nil {
			return lack
		}
		old = h
		fresh, err = e.fresh(txn, key, h, expect, es)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case len(fresh) > 0:
		return e.write(key, old, fresh)
	case old == nil:
		return 0, nil
	}
	return old.last, nil
}

// fresh are the entries of es that are to be written: none when expect is stale
// and es was written already.
func (e *engine) fresh(txn *badger.Txn, key transcript.Key, h *head, expect uint64, es []transcript.Entry) ([]transcript.Entry, error) {
	if h == nil {
		h = &head{}
	}
	if expect > h.last {
		return nil, conflict(key, h.last, expect)
	}
	out := make([]transcript.Entry, 0, len(es))
	seen := make(map[string]bool, len(es))
	for i := range es {
		id := es[i].UUID
		if id != "" {
			if seen[id] {
				continue
			}
			seen[id] = true
			seq, err := e.find(txn, key, h, id)
			if err != nil {
				return nil, err
			}
			if seq > 0 && seq <= expect {
				continue
			}
		}
		out = append(out, es[i])
	}
	if expect == h.last {
		return out, nil
	}
	return nil, e.checkRetry(txn, key, h, expect, out)
}

// checkRetry is nil when the entries after expect are es, byte for byte.
func (e *engine) checkRetry(txn *badger.Txn, key transcript.Key, h *head, expect uint64, es []transcript.Entry) error {
	if uint64(len(es)) != h.last-expect {
		return conflict(key, h.last, expect)
	}
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

// write stores es behind old, which is nil for a new transcript.
func (e *engine) write(key transcript.Key, old *head, es []transcript.Entry) (uint64, error) {
	size := int64(0)
	for i := range es {
		size += int64(len(es[i].Raw))
	}
	if err := e.writable(size); err != nil {
		return 0, err
	}
	next := head{}
	var first []pair
	if old == nil {
		log, err := e.logs.next(e)
		if err != nil {
			return 0, err
		}
		next.log = log
		first = []pair{{readerKey(log, key), number(ownerReads)}}
	} else {
		next = *old
	}
	if slices.ContainsFunc(es, large) {
		// Until the commit nobody may sweep the files that it refers to.
		e.blobs.sweep.RLock()
		defer e.blobs.sweep.RUnlock()
	}
	body, err := e.encodeEntries(&next, es)
	if err != nil {
		return 0, err
	}
	next.modified = max(e.o.Now().UnixNano(), next.modified+1)
	if err := e.commit(append(first, body...), pair{headKey(key), next.encode()}); err != nil {
		return 0, err
	}
	e.tell(key, &next)
	return next.last, nil
}

// tell lets the witness and the watchers know of a committed change.
func (e *engine) tell(key transcript.Key, h *head) {
	// A witness that lags behind protects less and loses nothing; sync writes it
	// anew.
	_ = e.witness.stored(string(keyBytes(key)), mark{h.last, h.chain})
	e.hub.publish(key, h.last)
}

func large(en transcript.Entry) bool { return len(en.Raw) > maxInline }

// encodeEntries makes the pairs for es and moves h forward over them.
func (e *engine) encodeEntries(h *head, es []transcript.Entry) ([]pair, error) {
	link := linker{sum: h.chain}
	body := make([]pair, 0, 2*len(es)+1)
	for _, en := range es {
		hd, err := en.Header.MarshalBinary()
		if err != nil {
			return nil, err
		}
		h.last++
		rec := record{chain: link.add(en.Raw), header: hd, raw: en.Raw}
		if large(en) {
			if rec.blob, err = e.blobs.put(en.Raw); err != nil {
				return nil, err
			}
			rec.raw, rec.size = nil, uint64(len(en.Raw))
			body = append(body, pair{blobKey(rec.blob, h.log, h.last), number(rec.size)})
		}
		body = append(body, pair{entryKey(h.log, h.last), rec.encode()})
		if en.UUID != "" {
			body = append(body, pair{uuidKey(h.log, en.UUID), number(h.last)})
		}
	}
	h.chain = link.sum
	return body, nil
}

// commit writes body and then last, at which everything becomes visible.
func (e *engine) commit(body []pair, last pair) error {
	txn := e.db.NewTransaction(true)
	defer func() { txn.Discard() }()
	size := 0
	set := func(p pair) error {
		if size += len(p.key) + len(p.value); size > chunkBytes {
			return badger.ErrTxnTooBig
		}
		return txn.Set(p.key, p.value)
	}
	for _, p := range append(body, last) {
		err := set(p)
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err := e.finish(txn); err != nil {
				return err
			}
			txn, size = e.db.NewTransaction(true), 0
			err = set(p)
		}
		if err != nil {
			return err
		}
	}
	return e.finish(txn)
}

// finish commits txn. After a commit that failed half-way the memory of the
// database may hold what its files do not: nothing more is written.
func (e *engine) finish(txn *badger.Txn) error {
	if err := txn.Commit(); err != nil {
		broken := unavailable("the database did not take a write (%v): close the store and open it again", err)
		e.broken.CompareAndSwap(nil, &broken)
		return broken
	}
	e.commits.Add(1)
	return nil
}
