package transcript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

func repairOptions() transcript.RepairOptions {
	n := 0
	return transcript.RepairOptions{
		NewID: func() string { n++; return fmt.Sprintf("R%d", n) },
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)) },
	}
}

func TestRepair_gives_every_cut_call_a_result(t *testing.T) {
	three := `"type":"assistant","sessionId":"s","isSidechain":true,"agentId":"7","timestamp":"2020-01-01T00:00:00Z","message":{"id":"m","role":"assistant","content":[` +
		`{"type":"tool_use","id":"t0","name":"Bash","input":{"command":"make"}},{"type":"tool_use","id":"t1","name":"Agent","input":{"prompt":"p"}},` +
		`{"type":"tool_use","id":"t2","name":"Read","input":{}}]}`
	entries := chain(t, says("go")+`,"isSidechain":true`, three, gives("t0", "made")+`,"isSidechain":true`)
	o := repairOptions()
	o.Agents = map[string]string{"t1": "a17"}
	got, report := transcript.Repair(entries, o)
	want := []string{
		`{"uuid":"R1","parentUuid":"e2","type":"user","sessionId":"s","isSidechain":true,"agentId":"7","timestamp":"2026-01-02T02:04:05.000Z","sourceToolAssistantUUID":"e1",` +
			`"toolUseResult":` + quoted("Error: "+strings.ReplaceAll(transcript.DefaultCutAgentText, "{id}", "a17")) +
			`,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":` + quoted(strings.ReplaceAll(transcript.DefaultCutAgentText, "{id}", "a17")) + `}]}}`,
		`{"uuid":"R2","parentUuid":"R1","type":"user","sessionId":"s","isSidechain":true,"agentId":"7","timestamp":"2026-01-02T02:04:05.000Z","sourceToolAssistantUUID":"e1",` +
			`"toolUseResult":` + quoted("Error: "+transcript.DefaultCutText) +
			`,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":` + quoted(transcript.DefaultCutText) + `}]}}`,
	}
	if len(got) != len(want) {
		t.Fatalf("got %s", rawLines(got))
	}
	for i := range want {
		if !sameJSON(t, got[i].Raw, []byte(want[i])) {
			t.Errorf("entry %d\n got %s\nwant %s", i, got[i].Raw, want[i])
		}
	}
	if len(report.Cut) != 2 || report.Cut[0].Name != "Agent" || report.Cut[0].ID != "t1" || report.Cut[0].Entry != "e1" || string(report.Cut[0].Input) != `{"prompt":"p"}` {
		t.Errorf("report %+v", report)
	}
	if again, _ := transcript.Repair(append(entries, got...), o); len(again) != 0 {
		t.Errorf("a second repair appends %s", rawLines(again))
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestRepair_touches_the_tail_only(t *testing.T) {
	block := func(id string) string {
		return strings.Replace(runs(id, "make"), `"role"`, `"id":"m","role"`, 1)
	}
	for name, c := range map[string]struct {
		fields []string
		want   string // tool_use ids
	}{
		"nothing is cut":                      {[]string{says("go"), runs("t0", "make"), gives("t0", "x"), replies("done")}, ""},
		"nothing is there":                    {nil, ""},
		"a reply without calls":               {[]string{says("go"), replies("done")}, ""},
		"somebody went on":                    {[]string{says("go"), runs("t0", "make"), says("what now?")}, ""},
		"the model went on":                   {[]string{runs("t0", "make"), gives("nobody", "x"), replies("done")}, ""},
		"a reply in several entries":          {[]string{says("go"), block("t0"), gives("t0", "x"), block("t1"), block("t2")}, "t1 t2"},
		"entries next to each other":          {[]string{says("go"), runs("t0", "make"), runs("t1", "make")}, "t0 t1"},
		"an API error behind it":              {[]string{says("go"), runs("t0", "make"), replies("API Error") + `,"isApiErrorMessage":true`}, "t0"},
		"an attachment and meta words behind": {[]string{says("go"), runs("t0", "make"), `"type":"attachment"`, says("hint") + `,"isMeta":true`}, "t0"},
		"broken further up as well":           {[]string{runs("t0", "make"), says("x"), runs("t1", "make")}, "t1"},
	} {
		t.Run(name, func(t *testing.T) {
			entries := chain(t, c.fields...)
			got, report := transcript.Repair(entries, transcript.RepairOptions{})
			var ids []string
			for _, e := range got {
				ids = append(ids, e.ToolResults...)
			}
			if strings.Join(ids, " ") != c.want || len(report.Cut) != len(got) {
				t.Errorf("got %q, %+v, want %q", ids, report, c.want)
			}
			if len(got) > 0 && got[0].Parent != entries[len(entries)-1].UUID {
				t.Errorf("hangs on %s", got[0].Parent)
			}
		})
	}
}

func TestRepair_leaves_questions_to_a_person_open(t *testing.T) {
	ask := `"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"q","name":"mcp__human__ask","input":{"question":"Which?"}},` +
		`{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}`
	entries := chain(t, says("go"), ask)
	got, report := transcript.Repair(entries, repairOptions())
	if len(got) != 1 || got[0].ToolResults[0] != "t" {
		t.Errorf("got %s", rawLines(got))
	}
	if len(report.Open) != 1 || report.Open[0].ID != "q" || string(report.Open[0].Input) != `{"question":"Which?"}` {
		t.Errorf("report %+v", report)
	}
}

func TestRepair_by_two_processes_appends_the_same(t *testing.T) {
	entries := chain(t, says("go"), runs("t0", "make"), runs("t1", "make"))
	first, _ := transcript.Repair(entries, transcript.RepairOptions{})
	second, _ := transcript.Repair(entries, transcript.RepairOptions{})
	if uuids(first) != uuids(second) || first[0].UUID == first[1].UUID {
		t.Errorf("%s and %s", uuids(first), uuids(second))
	}
}

func TestRepair_follows_the_live_branch(t *testing.T) {
	l := new(lines).add("a", "", says("1")).add("dead", "a", runs("t0", "make")).add("b", "a", runs("t1", "make"))
	got, _ := transcript.Repair(parseAll(t, *l...), repairOptions())
	if len(got) != 1 || got[0].ToolResults[0] != "t1" || got[0].Parent != "b" {
		t.Errorf("got %s", rawLines(got))
	}
}

func TestRepair_leaves_nothing_for_the_view_to_heal_in_the_tail(t *testing.T) {
	for seed := range uint64(randomRuns) {
		entries, policy := randomCase(t, seed)
		appended, report := transcript.Repair(entries, transcript.RepairOptions{})
		if len(appended) == 0 {
			continue
		}
		live, err := transcript.Live(append(entries, appended...), "")
		if err != nil {
			t.Fatal(err)
		}
		policy.Prune.HealOrphans = true
		view, _ := transcript.View(live, policy)
		for _, c := range report.Cut {
			if h := pairs(view)[c.ID]; h.uses == 0 && h.results > 0 || h.uses > 0 && h.results == 0 {
				t.Fatalf("seed %d: call %s: %+v", seed, c.ID, h)
			}
		}
		if again, _ := transcript.Repair(append(entries, appended...), transcript.RepairOptions{}); len(again) > 0 {
			t.Fatalf("seed %d: a second repair appends %s", seed, rawLines(again))
		}
	}
}
