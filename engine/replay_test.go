package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
)

// recordedRows are two runs: in the first A passed at once, in the second after a
// round; B ran in the first alone.
func recordedRows() []engine.Result {
	return []engine.Result{
		{Run: "1", Step: "A", OK: true, Text: "old", SessionID: "s1"},
		{Run: "1", Step: "B", OK: true, Text: "b", SessionID: "s2"},
		{Run: "2", Step: "A", OK: false, Error: "cut off", SessionID: "s3"},
		{Run: "2", Step: "A#round2", OK: true, Text: "new", SessionID: "s3"},
		{Run: "2", Step: "A·verdict", OK: true, Text: "a judge's"},
	}
}

func replayed(t *testing.T, w *engine.Workflow, o engine.ReplayOptions) string {
	t.Helper()
	p := newBench(t).start()
	o.Rows = recordedRows()
	all, err := p.Replay(context.Background(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.script.orders()); n > 0 {
		t.Errorf("%d agents were run", n)
	}
	var lines []string
	for _, r := range all {
		lines = append(lines, strings.Join([]string{string(r.Verdict), r.Step, r.Result.Run, r.Result.Step, r.Reason, r.Sent, r.Value}, "|"))
	}
	return strings.Join(lines, "\n")
}

func TestReplay_takes_the_newest_results_of_each_step_or_those_of_one_run(t *testing.T) {
	for run, want := range map[string]string{
		"":  "fail|A|2|A|cut off||\npass|A|2|A#round2|||new\npass|B|1|B|||b",
		"1": "pass|A|1|A|||old\npass|B|1|B|||b",
		"2": "fail|A|2|A|cut off||\npass|A|2|A#round2|||new\nnone|B|||||",
	} {
		if got := replayed(t, flow(step("A"), step("B")), engine.ReplayOptions{Run: run}); got != want {
			t.Errorf("run %q\ngot\n%s\nwant\n%s", run, got, want)
		}
	}
}

func TestReplay_passes_over_a_newer_run_that_only_failed(t *testing.T) {
	rows := append(recordedRows(),
		engine.Result{Run: "3", Step: "A", Error: "connection refused"},
		engine.Result{Run: "3", Step: "C", Error: "connection refused"})
	p := newBench(t).start()
	all, err := p.Replay(context.Background(), flow(step("A"), step("C")), engine.ReplayOptions{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, r := range all {
		runs = append(runs, r.Step+r.Result.Run)
	}
	if got := strings.Join(runs, " "); got != "A2 A2 C3" { // C has nothing else
		t.Errorf("taken: %s", got)
	}
}

func TestReplay_says_what_would_be_sent_back_and_goes_on(t *testing.T) {
	a, b := step("A"), step("B")
	a.Gate, a.OnReject = reject, send("more")
	b.Gate = func(_ context.Context, _ engine.Result, c engine.Context) (bool, string, error) {
		kept, _ := c.Get("A")
		return false, "A left " + kept.(string), nil
	}
	want := "fail|A|2|A|cut off|more|\nreject|A|2|A#round2|the gate gave no reason|more|\nreject|B|1|B|A left new|A left new|"
	if got := replayed(t, flow(a, b), engine.ReplayOptions{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := replayed(t, flow(a, b), engine.ReplayOptions{Step: "B"}); got != "reject|B|1|B|A left new|A left new|" {
		t.Errorf("B alone: %s", got)
	}
}

func TestReplay_of_what_is_not_there_is_an_error(t *testing.T) {
	p := newBench(t).start()
	for want, o := range map[string]engine.ReplayOptions{
		`no step is called "AA"`:          {Step: "AA"},
		"nothing is recorded of run 2026": {Run: "2026"},
	} {
		if _, err := p.Replay(context.Background(), flow(step("A")), o); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, engine.ErrNoStep) != (o.Step != "") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestReplay_takes_results_of_another_workflow_only_where_there_are_none_of_its_own(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"mine", "other"} {
		w := flow(step("A"))
		w.Name = name
		p := b.start(answer{text: name})
		p.run(t, w, engine.WorkflowOptions{})
		p.close()
	}
	p := b.start()
	rows := manifestRows(t, p.ManifestPath())
	w := flow(step("A"))
	w.Name = "mine"
	all, err := p.Replay(context.Background(), w, engine.ReplayOptions{Rows: rows})
	if err != nil || len(all) != 1 || all[0].Result.Text != "mine" || all[0].Result.Workflow != "mine" {
		t.Errorf("replayed %+v, %v", all, err)
	}
	w.Name = "renamed"
	all, err = p.Replay(context.Background(), w, engine.ReplayOptions{Rows: rows})
	if err != nil || len(all) != 1 || all[0].Result.Text != "other" {
		t.Errorf("replayed under another name %+v, %v", all, err)
	}
}
