package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// The red lines of a view, on random transcripts. A failure names its seed.

const randomRuns = 120

func TestView_red_lines(t *testing.T) {
	for seed := range uint64(randomRuns) {
		checkRedLines(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzView_red_lines(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRedLines(t, seed) })
}

func checkRedLines(t *testing.T, seed uint64) {
	entries, policy := randomCase(t, seed)
	before := rawLines(entries)
	view, report := transcript.View(entries, policy)
	if rawLines(entries) != before {
		t.Error("the input has changed")
	}
	stored := firstOfEach(entries)
	checkHeaders(t, view)
	checkPairs(t, stored, view, policy)
	checkOrder(t, stored, view, report)
	checkParents(t, entries, view)
	checkUntouched(t, stored, view)
	again, _ := transcript.View(view, policy)
	if d := difference(again, view); d != "" {
		t.Errorf("the view of the view differs: %s", d)
	}
}

// firstOfEach leaves out duplicates and prefix entries.
func firstOfEach(entries []transcript.Entry) []transcript.Entry {
	var out []transcript.Entry
	seen := map[string]bool{}
	for _, e := range entries {
		if e.UUID != "" && seen[e.UUID] {
			continue
		}
		seen[e.UUID] = true
		if e.Subtype != transcript.PrefixSubtype {
			out = append(out, e)
		}
	}
	return out
}

func checkHeaders(t *testing.T, view []transcript.Entry) {
	t.Helper()
	for _, e := range view {
		parsed, err := transcript.Parse(e.Raw)
		if err != nil {
			t.Errorf("%s: %v", e.Raw, err)
		}
		if !reflect.DeepEqual(parsed.Told(), e.Told()) {
			t.Errorf("header %+v of %s", e.Header, e.Raw)
		}
		if e.Flags.Has(transcript.NotUnicode) {
			t.Errorf("not mended: %s", e.Raw)
		}
	}
}

type halves struct{ uses, results int }

func pairs(entries []transcript.Entry) map[string]halves {
	m := map[string]halves{}
	for _, e := range entries {
		for _, id := range e.ToolUses {
			h := m[id]
			h.uses++
			m[id] = h
		}
		for _, id := range e.ToolResults {
			h := m[id]
			h.results++
			m[id] = h
		}
	}
	return m
}

// checkPairs: no half of a call goes without the other, none comes twice.
func checkPairs(t *testing.T, stored, view []transcript.Entry, p transcript.Policy) {
	t.Helper()
	after := pairs(view)
	for id, was := range pairs(stored) {
		want := was
		if was.results == 0 && p.Prune.HealOrphans {
			want.results = 1
		}
		if is := after[id]; is != want && (is != halves{} || was.results == 0) {
			t.Errorf("call %s: stored %+v, in the view %+v", id, was, is)
		}
		delete(after, id)
	}
	for id := range after {
		t.Errorf("call %s is new", id)
	}
}

// checkOrder: the view is the stored entries in their order, some left out, and
// with healing entries behind what they heal.
func checkOrder(t *testing.T, stored, view []transcript.Entry, report transcript.Report) {
	t.Helper()
	at, healed := 0, 0
	for _, e := range view {
		if isHealing(e) {
			healed++
			continue
		}
		for at < len(stored) && (stored[at].UUID != e.UUID || stored[at].Type != e.Type) {
			at++
		}
		if at == len(stored) {
			t.Fatalf("out of order or from nowhere: %s", e.Raw)
		}
		at++
	}
	if healed != report.Healed || len(stored)-(len(view)-healed) != report.Pruned {
		t.Errorf("%d stored, %d in the view, %d healing: reported %+v", len(stored), len(view), healed, report)
	}
}

func isHealing(e transcript.Entry) bool { return bytes.HasPrefix([]byte(e.UUID), []byte("HEAL-")) }

// checkParents: an entry hangs on its nearest ancestor that is there, or on the
// entry that heals it; where parents go round in a circle it stays as it was.
func checkParents(t *testing.T, entries, view []transcript.Entry) {
	t.Helper()
	parentOf, there, heals := map[string]string{}, map[string]bool{}, map[string]string{}
	original := map[string]transcript.Entry{}
	for _, e := range view {
		there[e.UUID] = true
		if isHealing(e) {
			heals[e.Parent] = e.UUID
		}
	}
	for _, e := range slices.Backward(entries) {
		if e.UUID != "" {
			parentOf[e.UUID], original[e.UUID] = e.Parent, e
		}
	}
	for _, e := range view {
		if isHealing(e) || e.UUID == "" {
			continue
		}
		want := ancestor(original[e.UUID], parentOf, there)
		if h := heals[want]; h != "" && want != "" && want != e.UUID {
			want = h
		}
		if e.Parent != want {
			t.Errorf("%s hangs on %q, want %q", e.UUID, e.Parent, want)
		}
	}
}

func ancestor(e transcript.Entry, parentOf map[string]string, there map[string]bool) string {
	at := e.Parent
	for range len(parentOf) + 1 {
		parent, known := parentOf[at]
		if at == "" || there[at] || !known {
			if at == e.UUID {
				return e.Parent
			}
			return at
		}
		at = parent
	}
	return e.Parent
}

// checkUntouched: meta entries and compaction summaries keep all but their parent,
// and every image and document is still there.
func checkUntouched(t *testing.T, stored, view []transcript.Entry) {
	t.Helper()
	after := map[string]transcript.Entry{}
	for _, e := range view {
		after[e.UUID] = e
	}
	for _, e := range stored {
		is, there := after[e.UUID]
		if e.UUID == "" || e.Flags.Has(transcript.NotUnicode) {
			continue
		}
		if e.Flags&(transcript.Meta|transcript.CompactSummary) != 0 && (!there || !sameButParent(t, e.Raw, is.Raw)) {
			t.Errorf("protected entry %s became %s", e.Raw, is.Raw)
		}
		if image := []byte(`"image"`); there && bytes.Count(is.Raw, image) != bytes.Count(e.Raw, image) && len(is.ToolResults) == len(e.ToolResults) {
			t.Errorf("an image went: %s became %s", e.Raw, is.Raw)
		}
	}
}

// difference is the first one between two views.
func difference(got, want []transcript.Entry) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("nothing for %s", want[i].Raw)
		case i >= len(want):
			return fmt.Sprintf("too much: %s", got[i].Raw)
		case !bytes.Equal(got[i].Raw, want[i].Raw):
			return fmt.Sprintf("entry %d\n got %s\nwant %s", i, got[i].Raw, want[i].Raw)
		}
	}
	return ""
}

func sameButParent(t *testing.T, a, b []byte) bool {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	delete(x, "parentUuid")
	delete(y, "parentUuid")
	return reflect.DeepEqual(x, y)
}

func TestView_repeats_its_decisions_byte_for_byte(t *testing.T) {
	for seed := range uint64(randomRuns) {
		a := newAuthor(seed)
		entries := parseAll(t, a.write(1+a.IntN(40))...)
		policy := a.policy()
		view, report := transcript.View(entries, policy)
		stored, err := json.Marshal(report.Decisions)
		if err != nil {
			t.Fatal(err)
		}
		var decisions transcript.Decisions
		if err := json.Unmarshal(stored, &decisions); err != nil {
			t.Fatal(err)
		}
		policy.Repeat, policy.NewID = &decisions, func() string { return "HEAL-new" }
		same, again := transcript.View(entries, policy)
		if d := difference(same, view); d != "" {
			t.Fatalf("seed %d: the view repeated differs: %s", seed, d)
		}
		if !reflect.DeepEqual(again.Decisions, report.Decisions) {
			t.Fatalf("seed %d: decisions\n%+v\nwere\n%+v", seed, again.Decisions, report.Decisions)
		}
		a.prefix, a.uuids, a.calls = "later", nil, nil
		longer, _ := transcript.View(append(entries, parseAll(t, a.write(20)...)...), policy)
		if d := difference(longer[:min(len(view), len(longer))], view); d != "" {
			t.Fatalf("seed %d: the view of a longer transcript begins otherwise: %s", seed, d)
		}
	}
}

func TestLive_and_View_leave_no_half_of_a_call(t *testing.T) {
	for seed := range uint64(randomRuns) {
		entries, policy := randomCase(t, seed)
		policy.Prune.HealOrphans = true
		live, err := transcript.Live(entries, "")
		if err != nil {
			t.Fatal(err)
		}
		view, _ := transcript.View(live, policy)
		for id, h := range pairs(view) {
			if h.uses > 0 && h.results == 0 {
				t.Fatalf("seed %d: call %s has no result", seed, id)
			}
		}
	}
}
