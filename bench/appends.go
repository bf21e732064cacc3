package main

import (
	"fmt"
	"os"
	"time"
)

// appends is the writing side of the store, against SQLite.
func appends(e *env) ([]table, error) {
	t := table{title: fmt.Sprintf("Store: entries of %d bytes, against SQLite (modernc.org/sqlite %s, WAL) on the same disk", entrySize, versionOf("modernc.org/sqlite"))}
	for _, measure := range []func(*env, *table) error{appendRows, turnRows, syncRow} {
		if err := measure(e, &t); err != nil {
			return nil, err
		}
	}
	t.notes = append(t.notes,
		"times are for one entry, or one turn, whoever wrote it: with eight writers, a session each, of all together",
		"synced: safe against a power cut; not synced: safe against kill -9",
		fmt.Sprintf("a turn is %d entries; where each is appended by itself, each is safe against kill -9 before the next is made", turnEntries))
	return []table{t}, nil
}

// written is what an arrangement took, a value a round.
type written struct{ times, cpu, peaks []float64 }

// inTurn measures the jobs in turn, round for round, so that they meet the same load
// on the machine, each in a process and a folder of its own.
func (e *env) inTurn(rounds int, jobs ...job) ([]written, error) {
	all := make([]written, len(jobs))
	for range rounds {
		for i, j := range jobs {
			var err error
			if j.Dir, err = e.folder("write"); err != nil {
				return nil, err
			}
			a, err := e.do(j)
			if err != nil {
				return nil, err
			}
			w := &all[i]
			w.times, w.cpu, w.peaks = append(w.times, a.Seconds...), append(w.cpu, a.CPU), append(w.peaks, float64(a.Peak))
			if err := os.RemoveAll(j.Dir); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// appendRows are entries appended one by one.
func appendRows(e *env, t *table) error {
	for _, writers := range []int{1, 8} {
		j := job{Kind: "write", Entries: e.size(20_000), Writers: writers}
		all, err := e.inTurn(e.rounds(5), of("flower", j), of("sqlite", j))
		if err != nil {
			return err
		}
		const name = "SQLite, synchronous NORMAL"
		what := "append, not synced, " + counted(writers)
		t.add(what, second, name, all[0].times, all[1].times, goal{ratio: 3})
		t.add("  processor time", second, name, all[0].cpu, all[1].cpu, goal{})
		t.add(fmt.Sprintf("  peak memory of the process, %d entries", j.Entries), byteUnit, name, all[0].peaks, all[1].peaks, goal{})
	}
	for _, writers := range []int{1, 8} {
		j := job{Kind: "write", Entries: e.size(20_000), Writers: writers, Sync: eachTime, For: e.time(600 * time.Millisecond)}
		all, err := e.inTurn(e.rounds(5), of("flower", j), of("sqlite", j))
		if err != nil {
			return err
		}
		t.add("append, synced, "+counted(writers), second, "SQLite, synchronous FULL", all[0].times, all[1].times, goal{})
	}
	return nil
}

// add adds a row of what was measured in turn with its anchor.
func (t *table) add(what string, u unit, anchorName string, mine, theirs []float64, reach goal) {
	t.rows = append(t.rows, row{what: what, got: summarize(mine, u), anchors: []anchor{against(anchorName, mine, theirs, u)}, reach: reach})
}

// of is a job for one of the stores.
func of(engine string, j job) job {
	j.Engine = engine
	return j
}

func counted(writers int) string {
	if writers == 1 {
		return "one writer"
	}
	return fmt.Sprint(writers, " writers")
}

// turnRows are a turn that is synced once, as one append and as an append for each
// entry.
func turnRows(e *env, t *table) error {
	single := job{Kind: "write", Entries: e.size(8_000), For: e.time(600 * time.Millisecond), Sync: eachTurn}
	whole, full := single, single
	whole.Batch = turnEntries
	full.Batch, full.Sync = turnEntries, eachTime
	all, err := e.inTurn(e.rounds(5), of("flower", whole), of("flower", single), of("sqlite", full), of("sqlite", single))
	if err != nil {
		return err
	}
	const name = "SQLite FULL, one transaction"
	t.add("turn, one append, synced once", second, name, all[0].times, all[2].times, goal{ratio: 1.5})
	t.add("turn, eight appends, synced once", second, "SQLite, 7 NORMAL commits, 1 FULL", all[1].times, all[3].times, goal{ratio: 1.5})
	last := &t.rows[len(t.rows)-1]
	last.anchors = append(last.anchors, against(name, all[1].times, all[2].times, second))
	return nil
}

// syncRow is what the disk takes for the least there is to sync, below which nothing
// that is synced can come.
func syncRow(e *env, t *table) error {
	values, err := e.bareSync(e.time(300 * time.Millisecond))
	if err != nil {
		return err
	}
	t.rows = append(t.rows, row{what: "one page written and synced, for comparison", got: summarize(values, second)})
	return nil
}
