package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// sync returns when all that was committed before is safe against a power cut, in the
// folder that others know.
func (e *engine) sync(ctx context.Context) error {
	if err := e.syncAll(ctx); err != nil {
		return err
	}
	return e.present() // afterwards, since files that were removed are synced as well
}

// syncAll: calls that come while one is at work share the next one.
func (e *engine) syncAll(ctx context.Context) error {
	if e.queue.pushed.Load() == e.syncedAt.Load() {
		return nil
	}
	if err := e.group.do(ctx, e.syncNow); err != nil {
		return err
	}
	if !e.witness.large() {
		return nil
	}
	return e.witness.rewrite(e.syncJournal)
}

func (e *engine) syncNow() error {
	upTo, pushed := e.witness.offset(), e.queue.pushed.Load()
	if err := e.syncJournal(); err != nil {
		return unavailable("sync %s (%v): what was written since the last sync may not survive a power cut", e.dir, err)
	}
	e.syncedAt.Store(pushed)
	_ = e.witness.synced(upTo) // without it fewer notes bind, which is safe
	return nil
}

// syncJournal makes all that was pushed safe: it is in the journal, or in the database and
// synced.
func (e *engine) syncJournal() error {
	return errors.Join(e.blobs.sync(), e.journal.sync())
}

// syncDatabase makes what the database has taken safe. It has two files for it, which it
// syncs one after the other.
func (e *engine) syncDatabase() error {
	return errors.Join(e.db.Sync(), e.syncOlder(filepath.Join(e.dir, dirDB)))
}

// syncOlder syncs what db.Sync leaves out: the logs of memory tables that wait to
// be flushed, and the names of new files. It comes after db.Sync, so that no log
// begins to wait in between.
func (e *engine) syncOlder(dir string) error {
	e.names.Lock()
	defer e.names.Unlock()
	names, err := listNames(dir)
	if err != nil {
		return err
	}
	newest := lastWith(names, ".mem")
	for _, n := range names {
		if strings.HasSuffix(n, ".mem") && n != newest {
			if err := ignoreMissing(syncPath(filepath.Join(dir, n))); err != nil {
				return err
			}
		}
	}
	if slices.Equal(names, e.syncedNames) {
		return nil
	}
	if err := syncPath(dir); err != nil {
		return err
	}
	e.syncedNames = names
	return nil
}

// lastWith is the last of the sorted names that ends so, empty when none does.
func lastWith(names []string, end string) (last string) {
	for _, n := range names {
		if strings.HasSuffix(n, end) {
			last = n
		}
	}
	return last
}

// listNames is the sorted names in dir.
func listNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// groupSync makes many calls share one run.
type groupSync struct {
	turn sync.Mutex // held by the one at work
	mu   sync.Mutex
	next *flight // not yet at work, so still to be joined
}

type flight struct {
	done chan struct{}
	err  error
}

// do returns the error of a run that began after the call. A ctx that ends makes
// the call return early; the run goes on.
func (g *groupSync) do(ctx context.Context, run func() error) error {
	g.mu.Lock()
	f := g.next
	if f != nil {
		g.mu.Unlock()
		select {
		case <-f.done:
			return f.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f = &flight{done: make(chan struct{})}
	g.next = f
	g.mu.Unlock()

	g.turn.Lock()
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	defer close(f.done)
	defer g.turn.Unlock()
	f.err = run()
	return f.err
}
