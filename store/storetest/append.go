package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/transcript"
)

var appendCases = []testCase{
	{"append_numbers_entries_from_1", func(f *fixture) {
		es := entries("a", 0, 5)
		if last := f.append(main1, 0, es[:2]...); last != 2 {
			f.Fatalf("last = %d, want 2", last)
		}
		if last := f.append(main1, 2, es[2:]...); last != 5 {
			f.Fatalf("last = %d, want 5", last)
		}
		f.holds(main1, es...)
	}},
	{"append_keeps_bytes_as_they_are", func(f *fixture) {
		raw := []byte(" {\"uuid\" : \"x\",\t\"n\":1.0e3, \"s\":\"\\u00e9\\/ \xf0\x9f\x8c\xb8\", \"uuid2\":null} ")
		en, err := transcript.Parse(raw)
		if err != nil {
			f.Fatal(err)
		}
		f.append(main1, 0, en)
		f.holds(main1, en)
	}},
	{"append_leaves_out_uuids_that_are_stored", func(f *fixture) {
		es := entries("a", 0, 4)
		f.append(main1, 0, es[:3]...)
		if last := f.append(main1, 3, es[1], es[3], es[0]); last != 4 {
			f.Fatalf("last = %d, want 4", last)
		}
		f.holds(main1, es...)
	}},
	{"append_leaves_out_uuids_that_come_twice_in_the_batch", func(f *fixture) {
		es := entries("a", 0, 3)
		f.append(main1, 0, es[0], es[1], es[0], es[2], es[1])
		f.holds(main1, es...)
	}},
	{"append_knows_uuids_per_transcript", func(f *fixture) {
		es := entries("a", 0, 2)
		for _, key := range []transcript.Key{main1, main2, other1, main1.Subagent("x")} {
			f.append(key, 0, es...)
		}
		f.holds(main2, es...)
		f.holds(main1.Subagent("x"), es...)
	}},
	{"append_takes_entries_without_uuid_every_time", func(f *fixture) {
		en := Entry("", "again")
		f.append(main1, 0, en)
		f.append(main1, 1, en, en)
		f.holds(main1, en, en, en)
	}},
	{"append_of_a_replay_changes_nothing", func(f *fixture) {
		es := entries("a", 0, 3)
		f.append(main1, 0, es...)
		before := f.head(main1)
		if last := f.append(main1, 3, es...); last != 3 {
			f.Fatalf("last = %d, want 3", last)
		}
		if after := f.head(main1); after != before {
			f.Fatalf("head is %+v, was %+v", after, before)
		}
	}},
	{"append_of_nothing_changes_nothing", func(f *fixture) {
		if last := f.append(main1, 0); last != 0 {
			f.Fatalf("last = %d, want 0", last)
		}
		f.gone(main1)
	}},
	{"append_retried_with_the_old_expect_succeeds", func(f *fixture) {
		es := entries("a", 0, 6)
		f.append(main1, 0, es[:3]...)
		f.append(main1, 3, es[3:]...)
		before := f.head(main1)
		if last := f.append(main1, 3, es[3:]...); last != 6 {
			f.Fatalf("last = %d, want 6", last)
		}
		// With an entry that was left out the first time.
		if last := f.append(main1, 3, es[1], es[3], es[4], es[4], es[5]); last != 6 {
			f.Fatalf("last = %d, want 6", last)
		}
		if after := f.head(main1); after != before {
			f.Fatalf("head is %+v, was %+v", after, before)
		}
	}},
	{"append_retried_without_uuids_succeeds", func(f *fixture) {
		a, b := Entry("", "a"), Entry("", "b")
		f.append(main1, 0, a)
		f.append(main1, 1, b, b)
		f.append(main1, 1, b, b)
		f.holds(main1, a, b, b)
	}},
	{"append_with_a_stale_expect_is_a_conflict", testStale},
	{"append_with_an_expect_from_the_future_is_a_conflict", func(f *fixture) {
		f.appendFails(transcript.ErrConflict, main1, 1, Entry("a", ""))
		f.gone(main1)
		f.append(main1, 0, entries("a", 0, 2)...)
		f.appendFails(transcript.ErrConflict, main1, 3, Entry("b", ""))
	}},
	{"append_refuses_what_cannot_be_stored", func(f *fixture) {
		for _, key := range []transcript.Key{{}, {Project: "p"}, {Project: "p", Session: "a\x00b"}} {
			if _, err := f.st.Append(ctx, key, 0, entries("a", 0, 1)); err == nil {
				f.Errorf("key %q was taken", key.String())
			}
		}
		if _, err := f.st.Append(ctx, main1, 0, []transcript.Entry{{}}); err == nil {
			f.Error("an entry without bytes was taken")
		}
	}},
	{"append_takes_odd_keys_and_long_uuids", func(f *fixture) {
		es := []transcript.Entry{Entry(strings.Repeat("u", 3000), "long"), Entry("ü/\n", "odd")}
		key := transcript.Key{Project: "/home/ü ser", Session: "a/b\nc", Sub: "x/y"}
		f.append(key, 0, es...)
		f.append(key, 2, es...)
		f.holds(key, es...)
	}},
	{"append_takes_large_entries_and_batches", func(f *fixture) {
		es := entries("a", 0, 1000)
		es = append(es, Entry("big", strings.Repeat("0123456789abcdef", 100_000)), Entry("big2", strings.Repeat("x", 2<<20)))
		for i := range 10 {
			es = append(es, Entry(fmt.Sprintf("large-%d", i), strings.Repeat("y", 900_000)))
		}
		f.append(main1, 0, es...)
		f.append(main1, 0, es...)
		f.holds(main1, es...)
	}},
	{"append_by_many_writers_loses_nothing", testManyWriters},
	{"modified_increases_strictly", func(f *fixture) {
		var before transcript.Head
		for i := range 20 {
			f.append(main1, uint64(i), Entry(fmt.Sprint(i), ""))
			after := f.head(main1)
			if !after.Modified.After(before.Modified) {
				f.Fatalf("modified %v after %v", after.Modified, before.Modified)
			}
			before = after
		}
	}},
	{"chain_tells_what_was_appended_and_not_how", func(f *fixture) {
		es := entries("a", 0, 4)
		f.append(main1, 0, es...)
		for i, en := range es {
			f.append(main2, uint64(i), en)
		}
		f.append(other1, 0, es[1], es[0], es[2], es[3])
		a, b, c := f.head(main1).Chain, f.head(main2).Chain, f.head(other1).Chain
		if a != b {
			f.Error("same entries, different chains")
		}
		if a == c {
			f.Error("entries in another order, same chain")
		}
		if a == [32]byte{} {
			f.Error("no chain")
		}
	}},
}

func testStale(f *fixture) {
	es := entries("a", 0, 4)
	f.append(main1, 0, es...)
	changed := Entry(es[3].UUID, "something else")
	for name, batch := range map[string][]transcript.Entry{
		"other bytes":    {es[2], changed},
		"another":        {es[2], Entry("b", "b")},
		"fewer":          {es[2]},
		"more":           {es[2], es[3], Entry("b", "b")},
		"another order":  {es[3], es[2]},
		"nothing at all": {},
	} {
		_, err := f.st.Append(ctx, main1, 2, batch)
		if !errors.Is(err, transcript.ErrConflict) {
			f.Errorf("%s: error %v, want ErrConflict", name, err)
		}
	}
	f.holds(main1, es...)
}

// testManyWriters has several writers per transcript, who load again after a
// conflict, as the contract says.
func testManyWriters(f *fixture) {
	const writers, each = 8, 12
	keys := []transcript.Key{main1, main2, main1.Subagent("a")}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			key := keys[w%len(keys)]
			for i := range each {
				if err := appendSomehow(f.st, key, Entry(fmt.Sprintf("%d-%d", w, i), "x")); err != nil {
					f.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	total, seen := 0, map[string]bool{}
	for _, key := range keys {
		got, err := collect(f.st, key, 0)
		if err != nil {
			f.Fatal(err)
		}
		next := map[byte]int{}
		for _, en := range got {
			w := en.UUID[0]
			if en.UUID != fmt.Sprintf("%c-%d", w, next[w]) {
				f.Fatalf("%s: entry %s out of order", key, en.UUID)
			}
			next[w]++
			seen[en.UUID] = true
		}
		total += len(got)
	}
	if total != writers*each || len(seen) != total {
		f.Fatalf("%d entries, %d different ones, want %d", total, len(seen), writers*each)
	}
}

func appendSomehow(st transcript.Store, key transcript.Key, en transcript.Entry) error {
	for {
		h, err := st.Head(ctx, key)
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return err
		}
		_, err = st.Append(ctx, key, h.Last, []transcript.Entry{en})
		if !errors.Is(err, transcript.ErrConflict) {
			return err
		}
	}
}
