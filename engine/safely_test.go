package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

func TestSafely_a_callback_that_panics_ends_its_step_and_nothing_else(t *testing.T) {
	for name, spoil := range map[string]func(*engine.Step){
		"when":   func(s *engine.Step) { s.When = func(context.Context, engine.Context) (bool, error) { panic("oh") } },
		"prompt": func(s *engine.Step) { s.Prompt = func(context.Context, engine.Context) (string, error) { panic("oh") } },
		"gate": func(s *engine.Step) {
			s.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) { panic("oh") }
		},
		"reduce": func(s *engine.Step) {
			s.Reduce = func(context.Context, engine.Result, engine.Context) (string, error) { panic("oh") }
		},
		"on_reject": func(s *engine.Step) {
			s.Retries, s.Gate = 1, reject
			s.OnReject = func(context.Context, engine.Result, engine.Context, string) (string, error) { panic("oh") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newBench(t).start(answer{text: "x"}, answer{text: "y"})
			bad := step("bad")
			spoil(&bad)
			ending := p.run(t, flow(engine.Step{Parallel: []engine.Step{bad, step("good")}}), engine.WorkflowOptions{})
			if want := name + " of step bad is broken: it panicked: oh"; ending.OK || ending.FailedAt != "bad" || ending.Reason != want {
				t.Errorf("ending %+v, want reason %q", ending, want)
			}
			value(t, ending.Context, "good")
			p.close()
			errs := p.seen.of(event.Error)
			if len(errs) != 1 || strings.Contains(errs[0].Text, ".go:") {
				t.Fatalf("errors %v", errs)
			}
			if stack, _ := errs[0].Payload["stack"].(string); !strings.Contains(stack, "safely_test.go") {
				t.Errorf("payload %v", errs[0].Payload)
			}
		})
	}
}

func TestSafely_who_is_only_told_may_panic(t *testing.T) {
	p := newBench(t).startWith(engine.Config{OnSession: func(_, _ string) { panic("session") }})
	w := flow(step("A"), step("B"))
	w.OnStep = func(string, engine.Result) { panic("step") }
	if ending := p.run(t, w, engine.WorkflowOptions{}); !ending.OK {
		t.Errorf("ending %+v", ending)
	}
	p.close()
	if errs := p.seen.of(event.Error); len(errs) != 4 || !strings.Contains(errs[0].Text, "it panicked: session") || !strings.Contains(errs[1].Text, "it panicked: step") {
		t.Errorf("errors %v", errs)
	}
}
