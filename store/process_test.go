package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

var ctx = context.Background()

func key(session string) transcript.Key { return transcript.Key{Project: "p", Session: session} }

// Two Stores on one folder are two processes as far as the folder is concerned: the
// lock is bound to the open file. Real processes are in crash_test.go.

func TestStore_keeps_the_contract_at_another_process(t *testing.T) {
	storetest.Run(t, func(t *testing.T) transcript.Store {
		dir := t.TempDir()
		open(t, dir, nil)
		return open(t, dir, nil)
	})
}

func TestStore_keeps_the_contract_after_taking_over(t *testing.T) {
	storetest.Run(t, func(t *testing.T) transcript.Store {
		dir := t.TempDir()
		first := open(t, dir, nil)
		second := open(t, dir, nil)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		return second
	})
}

func TestRandom_operations_agree_with_a_model_while_owners_come_and_go(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, nil)
	st := open(t, dir, nil)
	pickSeed()
	storetest.Random(t, st, *seed, *steps/2, func(st transcript.Store) transcript.Store {
		// The owner goes, st takes over at its next call, the new one is served.
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Head(ctx, key("none")); !errors.Is(err, transcript.ErrNotFound) {
			t.Fatal(err)
		}
		first = st.(*store.Store)
		return open(t, dir, nil)
	})
}

func TestTakeover_loses_nothing_of_clients_that_write(t *testing.T) {
	const clients, each = 3, 60
	dir := t.TempDir()
	first := open(t, dir, nil)
	var wg sync.WaitGroup
	for c := range clients {
		st := open(t, dir, nil)
		wg.Go(func() {
			for i := range each {
				en := storetest.Entry(fmt.Sprint(c, "-", i), "x")
				last, err := st.Append(ctx, key(fmt.Sprint(c)), uint64(i), []transcript.Entry{en})
				if err != nil || last != uint64(i+1) {
					t.Errorf("client %d, entry %d: last %d, %v", c, i, last, err)
					return
				}
				if i == each/2 && c == 0 {
					if err := first.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for c := range clients {
		h, err := open(t, dir, nil).Head(ctx, key(fmt.Sprint(c)))
		if err != nil || h.Last != each {
			t.Errorf("client %d: %d entries, %v, want %d", c, h.Last, err, each)
		}
	}
}

func TestWatch_goes_on_after_a_take_over(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir, nil), open(t, dir, nil)
	appendOne(t, first, key("a"), 0)
	appendOne(t, first, key("gone"), 0)
	c, stop := context.WithCancel(ctx)
	defer stop()
	changes := second.Watch(c, transcript.Key{})
	appendOne(t, first, key("a"), 1)
	appendOne(t, first, key("gone"), 1)
	seen := map[transcript.Key]uint64{}
	for ch, err := range changes {
		if err != nil {
			t.Fatal(err)
		}
		seen[ch.Key] = ch.Last
		if seen[key("a")] == 2 && seen[key("gone")] == 2 {
			appendOne(t, first, key("a"), 2)
			if err := first.Delete(ctx, key("gone")); err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last, told := seen[key("gone")]
		if seen[key("a")] == 3 && told && last == 0 {
			return
		}
	}
	t.Fatal("the watch ended")
}

func appendOne(t *testing.T, st transcript.Store, k transcript.Key, expect uint64) {
	t.Helper()
	en := storetest.Entry(fmt.Sprint(k.Session, expect), "x")
	if _, err := st.Append(ctx, k, expect, []transcript.Entry{en}); err != nil {
		t.Fatal(err)
	}
}

func TestClose_leaves_nothing_behind(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for range 3 {
		first, err := store.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := store.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, stop := context.WithCancel(ctx)
		first.Watch(c, transcript.Key{})
		second.Watch(c, transcript.Key{})
		if err := errors.Join(second.Close(), first.Close(), second.Close(), first.Close()); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "owner*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	// Some goroutines of the database end a little after it is closed.
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestOpen_works_below_a_path_that_is_too_long_for_a_socket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("long", 30)))
	first, second := open(t, dir, nil), open(t, dir, nil)
	appendOne(t, second, key("a"), 0)
	appendOne(t, first, key("a"), 1)
}
