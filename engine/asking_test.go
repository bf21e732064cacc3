package engine_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// asker stands in for a model that asks a person its prompt and repeats the answer.
func asker(t *testing.T) *messagesapi.Server {
	s, err := messagesapi.Start(&messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		if results := r.Results(); len(results) > 0 {
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(results[0].Content[0].Text)}}
		}
		question, _ := json.Marshal(map[string]string{"question": r.Prompt()})
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", engine.ToolAsk, string(question))}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func asks(name string, ch *human.Channel) *engine.Workflow {
	return &engine.Workflow{Name: name, Channel: ch, Steps: []engine.Step{{Name: name, Prompt: engine.Text("for " + name),
		Spec: engine.Spec{Name: name, AllowedTools: []string{engine.ToolAsk}}}}}
}

func newChannel(t *testing.T) *human.Channel {
	ch, err := human.New(human.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestAsk_of_two_workflows_reaches_who_asked: both questions are q1, and both wait
// before either is answered.
func TestAsk_of_two_workflows_reaches_who_asked(t *testing.T) {
	var rt *engine.Runtime
	var mu sync.Mutex
	var open []event.Event
	rt, done := openAsker(t, func(e event.Event) {
		if e.Kind != event.Ask || e.Payload["state"] != "asked" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if open = append(open, e); len(open) < 2 {
			return
		}
		for _, e := range open {
			rt.ChannelOf(e.Run).Answer(e.Payload["id"].(string), e.Step+" "+e.Session)
		}
	})
	defer done()
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		wg.Go(func() {
			ending, err := rt.RunWorkflow(t.Context(), asks(name, newChannel(t)), engine.WorkflowOptions{Context: engine.NewContext(nil)})
			if err != nil || !ending.OK {
				t.Errorf("%s: %v %s", name, err, ending.Reason)
				return
			}
			r := ending.Results[0]
			if want := name + " " + r.SessionID; r.Text != want {
				t.Errorf("%s was told %q, want %q", name, r.Text, want)
			}
			if rt.ChannelOf(ending.Run) != nil {
				t.Error("the run has ended and still has a channel")
			}
		})
	}
	wg.Wait()
	documented(t, open[0])
	if open[0].Payload["id"] != "q1" || open[1].Payload["id"] != "q1" || open[0].Run == open[1].Run {
		t.Errorf("asked: %+v", open)
	}
}

// openAsker is a Runtime whose agents ask, with a sink.
func openAsker(t *testing.T, sink event.SinkFunc) (*engine.Runtime, func()) {
	return open(asker(t).URL(), func(c *engine.Config) { c.Sink = sink })
}

// TestAsk_through_a_channel_that_another_runtime_used: the second run's events have
// the question, under the second run's id.
func TestAsk_through_a_channel_that_another_runtime_used(t *testing.T) {
	ch := newChannel(t)
	for _, name := range []string{"first", "second"} {
		var heard []string
		rt, done := openAsker(t, func(e event.Event) {
			if e.Kind == event.Ask && e.Payload["state"] == "asked" {
				heard = append(heard, e.Run)
				ch.Answer(e.Payload["id"].(string), "yes, "+name)
			}
		})
		ending, err := rt.RunWorkflow(t.Context(), asks(name, ch), engine.WorkflowOptions{})
		done()
		if err != nil || !ending.OK || ending.Results[0].Text != "yes, "+name {
			t.Fatalf("%s: %+v %v", name, ending, err)
		}
		if len(heard) != 1 || heard[0] != ending.Run {
			t.Errorf("%s: heard %v, run %s", name, heard, ending.Run)
		}
	}
}

// TestAsk_in_a_workflow_that_another_one_runs: it has the outer one's channel, under
// a run id of its own.
func TestAsk_in_a_workflow_that_another_one_runs(t *testing.T) {
	var rt *engine.Runtime
	var inner, answered string
	rt, done := openAsker(t, func(e event.Event) {
		if e.Kind == event.Ask && e.Payload["state"] == "asked" {
			answered = e.Run
			rt.ChannelOf(e.Run).Answer(e.Payload["id"].(string), "yes")
		}
	})
	outer := &engine.Workflow{Name: "outer", Channel: newChannel(t), Steps: []engine.Step{{Name: "nest",
		Prompt: engine.Text("x"), Spec: engine.Spec{Name: "x"}, Gate: func(ctx context.Context, _ engine.Result, c engine.Context) (bool, string, error) {
			at, _ := c.Get(engine.KeyRuntime)
			w := asks("inner", nil)
			w.Once = true
			ending, err := at.(*engine.Runtime).RunWorkflow(ctx, w, engine.WorkflowOptions{Context: engine.NewContext(nil)})
			inner = ending.Run
			return ending.OK, ending.Reason, err
		}}}}
	outer.Steps[0].Spec.AllowedTools = []string{engine.ToolAsk}
	ending, err := rt.RunWorkflow(t.Context(), outer, engine.WorkflowOptions{})
	done()
	if err != nil || !ending.OK {
		t.Fatalf("%+v %v", ending, err)
	}
	if answered == "" || answered != inner {
		t.Errorf("asked under run %q, the inner run is %q", answered, inner)
	}
}

// TestAsk_without_a_workflow: the tools are the spec's, and the channel's own sink
// hears who asks.
func TestAsk_without_a_workflow(t *testing.T) {
	var ch *human.Channel
	var heard event.Event
	ch, err := human.New(human.Options{Sink: event.SinkFunc(func(e event.Event) {
		if e.Payload["state"] == string(human.Asked) {
			heard = e
			go ch.Answer(e.Payload["id"].(string), "yes")
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	rt, done := open(asker(t).URL())
	defer done()
	r, err := rt.Run(t.Context(), engine.Spec{Name: "a", Tools: tool.HumanTools(ch), AllowedTools: []string{engine.ToolAsk}}, "go?", engine.RunOptions{})
	if err != nil || r.Text != "yes" {
		t.Fatalf("%+v %v", r, err)
	}
	if heard.Run != rt.ID() || heard.Step != "a" || heard.Session != r.SessionID {
		t.Errorf("heard %+v", heard)
	}
}
