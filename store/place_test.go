package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// lastingly checks that err, and that of every later write, is that of a store that is
// gone for good.
func lastingly(t *testing.T, st *store.Store, err error) {
	t.Helper()
	_, appendErr := st.Append(ctx, key("b"), 0, entryOf2K(7))
	_, putErr := st.Put(ctx, "name", []byte("x"), 0)
	for what, err := range map[string]error{"sync": err, "append": appendErr, "put": putErr} {
		if !errors.Is(err, transcript.ErrClosed) || !strings.Contains(err.Error(), "was removed or moved away while it was open") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

// TestSync_says_that_the_files_are_gone: what was appended after the folder was removed
// is in files that nobody finds.
func TestSync_says_that_the_files_are_gone(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"the folder":    os.RemoveAll,
		"the journal":   func(dir string) error { return os.Remove(filepath.Join(dir, "journal-000001")) },
		"the database":  func(dir string) error { return os.RemoveAll(filepath.Join(dir, "db")) },
		"the one above": func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) },
		"moved":         func(dir string) error { return os.Rename(dir, dir+"-elsewhere") },
		"another there": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, "db"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sub", "store")
			st, err := store.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			appendOne(t, st, key("a"), 0)
			if err := remove(dir); err != nil {
				t.Fatal(err)
			}
			lastingly(t, st, st.Sync(ctx))
			if err := st.Close(); !errors.Is(err, transcript.ErrClosed) {
				t.Errorf("close: error %v", err)
			}
		})
	}
}

// TestAppend_notices_a_removed_folder_without_a_sync soon, not with the next write.
func TestAppend_notices_a_removed_folder_without_a_sync(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	st, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() // its error is that of Append
	appendOne(t, st, key("a"), 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	last := uint64(1)
	for err == nil {
		time.Sleep(5 * time.Millisecond)
		last, err = st.Append(ctx, key("a"), last, entryOf2K(last))
		if last > 1000 {
			t.Fatal("it goes on")
		}
	}
	lastingly(t, st, err)
}

// TestRemoved_is_told_to_a_process_that_does_not_own_the_store.
func TestRemoved_is_told_to_a_process_that_does_not_own_the_store(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	owner, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close() // its error is tested above
	other := open(t, dir, nil)
	appendOne(t, other, key("a"), 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	lastingly(t, other, other.Sync(context.Background()))
}
