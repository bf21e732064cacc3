package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/model"
)

func reject(context.Context, engine.Result, engine.Context) (bool, string, error) {
	return false, "", nil
}

func send(text string) func(context.Context, engine.Result, engine.Context, string) (string, error) {
	return func(context.Context, engine.Result, engine.Context, string) (string, error) { return text, nil }
}

func TestWorkflow_01_when_false_leaves_no_trace(t *testing.T) {
	p := newBench(t).start()
	b := step("B")
	b.When = func(context.Context, engine.Context) (bool, error) { return false, nil }
	ending := p.run(t, flow(step("A"), b, step("C")), engine.WorkflowOptions{})
	if got := p.script.labels(); got != "A C" {
		t.Errorf("ran %s", got)
	}
	absent(t, ending.Context, "B")
	if _, ok := value(t, ending.Context, engine.KeyResults).(map[string]engine.Result)["B"]; ok {
		t.Error("the results have B")
	}
	p.close()
	steps := p.seen.of(event.Step)
	if len(steps) != 2 || steps[0].Payload["index"] != 1 || steps[1].Payload["index"] != 3 || steps[1].Payload["total"] != 3 {
		t.Errorf("step events: %v", steps)
	}
}

func TestWorkflow_03_a_failed_step_leaves_a_session_to_resume(t *testing.T) {
	p := newBench(t).startWith(engine.Config{NoRetry: true}, answer{err: errors.New("broken")})
	a, b := step("A"), step("B")
	a.OnFail, b.ResumeFrom = engine.Skip, "A"
	ending := p.run(t, flow(a, b), engine.WorkflowOptions{})
	orders := p.script.orders()
	if len(orders) != 2 || orders[1].Resume != "s1" {
		t.Errorf("orders: %+v", orders)
	}
	absent(t, ending.Context, "A")
	if !ending.OK {
		t.Error("the workflow did not reach its end")
	}
}

func TestWorkflow_05_rounds_resume_the_rejected_session_without_fork(t *testing.T) {
	p := newBench(t).start(answer{text: "zero"}, answer{}, answer{}, answer{})
	base, a := step("base"), step("A")
	a.ResumeFrom, a.Fork, a.Retries, a.Gate, a.OnReject = "base", true, 2, reject, send("more")
	ending := p.run(t, flow(base, a), engine.WorkflowOptions{})
	want := []sent{
		{"base", "do base", "", false},
		{"A", "do A", "s1", true},
		{"A#round2", "more", "s2", false},
		{"A#round3", "more", "s2", false},
	}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
	if ending.FailedAt != "A" || ending.OK {
		t.Errorf("ending: %+v", ending)
	}
}

func TestWorkflow_07_a_failure_without_a_session_keeps_prompt_and_session(t *testing.T) {
	gates, asked := 0, 0
	down := errors.New("broken")
	p := newBench(t).startWith(engine.Config{NoRetry: true},
		answer{}, answer{session: "-", err: down}, answer{session: "-", err: down}, answer{})
	a := step("A")
	a.Retries = 3
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		gates++
		return gates > 1, "", nil
	}
	a.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) {
		asked++
		return fmt.Sprintf("F%d", min(asked, 1)), nil
	}
	ending := p.run(t, flow(a), engine.WorkflowOptions{})
	want := []sent{
		{"A", "do A", "", false},
		{"A#round2", "F1", "s1", false},
		{"A#round3", "F1", "s1", false},
		{"A#round4", "F1", "s1", false},
	}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
	if gates != 2 || !ending.OK {
		t.Errorf("the gate was asked %d times, want 2; ending %+v", gates, ending)
	}
}

func TestWorkflow_an_attempt_that_reached_nothing_is_repeated_as_it_was(t *testing.T) {
	p := newBench(t).startWith(engine.Config{NoRetry: true}, answer{session: "-", err: errors.New("broken")}, answer{text: "ok"})
	a := step("A")
	a.Retries = 1
	p.run(t, flow(a), engine.WorkflowOptions{})
	want := []sent{{"A", "do A", "", false}, {"A#retry1", "do A", "", false}}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkflow_09_abort_ends_the_step_and_on_fail_goes_on(t *testing.T) {
	p := newBench(t).start(answer{text: "raw"})
	a := step("A")
	a.Retries, a.OnFail = 5, engine.Continue
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		return false, "", fmt.Errorf("gate: %w", engine.Abort("no way"))
	}
	ending := p.run(t, flow(a, step("B")), engine.WorkflowOptions{})
	if got := p.script.labels(); got != "A B" {
		t.Errorf("ran %s", got)
	}
	if value(t, ending.Context, engine.KeyAborted) != "no way" || value(t, ending.Context, "A") != "raw" || ending.Aborted != "no way" {
		t.Errorf("context: %v", ending.Context)
	}
	absent(t, ending.Context, engine.KeyFailedAt)
}

func TestWorkflow_11_reduce_is_for_steps_that_pass(t *testing.T) {
	reduced := 0
	a := step("A")
	a.OnFail, a.Gate = engine.Continue, reject
	a.Reduce = func(_ context.Context, r engine.Result, _ engine.Context) (string, error) {
		reduced++
		return "short " + r.Text, nil
	}
	b := newBench(t)
	ending := b.start(answer{text: "raw"}).run(t, flow(a), engine.WorkflowOptions{})
	if value(t, ending.Context, "A") != "raw" || reduced != 0 {
		t.Errorf("A = %v, reduce was called %d times", value(t, ending.Context, "A"), reduced)
	}
	a.Gate = nil
	ending = newBench(t).start(answer{text: "raw"}).run(t, flow(a), engine.WorkflowOptions{})
	if value(t, ending.Context, "A") != "short raw" {
		t.Errorf("A = %v", value(t, ending.Context, "A"))
	}
}

func TestWorkflow_13_prompt_is_rendered_once(t *testing.T) {
	calls := 0
	a := step("A")
	a.Retries, a.Gate = 2, reject
	a.Prompt = func(_ context.Context, c engine.Context) (string, error) {
		calls++
		v, _ := c.Get("topic")
		return fmt.Sprint("about ", v), nil
	}
	p := newBench(t).start()
	p.run(t, flow(a), engine.WorkflowOptions{Context: engine.NewContext(map[string]any{"topic": "x"})})
	if calls != 1 || len(p.script.orders()) != 3 || p.script.orders()[2].Prompt != "about x" {
		t.Errorf("rendered %d times; orders %+v", calls, p.script.orders())
	}
}

func TestWorkflow_15_a_new_run_clears_what_the_last_one_noted(t *testing.T) {
	fail := true
	a := step("A")
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		if fail {
			return false, "", engine.Abort("first")
		}
		return true, "", nil
	}
	w := flow(a)
	p := newBench(t).start()
	first := p.run(t, w, engine.WorkflowOptions{})
	first.Context.Set(engine.KeyGoalRounds, 3)
	if value(t, first.Context, engine.KeyFailedAt) != "A" {
		t.Error("no _failed_at after the first run")
	}
	fail = false
	second := p.run(t, w, engine.WorkflowOptions{})
	absent(t, second.Context, engine.KeyFailedAt, engine.KeyAborted, engine.KeyGoalRounds)
	if first.Run == second.Run {
		t.Error("both runs have one id")
	}
}

func TestWorkflow_a_gates_reason_is_sent_back_without_on_reject(t *testing.T) {
	p := newBench(t).start()
	a := step("A")
	a.Retries = 1
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		return false, "the tests fail", nil
	}
	ending := p.run(t, flow(a), engine.WorkflowOptions{})
	if o := p.script.orders(); len(o) != 2 || o[1].Prompt != "the tests fail" || o[1].Label != "A#round2" {
		t.Errorf("orders %+v", o)
	}
	if ending.Reason != "the tests fail" {
		t.Errorf("reason %q", ending.Reason)
	}
}

func TestWorkflow_empty_feedback_starts_over(t *testing.T) {
	p := newBench(t).start()
	a := step("A")
	a.Retries, a.Gate, a.OnReject = 2, reject, send("")
	p.run(t, flow(a), engine.WorkflowOptions{})
	want := []sent{{"A", "do A", "", false}, {"A#retry1", "do A", "", false}, {"A#retry2", "do A", "", false}}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkflow_on_reject_is_not_asked_after_the_last_attempt(t *testing.T) {
	asked := 0
	a := step("A")
	a.Retries, a.Gate = 1, reject
	a.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) {
		asked++
		return "again", nil
	}
	newBench(t).start().run(t, flow(a), engine.WorkflowOptions{})
	if asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
	}
}

func TestWorkflow_a_broken_callback_ends_the_step_without_retry(t *testing.T) {
	boom := errors.New("fix.lua:7: boom")
	for name, breakIt := range map[string]func(*engine.Step){
		"gate": func(s *engine.Step) {
			s.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) { return false, "", boom }
		},
		"on_reject": func(s *engine.Step) {
			s.Gate = reject
			s.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) { return "", boom }
		},
		"reduce": func(s *engine.Step) {
			s.Reduce = func(context.Context, engine.Result, engine.Context) (string, error) { return "", boom }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newBench(t).start()
			a := step("A")
			a.Retries = 4
			breakIt(&a)
			ending := p.run(t, flow(a, step("B")), engine.WorkflowOptions{})
			if got := p.script.labels(); got != "A" {
				t.Errorf("ran %s", got)
			}
			if ending.FailedAt != "A" || !strings.Contains(ending.Reason, "boom") || !strings.Contains(ending.Reason, name) {
				t.Errorf("ending %+v", ending)
			}
		})
	}
}

func TestWorkflow_a_broken_when_or_prompt_runs_no_agent(t *testing.T) {
	boom := errors.New("boom")
	a, b := step("A"), step("B")
	a.When = func(context.Context, engine.Context) (bool, error) { return false, boom }
	b.Prompt = func(context.Context, engine.Context) (string, error) { return "", boom }
	for _, s := range []engine.Step{a, b} {
		p := newBench(t).start()
		ending := p.run(t, flow(s), engine.WorkflowOptions{})
		if len(p.script.orders()) != 0 || ending.FailedAt != s.Name {
			t.Errorf("%s: orders %+v, ending %+v", s.Name, p.script.orders(), ending)
		}
	}
}

func TestWorkflow_resume_from_without_a_session_is_an_error(t *testing.T) {
	p := newBench(t).startWith(engine.Config{NoRetry: true}, answer{session: "-", err: errors.New("broken")})
	a, b := step("A"), step("B")
	a.OnFail, b.ResumeFrom = engine.Skip, "A"
	ending := p.run(t, flow(a, b), engine.WorkflowOptions{})
	if ending.FailedAt != "B" || len(p.script.orders()) != 1 {
		t.Errorf("ending %+v, orders %+v", ending, p.script.orders())
	}
}

func TestWorkflow_mistakes_are_all_reported_before_anything_runs(t *testing.T) {
	p := newBench(t).start()
	bad := []engine.Step{
		{},
		{Name: "_goal", Spec: engine.Spec{Name: "x"}, Prompt: engine.Text("p")},
		{Name: "ok", Spec: engine.Spec{Name: "x", PermissionMode: "yolo"}, Prompt: engine.Text("p"), Retries: -1, OnFail: "skipp", ResumeFrom: "okk"},
	}
	_, err := p.RunWorkflow(context.Background(), flow(bad...), engine.WorkflowOptions{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"step 1: name", "step 1: spec", "step 1: prompt", "step 2 (_goal): name", "retries", `did you mean "skip"?`, "permission_mode", "resume_from"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
	if len(p.script.orders()) != 0 {
		t.Error("something ran")
	}
}

func TestWorkflow_results_and_sessions_in_the_context_are_copies(t *testing.T) {
	a := step("A")
	a.Gate = func(_ context.Context, _ engine.Result, c engine.Context) (bool, string, error) {
		v, _ := c.Get(engine.KeySessions)
		v.(map[string]string)["A"] = "forged"
		return true, "", nil
	}
	b := step("B")
	b.ResumeFrom = "A"
	p := newBench(t).start()
	p.run(t, flow(a, b), engine.WorkflowOptions{})
	if o := p.script.orders(); o[1].Resume != "s1" {
		t.Errorf("B resumed %q", o[1].Resume)
	}
}

func TestWorkflow_on_step_hears_of_every_step(t *testing.T) {
	a := step("A")
	a.OnFail, a.Gate = engine.Skip, reject
	w := flow(a, step("B"))
	var heard []string
	w.OnStep = func(name string, r engine.Result) { heard = append(heard, name+" "+r.SessionID) }
	newBench(t).start().run(t, w, engine.WorkflowOptions{})
	if strings.Join(heard, ",") != "A s1,B s2" {
		t.Errorf("heard %v", heard)
	}
}

func TestWorkflow_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := newBench(t).start(answer{do: func(context.Context, harnessTurn) { cancel(engine.ErrKilled) }})
	ending, err := p.RunWorkflow(ctx, flow(step("A"), step("B")), engine.WorkflowOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !ending.Interrupted || ending.Reason != engine.MarkKilled || p.script.labels() != "A" {
		t.Errorf("ending %+v after %s", ending, p.script.labels())
	}
	if rows := ending.Results; len(rows) != 1 || rows[0].Error != engine.MarkKilled {
		t.Errorf("rows %+v", rows)
	}
}

func TestWorkflow_a_failure_that_stays_is_not_repeated(t *testing.T) {
	asked := 0
	p := newBench(t).startWith(quick(), answer{err: &model.Error{Status: 401, Type: "authentication_error", Message: "invalid x-api-key"}})
	a := step("A")
	a.Retries = 3
	a.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) {
		asked++
		return "mend it", nil
	}
	ending := p.run(t, flow(a), engine.WorkflowOptions{})
	if len(p.script.orders()) != 1 || asked != 0 || ending.FailedAt != "A" || !strings.Contains(ending.Reason, "401") {
		t.Errorf("%d orders, asked %d times, %+v", len(p.script.orders()), asked, ending)
	}
}
