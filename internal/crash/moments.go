package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// moment is what processes are killed at.
type moment struct {
	name    string
	work    string        // of the children
	size    int           // of their entries
	wait    time.Duration // the longest from the store's being open to the kill
	unready bool          // the kill comes before the store is open, or just then
	// clients write beside an owner, which is killed; second kills one of them too,
	// while the others wait for a new owner.
	clients int
	second  bool
}

var moments = []moment{
	{name: "append", work: "append", wait: 40 * time.Millisecond},
	{name: "rotation of tables", work: "rotate", size: 900, wait: 400 * time.Millisecond},
	{name: "collection of waste", work: "collect", size: 2000, wait: 1200 * time.Millisecond},
	{name: "open", work: "append", unready: true},
	{name: "owner of 3 clients", work: "append", clients: 3, wait: 60 * time.Millisecond},
	{name: "take-over", work: "append", clients: 3, second: true, wait: 60 * time.Millisecond},
}

// roundsPerStore bounds how large a store gets: all of it is read after each kill.
const roundsPerStore = 10

// rounds kills so many processes.
func (m *moment) rounds(ctx context.Context, random *rand.Rand, kills int) tally {
	t := tally{moment: m.name}
	for t.kills < kills && len(t.failures) == 0 {
		dir, err := os.MkdirTemp("", "flower-crash-*")
		if err != nil {
			t.fail("%v", err)
			return t
		}
		acked := map[string]uint64{}
		for n := 0; n < roundsPerStore && t.kills < kills && len(t.failures) == 0; n++ {
			m.round(random, &t, filepath.Join(dir, "store"), acked, kills-t.kills)
			m.examine(ctx, &t, filepath.Join(dir, "store"), acked, n == roundsPerStore-1)
		}
		for _, n := range acked {
			t.acked += n
		}
		if len(t.failures) > 0 {
			t.fail("the store is kept in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.fail("%v", err)
		}
	}
	return t
}

// round starts processes, kills one or two, then ends the others, and notes what
// was acknowledged.
func (m *moment) round(random *rand.Rand, t *tally, dir string, acked map[string]uint64, most int) {
	if m.clients > 0 {
		m.roundOfMany(random, t, dir, acked, most)
		return
	}
	wait := m.wait
	if m.unready {
		// How long it takes depends on the machine and on what the store holds.
		begun := time.Now()
		c, err := opened(m.work, dir)
		if err != nil {
			t.fail("%v", err)
			return
		}
		wait = time.Since(begun)
		c.kill()
		acked["s"] = max(acked["s"], c.acked())
	}
	begin := opened
	if m.unready {
		begin = func(work, dir string) (*child, error) { return start(work, "s", dir, os.Stderr) }
	}
	c, err := begin(m.work, dir)
	if err != nil {
		t.fail("%v", err)
		return
	}
	time.Sleep(time.Duration(random.Int64N(int64(wait))))
	c.kill()
	t.kills++
	acked["s"] = max(acked["s"], c.acked())
}

// opened is a process that has just opened the store.
func opened(work, dir string) (*child, error) {
	c, err := start(work, "s", dir, os.Stderr)
	if err == nil {
		_, err = c.next()
	}
	return c, err
}

// roundOfMany kills the owner of clients that write. The others must go on within
// maxStall.
func (m *moment) roundOfMany(random *rand.Rand, t *tally, dir string, acked map[string]uint64, most int) {
	children, err := crowd(m.clients, dir)
	defer func() {
		for i, c := range children {
			c.kill()
			session := fmt.Sprint("c", i)
			acked[session] = max(acked[session], c.acked())
		}
	}()
	if err != nil {
		t.fail("%v", err)
		return
	}
	owner, writers := children[0], children[1:]
	time.Sleep(time.Duration(random.Int64N(int64(m.wait))))
	killed := time.Now()
	owner.kill()
	t.kills++
	if m.second && most > 1 {
		time.Sleep(time.Duration(random.Int64N(int64(max(m.wait, t.stall)))))
		victim := random.IntN(len(writers))
		writers[victim].kill()
		t.kills++
		writers = append(append([]*child(nil), writers[:victim]...), writers[victim+1:]...)
	}
	for _, c := range writers {
		stall, err := c.stall(killed)
		if err != nil {
			t.fail("a writer does not go on: %v", err)
			return
		}
		if t.stall = max(t.stall, stall); stall >= maxStall {
			t.fail("a writer waited %v, the limit is %v", stall, maxStall)
		}
	}
}

// crowd is an owner and clients that have begun to write. On an error it gives
// those that it started.
func crowd(clients int, dir string) (all []*child, err error) {
	for i := range clients + 1 {
		work := "append"
		if i == 0 {
			work = "hold"
		}
		c, err := start(work, fmt.Sprint("c", i), dir, os.Stderr)
		if err != nil {
			return all, err
		}
		all = append(all, c)
		if _, err := c.next(); err != nil { // it has opened the store
			return all, err
		}
	}
	for _, c := range all[1:] {
		if _, err := c.next(); err != nil {
			return all, err
		}
	}
	return all, nil
}

// examine opens what the killed left and compares it with what they were told.
func (m *moment) examine(ctx context.Context, t *tally, dir string, acked map[string]uint64, whole bool) {
	begun := time.Now()
	st, err := store.Open(dir, &store.Options{GCEvery: -1})
	if err != nil {
		t.unopened++
		t.fail("open: %v", err)
		return
	}
	t.open = max(t.open, time.Since(begun))
	for session, want := range acked {
		have, err := verify(ctx, st, session, m.size)
		if err != nil {
			t.fail("%v", err)
		}
		if have < want {
			t.lost += want - have
			t.fail("session %s has %d entries, %d were acknowledged", session, have, want)
		}
	}
	if whole {
		if r, err := st.Check(ctx); err != nil {
			t.fail("check: %v", err)
		} else if len(r.Damaged) > 0 {
			t.fail("check: %v", r.Damaged[0].Err)
		}
	}
	if err := st.Close(); err != nil {
		t.fail("close: %v", err)
	}
}

// verify reads a session, whose every entry is known by its place, and counts.
func verify(ctx context.Context, st *store.Store, session string, size int) (n uint64, err error) {
	for en, err := range st.Load(ctx, key(session), 0) {
		if errors.Is(err, transcript.ErrNotFound) {
			return 0, nil
		}
		if err != nil {
			return n, fmt.Errorf("session %s: %w", session, err)
		}
		n++
		if en.Seq != n || string(en.Raw) != string(numbered(session, n, size).Raw) {
			return n, fmt.Errorf("session %s: entry %d is not what was written", session, n)
		}
	}
	return n, nil
}
