// Package storetest holds the tests that every transcript.Store must pass: Run, one
// subtest for each promise of the contract, and Random, which compares a store with
// a model over random operations.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) transcript.Store {
//			st, err := store.Open(t.TempDir(), nil)
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { st.Close() })
//			return st
//		})
//	}
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// Run tests the stores that open makes. open is called once for each subtest, must
// give an empty store, and closes it when the subtest ends.
func Run(t *testing.T, open func(t *testing.T) transcript.Store) {
	for _, group := range [][]testCase{appendCases, readCases, forkCases, valueCases, watchCases, endCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.run(&fixture{t, open(t)}) })
		}
	}
}

type testCase struct {
	name string
	run  func(f *fixture)
}

// fixture is a store under test; its methods fail the test when the store does.
type fixture struct {
	*testing.T
	st transcript.Store
}

var (
	ctx    = context.Background()
	main1  = transcript.Key{Project: "p", Session: "s1"}
	main2  = transcript.Key{Project: "p", Session: "s2"}
	other1 = transcript.Key{Project: "q", Session: "s1"}
)

// Entry makes an entry with that uuid and text; an empty uuid makes one without.
func Entry(uuid, text string) transcript.Entry {
	line := map[string]any{
		"type":      "user",
		"timestamp": "2026-01-02T03:04:05.678Z",
		"message":   map[string]any{"role": "user", "content": text},
	}
	if uuid != "" {
		line["uuid"] = uuid
	}
	raw, err := json.Marshal(line)
	if err == nil {
		var en transcript.Entry
		if en, err = transcript.Parse(raw); err == nil {
			return en
		}
	}
	panic(fmt.Sprintf("an entry that cannot be written: %v", err))
}

// entries makes n entries with uuids name-from and on.
func entries(name string, from, n int) []transcript.Entry {
	out := make([]transcript.Entry, n)
	for i := range out {
		out[i] = Entry(fmt.Sprintf("%s-%d", name, from+i), fmt.Sprintf("text %d of %s", from+i, name))
	}
	return out
}

func (f *fixture) append(key transcript.Key, expect uint64, es ...transcript.Entry) uint64 {
	f.Helper()
	last, err := f.st.Append(ctx, key, expect, es)
	if err != nil {
		f.Fatalf("append to %s after %d: %v", key, expect, err)
	}
	return last
}

func (f *fixture) appendFails(want error, key transcript.Key, expect uint64, es ...transcript.Entry) {
	f.Helper()
	if _, err := f.st.Append(ctx, key, expect, es); !errors.Is(err, want) {
		f.Fatalf("append to %s after %d: error %v, want %v", key, expect, err, want)
	}
}

func (f *fixture) head(key transcript.Key) transcript.Head {
	f.Helper()
	h, err := f.st.Head(ctx, key)
	if err != nil {
		f.Fatalf("head of %s: %v", key, err)
	}
	return h
}

func (f *fixture) fork(src transcript.Key, at string, dst transcript.Key) {
	f.Helper()
	if err := f.st.Fork(ctx, src, at, dst); err != nil {
		f.Fatalf("fork %s at %q to %s: %v", src, at, dst, err)
	}
}

func (f *fixture) delete(key transcript.Key) {
	f.Helper()
	if err := f.st.Delete(ctx, key); err != nil {
		f.Fatalf("delete %s: %v", key, err)
	}
}

// holds checks all of a transcript: entries, order, numbers, headers and head.
func (f *fixture) holds(key transcript.Key, want ...transcript.Entry) {
	f.Helper()
	got, err := collect(f.st, key, 0)
	if err != nil {
		f.Fatalf("load %s: %v after %d entries", key, err, len(got))
	}
	if err := sameEntries(got, want, 0); err != nil {
		f.Fatalf("%s: %v", key, err)
	}
	h := f.head(key)
	if h.Count != uint64(len(want)) || h.Last != uint64(len(want)) {
		f.Fatalf("head of %s: count %d, last %d, want %d", key, h.Count, h.Last, len(want))
	}
}

// gone checks that there is no such transcript.
func (f *fixture) gone(key transcript.Key) {
	f.Helper()
	if _, err := f.st.Head(ctx, key); !errors.Is(err, transcript.ErrNotFound) {
		f.Fatalf("head of %s: error %v, want ErrNotFound", key, err)
	}
	if got, err := collect(f.st, key, 0); !errors.Is(err, transcript.ErrNotFound) || len(got) > 0 {
		f.Fatalf("load %s: %d entries and error %v, want ErrNotFound", key, len(got), err)
	}
}

func collect(st transcript.Store, key transcript.Key, from uint64) (out []transcript.Entry, err error) {
	for en, err := range st.Load(ctx, key, from) {
		if err != nil {
			return out, err
		}
		out = append(out, en)
	}
	return out, nil
}

// sameEntries compares what was loaded after from with what was appended.
func sameEntries(got, want []transcript.Entry, from uint64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d entries, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Seq != from+uint64(i)+1 {
			return fmt.Errorf("entry %d has seq %d, want %d", i, got[i].Seq, from+uint64(i)+1)
		}
		if string(got[i].Raw) != string(want[i].Raw) {
			return fmt.Errorf("entry %d is %.200s, want %.200s", i, got[i].Raw, want[i].Raw)
		}
		g, gerr := got[i].Header.MarshalBinary()
		w, werr := want[i].Header.MarshalBinary()
		if gerr != nil || werr != nil || string(g) != string(w) {
			return fmt.Errorf("entry %d has header %+v, want %+v", i, got[i].Header, want[i].Header)
		}
	}
	return nil
}
