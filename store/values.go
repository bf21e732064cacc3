package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// get is Get.
func (e *engine) get(name string) (data []byte, rev uint64, err error) {
	if err := checkName(name); err != nil {
		return nil, 0, err
	}
	known := e.witness.rev(name) // before the database, which is ahead of it
	err = e.view(func(txn *badger.Txn) error {
		v, err := readValue(txn, name)
		data, rev = v.data, v.rev
		return err
	})
	switch {
	case err != nil:
		return nil, 0, err
	case rev < known:
		return nil, 0, fmt.Errorf("value %s: revision %d of %d is left; restore a backup: %w", name, rev, known, transcript.ErrDamaged)
	case rev == 0:
		return nil, 0, notFound("value " + name)
	}
	return data, rev, nil
}

// readValue gives revision 0 when there is none.
func readValue(txn *badger.Txn, name string) (value, error) {
	b, err := getBytes(txn, valueKey(name))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return value{}, nil
	}
	if err != nil {
		return value{}, err
	}
	v, err := decodeValue(b)
	if err != nil {
		return value{}, fmt.Errorf("value %s: %w; restore a backup: %w", name, err, transcript.ErrDamaged)
	}
	return v, nil
}

// put is Put.
func (e *engine) put(ctx context.Context, q *request) (uint64, error) {
	if err := checkName(q.At); err != nil {
		return 0, err
	}
	if q.At == "" || len(q.Value) > transcript.MaxValue {
		return 0, fmt.Errorf("value %.80q of %d bytes: a name is needed, and at most %d bytes", q.At, len(q.Value), transcript.MaxValue)
	}
	if err := e.writable(int64(len(q.Value))); err != nil {
		return 0, err
	}
	rev, err := e.putLocked(q)
	if err != nil || !e.o.SyncAlways && len(q.Value) < valueThreshold/2 {
		return rev, err
	}
	// A large one is synced at once: of what the database writes later a power cut could
	// keep the pointer, lose the value, and with it the old one, which was safe.
	return rev, e.sync(ctx)
}

func (e *engine) putLocked(q *request) (uint64, error) {
	defer e.lock("\x00" + q.At)()
	data, rev, err := e.get(q.At)
	switch {
	case err != nil && !errors.Is(err, transcript.ErrNotFound):
		return 0, err
	case q.Again && rev == q.Rev+1 && bytes.Equal(data, q.Value):
		return rev, nil // the first attempt had come through
	case rev != q.Rev:
		return 0, fmt.Errorf("value %s: it has revision %d, not %d: read it again: %w", q.At, rev, q.Rev, transcript.ErrConflict)
	}
	v := value{rev: rev + 1, data: q.Value}
	if err := e.commit(pair{valueKey(q.At), v.encode()}); err != nil {
		return 0, err
	}
	_ = e.witness.valued(q.At, v.rev) // one that lags protects less and loses nothing
	return v.rev, nil
}
