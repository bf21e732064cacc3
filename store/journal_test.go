package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

func journals(t *testing.T, dir string) (paths []string, size int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "journal-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			size += info.Size()
		}
	}
	return paths, size
}

func TestJournal_is_gone_from_a_store_that_was_closed(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	appendOne(t, st, key("a"), 0)
	if paths, _ := journals(t, dir); len(paths) != 1 {
		t.Errorf("while it is open: %v", paths)
	}
	st.Close()
	if paths, _ := journals(t, dir); len(paths) > 0 {
		t.Errorf("left: %v", paths)
	}
}

func TestJournal_stays_small_though_much_is_written(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	for i := range uint64(60) {
		if _, err := st.Append(ctx, key("a"), i, []transcript.Entry{storetest.Entry("", strings.Repeat("x", 900_000))}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "old journals are removed", func() bool { _, size := journals(t, dir); return size < 20<<20 })
	if n := len(loadAll(t, st, key("a"))); n != 60 {
		t.Errorf("%d entries", n)
	}
}

// A power cut may bring a file back that was removed.
func TestJournal_that_comes_back_takes_nothing_back(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	for i := range uint64(3) {
		appendOne(t, st, key("a"), i)
	}
	paths, _ := journals(t, dir)
	old, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := store.TurnJournal(st); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		appendOne(t, st, key("a"), 3+i)
	}
	if err := st.Delete(ctx, key("b")); err != nil {
		t.Fatal(err)
	}
	st.Close()
	for range 2 {
		if err := os.WriteFile(paths[0], old, 0o600); err != nil {
			t.Fatal(err)
		}
		st = open(t, dir, nil)
		if n := len(loadAll(t, st, key("a"))); n != 6 {
			t.Errorf("%d entries", n)
		}
		st.Close()
		if paths, _ := journals(t, dir); len(paths) > 0 {
			t.Errorf("left: %v", paths)
		}
	}
}

// What the owner remembers of a session that it has written itself, it must find in the
// database for one that it has not.
func TestAppend_knows_what_was_written_before(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	es := []transcript.Entry{storetest.Entry("one", "1"), storetest.Entry("two", "2"), storetest.Entry("three", "3")}
	if _, err := st.Append(ctx, key("a"), 0, es); err != nil {
		t.Fatal(err)
	}
	if err := st.Fork(ctx, key("a"), "two", key("fork")); err != nil {
		t.Fatal(err)
	}
	for _, reopened := range []bool{false, true} {
		if reopened {
			st.Close()
			st = open(t, dir, nil)
		}
		if last, err := st.Append(ctx, key("a"), 3, es[1:]); err != nil || last != 3 {
			t.Errorf("reopened %v: a replay gave %d, %v", reopened, last, err)
		}
		if last, err := st.Append(ctx, key("fork"), 2, es[:2]); err != nil || last != 2 {
			t.Errorf("reopened %v: a replay to the fork gave %d, %v", reopened, last, err)
		}
	}
	// The third is none of the fork's.
	if last, err := st.Append(ctx, key("fork"), 2, es); err != nil || last != 3 {
		t.Errorf("fork: %d, %v", last, err)
	}
	if err := st.Delete(ctx, key("a")); err != nil {
		t.Fatal(err)
	}
	if last, err := st.Append(ctx, key("a"), 0, es); err != nil || last != 3 {
		t.Errorf("after deletion: %d, %v", last, err)
	}
}
