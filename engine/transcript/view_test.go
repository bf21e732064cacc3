package transcript_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// viewCase is a line of testdata/view.jsonl.
type viewCase struct {
	ID      string
	Title   string
	Policy  transcript.Policy
	Entries []json.RawMessage
	Want    []json.RawMessage
	Report  map[string]any
}

func viewCases(t testing.TB) []viewCase {
	t.Helper()
	f, err := os.Open("testdata/view.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []viewCase
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var c viewCase
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			c.Policy.NewID = healIDs()
			cases = append(cases, c)
		}
		if err != nil {
			return cases
		}
	}
}

// healIDs makes HEAL-1, HEAL-2, …
func healIDs() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("HEAL-%d", n) }
}

func parseAll(t testing.TB, lines ...string) []transcript.Entry {
	t.Helper()
	var entries []transcript.Entry
	for _, line := range lines {
		e, err := transcript.Parse([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

func (c viewCase) entries(t testing.TB) []transcript.Entry {
	var lines []string
	for _, raw := range c.Entries {
		lines = append(lines, string(raw))
	}
	return parseAll(t, lines...)
}

func TestView_answers_every_case(t *testing.T) {
	for _, c := range viewCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			got, report := transcript.View(c.entries(t), c.Policy)
			for i := range max(len(got), len(c.Want)) {
				if i >= len(got) || i >= len(c.Want) {
					t.Fatalf("%s: %d entries, want %d", c.Title, len(got), len(c.Want))
				}
				if !sameJSON(t, got[i].Raw, c.Want[i]) {
					t.Errorf("%s: entry %d\n got %s\nwant %s", c.Title, i, got[i].Raw, c.Want[i])
				}
			}
			checkReport(t, report, c.Report)
		})
	}
}

func checkReport(t *testing.T, report transcript.Report, want map[string]any) {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	spilled := map[string]any{}
	for _, s := range report.Spills {
		spilled[s.Path] = float64(len([]rune(s.Text())))
		if s.Chars != len([]rune(s.Text())) {
			t.Errorf("%s has %d characters, reported %d", s.Path, len([]rune(s.Text())), s.Chars)
		}
	}
	got["spilled"] = spilled
	for key, value := range want {
		if !reflect.DeepEqual(got[key], value) {
			t.Errorf("report %s: %v, want %v", key, got[key], value)
		}
	}
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

func TestView_of_a_view_is_the_same_and_the_input_stays(t *testing.T) {
	for _, c := range viewCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			entries := c.entries(t)
			before := rawLines(entries)
			view, _ := transcript.View(entries, c.Policy)
			if rawLines(entries) != before {
				t.Error("the input has changed")
			}
			again, report := transcript.View(view, c.Policy)
			if rawLines(again) != rawLines(view) {
				t.Errorf("view of view\n got %s\nwant %s", rawLines(again), rawLines(view))
			}
			if report.Expired+report.Cleared+report.Pruned+report.Healed > 0 {
				t.Errorf("the second view changed something: %+v", report)
			}
		})
	}
}

func rawLines(entries []transcript.Entry) string {
	var b bytes.Buffer
	for _, e := range entries {
		b.Write(e.Raw)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestView_has_headers_of_what_it_holds(t *testing.T) {
	for _, c := range viewCases(t) {
		view, _ := transcript.View(c.entries(t), c.Policy)
		for _, e := range view {
			want, err := transcript.Parse(e.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(e.Told(), want.Told()) {
				t.Errorf("%s: header %+v of %s", c.ID, e.Header, e.Raw)
			}
		}
	}
}

func TestView_of_nothing_is_nothing(t *testing.T) {
	view, report := transcript.View(nil, transcript.Policy{})
	if len(view) != 0 || report.Pruned != 0 {
		t.Errorf("got %v, %+v", view, report)
	}
}

func TestView_with_the_zero_policy_changes_nothing(t *testing.T) {
	for _, c := range viewCases(t) {
		if strings.HasPrefix(c.ID, "dup-") {
			continue
		}
		entries := c.entries(t)
		if view, _ := transcript.View(entries, transcript.Policy{}); rawLines(view) != rawLines(entries) {
			t.Errorf("%s: got %s", c.ID, rawLines(view))
		}
	}
}
