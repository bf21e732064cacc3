package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// cutPower makes a copy of a store that is open, as it is on the disk after the
// machine lost power: five entries of session a are synced, three are not.
func cutPower(t *testing.T) (dir string) {
	t.Helper()
	live := t.TempDir()
	open(t, live, nil).Close() // its id is on the disk
	st := open(t, live, store.AtBoot(store.Options{}, "one"))
	for seq := uint64(1); seq <= 8; seq++ {
		if _, err := st.Append(ctx, key("a"), seq-1, []transcript.Entry{numbered("a", seq, 3000)}); err != nil {
			t.Fatal(err)
		}
		if seq == 5 {
			if err := st.Sync(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir = filepath.Join(t.TempDir(), "cut")
	copyTree(t, live, dir)
	removeAll(t, dir, "db/*.mem")
	return dir
}

// removeAll removes files of a store. Without the newest tables it holds what its journal
// holds, whatever the database has taken of it.
func removeAll(t *testing.T, dir, kind string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, kind))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", kind, names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPowerCut_may_take_what_was_not_synced(t *testing.T) {
	dir := cutPower(t)
	flipIn(t, dir, "journal-*", []byte(`"uuid":"a-7"`))
	for _, boot := range []string{"two", "two", "three"} {
		st := open(t, dir, store.AtBoot(store.Options{}, boot))
		if n := checkNumbered(t, st, "a", 3000); n != 6 {
			t.Fatalf("%d entries, want 6", n)
		}
		st.Close()
	}
	st := open(t, dir, nil)
	if last, err := st.Append(ctx, key("a"), 6, []transcript.Entry{numbered("a", 7, 3000)}); err != nil || last != 7 {
		t.Fatalf("append: %d, %v", last, err)
	}
	if n := checkNumbered(t, st, "a", 3000); n != 7 {
		t.Fatalf("%d entries, want 7", n)
	}
}

func TestPowerCut_may_take_a_whole_session_that_was_not_synced(t *testing.T) {
	live := t.TempDir()
	st := open(t, live, store.AtBoot(store.Options{}, "one"))
	if err := st.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(ctx, key("a"), 0, []transcript.Entry{numbered("a", 1, 3000)}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cut")
	copyTree(t, live, dir)
	removeAll(t, dir, "db/*.mem")
	flipIn(t, dir, "journal-*", []byte(`"uuid":"a-1"`))
	st = open(t, dir, store.AtBoot(store.Options{}, "two"))
	if _, err := st.Head(ctx, key("a")); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	appendOne(t, st, key("a"), 0)
}

func TestPowerCut_may_not_take_what_was_synced(t *testing.T) {
	dir := cutPower(t)
	flipIn(t, dir, "journal-*", []byte(`"uuid":"a-4"`))
	loadFails(t, open(t, dir, store.AtBoot(store.Options{}, "two")), "2 entries are missing, 3 of 5 are left")
	if kept, _ := filepath.Glob(filepath.Join(dir, "damaged", "*")); len(kept) != 1 {
		t.Errorf("laid aside: %v", kept)
	}
}

func TestKill_may_not_take_what_was_not_synced(t *testing.T) {
	dir := cutPower(t)
	flipIn(t, dir, "journal-*", []byte(`"uuid":"a-7"`))
	loadFails(t, open(t, dir, store.AtBoot(store.Options{}, "one")), "entry 7 of 8")
}

func TestWitness_notices_that_the_newest_entries_never_were(t *testing.T) {
	dir := cutPower(t)
	removeAll(t, dir, "journal-*")
	st := open(t, dir, store.AtBoot(store.Options{}, "one"))
	loadFails(t, st, "8 entries are missing")
	if _, err := st.Append(ctx, key("a"), 8, []transcript.Entry{numbered("a", 9, 0)}); !errors.Is(err, transcript.ErrDamaged) {
		t.Errorf("append: %v", err)
	}
	if err := st.Fork(ctx, key("a"), "", key("b")); !errors.Is(err, transcript.ErrDamaged) {
		t.Errorf("fork: %v", err)
	}
	st.Close()

	// It is not forgotten, and ends with the session.
	st = open(t, dir, nil)
	loadFails(t, st, "8 entries are missing")
	if err := st.Delete(ctx, key("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Head(ctx, key("a")); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	appendOne(t, st, key("a"), 0)
}

// loadFails loads session a and checks the error.
func loadFails(t *testing.T, st transcript.Store, words string) {
	t.Helper()
	for _, err := range st.Load(ctx, key("a"), 0) {
		if err == nil {
			continue
		}
		if !errors.Is(err, transcript.ErrDamaged) || !strings.Contains(err.Error(), "session p/a: ") || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want %q", err, words)
		}
		return
	}
	t.Error("no error")
}

func TestWitness_that_is_torn_is_made_anew(t *testing.T) {
	dir := filled(t)
	f, err := os.OpenFile(filepath.Join(dir, "witness"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{40, 0, 0, 0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for range 2 {
		st := open(t, dir, nil)
		if n := len(loadAll(t, st, key("a"))); n != 3 {
			t.Errorf("%d entries", n)
		}
		st.Close()
	}
}

func TestWitness_stays_small(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	en := storetest.Entry("", "x")
	for i := range uint64(8000) {
		if _, err := st.Append(ctx, key("a"), i, []transcript.Entry{en}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "witness"))
	if err != nil || info.Size() > 4096 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

func TestModified_increases_though_the_clock_stands_still(t *testing.T) {
	st := open(t, t.TempDir(), &store.Options{Now: store.Frozen})
	before := transcript.Head{}
	for i := range uint64(5) {
		appendOne(t, st, key("a"), i)
		h, err := st.Head(ctx, key("a"))
		if err != nil || !h.Modified.After(before.Modified) {
			t.Fatalf("modified %v after %v, %v", h.Modified, before.Modified, err)
		}
		before = h
	}
}
