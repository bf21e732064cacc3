package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// Deleting has two halves. The first removes the heads, at once and briefly: the
// transcripts are gone. What of their logs nobody reads any more is noted as waste,
// and removed in the background, or after the next open.

const sweepBatch = 500 // entries removed in one transaction

// delete is Delete.
func (e *engine) delete(ctx context.Context, key transcript.Key) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := e.unbroken(); err != nil {
		return err
	}
	if err := e.deleteLocked(ctx, key); err != nil {
		return err
	}
	e.sweepSoon()
	if e.o.SyncAlways {
		return e.sync(ctx)
	}
	return nil
}

func (e *engine) deleteLocked(ctx context.Context, key transcript.Key) error {
	e.shape.Lock()
	defer e.shape.Unlock()
	keys, err := e.family(key)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.deleteOne(k); err != nil {
			return err
		}
		e.hub.publish(k, 0)
	}
	return nil
}

// family is key and, for a main thread, its subagents: what the database holds and
// what the witness misses.
func (e *engine) family(key transcript.Key) ([]transcript.Key, error) {
	found := map[transcript.Key]bool{}
	for _, name := range e.witness.keys() {
		if k, ok := parseKey([]byte(name)); ok && related(k, key) {
			found[k] = true
		}
	}
	err := e.view(func(txn *badger.Txn) error {
		return eachKey(txn, headKey(key), func(item *badger.Item) error {
			if k, ok := parseKey(item.Key()[1:]); ok && related(k, key) {
				found[k] = true
			}
			return nil
		})
	})
	return slices.Collect(maps.Keys(found)), err
}

// related reports whether k goes when key is deleted.
func related(k, key transcript.Key) bool {
	return k == key || key.Sub == "" && k.Project == key.Project && k.Session == key.Session
}

// keysOf iterates over the keys with prefix; values are read when asked for.
func keysOf(txn *badger.Txn, prefix []byte) *badger.Iterator {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = prefix
	return txn.NewIterator(o)
}

// eachKey runs f for each key with prefix.
func eachKey(txn *badger.Txn, prefix []byte, f func(item *badger.Item) error) error {
	it := keysOf(txn, prefix)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := f(it.Item()); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) deleteOne(key transcript.Key) error {
	var h *head
	var waste []pair
	err := e.view(func(txn *badger.Txn) (err error) {
		if h, err = readHead(txn, key); err != nil || h == nil {
			// A head that cannot be read leaves its log behind, to no harm.
			return nil
		}
		for _, p := range append(h.shared[:len(h.shared):len(h.shared)], part{log: h.log}) {
			keep, err := stillRead(txn, p.log, key)
			if err != nil {
				return err
			}
			if keep != ownerReads {
				waste = append(waste, pair{wasteKey(p.log), number(keep)})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.witness.deleted(string(keyBytes(key))); err != nil {
		return unavailable("delete %s: the witness file takes no writes (%v)", key, err)
	}
	return e.commitDelete(key, h, waste)
}

func (e *engine) commitDelete(key transcript.Key, h *head, waste []pair) error {
	gone := []pair{{key: headKey(key)}}
	if h != nil {
		gone = append(gone, pair{key: readerKey(h.log, key)})
		for _, p := range h.shared {
			gone = append(gone, pair{key: readerKey(p.log, key)})
		}
	}
	e.tails.forget(string(keyBytes(key)))
	return e.commit(append(gone, waste...)...)
}

// stillRead is up to which entry others than key read a log.
func stillRead(txn *badger.Txn, log uint64, key transcript.Key) (keep uint64, err error) {
	mine := string(readerKey(log, key))
	err = eachKey(txn, logPrefix(tagReader, log), func(item *badger.Item) error {
		if string(item.Key()) == mine {
			return nil
		}
		return item.Value(func(b []byte) error {
			end, err := decodeNumber(b)
			if err != nil {
				return fmt.Errorf("readers of log %d: %w: %w", log, err, transcript.ErrDamaged)
			}
			keep = max(keep, end)
			return nil
		})
	})
	return keep, err
}

// sweepSoon wakes the sweeper.
func (e *engine) sweepSoon() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// sweep removes all waste. It stops early, without harm, when ctx ends.
func (e *engine) sweep(ctx context.Context) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := e.inside(func() error {
			log, ok, err := e.someWaste()
			if more = ok; err != nil || !ok {
				return err
			}
			return e.sweepSome(log)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// someWaste is a log that has waste.
func (e *engine) someWaste() (log uint64, ok bool, err error) {
	err = e.view(func(txn *badger.Txn) error {
		it := keysOf(txn, []byte{tagWaste})
		defer it.Close()
		if it.Rewind(); it.Valid() {
			log, ok = keyNumber(it.Item().Key()), true
		}
		return nil
	})
	return log, ok, err
}

// sweepSome removes some of log's waste, and the note of it when there is no more.
// No deletion may come in between, or its note would be lost.
func (e *engine) sweepSome(log uint64) error {
	e.shape.RLock()
	defer e.shape.RUnlock()
	var gone [][]byte
	var blobs [][32]byte
	err := e.view(func(txn *badger.Txn) error {
		keep, err := wasteAbove(txn, log)
		if err != nil {
			return err
		}
		gone, blobs, err = someLeavings(txn, log, keep)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil // somebody else was faster
	}
	if err != nil {
		return err
	}
	if len(gone) == 0 {
		gone = [][]byte{wasteKey(log)}
	}
	if err := e.remove(gone); err != nil {
		return err
	}
	return e.sweepBlobs(blobs)
}

// someLeavings are the keys of the first entries of log above keep, and the files
// that these refer to.
func someLeavings(txn *badger.Txn, log, keep uint64) (gone [][]byte, blobs [][32]byte, err error) {
	it := keysOf(txn, logPrefix(tagEntry, log))
	defer it.Close()
	it.Seek(entryKey(log, keep+1))
	for n := 0; it.Valid() && n < sweepBatch; n++ {
		item := it.Item()
		gone = append(gone, item.KeyCopy(nil))
		err := item.Value(func(b []byte) error {
			gone, blobs = leavings(gone, blobs, log, keyNumber(item.Key()), b)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		it.Next()
	}
	return gone, blobs, nil
}

func wasteAbove(txn *badger.Txn, log uint64) (uint64, error) {
	b, err := getBytes(txn, wasteKey(log))
	if err != nil {
		return 0, err
	}
	return decodeNumber(b)
}

// leavings adds the other keys of an entry to gone; of one that cannot be read they
// stay, to no harm.
func leavings(gone [][]byte, blobs [][32]byte, log, seq uint64, b []byte) ([][]byte, [][32]byte) {
	rec, err := decodeRecord(b)
	if err != nil {
		return gone, blobs
	}
	if rec.size > 0 {
		gone = append(gone, blobKey(rec.blob, log, seq))
		blobs = append(blobs, rec.blob)
	}
	var hd transcript.Header
	if hd.UnmarshalBinary(rec.header) == nil && hd.UUID != "" {
		gone = append(gone, uuidKey(log, hd.UUID))
	}
	return gone, blobs
}

func (e *engine) remove(keys [][]byte) error {
	pairs := make([]pair, len(keys))
	for i, k := range keys {
		pairs[i].key = k
	}
	return e.commit(pairs...)
}

// sweepBlobs removes the files to which no entry refers any more.
func (e *engine) sweepBlobs(hashes [][32]byte) error {
	for _, hash := range hashes {
		if _, err := e.sweepBlob(hash); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) sweepBlob(hash [32]byte) (gone bool, err error) {
	e.blobs.sweep.Lock()
	defer e.blobs.sweep.Unlock()
	used := false
	err = e.view(func(txn *badger.Txn) error {
		return eachKey(txn, append([]byte{tagBlob}, hash[:]...), func(*badger.Item) error {
			used = true
			return nil
		})
	})
	if err != nil || used {
		return false, err
	}
	return true, e.blobs.remove(hash)
}
