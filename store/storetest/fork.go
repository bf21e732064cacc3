package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/flowerlua/flower/engine/transcript"
)

var forkCases = []testCase{
	{"fork_has_all_or_up_to_a_message", func(f *fixture) {
		es := entries("a", 0, 6)
		f.append(main1, 0, es...)
		f.fork(main1, "", main2)
		f.fork(main1, "a-2", other1)
		f.holds(main2, es...)
		f.holds(other1, es[:3]...)
		if f.head(main2).Chain != f.head(main1).Chain {
			f.Error("same entries, different chains")
		}
	}},
	{"fork_and_source_go_separate_ways", func(f *fixture) {
		es := entries("a", 0, 3)
		f.append(main1, 0, es...)
		f.fork(main1, "a-1", main2)
		f.append(main1, 3, entries("b", 0, 2)...)
		f.append(main2, 2, entries("c", 0, 2)...)
		f.holds(main1, slices.Concat(es, entries("b", 0, 2))...)
		f.holds(main2, slices.Concat(es[:2], entries("c", 0, 2))...)
		straight := transcript.Key{Project: "p", Session: "straight"}
		f.append(straight, 0, slices.Concat(es[:2], entries("c", 0, 2))...)
		if f.head(straight).Chain != f.head(main2).Chain {
			f.Error("same entries, different chains")
		}
	}},
	{"fork_knows_the_uuids_that_it_shares_and_no_others", func(f *fixture) {
		es := entries("a", 0, 4)
		f.append(main1, 0, es...)
		f.fork(main1, "a-1", main2)
		f.append(main2, 2, es...)
		f.holds(main2, es...)
		f.append(main2, 2, es[2:]...) // a retry
		f.appendFails(transcript.ErrConflict, main2, 1, es[1])
	}},
	{"fork_of_a_fork_of_a_fork", testForkChain},
	{"fork_loads_from_any_place", func(f *fixture) {
		es := entries("a", 0, 10)
		f.append(main1, 0, es[:6]...)
		f.fork(main1, "a-4", main2)
		f.append(main2, 5, es[5:]...)
		for from := range uint64(11) {
			got, err := collect(f.st, main2, from)
			if err != nil {
				f.Fatal(err)
			}
			if err := sameEntries(got, es[from:], from); err != nil {
				f.Errorf("from %d: %v", from, err)
			}
		}
	}},
	{"fork_of_what_is_not_there", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 2)...)
		for name, err := range map[string]error{
			"session": f.st.Fork(ctx, main2, "", other1),
			"message": f.st.Fork(ctx, main1, "a-9", other1),
		} {
			if !errors.Is(err, transcript.ErrNotFound) {
				f.Errorf("%s: error %v, want ErrNotFound", name, err)
			}
		}
		f.gone(other1)
	}},
	{"fork_to_what_exists_is_a_conflict", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 2)...)
		f.append(main2, 0, entries("b", 0, 2)...)
		for _, dst := range []transcript.Key{main1, main2} {
			if err := f.st.Fork(ctx, main1, "", dst); !errors.Is(err, transcript.ErrConflict) {
				f.Errorf("error %v, want ErrConflict", err)
			}
		}
		f.holds(main2, entries("b", 0, 2)...)
	}},
	{"fork_outlives_its_source", func(f *fixture) {
		es := entries("a", 0, 8)
		f.append(main1, 0, es...)
		f.fork(main1, "a-4", main2)
		f.append(main2, 5, entries("b", 0, 1)...)
		f.delete(main1)
		f.gone(main1)
		f.holds(main2, append(es[:5:5], entries("b", 0, 1)...)...)
		f.append(main1, 0, entries("c", 0, 2)...)
		f.holds(main2, append(es[:5:5], entries("b", 0, 1)...)...)
		f.delete(main2)
		f.holds(main1, entries("c", 0, 2)...)
	}},
	{"fork_deleted_leaves_its_source", func(f *fixture) {
		es := entries("a", 0, 4)
		f.append(main1, 0, es...)
		f.fork(main1, "", main2)
		f.append(main2, 4, entries("b", 0, 1)...)
		f.delete(main2)
		f.gone(main2)
		f.holds(main1, es...)
		f.append(main1, 4, entries("b", 0, 1)...)
	}},
	{"fork_is_no_part_of_the_family", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 2)...)
		f.append(main1.Subagent("x"), 0, entries("a", 0, 2)...)
		f.fork(main1, "", main2)
		f.gone(main2.Subagent("x"))
		f.fork(main1.Subagent("x"), "a-0", main2.Subagent("x"))
		f.delete(main1)
		f.holds(main2.Subagent("x"), entries("a", 0, 1)...)
	}},
}

// testForkChain forks each fork at its end and in its middle, and then deletes every
// second one.
func testForkChain(f *fixture) {
	const depth = 12
	want := make([][]transcript.Entry, depth)
	key := func(i int) transcript.Key { return transcript.Key{Project: "p", Session: fmt.Sprint("f", i)} }
	want[0] = entries("f0", 0, 4)
	f.append(key(0), 0, want[0]...)
	for i := 1; i < depth; i++ {
		cut := len(want[i-1]) - i%3
		f.fork(key(i-1), want[i-1][cut-1].UUID, key(i))
		own := entries(fmt.Sprint("f", i), 0, i%4)
		f.append(key(i), uint64(cut), own...)
		want[i] = slices.Concat(want[i-1][:cut], own)
	}
	for i := 0; i < depth; i += 2 {
		f.delete(key(i))
	}
	for i := 1; i < depth; i += 2 {
		f.holds(key(i), want[i]...)
	}
}
