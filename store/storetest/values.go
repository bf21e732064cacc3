package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/flowerlua/flower/engine/transcript"
)

var valueCases = []testCase{
	{"value_has_a_revision", func(f *fixture) {
		if _, _, err := f.st.Get(ctx, "a"); !errors.Is(err, transcript.ErrNotFound) {
			f.Fatalf("get: %v, want ErrNotFound", err)
		}
		rev := f.put("a", "one", 0)
		f.value("a", "one", rev)
		next := f.put("a", "two", rev)
		if next == rev || next == 0 {
			f.Fatalf("revision %d after %d", next, rev)
		}
		f.value("a", "two", next)
	}},
	{"value_with_another_revision_is_a_conflict", func(f *fixture) {
		rev := f.put("a", "one", 0)
		f.put("a", "two", rev)
		for _, stale := range []uint64{0, rev, rev + 9} {
			if _, err := f.st.Put(ctx, "a", []byte("three"), stale); !errors.Is(err, transcript.ErrConflict) {
				f.Errorf("put at %d: %v, want ErrConflict", stale, err)
			}
		}
		if _, err := f.st.Put(ctx, "b", []byte("x"), 7); !errors.Is(err, transcript.ErrConflict) {
			f.Errorf("put of a new one at 7: %v, want ErrConflict", err)
		}
	}},
	{"value_may_be_empty_or_large", func(f *fixture) {
		rev := f.put("empty", "", 0)
		f.value("empty", "", rev)
		large := string(bytes.Repeat([]byte("0123456789"), 100_000))
		f.value("large", large, f.put("large", large, 0))
		if _, err := f.st.Put(ctx, "huge", make([]byte, transcript.MaxValue+1), 0); err == nil {
			f.Error("a value of more than 1 MiB was taken")
		}
		if _, err := f.st.Put(ctx, "", nil, 0); err == nil {
			f.Error("a value without a name was taken")
		}
	}},
	{"value_and_session_of_one_name_are_two_things", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 1)...)
		f.put(main1.String(), "x", 0)
		f.delete(main1)
		f.value(main1.String(), "x", 1)
	}},
	{"value_counted_up_by_many_counts_right", func(f *fixture) {
		const writers, each = 6, 10
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					if err := countUp(f.st, "n"); err != nil {
						f.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b, _, err := f.st.Get(ctx, "n")
		if err != nil || string(b) != fmt.Sprint(writers*each) {
			f.Fatalf("count is %s (%v), want %d", b, err, writers*each)
		}
	}},
}

func countUp(st transcript.Store, name string) error {
	for {
		b, rev, err := st.Get(ctx, name)
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return err
		}
		n := 0
		if rev > 0 {
			if _, err := fmt.Sscan(string(b), &n); err != nil {
				return err
			}
		}
		_, err = st.Put(ctx, name, fmt.Append(nil, n+1), rev)
		if !errors.Is(err, transcript.ErrConflict) {
			return err
		}
	}
}

func (f *fixture) put(name, value string, rev uint64) uint64 {
	f.Helper()
	next, err := f.st.Put(ctx, name, []byte(value), rev)
	if err != nil {
		f.Fatalf("put %s: %v", name, err)
	}
	return next
}

func (f *fixture) value(name, want string, wantRev uint64) {
	f.Helper()
	got, rev, err := f.st.Get(ctx, name)
	if err != nil || string(got) != want || rev != wantRev {
		f.Fatalf("%s = %.40q, revision %d (%v), want %.40q, revision %d", name, got, rev, err, want, wantRev)
	}
}
