package transcript_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// stored are the entries as a store gives them back: with the headers' binary form.
func stored(t testing.TB, entries []transcript.Entry) []transcript.Entry {
	t.Helper()
	out := make([]transcript.Entry, len(entries))
	for i, e := range entries {
		data, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		out[i].Seq, out[i].Raw = e.Seq, e.Raw
		if err := out[i].UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(out[i], e) {
			t.Fatalf("came back as\n%+v\nwas\n%+v", out[i], e)
		}
	}
	return out
}

// told are the entries with headers that say no more than their fields.
func told(entries []transcript.Entry) []transcript.Entry {
	out := make([]transcript.Entry, len(entries))
	for i, e := range entries {
		out[i] = transcript.Entry{Seq: e.Seq, Header: e.Told(), Raw: e.Raw}
	}
	return out
}

func TestView_is_the_same_whatever_headers_tell(t *testing.T) {
	for seed := range uint64(randomRuns) {
		entries, policy := randomCase(t, seed)
		view := func(entries []transcript.Entry) ([]transcript.Entry, transcript.Report) {
			policy.NewID = healIDs()
			return transcript.View(entries, policy)
		}
		want, report := view(told(entries))
		got, again := view(stored(t, entries))
		if d := difference(got, want); d != "" {
			t.Fatalf("seed %d: stored headers make another view: %s", seed, d)
		}
		if !reflect.DeepEqual(again.Decisions, report.Decisions) || again.CharsSaved != report.CharsSaved {
			t.Fatalf("seed %d: stored headers make other decisions:\n%+v\n%+v", seed, again, report)
		}
	}
}

func TestHeader_tells_where_tool_blocks_are(t *testing.T) {
	for raw, tells := range map[string]bool{
		`{"type":"assistant","message":{"content":[{"type":"text","text":"."},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`: true,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}`:                                                            true,
		`{"type":"user","message":{"content":"ls"}}`:                                                                                                  false,
	} {
		e, err := transcript.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := stored(t, []transcript.Entry{e})[0].TellsTools(); got != tells {
			t.Errorf("%s: tells %v", raw, got)
		}
		// A header whose ids were changed by hand no longer knows.
		e.ToolUses = append(e.ToolUses, "more")
		data, _ := e.MarshalBinary()
		var h transcript.Header
		if err := h.UnmarshalBinary(data); err != nil || h.TellsTools() || !reflect.DeepEqual(h, e.Told()) {
			t.Errorf("%s with one more call: %+v, %v", raw, h, err)
		}
	}
}

// Headers are a caller's to bring. With those of other bytes a view is of no use, and no
// more than that.
func TestView_survives_headers_of_other_bytes(t *testing.T) {
	for seed := range uint64(randomRuns) {
		entries, policy := randomCase(t, seed)
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range entries {
			other := &entries[r.IntN(len(entries))]
			entries[i].Raw = bytes.Clone(entries[i].Raw)
			switch r.IntN(3) {
			case 0:
				entries[i].Header = other.Header
			case 1:
				copy(entries[i].Raw, strings.Repeat(`"`, r.IntN(len(entries[i].Raw)+1)))
			case 2:
				copy(entries[i].Raw, other.Raw)
			}
		}
		transcript.View(entries, policy)
	}
}
