package store

import (
	"context"
	"errors"
	"iter"
	"os"
	"sync"

	"github.com/flowerlua/flower/engine/transcript"
)

// link connects a Store with whatever answers its requests at the time.
type link struct {
	dir string
	o   Options

	mu     sync.Mutex
	b      backend
	closed bool
}

func (l *link) open(dir string, o Options) error {
	l.dir, l.o = dir, o
	if err := prepareDir(dir); err != nil {
		return err
	}
	b, err := own(dir, o)
	l.b = b
	return err
}

// owner is the backend of the process that owns the store.
type owner struct {
	*engine
	lock *os.File
}

// own takes the lock and opens the engine; errBusy when another has it.
func own(dir string, o Options) (*owner, error) {
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	e, err := openEngine(dir, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &owner{engine: e, lock: lock}, nil
}

func (o *owner) close() error {
	return errors.Join(o.engine.close(), o.lock.Close())
}

func (l *link) backend() (backend, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed()
	}
	return l.b, nil
}

func (l *link) call(ctx context.Context, q request) (*reply, error) {
	b, err := l.backend()
	if err != nil {
		return new(reply), err
	}
	return b.call(ctx, &q)
}

func (l *link) watch(ctx context.Context, prefix transcript.Key) iter.Seq2[transcript.Change, error] {
	b, err := l.backend()
	var w watcher
	if err == nil {
		w, err = b.watch(ctx, prefix)
	}
	if err == nil {
		context.AfterFunc(ctx, w.stop)
	}
	return func(yield func(transcript.Change, error) bool) {
		if err != nil {
			yield(transcript.Change{}, err)
			return
		}
		defer w.stop()
		for {
			changes, err := w.next(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(transcript.Change{}, err)
				return
			}
			for _, c := range changes {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.b.close()
}
