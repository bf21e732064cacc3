package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
)

func TestEndings_a_workflow_whose_context_has_ended_is_interrupted_and_not_counted(t *testing.T) {
	b := newBench(t)
	b.start().run(t, flow(step("A")), engine.WorkflowOptions{})
	before, err := os.ReadFile(filepath.Join(b.dir, "runs", "lineage.json"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrKilled)
	for _, once := range []bool{false, true} {
		p := newBench(t).startWith(engine.Config{Workspace: b.dir, RunDir: filepath.Join(b.dir, "runs")})
		w := flow(step("A"))
		w.Once = once
		ending, err := p.RunWorkflow(ctx, w, engine.WorkflowOptions{})
		if err != nil || !ending.Interrupted || ending.OK || ending.Reason != engine.MarkKilled || ending.Run == "" || ending.Context == nil {
			t.Errorf("once %v: %+v, %v", once, ending, err)
		}
		if p.script.labels() != "" {
			t.Errorf("ran %s", p.script.labels())
		}
		p.close()
	}
	after, err := os.ReadFile(filepath.Join(b.dir, "runs", "lineage.json"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the lineage changed, or is gone: %v\n%s\n%s", err, before, after)
	}
}

func TestEndings_nobody_shares_results_with_the_accounts(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{text: "x", err: errors.New("once")}, answer{text: "y"})
	w := flow(step("A"), step("B"))
	w.OnStep = func(_ string, r engine.Result) { *r.CostUSD = 99 }
	ending := p.run(t, w, engine.WorkflowOptions{})
	want, _ := p.TotalCost()
	spoil := func(all ...engine.Result) {
		for _, r := range all {
			*r.CostUSD = 99
			for i := range r.Errors {
				r.Errors[i] = "spoiled"
			}
		}
	}
	spoil(ending.Results...)
	spoil(p.Results()...)
	for _, r := range value(t, ending.Context, engine.KeyResults).(map[string]engine.Result) {
		spoil(r)
	}
	if usd, ok := p.TotalCost(); !ok || usd != want || usd > 1 || *ending.CostUSD > 1 {
		t.Errorf("the sum is %v and was %v; the ending's is %v", usd, want, *ending.CostUSD)
	}
	for _, r := range p.Results() {
		if strings.Contains(strings.Join(r.Errors, " "), "spoiled") {
			t.Errorf("errors %v", r.Errors)
		}
	}
}

func TestEndings_a_window_in_which_no_line_lies_is_refused(t *testing.T) {
	for _, c := range []struct {
		policy engine.HandoffPolicy
		fine   bool
	}{
		{engine.HandoffPolicy{Window: 1}, false},
		{engine.HandoffPolicy{Window: 10_000}, false},
		{engine.HandoffPolicy{Window: 10_000, Headroom: 1}, false},
		{engine.HandoffPolicy{Window: 10_001}, true},
		{engine.HandoffPolicy{Window: 1, Off: true}, true},
		{engine.HandoffPolicy{}, true},
	} {
		err := c.policy.Check()
		if c.fine != (err == nil) || err != nil && !strings.Contains(err.Error(), "10001 or more") {
			t.Errorf("%+v: %v", c.policy, err)
		}
	}
}
