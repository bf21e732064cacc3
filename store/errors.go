package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// errGone: the process that owns the store went away before it answered.
var errGone = errors.New("the process that owned the store is gone")

// unavailable is an error of kind ErrUnavailable; the text says what to do.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), transcript.ErrUnavailable)
}

// errShut: the store was closed.
var errShut = transcript.ErrClosed

func errClosed() error { return fmt.Errorf("%w: open it again", errShut) }

// translate turns the database's own errors into those of the contract.
func translate(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		return errClosed()
	}
	for _, known := range [...]error{transcript.ErrNotFound, transcript.ErrConflict, transcript.ErrUnavailable, transcript.ErrDamaged} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", err, transcript.ErrUnavailable)
}

func notFound(what string) error { return fmt.Errorf("%s: %w", what, transcript.ErrNotFound) }

// damagedAt says that an entry cannot be read, and what can be done about it.
func damagedAt(key transcript.Key, h head, seq uint64, cause error) error {
	rest := fmt.Sprintf("nothing before it is left (flower sessions delete %s --yes lets its step begin anew)", key.Session)
	if seq > 1 {
		rest = fmt.Sprintf("entries 1 to %d can be saved, with a fork that ends there (flower sessions fork %s --at %d)", seq-1, key.Session, seq-1)
	}
	return fmt.Errorf("session %s: entry %d of %d cannot be read (%w); %s, or restore a backup: %w",
		key, seq, h.last, cause, rest, transcript.ErrDamaged)
}

// damagedShort says that a transcript has lost its newest entries.
func damagedShort(key transcript.Key, have, want uint64) error {
	rest := "nothing is left of it; restore a backup, or repair the store, which drops it (flower sessions repair)"
	if have > 0 {
		rest = fmt.Sprintf("entries 1 to %d can be saved, with a fork that ends there (flower sessions fork %s --at %d), or restore a backup", have, key.Session, have)
	}
	return fmt.Errorf("session %s: %d entries are missing, %d of %d are left; %s: %w",
		key, want-have, have, want, rest, transcript.ErrDamaged)
}

// safely runs f and turns a panic, which is how the database reports some kinds of
// damage, into an error.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the database gave up (%v): %w", p, transcript.ErrDamaged)
		}
	}()
	return f()
}
