package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// Shares of a value log file that must be waste for it to be rewritten: on the
// schedule, and when somebody asks for it.
const (
	gcRatio      = 0.5
	gcRatioAsked = 0.1
)

// reclaim is GC. It runs outside of the gate, which it takes for each of its steps.
func (e *engine) reclaim(ctx context.Context) (r GCReport, err error) {
	if err := e.inside(e.unbroken); err != nil {
		return r, err
	}
	if r.Before, err = usedSpace(e.dir); err != nil {
		return r, err
	}
	if err := e.sweep(ctx); err != nil {
		return r, err
	}
	err = e.inside(func() (err error) {
		r.Blobs, err = e.sweepStrays(ctx)
		return err
	})
	if err != nil {
		return r, err
	}
	if err := e.inside(e.turnJournal); err != nil {
		return r, err
	}
	if err := e.compact(); err != nil {
		return r, err
	}
	if r.Files, err = e.collect(ctx, gcRatioAsked); err != nil {
		return r, err
	}
	r.After, err = usedSpace(e.dir)
	return r, err
}

// inside runs f while the database is open.
func (e *engine) inside(f func() error) error {
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.closed {
		return errClosed()
	}
	return e.explain(translate(safely(f)))
}

// compact has the database find its waste. What lies in memory and in the newest
// value log is not looked at, so it is closed and opened, once in a way that merges
// its newest tables into the older ones. Others wait meanwhile.
func (e *engine) compact() error {
	e.gate.Lock()
	defer e.gate.Unlock()
	if e.closed {
		return errClosed()
	}
	dir := filepath.Join(e.dir, dirDB)
	for _, merge := range []bool{true, false} {
		err := safely(func() error {
			if err := e.db.Close(); err != nil {
				return err
			}
			names, err := listNames(dir)
			if err != nil {
				return err
			}
			if err := retireValueLog(dir, names); err != nil {
				return err
			}
			o := badgerOptions(dir, e.trouble)
			o.CompactL0OnClose = merge
			e.db, err = badger.Open(o)
			return err
		})
		if err != nil {
			e.closed = true
			e.hub.close()
			return unavailable("store %s did not open again (%v): close it and open it", e.dir, errors.Join(err, e.journal.close(), e.witness.close()))
		}
	}
	return nil
}

// usedSpace is what the files below dir take up on the disk; those of the database
// have holes.
func usedSpace(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			total += st.Blocks * 512
		}
		return nil
	})
	return total, err
}

// sweepStrays removes files of large entries to which nothing refers: a process
// died before it could tell of them.
func (e *engine) sweepStrays(ctx context.Context) (removed int, err error) {
	hashes, err := e.blobs.all()
	if err != nil {
		return 0, err
	}
	for _, hash := range hashes {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		gone, err := e.sweepBlob(hash)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// collect rewrites value log files that are mostly waste, and returns how many.
func (e *engine) collect(ctx context.Context, ratio float64) (files int, err error) {
	for ctx.Err() == nil {
		more := false
		err := e.inside(func() (err error) {
			more, err = e.collectOne(ratio)
			return err
		})
		if err != nil || !more {
			return files, err
		}
		files++
	}
	return files, ctx.Err()
}

// collectOne rewrites one file, if one is worth it. The file must stay until what
// was moved out of it is on disk; an open iterator keeps it.
func (e *engine) collectOne(ratio float64) (done bool, err error) {
	dir := filepath.Join(e.dir, dirDB)
	worth, err := worthCollecting(dir, ratio)
	if err != nil || len(worth) == 0 {
		return false, err
	}
	for _, path := range worth {
		if err := checkValueLog(path); err != nil {
			return false, err
		}
	}
	err = safely(func() error {
		return e.view(func(txn *badger.Txn) error {
			it := keysOf(txn, []byte{tagMeta})
			defer it.Close()
			if err := e.db.RunValueLogGC(ratio); err != nil {
				return err
			}
			return e.syncDatabase()
		})
	})
	switch {
	case errors.Is(err, badger.ErrNoRewrite), errors.Is(err, badger.ErrRejected):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("collect %s: %w", e.dir, err)
	}
	return true, nil
}

// worthCollecting lists the value logs with that much waste, or soon, from the
// statistics that Badger keeps: pairs of a file's number and the waste in it.
func worthCollecting(dir string, ratio float64) (paths []string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "DISCARD"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	worth := false
	for ; len(b) >= 16 && binary.BigEndian.Uint64(b) != 0; b = b[16:] {
		path := filepath.Join(dir, fmt.Sprintf("%06d.vlog", binary.BigEndian.Uint64(b)))
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		share := float64(binary.BigEndian.Uint64(b[8:])) / float64(info.Size())
		if share >= 0.8*ratio {
			paths = append(paths, path)
		}
		worth = worth || share >= ratio
	}
	if !worth {
		return nil, nil
	}
	return paths, nil
}

// checkValueLog reads a value log. Badger's collector stops at the first record that
// it cannot read, and deletes the file all the same.
func checkValueLog(path string) error {
	scan, err := scanLog(path)
	if err != nil {
		return ignoreMissing(err)
	}
	if scan.torn() {
		return fmt.Errorf("value log %s is damaged from byte %d on and cannot be collected: %w", filepath.Base(path), scan.end, transcript.ErrDamaged)
	}
	return nil
}
