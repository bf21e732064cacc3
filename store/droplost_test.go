package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// ruined is a store whose only table holds nothing that can be read any more.
func ruined(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	st := open(t, dir, nil)
	appendOne(t, st, key("a"), 0)
	appendOne(t, st, key("a"), 1)
	if _, err := st.Put(ctx, "progress", []byte("half"), 0); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	data, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 0x5a
	}
	if err := overwrite(tables[0], data); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRepair_drops_what_nothing_is_left_of, tells it, and what was dropped can be begun
// anew, also after the next open.
func TestRepair_drops_what_nothing_is_left_of(t *testing.T) {
	dir := ruined(t)
	openFails(t, dir, transcript.ErrDamaged, "flower sessions repair")
	report, err := store.Repair(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Damaged) != 2 {
		t.Fatalf("report %+v", report)
	}
	for _, d := range report.Damaged {
		if !d.Dropped || !errors.Is(d.Err, transcript.ErrDamaged) || !strings.Contains(d.Err.Error(), "dropped") {
			t.Errorf("%+v", d)
		}
	}
	for range 2 {
		st, err := store.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, headErr := st.Head(ctx, key("a"))
		_, _, getErr := st.Get(ctx, "progress")
		if !errors.Is(headErr, transcript.ErrNotFound) || !errors.Is(getErr, transcript.ErrNotFound) {
			t.Errorf("head %v, get %v", headErr, getErr)
		}
		if report, err := st.Check(ctx); err != nil || len(report.Damaged) > 0 {
			t.Errorf("check %+v, %v", report, err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	st := open(t, dir, nil)
	appendOne(t, st, key("a"), 0)
	if _, err := st.Put(ctx, "progress", []byte("anew"), 0); err != nil {
		t.Error(err)
	}
}

// TestRepair_keeps_a_session_of_which_something_can_be_read, be it behind what is lost.
func TestRepair_keeps_a_session_of_which_something_can_be_read(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	st := open(t, dir, nil)
	es := entryOf2K(1)
	if _, err := st.Append(ctx, key("a"), 0, append(es, entryOf2K(2)...)); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	flipIn(t, dir, "db/*.vlog", []byte(es[0].UUID))
	report, err := store.Repair(ctx, dir, nil)
	if err != nil || len(report.Damaged) != 1 || report.Damaged[0].Dropped {
		t.Fatalf("report %+v, %v", report, err)
	}
	st = open(t, dir, nil)
	if h, err := st.Head(ctx, key("a")); err != nil || h.Last != 2 {
		t.Errorf("head %+v, %v", h, err)
	}
}
