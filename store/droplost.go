package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// dropLost removes the transcripts of a report of which no entry can be read, and lets
// small values be what they are. Otherwise everybody who looks for them is told of the
// damage, and nobody could begin them anew.
func (e *engine) dropLost(ctx context.Context, report *CheckReport) error {
	for i := range report.Damaged {
		d := &report.Damaged[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.Key == (transcript.Key{}) {
			n, err := e.dropValues()
			if err != nil {
				return err
			}
			d.Dropped = true
			d.Err = fmt.Errorf("%d small values lost their newest revision; those of which an older one is left have that, the others were dropped: %w", n, transcript.ErrDamaged)
			continue
		}
		if d.Good > 0 || e.anyReadable(d.Key, d.Want) {
			continue
		}
		if err := e.deleteOne(d.Key); err != nil {
			return err
		}
		d.Dropped = true
		d.Err = fmt.Errorf("session %s: none of its %d entries can be read; it was dropped, and the step that it is of begins anew; a backup brings it back: %w", d.Key, d.Want, transcript.ErrDamaged)
	}
	return nil
}

// anyReadable reports whether one of so many entries is there behind those that are
// missing: as long as it is, the session is for a person to look at.
func (e *engine) anyReadable(key transcript.Key, want uint64) (found bool) {
	_ = e.view(func(txn *badger.Txn) error { // what cannot be read is not there
		h, err := readHead(txn, key)
		if err != nil || h == nil {
			return err
		}
		for seq := uint64(1); seq <= want && !found; seq++ {
			rec, err := e.record(txn, h.logOf(seq), seq)
			found = err == nil && e.fill(&rec) == nil
		}
		return nil
	})
	return found
}

// dropValues removes small values that cannot be read, and has those that lost their
// newest revision be of the older one. It returns how many there were.
func (e *engine) dropValues() (n int, err error) {
	names := e.witness.names()
	err = e.view(func(txn *badger.Txn) error {
		return eachKey(txn, []byte{tagValue}, func(item *badger.Item) error {
			names = append(names, string(item.Key()[1:]))
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if _, _, err := e.get(name); !errors.Is(err, transcript.ErrDamaged) {
			continue
		}
		n++
		if err := e.witness.unvalued(name); err != nil {
			return n, unavailable("repair %s (%v)", e.dir, err)
		}
		if _, _, err := e.get(name); !errors.Is(err, transcript.ErrDamaged) {
			continue // it is of an older revision, or gone
		}
		if err := e.commit(pair{key: valueKey(name)}); err != nil {
			return n, err
		}
	}
	return n, nil
}
