package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// What is easily got wrong between the numbered scenarios.

func TestWorkflow_starting_over_continues_and_forks_what_the_first_attempt_did(t *testing.T) {
	p := newBench(t).start()
	a := step("A")
	a.ResumeFrom, a.Fork, a.Retries, a.Gate = "base", true, 2, reject
	p.run(t, flow(step("base"), a), engine.WorkflowOptions{})
	want := []sent{{"base", "do base", "", false}, {"A", "do A", "s1", true}, {"A#retry1", "do A", "s1", true}, {"A#retry2", "do A", "s1", true}}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkflow_resume_from_a_step_that_was_skipped_is_an_error(t *testing.T) {
	p := newBench(t).start()
	skipped, b := step("skipped"), step("B")
	skipped.When = func(context.Context, engine.Context) (bool, error) { return false, nil }
	b.ResumeFrom = "skipped"
	if ending := p.run(t, flow(skipped, b), engine.WorkflowOptions{}); ending.FailedAt != "B" || len(p.script.orders()) != 0 {
		t.Errorf("%+v, orders %+v", ending, p.script.orders())
	}
}

func TestWorkflow_abort_without_on_fail_stops_and_notes_both(t *testing.T) {
	for name, abort := range map[string]func(*engine.Step){
		"gate": func(s *engine.Step) {
			s.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
				return true, "", engine.Abort("enough")
			}
		},
		"on_reject": func(s *engine.Step) {
			s.Gate = reject
			s.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) {
				return "", engine.Abort("enough")
			}
		},
		"when": func(s *engine.Step) {
			s.When = func(context.Context, engine.Context) (bool, error) { return true, engine.Abort("enough") }
		},
		"prompt": func(s *engine.Step) {
			s.Prompt = func(context.Context, engine.Context) (string, error) { return "", engine.Abort("enough") }
		},
	} {
		p := newBench(t).start(answer{text: "raw"})
		a := step("A")
		a.Retries = 3
		abort(&a)
		ending := p.run(t, flow(a, step("B")), engine.WorkflowOptions{})
		if value(t, ending.Context, engine.KeyAborted) != "enough" || value(t, ending.Context, engine.KeyFailedAt) != "A" || len(p.script.orders()) > 1 {
			t.Errorf("%s: %+v", name, ending)
		}
		absent(t, ending.Context, "A")
	}
}

func TestWorkflow_skip_leaves_no_value_of_an_earlier_run(t *testing.T) {
	p := newBench(t).start()
	a := step("A")
	a.OnFail, a.Gate = engine.Skip, reject
	ending := p.run(t, flow(a), engine.WorkflowOptions{Context: engine.NewContext(map[string]any{"A": "old"})})
	absent(t, ending.Context, "A", engine.KeyFailedAt)
	if !ending.OK {
		t.Errorf("%+v", ending)
	}
}

func TestWorkflow_a_step_may_stand_in_it_twice_and_a_run_keeps_the_context(t *testing.T) {
	p := newBench(t).start(answer{text: "1"}, answer{text: "2"}, answer{text: "3"}, answer{text: "4"})
	a := step("A")
	w := flow(a, a)
	first := p.run(t, w, engine.WorkflowOptions{})
	first.Context.Set("mine", "kept")
	if p.script.labels() != "A A" || value(t, first.Context, "A") != "2" {
		t.Errorf("ran %s: %v", p.script.labels(), value(t, first.Context, "A"))
	}
	second := p.run(t, w, engine.WorkflowOptions{})
	if value(t, second.Context, "mine") != "kept" || value(t, second.Context, engine.KeyWoke) != 2 {
		t.Error("the second run has another context")
	}
	own := p.run(t, w, engine.WorkflowOptions{Context: engine.NewContext(nil)})
	absent(t, own.Context, "mine")
}

func TestWorkflow_a_step_that_stands_twice_is_restored_twice(t *testing.T) {
	b := newBench(t)
	bad := step("B")
	bad.Gate = reject
	first := b.start(answer{text: "1"}, answer{text: "2"})
	first.run(t, flow(step("A"), step("A"), bad), engine.WorkflowOptions{})
	first.close()
	second := b.start()
	ending := second.run(t, flow(step("A"), step("A"), step("B")), engine.WorkflowOptions{})
	if second.script.labels() != "B" || value(t, ending.Context, "A") != "2" {
		t.Errorf("ran %s, A = %v", second.script.labels(), value(t, ending.Context, "A"))
	}
}

func TestContinuity_the_lineage_has_plain_names_and_the_newest_session(t *testing.T) {
	b := newBench(t)
	a := step("A")
	a.Retries, a.Gate, a.OnReject = 2, reject, send("")
	p := b.start()
	p.run(t, flow(a), engine.WorkflowOptions{}) // three sessions, each from scratch
	if diff := cmp.Diff(map[string]string{"A": "s3"}, engine.OpenLineage(p.RunDir(), p.Workspace()).Steps()); diff != "" {
		t.Error(diff)
	}
}

func TestContinuity_a_remembered_session_is_forked_where_the_step_forks(t *testing.T) {
	b := newBench(t)
	w := func() *engine.Workflow {
		a := step("A")
		a.Fork = true
		return flow(a)
	}
	first := b.start()
	first.run(t, w(), engine.WorkflowOptions{})
	first.close()
	second := b.start()
	second.run(t, w(), engine.WorkflowOptions{})
	if o := second.script.orders()[0]; o.Resume != "s1" || !o.Fork {
		t.Errorf("order %+v", o)
	}
	copied := engine.OpenLineage(second.RunDir(), second.Workspace()).Steps()["A"]
	if copied == "s1" || copied == "" {
		t.Errorf("remembered %q", copied)
	}
}

func TestContinuity_a_step_that_is_skipped_stays_remembered(t *testing.T) {
	b := newBench(t)
	first := b.start()
	first.run(t, flow(step("A")), engine.WorkflowOptions{})
	first.close()
	skipped := step("A")
	skipped.When = func(context.Context, engine.Context) (bool, error) { return false, nil }
	second := b.start()
	second.run(t, flow(skipped), engine.WorkflowOptions{})
	second.close()
	third := b.start()
	third.run(t, flow(step("A")), engine.WorkflowOptions{})
	if o := third.script.orders()[0]; o.Resume != "s1" {
		t.Errorf("order %+v", o)
	}
}

func TestRun_accounts_add_up_over_retries_interrupts_and_handoffs(t *testing.T) {
	p := newBench(t).startWith(quick(),
		answer{text: "first", err: overloaded}, answer{stop: harness.Interrupted, words: "mind the gap"}, full(1), answer{text: handoffDoc}, answer{})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.CostUSD == nil || *r.CostUSD != 1.25 || r.NumTurns != 5 || r.Attempts != 2 || r.Text != "first" {
		t.Errorf("%+v", r)
	}
	want := []string{overloaded.Error(), engine.MarkInterrupted, engine.MarkContextFull}
	if diff := cmp.Diff(want, r.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestRun_too_long_without_a_session_or_with_handoff_off_is_fatal(t *testing.T) {
	off := quick()
	off.Handoff = &engine.HandoffPolicy{Off: true}
	for name, c := range map[string]struct {
		config engine.Config
		answer answer
	}{
		"no session":  {quick(), answer{session: "-", err: tooLong}},
		"handoff off": {off, answer{err: tooLong}},
	} {
		p := newBench(t).startWith(c.config, c.answer, answer{text: "never"})
		r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
		if err != nil || r.OK || len(p.script.orders()) != 1 || r.Error == "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestHandoff_two_that_could_not_be_written_say_why(t *testing.T) {
	p := newBench(t).startWith(quick(), full(1), answer{err: errors.New("the pen broke")}, full(1), answer{err: errors.New("the ink ran out")})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	if want := "two handoffs in a row could not be written: the ink ran out"; r.Error != want {
		t.Errorf("error %q, want %q", r.Error, want)
	}
}
