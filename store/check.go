package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// check runs over all transcripts, one request for each, so that the owner stays
// free for others.
func (l *link) check(ctx context.Context) (out CheckReport, err error) {
	q := request{Op: opList}
	for more := true; more; {
		r, err := l.call(ctx, q)
		if err != nil && !errors.Is(err, transcript.ErrDamaged) {
			return out, err
		}
		for _, info := range r.Infos {
			if err := l.checkOne(ctx, info, &out); err != nil {
				return out, err
			}
		}
		more, q.Page = r.More, r.Page
	}
	// What is gone without a trace in the database is not in the list.
	r, err := l.call(ctx, request{Op: opLost})
	if err != nil {
		return out, err
	}
	for _, info := range r.Infos {
		if err := l.checkOne(ctx, info, &out); err != nil {
			return out, err
		}
	}
	r, err = l.call(ctx, request{Op: opCheckValues})
	out.Values = int(r.Seq)
	if errors.Is(err, transcript.ErrDamaged) {
		out.Damaged = append(out.Damaged, Damage{Err: err})
		err = nil
	}
	return out, err
}

func (l *link) checkOne(ctx context.Context, info transcript.Info, out *CheckReport) error {
	r, err := l.call(ctx, request{Op: opCheck, Key: info.Key})
	switch {
	case errors.Is(err, transcript.ErrNotFound): // deleted in the meantime
		return nil
	case errors.Is(err, transcript.ErrDamaged):
		out.Damaged = append(out.Damaged, Damage{Key: info.Key, Good: r.Seq, Want: max(info.Head.Last, r.Rev), Err: err})
	case err != nil:
		return err
	}
	out.Transcripts++
	out.Entries += r.Seq
	return nil
}

// checkTranscript reads all of a transcript. r.Seq is how many entries are good,
// r.Rev how many there should be.
func (e *engine) checkTranscript(ctx context.Context, key transcript.Key, r *reply) error {
	if m, known := e.witness.mark(string(keyBytes(key))); known {
		r.Rev = m.last
	}
	page := reply{More: true}
	for page.More {
		if err := ctx.Err(); err != nil {
			return err
		}
		page.Entries, page.More = page.Entries[:0], false
		err := e.load(key, r.Seq, page.Page, &page)
		if n := len(page.Entries); n > 0 {
			r.Seq = page.Entries[n-1].Seq
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkValues reads all small values; r.Seq counts them.
func (e *engine) checkValues(ctx context.Context, r *reply) error {
	var names []string
	err := e.view(func(txn *badger.Txn) error {
		return eachKey(txn, []byte{tagValue}, func(item *badger.Item) error {
			names = append(names, string(item.Key()[1:]))
			return nil
		})
	})
	if err != nil {
		return err
	}
	var all []error
	for _, name := range append(names, e.witness.names()...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, _, err := e.get(name); err != nil {
			all = append(all, err)
		}
	}
	r.Seq = uint64(len(names))
	return errors.Join(all...)
}

// lostInfos lists what the witness knows and the database has not at all.
func (e *engine) lostInfos(r *reply) error {
	if e.lost(transcript.Key{}) == nil {
		return nil
	}
	for _, key := range e.lostKeys {
		m, known := e.witness.mark(string(keyBytes(key)))
		err := e.view(func(txn *badger.Txn) error {
			h, err := readHead(txn, key)
			if err == nil && h == nil && known {
				r.Infos = append(r.Infos, transcript.Info{Key: key, Head: transcript.Head{Count: m.last, Last: m.last, Chain: m.chain}})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("session %s: %w", key, err)
		}
	}
	return nil
}
