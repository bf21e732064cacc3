package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/flowerlua/flower/engine/transcript"
)

var watchCases = []testCase{
	{"watch_tells_of_appends_forks_and_deletions", func(f *fixture) {
		c, stop := context.WithCancel(ctx)
		defer stop()
		next := pull(f, f.st.Watch(c, transcript.Key{}))
		f.append(main1, 0, entries("a", 0, 3)...)
		next(main1, 3)
		f.append(main1.Subagent("x"), 0, entries("a", 0, 1)...)
		next(main1.Subagent("x"), 1)
		f.fork(main1, "a-1", main2)
		next(main2, 2)
		f.append(main1, 3, entries("a", 0, 3)...) // a replay: nothing happens
		f.delete(main2)
		next(main2, 0)
	}},
	{"watch_looks_below_its_prefix_alone", func(f *fixture) {
		c, stop := context.WithCancel(ctx)
		defer stop()
		next := pull(f, f.st.Watch(c, main1))
		f.append(main2, 0, entries("a", 0, 1)...)
		f.append(other1, 0, entries("a", 0, 1)...)
		f.append(main1.Subagent("x"), 0, entries("a", 0, 2)...)
		next(main1.Subagent("x"), 2)
	}},
	{"watch_read_slowly_still_gives_the_last", func(f *fixture) {
		c, stop := context.WithCancel(ctx)
		defer stop()
		changes := f.st.Watch(c, transcript.Key{})
		const n = 60
		for i := range n {
			f.append(main1, uint64(i), Entry(fmt.Sprint(i), ""))
			f.append(main2, uint64(i), Entry(fmt.Sprint(i), ""))
		}
		seen := map[transcript.Key]uint64{}
		for ch, err := range changes {
			if err != nil {
				f.Fatal(err)
			}
			if ch.Last <= seen[ch.Key] {
				f.Fatalf("%s: %d after %d", ch.Key, ch.Last, seen[ch.Key])
			}
			seen[ch.Key] = ch.Last
			if seen[main1] == n && seen[main2] == n {
				return
			}
		}
	}},
	{"watch_ends_with_its_context", func(f *fixture) {
		c, stop := context.WithCancel(ctx)
		changes := f.st.Watch(c, transcript.Key{})
		stop()
		for ch, err := range changes {
			f.Fatalf("change %v, error %v", ch, err)
		}
	}},
}

// pull checks one change after the other.
func pull(f *fixture, changes iter.Seq2[transcript.Change, error]) func(key transcript.Key, last uint64) {
	next, stop := iter.Pull2(changes)
	f.Cleanup(stop)
	return func(key transcript.Key, last uint64) {
		f.Helper()
		ch, err, ok := next()
		if !ok || err != nil || ch.Key != key || ch.Last != last {
			f.Fatalf("change %v (%v, %v), want %s %d", ch, err, ok, key, last)
		}
	}
}

var endCases = []testCase{
	{"sync_after_appends", func(f *fixture) {
		for i := range 3 {
			f.append(main1, uint64(i), Entry(fmt.Sprint(i), ""))
			if err := f.st.Sync(ctx); err != nil {
				f.Fatal(err)
			}
		}
		if err := f.st.Sync(ctx); err != nil {
			f.Fatal(err)
		}
	}},
	{"closed_store_is_unavailable", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 1)...)
		c, stop := context.WithCancel(ctx)
		defer stop()
		changes := f.st.Watch(c, transcript.Key{})
		if err := f.st.Close(); err != nil {
			f.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"append":              func() error { _, err := f.st.Append(ctx, main1, 1, entries("b", 0, 1)); return err },
			"load":                func() error { _, err := collect(f.st, main1, 0); return err },
			"head":                func() error { _, err := f.st.Head(ctx, main1); return err },
			"fork":                func() error { return f.st.Fork(ctx, main1, "", main2) },
			"list":                func() error { return firstError(f.st.List(ctx, transcript.Key{})) },
			"delete":              func() error { return f.st.Delete(ctx, main1) },
			"get":                 func() error { _, _, err := f.st.Get(ctx, "a"); return err },
			"put":                 func() error { _, err := f.st.Put(ctx, "a", nil, 0); return err },
			"watch":               func() error { return firstError(f.st.Watch(ctx, transcript.Key{})) },
			"sync":                func() error { return f.st.Sync(ctx) },
			"a watch from before": func() error { return firstError(changes) },
		} {
			if err := call(); !errors.Is(err, transcript.ErrClosed) {
				f.Errorf("%s: error %v, want ErrClosed", name, err)
			}
		}
	}},
}

func firstError[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}
