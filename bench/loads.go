package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
)

// loaded is the session that is written once and loaded often.
const loaded = "long"

// fill writes a conversation of n entries to a new folder, as a run does it: a few
// entries at a time.
func (e *env) fill(engineName string, n int) (dir string, err error) {
	if dir, err = e.folder("load"); err != nil {
		return "", err
	}
	_, err = e.do(job{Kind: "fill", Engine: engineName, Dir: dir, Entries: n})
	return dir, err
}

// runFill is the job: the session of loads.
func runFill(ctx context.Context, j job) (a answer, err error) {
	k, err := openKeeper(j.Engine, j.Dir, never)
	if err != nil {
		return answer{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	entries, err := conversation(j.Entries)
	if err != nil {
		return answer{}, err
	}
	for last := 0; last < len(entries); last += turnEntries {
		if err := k.append(ctx, loaded, uint64(last), entries[last:min(last+turnEntries, len(entries))]); err != nil {
			return answer{}, err
		}
	}
	return answer{}, nil
}

// runLoad is the job: a session from the disk to what goes back to the model.
func runLoad(ctx context.Context, j job) (a answer, err error) {
	k, err := openKeeper(j.Engine, j.Dir, never)
	if err != nil {
		return answer{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := ownTime()
	for range j.Repeat {
		begin := time.Now()
		if err := view(ctx, k, j.Entries); err != nil {
			return answer{}, err
		}
		a.Seconds = append(a.Seconds, time.Since(begin).Seconds())
	}
	a.CPU = (ownTime() - cpu).Seconds() / float64(j.Repeat)
	runtime.ReadMemStats(&after)
	a.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(j.Repeat)
	return a, nil
}

// view does what the opening of a session does.
func view(ctx context.Context, k keeper, want int) error {
	all, err := k.load(ctx, loaded)
	if err != nil {
		return err
	}
	if len(all) != want {
		return fmt.Errorf("%d entries were loaded of %d", len(all), want)
	}
	live, err := transcript.Live(all, "")
	if err != nil {
		return err
	}
	_, report := transcript.View(live, engine.DefaultView())
	if report.Expired == 0 || report.DenialsDropped == 0 {
		return fmt.Errorf("the view left nothing out: %+v", report)
	}
	return nil
}

// loading is what one store takes for sessions of one size.
type loading struct {
	first, again, cpu, bytes, peak []float64
}

// measureLoads loads a session of n entries from both stores, in turn.
func (e *env) measureLoads(n, rounds, repeat int) (mine, theirs loading, err error) {
	both := map[string]*loading{"flower": &mine, "sqlite": &theirs}
	dirs := map[string]string{}
	for name := range both {
		if dirs[name], err = e.fill(name, n); err != nil {
			return mine, theirs, err
		}
	}
	for range rounds {
		for _, name := range []string{"flower", "sqlite"} {
			a, err := e.do(job{Kind: "load", Engine: name, Dir: dirs[name], Entries: n, Repeat: repeat})
			if err != nil {
				return mine, theirs, err
			}
			l := both[name]
			l.first, l.again = append(l.first, a.Seconds[0]), append(l.again, median(a.Seconds[1:]))
			l.cpu, l.bytes, l.peak = append(l.cpu, a.CPU), append(l.bytes, a.Bytes), append(l.peak, float64(a.Peak))
		}
	}
	return mine, theirs, nil
}

// loads is the reading side of the store, against SQLite.
func loads(e *env) ([]table, error) {
	short, long := e.size(5_000), e.size(50_000)
	t := table{title: "Sessions: load, live branch and view, against rows of SQLite parsed with encoding/json, then the same"}
	mine, theirs, err := e.measureLoads(short, e.rounds(7), 8)
	if err != nil {
		return nil, err
	}
	t.rows = append(t.rows, loadRows(short, mine, theirs, goal{ratio: 5, atMost: seconds(0.025)})...)
	mineLong, theirsLong, err := e.measureLoads(long, e.rounds(3), 3)
	if err != nil {
		return nil, err
	}
	t.rows = append(t.rows, loadRows(long, mineLong, theirsLong, goal{ratio: 5})...)
	growth := func(short, long []float64, n, m int) float64 {
		return median(long) / float64(m) / (median(short) / float64(n))
	}
	t.rows = append(t.rows, row{
		what:    fmt.Sprintf("time for an entry, of %d to of %d", long, short),
		got:     summarize([]float64{growth(mine.again, mineLong.again, short, long)}, factor),
		anchors: []anchor{{name: "SQLite + encoding/json", value: times(growth(theirs.again, theirsLong.again, short, long))}},
		reach:   goal{atMost: times(1.3)},
	})
	t.notes = append(t.notes, "entries are of 2 KiB on average; the files are in the system's cache, the store is open",
		"1× is exactly linear; up to 1.3× counts as met, for the sake of a larger heap and a busy machine")
	return []table{t}, nil
}

func loadRows(n int, mine, theirs loading, reach goal) []row {
	const name = "SQLite + encoding/json"
	rowOf := func(what string, u unit, reach goal, mine, theirs []float64) row {
		return row{what: fmt.Sprintf("%d entries, %s", n, what), got: summarize(mine, u), anchors: []anchor{against(name, mine, theirs, u)}, reach: reach}
	}
	return []row{
		rowOf("first in a process", second, reach, mine.first, theirs.first),
		rowOf("again", second, reach, mine.again, theirs.again),
		rowOf("processor time", second, goal{}, mine.cpu, theirs.cpu),
		rowOf("allocated", byteUnit, goal{}, mine.bytes, theirs.bytes),
		rowOf("peak memory of the process", byteUnit, goal{}, mine.peak, theirs.peak),
	}
}
