package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := work(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRounds_kill_processes_and_find_nothing_lost(t *testing.T) {
	for _, m := range []moment{moments[0], moments[len(moments)-1]} {
		tally := m.rounds(context.Background(), rand.New(rand.NewPCG(1, 2)), 2)
		if len(tally.failures) > 0 || tally.kills != 2 || tally.lost != 0 || tally.open == 0 {
			t.Errorf("%+v", tally)
		}
		if m.second != (tally.stall > 0) {
			t.Errorf("%s: stall %v", m.name, tally.stall)
		}
	}
}

// sound makes a store with so many entries of session s.
func sound(t *testing.T, entries uint64) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	st, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range entries {
		if _, err := st.Append(t.Context(), key("s"), n, []transcript.Entry{numbered("s", n+1, 10)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExamine_tells_what_is_wrong(t *testing.T) {
	noStore := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(noStore, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir      string
		size     int
		acked    uint64
		lost     uint64
		unopened int
		want     string
	}{
		"nothing":             {sound(t, 3), 10, 3, 0, 0, ""},
		"more than was told":  {sound(t, 3), 10, 2, 0, 0, ""},
		"entries are missing": {sound(t, 3), 10, 5, 2, 0, "session s has 3 entries, 5 were acknowledged"},
		"another content":     {sound(t, 3), 11, 1, 0, 0, "entry 1 is not what was written"},
		"does not open":       {noStore, 10, 1, 0, 1, "open: "},
	} {
		t.Run(name, func(t *testing.T) {
			tally := tally{moment: "m"}
			m := moment{size: c.size}
			m.examine(t.Context(), &tally, c.dir, map[string]uint64{"s": c.acked}, true)
			got := strings.Join(tally.failures, "\n")
			if tally.lost != c.lost || tally.unopened != c.unopened || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%+v, want %q", tally, c.want)
			}
		})
	}
}
