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
)

// research and work are two steps, the second with a prompt for continuing.
func researchAndWork() *engine.Workflow {
	work := step("work")
	work.ResumePrompt = engine.Text("go on")
	return flow(step("research"), work)
}

func TestContinuity_17_after_an_end_every_step_runs_again_in_its_session(t *testing.T) {
	b := newBench(t)
	first := b.start(answer{text: "found"}, answer{text: "built"})
	first.run(t, researchAndWork(), engine.WorkflowOptions{})
	first.close()

	second := b.start()
	ending := second.run(t, researchAndWork(), engine.WorkflowOptions{})
	want := []sent{{"research", "do research", "s1", false}, {"work", "go on", "s2", false}}
	if diff := cmp.Diff(want, second.script.orders()); diff != "" {
		t.Error(diff)
	}
	if value(t, ending.Context, engine.KeyWoke) != 2 {
		t.Errorf("woke %v", value(t, ending.Context, engine.KeyWoke))
	}
	second.close()
	for _, e := range second.seen.of(event.Step) {
		if e.Payload["resumed"] != true || e.Payload["woke"] != 2 || e.Payload["restored"] != false {
			t.Errorf("step event %v", e.Payload)
		}
	}
}

func TestContinuity_17_a_step_that_was_cut_off_continues_and_earlier_ones_are_restored(t *testing.T) {
	b := newBench(t)
	first := b.start(answer{text: "found"}, answer{text: "half"})
	ctx, cancel := context.WithCancelCause(context.Background())
	first.script.answers[1].do = func(context.Context, harnessTurn) { cancel(engine.ErrKilled) }
	if _, err := first.RunWorkflow(ctx, researchAndWork(), engine.WorkflowOptions{}); err != nil {
		t.Fatal(err)
	}
	first.close()

	second := b.start(answer{text: "built"})
	ending := second.run(t, researchAndWork(), engine.WorkflowOptions{})
	want := []sent{{"work", "go on", "s2", false}}
	if diff := cmp.Diff(want, second.script.orders()); diff != "" {
		t.Error(diff)
	}
	if value(t, ending.Context, "research") != "found" || value(t, ending.Context, "work") != "built" {
		t.Error("the restored step's value is not in the context")
	}
	if value(t, ending.Context, engine.KeyResults).(map[string]engine.Result)["research"].SessionID != "s1" {
		t.Error("the restored step's result is not in the context")
	}
	second.close()
	if e := second.seen.of(event.Step)[0]; e.Payload["restored"] != true || e.Text != "research" {
		t.Errorf("step event %v", e)
	}
}

func TestContinuity_the_same_prompt_is_not_sent_again_to_a_session_that_was_cut_off(t *testing.T) {
	b := newBench(t)
	first := b.start(answer{})
	ctx, cancel := context.WithCancel(context.Background())
	first.script.answers[0].do = func(context.Context, harnessTurn) { cancel() }
	if _, err := first.RunWorkflow(ctx, flow(step("A")), engine.WorkflowOptions{}); err != nil {
		t.Fatal(err)
	}
	first.close()
	second := b.start()
	second.run(t, flow(step("A")), engine.WorkflowOptions{})
	if o := second.script.orders()[0]; o.Resume != "s1" || !strings.Contains(o.Prompt, "cut off") {
		t.Errorf("order %+v", o)
	}
	second.close()
	// With another prompt the session is told the new one.
	third := b.start()
	changed := step("A")
	changed.Prompt = engine.Text("do it differently")
	third.run(t, flow(changed), engine.WorkflowOptions{})
	if o := third.script.orders()[0]; o.Prompt != "do it differently" {
		t.Errorf("order %+v", o)
	}
}

func TestContinuity_a_mended_gate_begins_at_the_step_that_failed(t *testing.T) {
	b := newBench(t)
	broken := step("work")
	broken.Gate = reject
	first := b.start(answer{text: "found"}, answer{text: "built"})
	first.run(t, flow(step("research"), broken), engine.WorkflowOptions{})
	first.close()

	second := b.start(answer{text: "built again"})
	ending := second.run(t, flow(step("research"), step("work")), engine.WorkflowOptions{})
	want := []sent{{"work", "do work", "s2", false}}
	if diff := cmp.Diff(want, second.script.orders()); diff != "" {
		t.Error(diff)
	}
	if !ending.OK {
		t.Errorf("ending %+v", ending)
	}
}

func TestContinuity_what_callbacks_wrote_is_restored(t *testing.T) {
	b := newBench(t)
	a := step("A")
	a.Gate = func(_ context.Context, _ engine.Result, c engine.Context) (bool, string, error) {
		c.Set("found", []any{"x", float64(2)})
		c.Set("handle", func() {})
		return true, "", nil
	}
	fails := step("B")
	fails.Gate = reject
	first := b.start()
	first.run(t, flow(a, fails), engine.WorkflowOptions{})
	first.close()

	second := b.start()
	ending := second.run(t, flow(a, step("B")), engine.WorkflowOptions{})
	if diff := cmp.Diff([]any{"x", float64(2)}, value(t, ending.Context, "found")); diff != "" {
		t.Error(diff)
	}
	absent(t, ending.Context, "handle")
}

func TestContinuity_fresh_and_from(t *testing.T) {
	b := newBench(t)
	first := b.start(answer{text: "a"}, answer{text: "b"}, answer{text: "c"})
	w := func() *engine.Workflow { return flow(step("A"), step("B"), step("C")) }
	first.run(t, w(), engine.WorkflowOptions{})
	first.close()

	from := b.start(answer{text: "b2"}, answer{text: "c2"})
	ending := from.run(t, w(), engine.WorkflowOptions{From: "B"})
	if got := from.script.labels(); got != "B C" || value(t, ending.Context, "A") != "a" {
		t.Errorf("from B ran %s", got)
	}
	from.close()

	fresh := b.start()
	fresh.run(t, w(), engine.WorkflowOptions{Fresh: true})
	for _, o := range fresh.script.orders() {
		if o.Resume != "" {
			t.Errorf("fresh resumed: %+v", o)
		}
	}
	if got := fresh.script.labels(); got != "A B C" {
		t.Errorf("fresh ran %s", got)
	}
	fresh.close()

	for _, o := range []engine.WorkflowOptions{{From: "D"}, {From: "A", Fresh: true}} {
		p := b.start()
		if _, err := p.RunWorkflow(context.Background(), w(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		p.close()
	}
	if _, err := newBench(t).start().RunWorkflow(context.Background(), w(), engine.WorkflowOptions{From: "B"}); err == nil || !strings.Contains(err.Error(), "A") {
		t.Errorf("from B where A never ran: %v", err)
	}
}

func TestContinuity_19_what_is_not_there_any_more_starts_fresh(t *testing.T) {
	lineage := func(b *bench) string { return filepath.Join(b.dir, "runs", "lineage.json") }
	for name, spoil := range map[string]func(b *bench) error{
		"session gone": func(b *bench) error {
			return os.WriteFile(lineage(b), []byte(`{"workspace":"`+b.dir+`","woke":1,"steps":{"A":"nobody"}}`), 0o644)
		},
		"broken": func(b *bench) error { return os.WriteFile(lineage(b), []byte(`{"works`), 0o644) },
		"no file": func(b *bench) error {
			return errors.Join(os.Remove(lineage(b)), os.Mkdir(lineage(b), 0o755))
		},
		"another workspace": func(b *bench) error {
			raw, err := os.ReadFile(lineage(b))
			if err != nil {
				return err
			}
			return os.WriteFile(lineage(b), []byte(strings.Replace(string(raw), b.dir+`",`, `/elsewhere",`, 1)), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first := b.start()
			first.run(t, flow(step("A")), engine.WorkflowOptions{})
			first.close()
			if err := spoil(b); err != nil {
				t.Fatal(err)
			}
			second := b.start()
			second.run(t, flow(step("A")), engine.WorkflowOptions{})
			if o := second.script.orders()[0]; o.Resume != "" {
				t.Errorf("resumed %+v", o)
			}
		})
	}
}

func TestContinuity_19_workspace_and_run_directory_moved_together_continue(t *testing.T) {
	b := newBench(t)
	old := filepath.Join(b.dir, "old")
	first := b.startWith(engine.Config{Workspace: old})
	first.run(t, flow(step("A")), engine.WorkflowOptions{})
	first.close()
	moved := filepath.Join(b.dir, "moved")
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	second := b.startWith(engine.Config{Workspace: moved})
	second.run(t, flow(step("A")), engine.WorkflowOptions{})
	if o := second.script.orders()[0]; o.Resume != "s1" {
		t.Errorf("order %+v", o)
	}
}

func TestContinuity_23_resume_from_goes_before_the_lineage(t *testing.T) {
	b := newBench(t)
	w := func() *engine.Workflow {
		second := step("B")
		second.ResumeFrom, second.Fork = "A", true
		return flow(step("A"), second)
	}
	first := b.start()
	first.run(t, w(), engine.WorkflowOptions{})
	first.close()
	second := b.start()
	second.run(t, w(), engine.WorkflowOptions{})
	if o := second.script.orders()[1]; o.Label != "B" || o.Resume != "s1" || !o.Fork {
		t.Errorf("order %+v", o)
	}
}

func TestContinuity_once_remembers_nothing(t *testing.T) {
	b := newBench(t)
	w := flow(step("A"))
	w.Once = true
	first := b.start()
	first.run(t, w, engine.WorkflowOptions{})
	first.close()
	if _, err := os.Stat(filepath.Join(b.dir, "runs", "lineage.json")); !os.IsNotExist(err) {
		t.Errorf("a lineage was written: %v", err)
	}
	second := b.start()
	second.run(t, w, engine.WorkflowOptions{})
	if o := second.script.orders()[0]; o.Resume != "" {
		t.Errorf("order %+v", o)
	}
}

func TestLineage_two_processes_keep_each_others_steps(t *testing.T) {
	dir := t.TempDir()
	a, b := engine.OpenLineage(dir, "/w"), engine.OpenLineage(dir, "/w")
	for _, do := range []func() error{
		func() error { return a.Remember("one", "s1") },
		func() error { return b.Remember("two", "s2") },
		func() error { _, err := a.Bump(); return err },
		func() error { _, err := b.Bump(); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"one": "s1", "two": "s2"}, a.Steps()); diff != "" || b.Woke() != 2 {
		t.Errorf("woke %d %s", b.Woke(), diff)
	}
}

func TestLineage_a_broken_file_is_kept_aside_when_it_is_replaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lineage.json"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := engine.OpenLineage(dir, "/w").Remember("A", "s"); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "lineage.json.broken-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if raw, err := os.ReadFile(kept[0]); err != nil || string(raw) != "precious" {
		t.Errorf("kept %q, %v", raw, err)
	}
}

func TestContinuity_a_value_too_large_to_keep_is_said_and_the_step_runs_again(t *testing.T) {
	b := newBench(t)
	fails := step("B")
	fails.Gate = reject
	first := b.start(answer{text: strings.Repeat("x", 2<<20)})
	first.run(t, flow(step("A"), fails), engine.WorkflowOptions{})
	first.close()
	if notices := first.seen.of(event.Task); len(notices) == 0 || !strings.Contains(notices[0].Text, "too large") {
		t.Errorf("notices %+v", notices)
	}
	second := b.start()
	second.run(t, flow(step("A"), step("B")), engine.WorkflowOptions{})
	if got := second.script.labels(); got != "A B" {
		t.Errorf("ran %s", got)
	}
}

func TestLineage_Archive_moves_what_belongs_together(t *testing.T) {
	dir := t.TempDir()
	l := engine.OpenLineage(dir, "/w")
	if err := l.Remember("A", "s"); err != nil {
		t.Fatal(err)
	}
	brief := filepath.Join(dir, "brief.md")
	if err := os.WriteFile(brief, []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	to, err := l.Archive(filepath.Join(dir, "archive"), brief, filepath.Join(dir, "none.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lineage.json", "brief.md"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
	if l.Woke() != 0 || len(l.Steps()) != 0 {
		t.Error("the lineage was not begun anew")
	}
	if to, err := l.Archive(filepath.Join(dir, "archive")); to != "" || err != nil {
		t.Errorf("nothing was moved to %s, %v", to, err)
	}
}

func TestContinuity_another_workflow_takes_no_session_away(t *testing.T) {
	b := newBench(t)
	named := func(name string) *engine.Workflow { w := flow(step("A")); w.Name = name; return w }
	resumed := func(w *engine.Workflow, o engine.WorkflowOptions) string {
		p := b.start()
		defer p.close()
		p.run(t, w, o)
		return p.script.orders()[0].Resume
	}
	if got := resumed(named("one"), engine.WorkflowOptions{}); got != "" {
		t.Fatalf("the first run resumed %q", got)
	}
	for _, o := range []engine.WorkflowOptions{{}, {Origin: "x"}, {Origin: "y"}} {
		if got := resumed(named("two"), o); got != "" {
			t.Errorf("another workflow resumed %q", got)
		}
	}
	mine := resumed(named("one"), engine.WorkflowOptions{})
	if mine == "" {
		t.Fatal("the session is lost")
	}
	if other := resumed(named("two"), engine.WorkflowOptions{}); other == "" || other == mine {
		t.Errorf("the other workflow resumed %q, the first %q", other, mine)
	}
	if got := resumed(named("one"), engine.WorkflowOptions{}); got != mine {
		t.Errorf("resumed %q, want %q", got, mine)
	}
}
