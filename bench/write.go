package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// turnEntries is how many entries a turn has here: a reply with three calls and their
// results, twice.
const turnEntries = 8

// runWrite is the job: entries of 2 KiB, by one writer or several.
func runWrite(ctx context.Context, j job) (a answer, err error) {
	writers, batch := max(1, j.Writers), max(1, j.Batch)
	k, err := openKeeper(j.Engine, j.Dir, j.Sync)
	if err != nil {
		return answer{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()

	w := writing{k: k, entries: max(batch, j.Entries/writers), batch: batch, turns: j.Sync == eachTurn, until: func() bool { return false }}
	begin, cpu := time.Now(), ownTime()
	if j.For > 0 {
		w.until = func() bool { return time.Since(begin) > j.For }
	}
	counts, failed := make([]int, writers), make([]error, writers)
	var work sync.WaitGroup
	for i := range writers {
		work.Go(func() { counts[i], failed[i] = w.session(ctx, fmt.Sprint("session-", i)) })
	}
	work.Wait()
	took, cpu := time.Since(begin), ownTime()-cpu
	total := 0
	for _, n := range counts {
		total += n
	}
	return answer{Seconds: []float64{took.Seconds() / float64(total)}, CPU: cpu.Seconds() / float64(total)}, errors.Join(failed...)
}

// writing is the work of each writer.
type writing struct {
	k       keeper
	entries int // for each writer
	batch   int
	turns   bool
	until   func() bool
}

// session writes entries to a session and returns how many appends that were, or
// turns.
func (w writing) session(ctx context.Context, name string) (n int, err error) {
	made, err := newMaker()
	if err != nil {
		return 0, err
	}
	for last := 0; last+w.batch <= w.entries; last += w.batch {
		if between := !w.turns || last%turnEntries == 0; between && n > 0 && w.until() {
			break
		}
		ends := w.turns && (last+w.batch)%turnEntries == 0
		if ends {
			if err := w.k.harden(ctx); err != nil {
				return n, err
			}
		}
		if err := w.k.append(ctx, name, uint64(last), made.next(w.batch)); err != nil {
			return n, err
		}
		if ends {
			if err := w.k.sync(ctx); err != nil {
				return n, err
			}
		}
		if ends || !w.turns {
			n++
		}
	}
	return n, nil
}
