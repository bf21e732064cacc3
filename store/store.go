// Package store keeps transcripts and small values in a folder, on Badger. It
// implements transcript.Store; the contract is described there.
//
//	st, err := store.Open(filepath.Join(runDir, "sessions"), nil)
//	if err != nil {
//		return err
//	}
//	defer st.Close()
//	last, err := st.Append(ctx, key, 0, entries)
//
// Its nouns: a Store is a folder opened by a process. The first process to open the
// folder is its owner: it holds the folder's lock and the database. Later ones are
// served by it, over a Unix socket, and do not notice, not even when the owner ends:
// one of them takes over. A folder that is damaged, or something else, or of a newer
// form, is refused, with what to do about it.
//
// What was appended survives the end of the process, however it comes. Against a
// power cut it is safe after Sync, or always with Options.SyncAlways.
//
// Usual mistakes: to forget Close, which lets other processes wait for the operating
// system to notice; to copy the folder while it is open (use Backup).
package store

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// DefaultMinFree is the free disk space, in bytes, below which writes are refused
// where Options do not say otherwise.
const DefaultMinFree = 256 << 20

// Options set up a Store. The zero value is ready for use. MinFree, GCEvery and Now
// matter in the process that owns the store.
type Options struct {
	// SyncAlways makes every write safe against a power cut before it returns.
	// False leaves that to Sync.
	SyncAlways bool
	// MinFree is the free disk space, in bytes, below which writes are refused; 0
	// means DefaultMinFree (256 MiB), negative refuses none.
	MinFree int64
	// GCEvery is how often disk space is reclaimed; 0 means every ten minutes,
	// negative only when the store is closed.
	GCEvery time.Duration
	// Patience is how long Open and every call wait for an owner that does not
	// answer; 0 means ten seconds.
	Patience time.Duration
	// Now is the clock for modification times; nil means time.Now.
	Now func() time.Time

	boot   func() string // names the start of the machine; nil means bootID
	repair bool          // accept a database that has lost the store's id
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	o    Options
	link link
}

var _ transcript.Store = (*Store)(nil)

// Open opens the store in dir, which is made when it does not exist; nil options are
// the defaults. It takes tens of milliseconds. The error wraps
// transcript.ErrUnavailable when dir cannot be used and transcript.ErrDamaged when it
// is damaged, and says what to do.
func Open(dir string, o *Options) (*Store, error) {
	s := &Store{o: withDefaults(o)}
	if err := s.link.open(dir, s.o); err != nil {
		return nil, err
	}
	return s, nil
}

func withDefaults(o *Options) Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MinFree == 0 {
		out.MinFree = DefaultMinFree
	}
	if out.GCEvery == 0 {
		out.GCEvery = 10 * time.Minute
	}
	if out.Patience == 0 {
		out.Patience = 10 * time.Second
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.boot == nil {
		out.boot = bootID
	}
	return out
}

// Append implements transcript.Store. A batch may be of any size. An entry without
// Raw is refused.
func (s *Store) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	r, err := s.link.call(ctx, request{Op: opAppend, Key: key, Seq: expect, Entries: es})
	if err != nil {
		return 0, err
	}
	return r.Seq, nil
}

// Load implements transcript.Store. Entries that were appended after the loop began
// are not part of it. The body of the loop may use the store.
func (s *Store) Load(ctx context.Context, key transcript.Key, from uint64) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		q := request{Op: opLoad, Key: key, Seq: from}
		for {
			r, err := s.link.call(ctx, q)
			for _, en := range r.Entries {
				if !yield(en, nil) {
					return
				}
				q.Seq = en.Seq
			}
			if err != nil {
				yield(transcript.Entry{}, err)
				return
			}
			if !r.More {
				return
			}
			q.Page, q.room = r.Page, r.Entries[:0]
		}
	}
}

// Head implements transcript.Store.
func (s *Store) Head(ctx context.Context, key transcript.Key) (transcript.Head, error) {
	r, err := s.link.call(ctx, request{Op: opHead, Key: key})
	return r.Head, err
}

// Fork implements transcript.Store. It shares the entries; its cost depends on the
// number of forks that src itself descends from and on nothing else.
func (s *Store) Fork(ctx context.Context, src transcript.Key, at string, dst transcript.Key) error {
	_, err := s.link.call(ctx, request{Op: opFork, Key: src, At: at, Dst: dst})
	return err
}

// List implements transcript.Store. When transcripts are damaged, the others are
// listed and the last thing is an error that names them.
func (s *Store) List(ctx context.Context, prefix transcript.Key) iter.Seq2[transcript.Info, error] {
	return func(yield func(transcript.Info, error) bool) {
		q := request{Op: opList, Key: prefix}
		for {
			r, err := s.link.call(ctx, q)
			for _, info := range r.Infos {
				if !yield(info, nil) {
					return
				}
			}
			if err != nil {
				yield(transcript.Info{}, err)
				return
			}
			if !r.More {
				return
			}
			q.Page = r.Page
		}
	}
}

// Delete implements transcript.Store. The space is reclaimed in the background.
func (s *Store) Delete(ctx context.Context, key transcript.Key) error {
	_, err := s.link.call(ctx, request{Op: opDelete, Key: key})
	return err
}

// Get implements transcript.Store. The value belongs to the caller.
func (s *Store) Get(ctx context.Context, name string) ([]byte, uint64, error) {
	r, err := s.link.call(ctx, request{Op: opGet, At: name})
	return r.Value, r.Rev, err
}

// Put implements transcript.Store. A value has at most 1 MiB, its name at most 1 KiB.
func (s *Store) Put(ctx context.Context, name string, value []byte, rev uint64) (uint64, error) {
	r, err := s.link.call(ctx, request{Op: opPut, At: name, Value: value, Rev: rev})
	return r.Rev, err
}

// Watch implements transcript.Store. It watches from the call on, until ctx ends or
// the loop does; it can be run once. After a change of owner it may repeat changes.
func (s *Store) Watch(ctx context.Context, prefix transcript.Key) iter.Seq2[transcript.Change, error] {
	return s.link.watch(ctx, prefix)
}

// Sync implements transcript.Store.
func (s *Store) Sync(ctx context.Context) error {
	_, err := s.link.call(ctx, request{Op: opSync})
	return err
}

// CheckReport is what Check found.
type CheckReport struct {
	Transcripts int
	Entries     uint64 // that can be read
	Values      int
	Damaged     []Damage
}

// Damage is one thing that cannot be read as it was written.
type Damage struct {
	Key  transcript.Key // zero for small values
	Good uint64         // entries from the first on that can be saved, with a fork
	Want uint64         // entries that were written
	Err  error          // what is wrong, and what to do
	// Dropped: nothing was left of it, and Repair removed it: it can be begun anew.
	Dropped bool
}

// Check reads everything and compares it with what was written. Damage is no error
// of Check.
func (s *Store) Check(ctx context.Context) (CheckReport, error) { return s.link.check(ctx) }

// Backup writes the whole store, as it is at one moment, to w; Restore makes a new
// store of it. What is damaged is part of the backup as far as it can be read, and
// named by an error that wraps transcript.ErrDamaged. After any other error w holds
// no whole backup.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return s.link.backup(ctx, w) }

// Restore makes a new store in dir from a backup, and checks it. dir must not exist
// or be empty; it is left as it was when there is an error.
func Restore(ctx context.Context, dir string, from io.Reader, o *Options) error {
	return restoreFolder(ctx, dir, from, withDefaults(o))
}

// Repair makes a store that is damaged so that it cannot be opened one that can, and
// tells what is left of it. Nobody may have the store open. What cannot be read is
// laid aside, in the folder damaged below dir; what is missing of a session is told
// again whenever it is loaded, and one of which no entry can be read is removed, so
// that it is not missed for ever. A small value that lost its newest revision has the
// older one, or is gone. Of a store that is sound it changes nothing.
func Repair(ctx context.Context, dir string, o *Options) (CheckReport, error) {
	return repairFolder(ctx, dir, withDefaults(o))
}

// GCReport is what GC did. Before and After are the bytes on the disk.
type GCReport struct {
	Before, After int64
	Files         int // files that were rewritten without their waste
	Blobs         int // files of large entries that nobody referred to
}

// GC reclaims disk space now, more thoroughly than what happens on the schedule.
// It may take long; the store can be used meanwhile.
func (s *Store) GC(ctx context.Context) (GCReport, error) {
	r, err := s.link.call(ctx, request{Op: opGC})
	return r.GC, err
}

// Close implements transcript.Store. It waits for calls at work, stops everything
// that Open started, and lets another process take over. Closing twice is no error.
func (s *Store) Close() error { return s.link.close() }
