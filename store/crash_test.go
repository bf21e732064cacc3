package store_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// Many more: go test ./store -run Crash -crashes 100 -v
var crashes = flag.Int("crashes", 2, "how often each kind of process is killed")

// crashKinds are the moments at which a process is killed.
var crashKinds = []struct {
	name string
	size int           // of the entries, for numbered
	wait time.Duration // the longest time after it has opened the store; negative: after its start
}{
	{"append", 0, 40 * time.Millisecond},
	{"rotate", 900, 400 * time.Millisecond},
	{"gc", 2000, 1500 * time.Millisecond},
	{"open", 0, -60 * time.Millisecond},
}

func TestCrash_loses_nothing_that_was_acknowledged(t *testing.T) {
	for _, kind := range crashKinds {
		t.Run(kind.name, func(t *testing.T) {
			dir := t.TempDir()
			var longest time.Duration
			total := uint64(0)
			for range *crashes {
				acked := crashOnce(t, dir, kind.name, kind.wait)
				begun := time.Now()
				st, err := store.Open(dir, &store.Options{GCEvery: -1})
				if err != nil {
					t.Fatalf("after a kill: %v", err)
				}
				longest = max(longest, time.Since(begun))
				total = checkNumbered(t, st, "s", kind.size)
				if total < acked {
					t.Fatalf("%d entries, %d were acknowledged", total, acked)
				}
				for _, err := range st.List(ctx, transcript.Key{}) {
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%-8s %4d kills, 0 lost, 0 opens failed, slowest open %v, %d entries at the end", kind.name, *crashes, longest.Round(time.Millisecond), total)
		})
	}
}

// crashOnce runs a process for a while, kills it and returns what it was told.
func crashOnce(t *testing.T, dir, work string, wait time.Duration) (acked uint64) {
	t.Helper()
	if wait < 0 {
		c := spawn(t, "append", "s", dir)
		time.Sleep(rand.N(-wait))
		c.kill()
		return c.acked("s")
	}
	c := spawn(t, work, "s", dir)
	c.hear()
	time.Sleep(rand.N(wait))
	c.kill()
	return c.acked("s")
}

func TestCrash_of_the_owner_loses_nothing_of_the_clients(t *testing.T) {
	const clients = 3
	dir := t.TempDir()
	owner := spawn(t, "hold", "-", dir)
	owner.hear()
	var all []*child
	var longest time.Duration
	for i := range clients {
		c := spawn(t, "append", fmt.Sprint("c", i), dir)
		c.hear()
		all = append(all, c)
	}
	for range *crashes {
		time.Sleep(rand.N(100 * time.Millisecond))
		victim := owner
		if pid := ownerPID(t, dir); pid != owner.cmd.Process.Pid {
			for i, c := range all {
				if c.cmd.Process.Pid == pid {
					victim, all[i] = c, spawn(t, "append", fmt.Sprint("c", i), dir)
					all[i].told = c.told
				}
			}
		}
		victim.kill()
		begun := time.Now()
		for _, c := range all {
			// Everybody goes on: new acknowledgements.
			for n := len(c.lines) + 2; n > 0; n-- {
				c.hear()
			}
		}
		longest = max(longest, time.Since(begun))
	}
	t.Logf("%d owners killed, all clients went on after %v at most", *crashes, longest.Round(time.Millisecond))
	for _, c := range all {
		c.kill()
	}
	st := open(t, dir, nil)
	for i, c := range all {
		session := fmt.Sprint("c", i)
		n := checkNumbered(t, st, session, 0)
		if acked := c.acked(session); n < acked {
			t.Errorf("client %d: %d entries, %d were acknowledged", i, n, acked)
		}
	}
}

func ownerPID(t *testing.T, dir string) int {
	t.Helper()
	var n struct{ PID int }
	for range 1000 {
		b, err := os.ReadFile(filepath.Join(dir, "owner"))
		if err == nil {
			err = json.Unmarshal(b, &n)
		}
		if err == nil {
			return n.PID
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("there is no owner")
	return 0
}
