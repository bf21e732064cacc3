package store

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// ownerReads stands in a reader record for the owner of the log: it reads all.
const ownerReads = math.MaxUint64

// fork is Fork. The new transcript gets a log of its own and, before it, the parts
// of other logs that src consists of, so no entry is touched.
func (e *engine) fork(ctx context.Context, q *request) error {
	if err := errors.Join(checkKey(q.Key), checkKey(q.Dst)); err != nil {
		return err
	}
	if err := e.writable(0); err != nil {
		return err
	}
	if err := e.forkLocked(q); err != nil || !e.o.SyncAlways {
		return err
	}
	return e.sync(ctx)
}

func (e *engine) forkLocked(q *request) error {
	e.shape.Lock()
	defer e.shape.Unlock()
	dst, err := e.forkedHead(q)
	if err != nil {
		return err
	}
	switch done, err := e.forkExists(q, dst); {
	case err != nil:
		return err
	case done:
		return nil
	}
	if dst.log, err = e.logs.next(e); err != nil {
		return err
	}
	dst.modified = e.o.Now().UnixNano()
	body := []pair{{headKey(q.Dst), dst.encode()}, {readerKey(dst.log, q.Dst), number(ownerReads)}}
	for _, p := range dst.shared {
		body = append(body, pair{readerKey(p.log, q.Dst), number(p.end)})
	}
	if err := e.commit(body...); err != nil {
		return err
	}
	e.tell(q.Dst, string(keyBytes(q.Dst)), &dst)
	return nil
}

// forkedHead is the head that the fork will have, save its log and time.
func (e *engine) forkedHead(q *request) (dst head, err error) {
	err = e.lookup(q.Key, func(txn *badger.Txn, h *head, lack error) error {
		switch {
		case h == nil && lack == nil:
			return notFound("session " + q.Key.String())
		case h == nil, q.At == "" && lack != nil:
			return lack // what is left must be asked for by name
		}
		seq := h.last
		if q.At != "" {
			if seq, err = e.find(txn, q.Key, h, q.At); err != nil {
				return err
			}
			if seq == 0 {
				return notFound(fmt.Sprintf("session %s: message %.80q", q.Key, q.At))
			}
		}
		dst = head{last: seq, chain: h.chain, shared: h.upTo(seq)}
		if seq < h.last {
			rec, err := e.record(txn, h.logOf(seq), seq)
			if err != nil {
				return damagedAt(q.Key, *h, seq, err)
			}
			dst.chain = rec.chain
		}
		return nil
	})
	return dst, err
}

// forkExists reports whether the same fork was made already, by a request that got
// no answer; any other transcript in its place is a conflict.
func (e *engine) forkExists(q *request, dst head) (done bool, err error) {
	err = e.lookup(q.Dst, func(_ *badger.Txn, h *head, lack error) error {
		switch {
		case h == nil && lack == nil:
			return nil
		case h != nil && q.Again && h.last == dst.last && h.chain == dst.chain:
			done = true
			return nil
		}
		return fmt.Errorf("fork %s to %s, which exists: choose another name: %w", q.Key, q.Dst, transcript.ErrConflict)
	})
	return done, err
}
