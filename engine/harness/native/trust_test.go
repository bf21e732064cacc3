package native_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
)

// odd is a model that does not keep its contract.
type odd struct {
	stream func() (model.Stream, error)
	info   func() (model.Info, error)
}

func (m odd) Stream(context.Context, model.Request) (model.Stream, error) { return m.stream() }
func (m odd) Info(context.Context, string) (model.Info, error) {
	if m.info == nil {
		return model.Info{}, model.ErrUnknownModel
	}
	return m.info()
}

// oddStream is a stream whose methods may panic.
type oddStream struct {
	reply            model.Reply
	panics, goesAway string
}

func (s oddStream) in(method string) {
	if s.panics == method {
		panic("lost " + method)
	}
}
func (s oddStream) Recv() (model.Delta, error) {
	s.in("Recv")
	if s.goesAway != "" {
		return model.Delta{}, model.ErrCut
	}
	return model.Delta{}, io.EOF
}
func (s oddStream) Reply() model.Reply { s.in("Reply"); return s.reply }
func (s oddStream) Close() error       { s.in("Close"); return nil }

func whole(change func(*model.Reply)) model.Reply {
	r := model.Reply{ID: "m", Content: []json.RawMessage{[]byte(`{"type":"text","text":"Done."}`)}, StopReason: "end_turn", Complete: true}
	if change != nil {
		change(&r)
	}
	return r
}

func runOdd(t *testing.T, m model.Model) (harness.Outcome, []event.Event, error) {
	var seen []event.Event
	turn := harness.Turn{
		Agent:  harness.Agent{Name: "one", Workspace: t.TempDir()},
		Prompt: "Do it.", Project: project, Store: newMemory(), Sink: event.SinkFunc(func(e event.Event) { seen = append(seen, e) }),
	}
	out, err := native.New(native.Config{Model: m, Retries: -1}).Run(t.Context(), turn)
	return out, seen, err
}

func TestModel_that_breaks_its_contract_is_told_so(t *testing.T) {
	block := func(raw string) model.Stream {
		return oddStream{reply: whole(func(r *model.Reply) { r.Content[0] = []byte(raw) })}
	}
	cases := map[string]struct {
		stream model.Stream
		want   string
	}{
		"no stream and no error":   {nil, "neither a stream nor an error"},
		"a block that is a string": {block(`"hello"`), `no JSON object with a type, such as {"type":"text","text":…}, but "hello"`},
		"a block that is no JSON":  {block(`{"type":"text",`), "no JSON object"},
		"an empty block":           {block(``), "no JSON object"},
		"a block without a type":   {block(`{"text":"x"}`), "no JSON object with a type"},
		"tokens below zero":        {oddStream{reply: whole(func(r *model.Reply) { r.Usage.Output = -1 })}, "below zero"},
		"a bad block, then a cut": {oddStream{goesAway: "yes", reply: whole(func(r *model.Reply) {
			r.Content = []json.RawMessage{[]byte(`{"type":"tool_use","id":"t","name":"Bash","input":{"x":}}`)}
		})}, "no JSON object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, _, err := runOdd(t, odd{stream: func() (model.Stream, error) { return c.stream, nil }})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "engine/model") {
				t.Fatalf("%+v, %v", out, err)
			}
			if failure.Classify(err) != failure.Fatal {
				t.Errorf("class %s: it would be tried again", failure.Classify(err))
			}
		})
	}
}

func TestModel_that_panics_fails_the_attempt_and_no_more(t *testing.T) {
	for _, method := range []string{"Stream", "Recv", "Reply"} {
		t.Run(method, func(t *testing.T) {
			out, seen, err := runOdd(t, odd{stream: func() (model.Stream, error) {
				s := oddStream{reply: whole(nil), panics: method}
				s.in("Stream")
				return s, nil
			}})
			if err == nil || !strings.Contains(err.Error(), "the model panicked in "+method+": lost "+method) {
				t.Fatalf("%+v, %v", out, err)
			}
			told := false
			for _, e := range seen {
				stack, _ := e.Payload["stack"].(string)
				told = told || e.Kind == event.Error && strings.Contains(stack, "oddStream")
			}
			if !told {
				t.Errorf("no event tells where: %+v", seen)
			}
		})
	}
	t.Run("Close and Info", func(t *testing.T) {
		out, _, err := runOdd(t, odd{
			stream: func() (model.Stream, error) { return oddStream{reply: whole(nil), panics: "Close"}, nil },
			info:   func() (model.Info, error) { panic("lost Info") },
		})
		if err != nil || out.Stop != harness.EndTurn || out.Text != "Done." {
			t.Errorf("%+v, %v", out, err)
		}
	})
}
