package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/workbench"
)

const handoffDoc = "## In progress\nthe parser\n\n## Next step\nwrite its tests\n"

var tooLong = &model.Error{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}

func withBench(t *testing.T, b *bench) engine.Config {
	t.Helper()
	wb, err := workbench.Open("", b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := quick()
	c.Workbench = wb
	return c
}

func full(context int64) answer { return answer{stop: harness.ContextFull, context: context} }

func phases(events []event.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Payload["phase"].(string))
	}
	return out
}

func TestHandoff_57_a_full_session_hands_over_to_a_new_one(t *testing.T) {
	b := newBench(t)
	c := withBench(t, b)
	c.Handoff = &engine.HandoffPolicy{Window: 200_000}
	near := full(151_000)
	near.do = func(_ context.Context, turn harness.Turn) {
		if turn.Limits.ContextLine != 150_000 {
			t.Errorf("the line is at %d", turn.Limits.ContextLine)
		}
		for range 2 { // said once a generation
			turn.Sink.Emit(event.Event{Kind: event.Text, Text: "working", Context: 140_000})
		}
	}
	writing := answer{text: handoffDoc, do: func(_ context.Context, turn harness.Turn) {
		if turn.Limits != (harness.Limits{}) || !strings.Contains(turn.Prompt, "151000 of 200000") {
			t.Errorf("the turn that writes: limits %+v, prompt %q", turn.Limits, turn.Prompt)
		}
		turn.Sink.Emit(event.Event{Kind: event.Text, Text: "not to be seen"})
	}}
	p := b.startWith(c, near, writing, answer{text: "done"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "work", MaxBudgetUSD: 5}, "build it", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	orders := p.script.orders()
	if len(orders) != 3 || orders[1].Resume != "s1" || orders[2].Resume != "" || !strings.Contains(orders[2].Prompt, "write its tests") {
		t.Errorf("orders %+v", orders)
	}
	if !r.OK || r.Attempts != 1 || r.SessionID != "s2" || !cmp.Equal(r.Retired, []string{"s1"}) || r.Text != "done" || r.NumTurns != 3 {
		t.Errorf("result %+v", r)
	}
	p.close()
	if diff := cmp.Diff([]string{"near", "writing", "done"}, phases(p.seen.of(event.Handoff))); diff != "" {
		t.Error(diff)
	}
	for _, e := range p.seen.of(event.Handoff) {
		documented(t, e)
	}
	done := p.seen.of(event.Handoff)[2].Payload
	if done["degraded"] != false || !cmp.Equal(done["sections"], []string{"doing", "next"}) || done["path"] != filepath.Join(b.dir, ".flower", "notes", "handoff-work.md") {
		t.Errorf("told of it: %v", done)
	}
	for _, e := range p.seen.of(event.Text) {
		if e.Text == "not to be seen" {
			t.Error("the turn that writes the document was shown")
		}
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, ".flower", "notes", "handoff-work.md"))
	if err != nil || !strings.Contains(string(raw), "the parser") {
		t.Errorf("document %q, %v", raw, err)
	}
}

func TestHandoff_a_person_may_edit_the_document(t *testing.T) {
	b := newBench(t)
	c := withBench(t, b)
	c.Handoff = &engine.HandoffPolicy{Pause: func(_ context.Context, path string) error {
		return os.WriteFile(path, []byte("## In progress\nthe parser\n\n## Next step\nfirst ask Ann\n"), 0o644)
	}}
	p := b.startWith(c, full(1), answer{text: handoffDoc}, answer{text: "done"})
	if _, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build it", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if o := p.script.orders()[2]; !strings.Contains(o.Prompt, "first ask Ann") || strings.Contains(o.Prompt, "write its tests") {
		t.Errorf("prompt %q", o.Prompt)
	}
}

func TestHandoff_older_documents_are_archived(t *testing.T) {
	b := newBench(t)
	p := b.startWith(withBench(t, b), full(1), answer{text: handoffDoc}, full(1), answer{text: handoffDoc}, full(1), answer{text: handoffDoc}, answer{text: "done"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build it", engine.RunOptions{})
	if err != nil || !r.OK || len(r.Retired) != 3 {
		t.Fatalf("result %+v, %v", r, err)
	}
	old, err := filepath.Glob(filepath.Join(b.dir, ".flower", "notes", "archive", "handoff", "work-*.md"))
	if err != nil || len(old) != 2 {
		t.Errorf("archived %v, %v", old, err)
	}
}

func TestHandoff_without_a_document_is_degraded_and_goes_on(t *testing.T) {
	for name, writing := range map[string]answer{
		"failed":     {err: errors.New("broken")},
		"incomplete": {text: "## In progress\nsomething"},
	} {
		p := newBench(t).startWith(quick(), full(1), writing, answer{text: "done"})
		r, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build the thing", engine.RunOptions{})
		if err != nil || !r.OK {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if o := p.script.orders()[2]; !strings.Contains(o.Prompt, "build the thing") || !strings.Contains(o.Prompt, "degraded") {
			t.Errorf("%s: prompt %q", name, o.Prompt)
		}
	}
}

func TestHandoff_59_too_long_is_a_degraded_handover_and_the_next_failure_an_ordinary_one(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{err: tooLong}, answer{err: overloaded}, answer{text: "done"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build it", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	orders := p.script.orders()
	if len(orders) != 3 || orders[1].Resume != "" || orders[2].Resume != "s2" {
		t.Errorf("orders %+v", orders)
	}
	if !r.OK || len(r.Retired) != 1 || r.Attempts != 2 {
		t.Errorf("result %+v", r)
	}
}

func TestHandoff_59_two_degraded_in_a_row_stop_the_run(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{err: tooLong}, answer{text: "done"}, answer{err: tooLong})
	w := flow(step("A"), step("B"))
	ending := p.run(t, w, engine.WorkflowOptions{})
	if ending.FailedAt != "B" || !strings.Contains(ending.Reason, "two handoffs in a row") {
		t.Errorf("ending %+v", ending)
	}
}

func TestHandoff_too_many_generations_name_the_likely_cause(t *testing.T) {
	c := quick()
	c.Handoff = &engine.HandoffPolicy{Window: 20_000, MaxGenerations: 2}
	p := newBench(t).startWith(c, full(1), answer{text: handoffDoc}, full(1), answer{text: handoffDoc}, full(1))
	r, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build it", engine.RunOptions{})
	if err != nil || r.OK || !strings.Contains(r.Error, "window of 20000") {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestHandoff_off_lets_a_full_context_end_the_step(t *testing.T) {
	c := quick()
	c.Handoff = &engine.HandoffPolicy{Off: true}
	p := newBench(t).startWith(c, full(1))
	r, err := p.Run(context.Background(), engine.Spec{Name: "work"}, "build it", engine.RunOptions{})
	if err != nil || r.OK || r.Error != "context full" {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestHandoff_the_window_is_guessed_by_the_models_name(t *testing.T) {
	for name, want := range map[string]int64{"claude-haiku-4-5": 150_000, "claude-haiku-4-5[1m]": 950_000, "claude-opus": 950_000, "": 950_000} {
		p := newBench(t).start(answer{do: func(_ context.Context, turn harness.Turn) {
			if turn.Limits.ContextLine != want {
				t.Errorf("%q: line %d, want %d", name, turn.Limits.ContextLine, want)
			}
		}})
		if _, err := p.Run(context.Background(), engine.Spec{Name: "work", Model: name}, "x", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWorkbench_block_is_the_index_and_follows_what_is_there(t *testing.T) {
	b := newBench(t)
	c := withBench(t, b)
	if err := os.WriteFile(filepath.Join(c.Workbench.Scripts(), "run.sh"), []byte("# desc: runs all\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var blocks []string
	look := answer{do: func(_ context.Context, turn harness.Turn) { blocks = append(blocks, turn.Agent.Index) }}
	p := b.startWith(c, look, look)
	for _, spec := range []engine.Spec{{Name: "x"}, {Name: "y", NoWorkbench: true}} {
		if _, err := p.Run(context.Background(), spec, "x", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(blocks[0], "runs all") || blocks[1] != "" {
		t.Errorf("blocks %q", blocks)
	}
}
