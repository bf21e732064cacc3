package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine"
)

func TestConcurrent_one_workflow_runs_side_by_side_with_a_context_for_each(t *testing.T) {
	w := &engine.Workflow{Name: "shared", Once: true, Steps: []engine.Step{step("A"), step("B")}}
	processes := make([]*process, 4)
	for i := range processes {
		text := fmt.Sprint(i)
		processes[i] = newBench(t).start(answer{text: text}, answer{text: text})
	}
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() {
			ending, err := p.RunWorkflow(context.Background(), w, engine.WorkflowOptions{Context: engine.NewContext(nil)})
			if v, _ := ending.Context.Get("B"); err != nil || v != fmt.Sprint(i) {
				t.Errorf("run %d left %v, %v", i, v, err)
			}
		})
	}
	wg.Wait()
}

func TestConcurrent_a_second_run_in_the_workflows_own_context_is_refused_until_the_first_ends(t *testing.T) {
	w := &engine.Workflow{Name: "shared", Once: true, Steps: []engine.Step{step("A")}}
	other := newBench(t).start(answer{text: "other"})
	var refused error
	p := newBench(t).start(answer{text: "first", do: func(ctx context.Context, _ harnessTurn) {
		_, refused = other.RunWorkflow(ctx, w, engine.WorkflowOptions{})
	}})
	first := p.run(t, w, engine.WorkflowOptions{})
	if refused == nil || !strings.Contains(refused.Error(), "workflow shared is running already") || !strings.Contains(refused.Error(), "WorkflowOptions.Context") {
		t.Errorf("the second run: %v", refused)
	}
	if v := value(t, first.Context, "A"); v != "first" {
		t.Errorf("the first run left %v", v)
	}
	second := other.run(t, w, engine.WorkflowOptions{})
	if v := value(t, second.Context, "A"); v != "other" || second.Context != first.Context {
		t.Errorf("a run after it left %v, in the same context: %v", v, second.Context == first.Context)
	}
}
