package store

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/flowerlua/flower/engine/transcript"
)

// engine is the store in the process that owns it.
type engine struct {
	dir     string
	o       Options
	id      string
	db      *badger.DB
	witness *witness
	blobs   *blobs
	hub     *hub
	logs    logNumbers
	trouble *trouble
	place   place // where the folder is, to notice when it goes

	// gate is held shared by every call and alone to close.
	gate   sync.RWMutex
	closed bool

	// shape guards which logs a transcript consists of: shared by appends, alone
	// by forks and deletions. stripes serialize the writers of one name.
	shape   sync.RWMutex
	stripes [64]sync.Mutex
	seed    maphash.Seed

	journal *journal
	queue   queue
	tails   tails
	room    room

	broken   atomic.Pointer[error] // no more writes
	syncedAt atomic.Uint64         // batches that are synced
	group    groupSync

	names       sync.Mutex
	syncedNames []string // of the database's files, when its folder was synced last

	lostOnce sync.Once
	lostKeys []transcript.Key
	found    findings // of preflight
	unready  bool     // the marker does not say yet that the database holds the id

	wake chan struct{}   // there is waste
	life context.Context // ends when the engine is to rest
	stop context.CancelFunc
	wait sync.WaitGroup
}

// valueThreshold is the size from which a value lies in the value log, in bytes.
const valueThreshold = 1 << 10

// openNeeds is the free space, in bytes, without which a store is not opened, unless
// Options.MinFree is less.
const openNeeds = 16 << 20

// badgerOptions are small: a store is one of many things in a process.
func badgerOptions(dir string, log badger.Logger) badger.Options {
	o := badger.DefaultOptions(dir)
	o.Logger = log
	o.MemTableSize = 8 << 20
	o.NumMemtables = 2
	o.NumCompactors = 2
	o.NumLevelZeroTables = 2
	o.NumLevelZeroTablesStall = 6
	o.ValueThreshold = valueThreshold
	o.ValueLogFileSize = 64 << 20
	o.BlockCacheSize = 8 << 20
	o.IndexCacheSize = 8 << 20
	o.MetricsEnabled = false
	// Whole tables are checked in tables.go: Badger's own check of them at open
	// ends the process when it fails.
	o.ChecksumVerificationMode = options.OnBlockRead
	o.VerifyValueChecksum = true
	// Writers are serialized here, by transcript, and syncs are shared here.
	o.DetectConflicts = false
	o.SyncWrites = false
	return o
}

// openEngine opens the store in dir, whose lock is held.
func openEngine(dir string, o Options) (*engine, error) {
	m, err := readMarker(dir)
	if err != nil {
		return nil, err
	}
	e := &engine{
		dir: dir, o: o, blobs: newBlobs(filepath.Join(dir, dirBlobs)), hub: newHub(),
		seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), trouble: &trouble{},
		tails: tails{at: map[string]*tail{}}, queue: queue{wake: make(chan struct{}, 1)},
	}
	if err := e.roomFor(0); err != nil {
		return nil, err
	}
	var found recall
	if e.witness, found, err = openWitness(filepath.Join(dir, fileWitness), e.o.boot()); err != nil {
		return nil, unavailable("store %s (%v)", dir, err)
	}
	if err := e.openDB(m); err != nil {
		e.witness.close()
		return nil, err
	}
	var left []journalContent
	if e.journal, left, err = openJournal(dir, e.o.boot()); err != nil {
		return nil, errors.Join(unavailable("store %s (%v)", dir, err), e.db.Close(), e.witness.close())
	}
	err = safely(func() error {
		if err := e.replay(left); err != nil {
			return err
		}
		return e.settle(m, found)
	})
	if err != nil {
		return nil, errors.Join(translate(err), e.db.Close(), e.journal.close(), e.witness.close())
	}
	if len(left) > 0 {
		e.syncedAt.Store(math.MaxUint64) // not all that is there is synced
	}
	e.place = newPlace(e.db.Opts().Dir)
	e.life, e.stop = context.WithCancel(context.Background())
	e.wait.Go(func() { e.background(e.life) })
	e.wait.Go(func() { e.emptyQueue(e.life) })
	// What an earlier owner left.
	e.sweepSoon()
	if len(left) > 0 {
		e.queue.wake <- struct{}{}
	}
	return e, nil
}

// openDB makes or opens the database.
func (e *engine) openDB(m marker) error {
	dir := filepath.Join(e.dir, dirDB)
	if dirIsEmpty(dir) && (m.Ready || len(e.witness.keys()) > 0) {
		return e.damaged("its database is missing")
	}
	if m.Store == "" && dirIsEmpty(dir) {
		// A new store. The marker comes first: without it this folder would be
		// taken for a store that lost its marker, should the process die now.
		if err := writeMarker(e.dir, newMarker()); err != nil {
			return unavailable("store %s cannot be made (%v)", e.dir, err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unavailable("store %s (%v)", e.dir, err)
	}
	if err := checkUnused(dir); err != nil {
		return err
	}
	var err error
	if e.found, err = preflight(dir, filepath.Join(e.dir, dirDamaged)); err != nil {
		return e.unopened(err)
	}
	err = safely(func() (err error) {
		e.db, err = badger.Open(badgerOptions(dir, e.trouble))
		if err != nil && strings.Contains(err.Error(), z.NewFile.Error()) {
			// A process that died while it opened left an empty file. It has
			// been filled by now.
			e.db, err = badger.Open(badgerOptions(dir, e.trouble))
		}
		return err
	})
	if err != nil {
		return e.unopened(err)
	}
	return nil
}

// unopened says why the database was not opened. Badger's errors are texts.
func (e *engine) unopened(err error) error {
	for _, no := range [...]syscall.Errno{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EACCES, syscall.EPERM, syscall.EIO, syscall.EROFS} {
		if strings.Contains(err.Error(), no.Error()) {
			return unavailable("store %s cannot be opened (%v)", e.dir, err)
		}
	}
	return e.damaged(err.Error())
}

func dirIsEmpty(dir string) bool {
	names, err := listNames(dir)
	return err != nil || len(names) == 0
}

// damaged is an error for a store that cannot be opened. It names sessions, all of
// which may be affected.
func (e *engine) damaged(what string) error {
	const most = 8
	var names []string
	keys := e.witness.keys()
	for _, name := range keys {
		if key, ok := parseKey([]byte(name)); ok && len(names) < most {
			m, _ := e.witness.mark(name)
			names = append(names, fmt.Sprintf("%s (%d entries)", key, m.last))
		}
	}
	held := "it held no sessions"
	if len(names) > 0 {
		held = "it held " + strings.Join(names, ", ")
	}
	if len(keys) > len(names) {
		held += fmt.Sprintf(" and %d more", len(keys)-len(names))
	}
	return fmt.Errorf("store %s: %s; %s; repair it (flower sessions repair), which saves what can be read, or restore a backup: %w",
		e.dir, what, held, transcript.ErrDamaged)
}

// lock takes the locks for writing to a name; the result releases them.
func (e *engine) lock(name string) (unlock func()) {
	e.shape.RLock()
	s := &e.stripes[maphash.String(e.seed, name)%uint64(len(e.stripes))]
	s.Lock()
	return func() {
		s.Unlock()
		e.shape.RUnlock()
	}
}

// unbroken is nil as long as the database takes writes.
func (e *engine) unbroken() error {
	if err := e.broken.Load(); err != nil {
		return *err
	}
	if text := e.trouble.last.Load(); text != nil {
		return unavailable("store %s: %s: close it and open it again", e.dir, *text)
	}
	return nil
}

// background removes waste when there is some and collects the value log on a
// schedule. What fails is tried again the next time.
func (e *engine) background(ctx context.Context) {
	var tick <-chan time.Time
	if e.o.GCEvery > 0 {
		t := time.NewTicker(e.o.GCEvery)
		defer t.Stop()
		tick = t.C
	}
	_ = e.ready() // if it fails, the next owner does it
	e.readTables(ctx, e.found.unread)
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			_ = e.sweep(ctx)
		case <-tick:
			_, _ = e.collect(ctx, gcRatio)
		}
	}
}

// rest ends the work in the background. One file of the value log may still be
// collected, no more: whoever ends a program waits for this.
func (e *engine) rest() error {
	e.stop()
	e.wait.Wait()
	return e.inside(func() error {
		_, err := e.collectOne(gcRatio)
		return err
	})
}

// close ends the engine, which rests. Calls at work finish first.
func (e *engine) close() error {
	e.gate.Lock()
	defer e.gate.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	e.hub.close()
	if err := e.present(); err != nil {
		// Badger would try for ever to write there: the database is left as it is,
		// until the process ends.
		_ = errors.Join(e.journal.close(), e.witness.close()) // of files that are gone
		return err
	}
	return e.shut()
}

// shut syncs and closes the files. The journals go when the database holds all of them for
// sure; else they stay, for the next owner.
func (e *engine) shut() error {
	err := safely(e.turnJournal)
	if err == nil {
		err = e.blobs.sync()
	}
	if cerr := safely(e.db.Close); cerr != nil {
		err = errors.Join(err, unavailable("close %s (%v)", e.dir, cerr))
	}
	if err == nil {
		_ = e.witness.synced(e.witness.offset())
	}
	return errors.Join(err, e.journal.close(), e.witness.close())
}

// trouble is where the database tells of what goes wrong in the background.
type trouble struct {
	last atomic.Pointer[string]
}

// Errorf keeps an error after which writes would wait for ever.
func (t *trouble) Errorf(format string, args ...any) {
	if strings.Contains(format, "flushing memtable") {
		text := strings.TrimSpace(fmt.Sprintf(format, args...))
		t.last.Store(&text)
	}
}

// Warningf, Infof and Debugf drop what they are given.
func (t *trouble) Warningf(string, ...any) {}

// Infof drops what it is given.
func (t *trouble) Infof(string, ...any) {}

// Debugf drops what it is given.
func (t *trouble) Debugf(string, ...any) {}
