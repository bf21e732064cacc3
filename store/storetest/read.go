package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flowerlua/flower/engine/transcript"
)

var readCases = []testCase{
	{"load_begins_behind_from", func(f *fixture) {
		es := entries("a", 0, 10)
		f.append(main1, 0, es...)
		for _, from := range []uint64{0, 1, 9, 10, 11} {
			got, err := collect(f.st, main1, from)
			if err != nil {
				f.Fatal(err)
			}
			if err := sameEntries(got, es[min(from, 10):], from); err != nil {
				f.Errorf("from %d: %v", from, err)
			}
		}
	}},
	{"load_gives_all_of_a_long_transcript", func(f *fixture) {
		es := entries("a", 0, 2500)
		for i := 0; i < len(es); i += 500 {
			f.append(main1, uint64(i), es[i:i+500]...)
		}
		f.holds(main1, es...)
	}},
	{"load_of_an_unknown_session_is_not_found", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 1)...)
		f.gone(main2)
		f.gone(main1.Subagent("x"))
		f.gone(transcript.Key{Project: "p", Session: "s"}) // a beginning of one that exists
	}},
	{"load_may_be_left_early", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 10)...)
		n := 0
		for range f.st.Load(ctx, main1, 0) {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			f.Fatalf("%d entries", n)
		}
	}},
	{"load_ends_where_it_began_to_and_its_loop_may_write", func(f *fixture) {
		es := entries("a", 0, 3)
		f.append(main1, 0, es...)
		n := 0
		for en, err := range f.st.Load(ctx, main1, 0) {
			if err != nil {
				f.Fatal(err)
			}
			n++
			f.append(main1, en.Seq+2, Entry(fmt.Sprint("more-", en.Seq), ""))
			f.head(main1)
		}
		if n != 3 {
			f.Fatalf("%d entries, want 3", n)
		}
	}},
	{"list_is_ordered_by_key_and_knows_heads", testList},
	{"list_is_complete_when_it_is_long", func(f *fixture) {
		const n = 600
		for i := range n {
			f.append(transcript.Key{Project: "p", Session: fmt.Sprintf("%04d", i)}, 0, Entry("a", ""))
		}
		infos := f.list(transcript.Key{})
		if len(infos) != n {
			f.Fatalf("%d transcripts, want %d", len(infos), n)
		}
		for i, info := range infos {
			if info.Key.Session != fmt.Sprintf("%04d", i) {
				f.Fatalf("transcript %d is %s", i, info.Key)
			}
		}
	}},
	{"list_of_nothing_is_empty", func(f *fixture) {
		if infos := f.list(transcript.Key{}); len(infos) != 0 {
			f.Fatalf("%d transcripts", len(infos))
		}
	}},
	{"delete_takes_subagents_along", func(f *fixture) {
		sub, deeper := main1.Subagent("a"), main1.Subagent("b")
		neighbour := transcript.Key{Project: "p", Session: "s10"}
		for _, key := range []transcript.Key{main1, sub, deeper, main2, neighbour, other1} {
			f.append(key, 0, entries("a", 0, 3)...)
		}
		f.delete(main1)
		for _, key := range []transcript.Key{main1, sub, deeper} {
			f.gone(key)
		}
		for _, key := range []transcript.Key{main2, neighbour, other1} {
			f.holds(key, entries("a", 0, 3)...)
		}
	}},
	{"delete_of_a_subagent_leaves_the_session", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 1)...)
		f.append(main1.Subagent("a"), 0, entries("a", 0, 1)...)
		f.append(main1.Subagent("ab"), 0, entries("a", 0, 1)...)
		f.delete(main1.Subagent("a"))
		f.gone(main1.Subagent("a"))
		f.holds(main1, entries("a", 0, 1)...)
		f.holds(main1.Subagent("ab"), entries("a", 0, 1)...)
	}},
	{"delete_of_what_is_not_there_is_no_error", func(f *fixture) {
		f.delete(main1)
		f.append(main1, 0, entries("a", 0, 1)...)
		f.delete(main1)
		f.delete(main1)
	}},
	{"delete_takes_subagents_without_a_main_thread", func(f *fixture) {
		f.append(main1.Subagent("a"), 0, entries("a", 0, 1)...)
		f.delete(main1)
		f.gone(main1.Subagent("a"))
	}},
	{"delete_fences_a_writer_and_lets_a_new_one_begin", func(f *fixture) {
		es := entries("a", 0, 4)
		f.append(main1, 0, es...)
		f.delete(main1)
		f.appendFails(transcript.ErrConflict, main1, 4, Entry("b", ""))
		f.append(main1, 0, es[2], es[0])
		f.holds(main1, es[2], es[0])
	}},
	{"a_cancelled_context_stops_calls", func(f *fixture) {
		f.append(main1, 0, entries("a", 0, 2)...)
		dead, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := f.st.Append(dead, main1, 2, entries("b", 0, 1)); !errors.Is(err, context.Canceled) {
			f.Errorf("append: %v", err)
		}
		if _, err := f.st.Head(dead, main1); !errors.Is(err, context.Canceled) {
			f.Errorf("head: %v", err)
		}
		for _, err := range f.st.Load(dead, main1, 0) {
			if !errors.Is(err, context.Canceled) {
				f.Errorf("load: %v", err)
			}
		}
		f.holds(main1, entries("a", 0, 2)...)
	}},
}

func (f *fixture) list(prefix transcript.Key) (out []transcript.Info) {
	f.Helper()
	for info, err := range f.st.List(ctx, prefix) {
		if err != nil {
			f.Fatalf("list %q: %v", prefix.String(), err)
		}
		out = append(out, info)
	}
	return out
}

func testList(f *fixture) {
	all := []transcript.Key{
		{Project: "p", Session: "a"},
		{Project: "p", Session: "a", Sub: "subagents/agent-1"},
		{Project: "p", Session: "a", Sub: "subagents/agent-2"},
		{Project: "p", Session: "a-b"},
		{Project: "p", Session: "b"},
		{Project: "p/q", Session: "a"},
		{Project: "pp", Session: "a"},
	}
	for _, i := range []int{4, 2, 6, 0, 5, 3, 1} {
		f.append(all[i], 0, entries("a", 0, i+1)...)
	}
	for _, c := range []struct {
		prefix transcript.Key
		want   []int
	}{
		{transcript.Key{}, []int{0, 1, 2, 3, 4, 5, 6}},
		{transcript.Key{Project: "p"}, []int{0, 1, 2, 3, 4}},
		{transcript.Key{Project: "p", Session: "a"}, []int{0, 1, 2}},
		{transcript.Key{Project: "p", Session: "a", Sub: "subagents/agent-2"}, []int{2}},
		{transcript.Key{Session: "a"}, []int{0, 1, 2, 5, 6}},
		{transcript.Key{Project: "x"}, nil},
	} {
		var got, want []string
		for _, info := range f.list(c.prefix) {
			got = append(got, fmt.Sprint(info.Key, " ", info.Head.Count))
			if info.Head != f.head(info.Key) {
				f.Errorf("%s: list and head differ", info.Key)
			}
		}
		for _, i := range c.want {
			want = append(want, fmt.Sprint(all[i], " ", i+1))
		}
		if !slices.Equal(got, want) {
			f.Errorf("list %+v = %q, want %q", c.prefix, got, want)
		}
	}
}
