package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

func TestParallel_steps_run_side_by_side_with_sessions_of_their_own(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	together := func(context.Context, harnessTurn) { // each waits for the other: alone, the test would hang
		meet.Done()
		meet.Wait()
	}
	p := newBench(t).start(answer{text: "x", do: together}, answer{text: "y", do: together}, answer{text: "z"})
	inside := 0
	one := func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		inside++
		defer func() { inside-- }()
		return inside == 1, "two callbacks at once", nil
	}
	a, b, c := step("A"), step("B"), step("C")
	a.Gate, b.Gate = one, one
	c.Prompt = func(_ context.Context, ctx engine.Context) (string, error) {
		va, _ := ctx.Get("A")
		vb, _ := ctx.Get("B")
		return va.(string) + vb.(string), nil
	}
	ending := p.run(t, flow(engine.Step{Parallel: []engine.Step{a, b}}, c), engine.WorkflowOptions{})
	orders := p.script.orders()
	if !ending.OK || len(orders) != 3 || len(orders[2].Prompt) != 2 {
		t.Errorf("ending %+v, orders %+v", ending, orders)
	}
	sessions := value(t, ending.Context, engine.KeySessions).(map[string]string)
	if sessions["A"] == sessions["B"] || sessions["A"] == "" {
		t.Errorf("sessions %v", sessions)
	}
	p.close()
	var indexes []int
	for _, e := range p.seen.of(event.Step) {
		if e.Payload["total"] != 3 {
			t.Errorf("step event %v", e.Payload)
		}
		indexes = append(indexes, e.Payload["index"].(int))
	}
	if slices.Sort(indexes); !slices.Equal(indexes, []int{1, 2, 3}) {
		t.Errorf("indexes %v", indexes)
	}
}

func TestParallel_each_follows_its_own_on_fail(t *testing.T) {
	p := newBench(t).startWith(engine.Config{NoRetry: true})
	skipped, stops := step("skipped"), step("stops")
	skipped.Gate, skipped.OnFail = reject, engine.Skip
	stops.Gate = reject
	ending := p.run(t, flow(engine.Step{Parallel: []engine.Step{skipped, step("good"), stops}}, step("after")), engine.WorkflowOptions{})
	if ending.FailedAt != "stops" || ending.OK {
		t.Errorf("ending %+v", ending)
	}
	absent(t, ending.Context, "skipped", "stops")
	value(t, ending.Context, "good")
	if strings.Contains(p.script.labels(), "after") {
		t.Error("the workflow went on")
	}
}

func TestParallel_only_those_that_did_not_pass_run_again(t *testing.T) {
	b := newBench(t)
	bad := step("bad")
	bad.Gate = reject
	first := b.start()
	first.run(t, flow(engine.Step{Parallel: []engine.Step{step("good"), bad}}), engine.WorkflowOptions{})
	session := first.script.orders()
	first.close()
	second := b.start()
	ending := second.run(t, flow(engine.Step{Parallel: []engine.Step{step("good"), step("bad")}}, step("after")), engine.WorkflowOptions{})
	if got := second.script.labels(); got != "bad after" || !ending.OK {
		t.Errorf("ran %s after %+v", got, session)
	}
}

func TestParallel_mistakes(t *testing.T) {
	p := newBench(t).start()
	nested := engine.Step{Parallel: []engine.Step{{Parallel: []engine.Step{step("x")}}}}
	named := engine.Step{Name: "n", Parallel: []engine.Step{step("x")}}
	twice := engine.Step{Parallel: []engine.Step{step("x"), step("x")}}
	sibling := step("y")
	sibling.ResumeFrom = "x"
	among := engine.Step{Parallel: []engine.Step{step("x"), sibling}}
	for want, s := range map[string]engine.Step{"another parallel": nested, "stands alone": named, `called "x"`: twice, "is empty": {Parallel: []engine.Step{}}, "no earlier step": among} {
		_, err := p.RunWorkflow(context.Background(), flow(s), engine.WorkflowOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestParallel_ends_with_its_context(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	p := newBench(t).start(answer{do: func(context.Context, harnessTurn) { cancel(stop) }}, answer{do: func(ctx context.Context, _ harnessTurn) { <-ctx.Done() }})
	ending, err := p.RunWorkflow(ctx, flow(engine.Step{Parallel: []engine.Step{step("A"), step("B")}}), engine.WorkflowOptions{})
	if err != nil || !ending.Interrupted || ending.Reason != "stop" {
		t.Errorf("ending %+v, %v", ending, err)
	}
}
