package store_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// Many more: go test ./store -run Damage -damages 2000 -v
var damages = flag.Int("damages", 12, "how many times the files of a store are damaged")

// damagedSessions are the sessions of the store that is damaged, with their lengths.
var damagedSessions = map[string]uint64{"one": 150, "two": 40, "small": 3, "fork": 120}

// state is how a store was left.
type state int

const (
	closed      state = iota
	killed            // while all was in the journal
	killedLater       // when the database had it and the journal was gone
)

// makeDamageable makes a store with sessions of all kinds.
func makeDamageable(t *testing.T, dir string, s state) {
	t.Helper()
	work := "fill"
	if s == killedLater {
		work = "turned"
	}
	c := spawn(t, work, "-", dir)
	for c.hear() != "filled" {
	}
	c.kill()
	if s == closed {
		open(t, dir, nil).Close()
	}
}

func fill(st *store.Store, turn bool) error {
	for _, session := range []string{"one", "two", "small"} {
		for seq := uint64(1); seq <= damagedSessions[session]; seq++ {
			es := []transcript.Entry{numbered(session, seq, 0)}
			if _, err := st.Append(ctx, key(session), seq-1, es); err != nil {
				return err
			}
		}
	}
	if err := st.Fork(ctx, key("one"), "one-120", key("fork")); err != nil {
		return err
	}
	if turn {
		if err := store.TurnJournal(st); err != nil {
			return err
		}
	}
	fmt.Println("filled")
	select {}
}

func TestDamage_is_told_and_never_hidden(t *testing.T) {
	for name, s := range map[string]state{"of a closed store": closed, "of a killed store": killed, "of a store killed later": killedLater} {
		t.Run(name, func(t *testing.T) {
			sound := filepath.Join(t.TempDir(), "sound")
			makeDamageable(t, sound, s)
			pickSeed()
			t.Logf("seed %d", *seed)
			r := rand.New(rand.NewPCG(*seed, 2))
			tally := map[string]int{}
			for range *damages {
				dir := filepath.Join(t.TempDir(), "damaged")
				copyTree(t, sound, dir)
				what := damage(t, r, dir)
				tally[examine(t, dir, what)]++
				os.RemoveAll(dir)
			}
			t.Logf("%v", tally)
		})
	}
}

// damage does something to a file of the store and says what.
func damage(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" && d.Name() != "owner" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := files[r.IntN(len(files))]
	data, _ := readUsed(t, path)
	used := len(data)
	name := strings.TrimPrefix(path, dir)
	kind := r.IntN(10)
	switch {
	case kind == 0:
		err = os.Remove(path)
		return fmt.Sprintf("%s removed (%v)", name, err)
	case kind <= 2 || used == 0:
		at := r.IntN(used + 1)
		err = os.Truncate(path, int64(at))
		return fmt.Sprintf("%s cut to %d of %d (%v)", name, at, used, err)
	case kind <= 4:
		at := r.IntN(used) &^ 511
		clear(data[at:min(at+512, used)])
		return fmt.Sprintf("%s zeroed from %d of %d (%v)", name, at, used, overwrite(path, data))
	default:
		at, bit := r.IntN(used), r.IntN(8)
		data[at] ^= 1 << bit
		return fmt.Sprintf("%s bit %d of byte %d of %d (%v)", name, bit, at, used, overwrite(path, data))
	}
}

// overwrite changes the beginning of a file and leaves its size.
func overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// examine opens a damaged store and checks that it hides nothing: every session is
// whole, or there is an error that names it, or a repair told that it dropped it. What it
// gives must be what was written.
func examine(t *testing.T, dir, what string, dropped ...string) (outcome string) {
	t.Helper()
	st, err := store.Open(dir, &store.Options{GCEvery: -1})
	if err != nil {
		if !errors.Is(err, transcript.ErrDamaged) || !strings.Contains(err.Error(), "p/one") {
			t.Errorf("%s: open: %v", what, err)
		}
		if strings.HasSuffix(what, "repaired") {
			return "not repaired"
		}
		report, err := store.Repair(ctx, dir, nil)
		if err != nil {
			t.Errorf("%s: repair: %v", what, err)
			return "not repaired"
		}
		for _, d := range report.Damaged {
			if d.Dropped {
				dropped = append(dropped, d.Key.Session)
			}
		}
		if got := examine(t, dir, what+", repaired", dropped...); (got == "no harm") != (len(report.Damaged) == 0) {
			t.Errorf("%s: the report of the repair names %v", what, report.Damaged)
		}
		return fmt.Sprintf("repaired, %d of %d sessions damaged", len(report.Damaged), len(damagedSessions))
	}
	defer st.Close()
	outcome = "no harm"
	for session, want := range damagedSessions {
		err := examineSession(st, session, want)
		switch {
		case err == nil:
		case slices.Contains(dropped, session) && errors.Is(err, transcript.ErrNotFound):
			outcome = "some sessions damaged"
		case errors.Is(err, transcript.ErrDamaged) && strings.Contains(err.Error(), "p/"+session):
			outcome = "some sessions damaged"
		default:
			t.Errorf("%s: session %s: %v", what, session, err)
		}
	}
	var listed []string
	var listErr error
	for info, err := range st.List(ctx, transcript.Key{}) {
		if err != nil {
			listErr = err
		} else {
			listed = append(listed, info.Key.Session)
		}
	}
	if len(listed)+len(dropped) < len(damagedSessions) && !errors.Is(listErr, transcript.ErrDamaged) {
		t.Errorf("%s: list gives %v and error %v", what, listed, listErr)
	}
	if outcome == "no harm" {
		appendOne(t, st, key("new"), 0)
	}
	return outcome
}

func examineSession(st *store.Store, session string, want uint64) error {
	of := session
	if session == "fork" {
		of = "one"
	}
	got := uint64(0)
	for en, err := range st.Load(ctx, key(session), 0) {
		if err != nil {
			return err
		}
		got++
		if string(en.Raw) != string(numbered(of, got, 0).Raw) {
			return fmt.Errorf("entry %d is not what was written", got)
		}
	}
	if got != want {
		return fmt.Errorf("%d entries instead of %d, and no error", got, want)
	}
	return nil
}

// copyTree copies a folder, holes as holes.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		data, size := readUsed(t, path)
		if err := os.WriteFile(target, data, 0o600); err != nil {
			return err
		}
		return os.Truncate(target, size)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readUsed reads a file without the zeros at its end, and tells its size.
func readUsed(t testing.TB, path string) (data []byte, size int64) {
	t.Helper()
	end, err := store.DataEnd(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data = make([]byte, end)
	if _, err := io.ReadFull(f, data); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(data, "\x00"), info.Size()
}

func TestDamage_leaves_other_sessions_usable_and_a_fork_saves_the_rest(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	for _, session := range []string{"a", "b"} {
		for seq := uint64(1); seq <= 20; seq++ {
			if _, err := st.Append(ctx, key(session), seq-1, []transcript.Entry{numbered(session, seq, 3000)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	st.Close()
	flipIn(t, dir, "db/*.vlog", []byte(`"uuid":"a-13"`))

	st = open(t, dir, nil)
	if n := checkNumbered(t, st, "b", 3000); n != 20 {
		t.Errorf("session b: %d entries", n)
	}
	var good []transcript.Entry
	var err error
	for en, lerr := range st.Load(ctx, key("a"), 0) {
		if err = lerr; err == nil {
			good = append(good, en)
		}
	}
	if len(good) != 12 || !errors.Is(err, transcript.ErrDamaged) || !strings.Contains(err.Error(), "entries 1 to 12") {
		t.Fatalf("session a: %d entries, error %v", len(good), err)
	}
	if err := st.Fork(ctx, key("a"), good[11].UUID, key("saved")); err != nil {
		t.Fatal(err)
	}
	if got := loadAll(t, st, key("saved")); !slices.EqualFunc(got, good, sameRaw) {
		t.Errorf("the fork has %d entries", len(got))
	}
	if err := st.Delete(ctx, key("a")); err != nil {
		t.Fatal(err)
	}
	if got := loadAll(t, st, key("saved")); len(got) != 12 {
		t.Errorf("the fork has %d entries", len(got))
	}
}

func sameRaw(a, b transcript.Entry) bool { return string(a.Raw) == string(b.Raw) }

func loadAll(t *testing.T, st transcript.Store, k transcript.Key) (out []transcript.Entry) {
	t.Helper()
	for en, err := range st.Load(ctx, k, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, en)
	}
	return out
}

// flipIn flips a bit where text stands in the store's files of one kind.
func flipIn(t *testing.T, dir, kind string, text []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, kind))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, _ := readUsed(t, name)
		if at := bytes.Index(data, text); at >= 0 {
			data[at] ^= 4
			if err := overwrite(name, data[:at+1]); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s file holds the text", kind)
}

func TestDamage_in_the_middle_of_a_log_costs_what_it_hits(t *testing.T) {
	dir := t.TempDir()
	makeDamageable(t, dir, killedLater)
	// An entry that is small enough to lie in the log of the tables.
	flipIn(t, dir, "db/*.mem", []byte(`"uuid":"one-84"`))
	st := open(t, dir, nil)
	for session, want := range damagedSessions {
		err := examineSession(st, session, want)
		hit := session == "one" || session == "fork"
		if hit != errors.Is(err, transcript.ErrDamaged) || hit && !strings.Contains(err.Error(), "entry 84 of") {
			t.Errorf("session %s: %v", session, err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "damaged", "*.mem")); len(kept) != 1 {
		t.Errorf("laid aside: %v", kept)
	}
}
