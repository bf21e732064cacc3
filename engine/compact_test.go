package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

func TestCompact_a_policy_that_makes_no_sense_is_an_error_that_names_the_field(t *testing.T) {
	for _, c := range []struct {
		compact harness.Compaction
		want    string
	}{
		{harness.Compaction{Mode: "atuo"}, `spec s: compact.mode is "atuo"; it is one of auto, no_summary, off`},
		{harness.Compaction{Window: 200_000}, "compact.window is 200000, but only mode auto has a window"},
		{harness.Compaction{Mode: harness.CompactOff, Window: 200_000}, "compact.window"},
		{harness.Compaction{Mode: harness.CompactAuto, Window: 50_000}, "compact.window is 50000; it is 100000 tokens or more"},
		{harness.Compaction{Mode: harness.CompactAuto, Window: -1}, "compact.window is -1"},
		{harness.Compaction{Mode: harness.CompactAuto, Window: 100_000}, ""},
		{harness.Compaction{Mode: harness.CompactNoSummary}, ""},
	} {
		err := engine.Spec{Name: "s", Compact: c.compact}.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.compact, err, c.want)
		}
	}
}

func TestCompact_auto_needs_a_harness_that_compacts_and_is_found_before_anything_runs(t *testing.T) {
	p := newBench(t).start()
	w := flow(step("first"), step("second"))
	w.Steps[1].Spec.Compact.Mode = harness.CompactAuto
	_, err := p.RunWorkflow(context.Background(), w, engine.WorkflowOptions{})
	if err == nil || !strings.Contains(err.Error(), "step second: spec second: compact is auto, but this harness has no compaction") {
		t.Errorf("err = %v", err)
	}
	if n := len(p.script.orders()); n != 0 {
		t.Errorf("%d turns were ordered", n)
	}
	if err := p.Check(w.Steps[1].Spec); err == nil {
		t.Error("Check has nothing against it")
	}
}

func TestCompact_in_the_turns_of_a_run(t *testing.T) {
	for name, c := range map[string]struct {
		compact, want harness.CompactMode
		off           bool // handoff
		line          bool
	}{
		"unset: who hands over keeps everything":   {want: harness.CompactNoSummary, line: true},
		"unset without handoff: as the harness is": {off: true},
		"auto takes the place of the line":         {compact: harness.CompactAuto, want: harness.CompactAuto},
		"off stays off":                            {compact: harness.CompactOff, want: harness.CompactOff, line: true},
	} {
		t.Run(name, func(t *testing.T) {
			var turn harness.Turn
			p := newBench(t).startWith(engine.Config{Handoff: &engine.HandoffPolicy{Off: c.off}}, answer{
				do: func(_ context.Context, t harness.Turn) {
					turn = t
					t.Sink.Emit(event.Event{Kind: event.Text, Context: 940_000})
				}})
			p.script.compacts = true
			r, err := p.Run(context.Background(), engine.Spec{Name: "s", Compact: harness.Compaction{Mode: c.compact}}, "go", engine.RunOptions{})
			if err != nil || !r.OK {
				t.Fatal(r, err)
			}
			if turn.Agent.Compact.Mode != c.want || turn.Limits.ContextLine > 0 != c.line {
				t.Errorf("compact %q, line %d", turn.Agent.Compact.Mode, turn.Limits.ContextLine)
			}
			p.close()
			if near := p.seen.of(event.Handoff); len(near) > 0 != c.line {
				t.Errorf("handoff events %+v", near)
			}
		})
	}
}

func TestCompact_auto_still_hands_over_when_the_context_is_full(t *testing.T) {
	p := newBench(t).start(answer{stop: harness.WindowExceeded}, answer{text: "done"})
	p.script.compacts = true
	r, err := p.Run(context.Background(), engine.Spec{Name: "s", Compact: harness.Compaction{Mode: harness.CompactAuto}}, "go", engine.RunOptions{})
	if err != nil || !r.OK || len(r.Retired) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
