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
	"github.com/flowerlua/flower/engine/transcript"
)

// cutAt runs a workflow whose process is stopped when stop is called.
func cutAt(t *testing.T, p *process, w func(stop func()) *engine.Workflow) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ending, err := p.RunWorkflow(ctx, w(func() { cancel(engine.ErrKilled) }), engine.WorkflowOptions{})
	if err != nil || !ending.Interrupted {
		t.Fatalf("%+v, %v", ending, err)
	}
	p.close()
}

// gated is a step whose gate is called.
func gated(gate func() (bool, string, error)) engine.Step {
	s := step("A")
	s.Retries = 2
	s.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) { return gate() }
	return s
}

// interruptedGate leaves a directory in which step A had ended and its gate was cut
// off, in the given round.
func interruptedGate(t *testing.T, round int) *bench {
	b := newBench(t)
	first := b.start(answer{text: "round 1"}, answer{text: "round 2"})
	asked := 0
	cutAt(t, first, func(stop func()) *engine.Workflow {
		return flow(gated(func() (bool, string, error) {
			if asked++; asked < round {
				return false, "not yet", nil
			}
			stop()
			return false, "", errors.New("stopped")
		}))
	})
	return b
}

func TestContinuity_an_interrupted_gate_is_asked_again_and_the_agent_is_not(t *testing.T) {
	for round := 1; round <= 2; round++ {
		b := interruptedGate(t, round)
		second := b.start()
		var judged engine.Result
		s := step("A")
		s.Gate = func(_ context.Context, r engine.Result, _ engine.Context) (bool, string, error) {
			judged = r
			return true, "", nil
		}
		ending := second.run(t, flow(s), engine.WorkflowOptions{})
		want := "round 1"
		if round == 2 {
			want = "round 2"
		}
		if n := len(second.script.orders()); n != 0 || !ending.OK || judged.Text != want || judged.SessionID != "s1" {
			t.Errorf("%d orders, %+v, judged %+v", n, ending, judged)
		}
		if value(t, ending.Context, "A") != want {
			t.Errorf("the context keeps %v", value(t, ending.Context, "A"))
		}
		second.close()
		if notices := second.seen.of(event.Task); len(notices) != 1 || !strings.Contains(notices[0].Text, "judged") {
			t.Errorf("told %+v", notices)
		}
		// Once it has passed it is over.
		third := b.start()
		third.run(t, flow(step("A")), engine.WorkflowOptions{})
		if o := third.script.orders(); len(o) != 1 || o[0].Prompt != "do A" {
			t.Errorf("the run after it ordered %+v", o)
		}
		third.close()
	}
}

func TestContinuity_a_gate_that_rejects_what_was_cut_off_sends_it_back(t *testing.T) {
	b := interruptedGate(t, 1)
	second := b.start(answer{text: "better"})
	asked := 0
	ending := second.run(t, flow(gated(func() (bool, string, error) {
		asked++
		return asked == 2, "too short", nil
	})), engine.WorkflowOptions{})
	want := []sent{{"A#round2", "too short", "s1", false}}
	if diff := cmp.Diff(want, second.script.orders()); diff != "" || !ending.OK {
		t.Errorf("%+v %s", ending, diff)
	}
	// Its process died in that round: it is not told the task again.
	b = interruptedGate(t, 1)
	second = b.start(answer{})
	cutAt(t, second, func(stop func()) *engine.Workflow {
		second.script.answers[0].do = func(context.Context, harnessTurn) { stop() }
		return flow(gated(func() (bool, string, error) { return false, "too short", nil }))
	})
	third := b.start()
	third.run(t, flow(step("A")), engine.WorkflowOptions{})
	if o := third.script.orders()[0]; o.Resume != "s1" || !strings.Contains(o.Prompt, "cut off") {
		t.Errorf("order %+v", o)
	}
}

func TestContinuity_what_is_asked_for_anew_is_not_picked_up(t *testing.T) {
	changed := step("A")
	changed.Prompt = engine.Text("do it differently")
	woken := step("A")
	woken.Prompt, woken.ResumePrompt = engine.Text("do more"), engine.Text("one more thing")
	for name, c := range map[string]struct {
		step    engine.Step
		options engine.WorkflowOptions
		want    sent
	}{
		"another prompt":          {changed, engine.WorkflowOptions{}, sent{"A", "do it differently", "s1", false}},
		"another prompt to go on": {woken, engine.WorkflowOptions{}, sent{"A", "one more thing", "s1", false}},
		"from":                    {step("A"), engine.WorkflowOptions{From: "A"}, sent{"A", "", "s1", false}},
		"fresh":                   {step("A"), engine.WorkflowOptions{Fresh: true}, sent{"A", "do A", "", false}},
	} {
		t.Run(name, func(t *testing.T) {
			p := interruptedGate(t, 1).start()
			p.run(t, flow(c.step), c.options)
			o := p.script.orders()
			if len(o) != 1 {
				t.Fatalf("ordered %+v", o)
			}
			if c.want.Prompt == "" { // it was told before, so it is told to go on
				o[0].Prompt = ""
			}
			if diff := cmp.Diff(c.want, o[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The same task, told to a session that goes on, is the same task.
	same := step("A")
	same.ResumePrompt = engine.Text("go on")
	p := interruptedGate(t, 1).start()
	if p.run(t, flow(same), engine.WorkflowOptions{}); len(p.script.orders()) != 0 {
		t.Errorf("ordered %+v", p.script.orders())
	}
}

// deaf is a store that takes no entries: a process dies before the session has
// what it is told.
type deaf struct{ transcript.Store }

func (deaf) Append(context.Context, transcript.Key, uint64, []transcript.Entry) (uint64, error) {
	return 0, errors.New("the process died")
}

func TestContinuity_a_prompt_that_did_not_reach_its_session_is_sent_again(t *testing.T) {
	b := newBench(t)
	first := b.start()
	first.run(t, flow(step("A")), engine.WorkflowOptions{})
	first.close()
	// The session is known, and noted as being at work, before the prompt is stored.
	more := step("A")
	more.Prompt = engine.Text("one more thing")
	second := b.startWith(engine.Config{NoRetry: true})
	second.script.before = func(t *harnessTurn) {
		t.OnSession(t.Session.Resume)
		t.Store, t.OnSession = deaf{t.Store}, nil
	}
	if ending := second.run(t, flow(more), engine.WorkflowOptions{}); ending.OK {
		t.Error("it ended well")
	}
	second.close()
	third := b.start()
	third.run(t, flow(more), engine.WorkflowOptions{})
	if o := third.script.orders()[0]; o.Prompt != "one more thing" || o.Resume != "s1" {
		t.Errorf("order %+v", o)
	}
}

func TestRun_a_prompt_that_did_not_reach_its_session_is_said_again(t *testing.T) {
	b := newBench(t)
	p := b.startWith(quick(), answer{}, answer{}, answer{})
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "first", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	p.script.before = func(t *harnessTurn) {
		p.script.before = nil // the second time it works
		t.OnSession(t.Session.Resume)
		t.Store, t.OnSession = deaf{t.Store}, nil
	}
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "one more thing", engine.RunOptions{Resume: "s1"})
	if err != nil || !r.OK || r.Attempts != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []sent{{"x", "one more thing", "s1", false}, {"x", "one more thing", "s1", false}}
	if diff := cmp.Diff(want, p.script.orders()[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestContinuity_a_session_that_took_over_need_not_be_told_again(t *testing.T) {
	b := newBench(t)
	first := b.startWith(engine.Config{Handoff: &engine.HandoffPolicy{Window: 60_000}},
		answer{text: "half", stop: "context_full", context: 20_000}, answer{text: "no document"}, answer{})
	cutAt(t, first, func(stop func()) *engine.Workflow {
		first.script.answers[2].do = func(context.Context, harnessTurn) { stop() }
		return flow(step("A"))
	})
	second := b.start()
	second.run(t, flow(step("A")), engine.WorkflowOptions{})
	if o := second.script.orders()[0]; o.Resume != "s2" || !strings.Contains(o.Prompt, "cut off") {
		t.Errorf("order %+v", o)
	}
}

func TestContinuity_a_result_too_large_to_keep_is_asked_for_again(t *testing.T) {
	b := newBench(t)
	first := b.start(answer{text: strings.Repeat("x", 2<<20)})
	cutAt(t, first, func(stop func()) *engine.Workflow {
		return flow(gated(func() (bool, string, error) { stop(); return false, "", errors.New("stopped") }))
	})
	second := b.start()
	if second.run(t, flow(step("A")), engine.WorkflowOptions{}); len(second.script.orders()) != 1 {
		t.Errorf("%d orders", len(second.script.orders()))
	}
}

func TestContinuity_a_lineage_that_was_begun_anew_restores_nothing(t *testing.T) {
	bad := step("B")
	bad.Gate = reject
	for name, anew := range map[string]func(b *bench) error{
		"archived": func(b *bench) error {
			_, err := engine.OpenLineage(filepath.Join(b.dir, "runs"), b.dir).Archive(filepath.Join(b.dir, "archive"))
			return err
		},
		"removed": func(b *bench) error { return os.Remove(filepath.Join(b.dir, "runs", "lineage.json")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first := b.start()
			first.run(t, flow(step("A"), bad), engine.WorkflowOptions{})
			first.close()
			if err := anew(b); err != nil {
				t.Fatal(err)
			}
			other := b.start() // another workflow counts runs too
			other.run(t, &engine.Workflow{Name: "other", Steps: []engine.Step{step("X")}}, engine.WorkflowOptions{})
			other.close()
			second := b.start()
			second.run(t, flow(step("A"), step("B")), engine.WorkflowOptions{})
			want := []sent{{"A", "do A", "", false}, {"B", "do B", "", false}}
			if diff := cmp.Diff(want, second.script.orders()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
