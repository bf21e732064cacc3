package claudecode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// actor is a model that answers by a function of the request, as a rehearsal does.
type actor struct {
	answer func(model.Request) (model.Reply, error)
	mu     sync.Mutex
	asked  []model.Request
}

func (a *actor) Stream(_ context.Context, r model.Request) (model.Stream, error) {
	a.mu.Lock()
	a.asked = append(a.asked, r)
	a.mu.Unlock()
	reply, err := a.answer(r)
	if err != nil {
		return nil, err
	}
	reply.Complete = true
	return ready{reply}, nil
}

func (a *actor) Info(_ context.Context, name string) (model.Info, error) {
	return model.Info{Name: name, Price: &model.Price{}}, nil
}

// ready is a reply that is there.
type ready struct{ reply model.Reply }

func (ready) Recv() (model.Delta, error) { return model.Delta{}, io.EOF }
func (r ready) Reply() model.Reply       { return r.reply }
func (ready) Close() error               { return nil }

func reply(stop string, blocks ...string) model.Reply {
	r := model.Reply{StopReason: stop}
	for _, b := range blocks {
		r.Content = append(r.Content, json.RawMessage(b))
	}
	return r
}

func TestModel_a_rehearsal_plays_every_part(t *testing.T) {
	b := newBench(t)
	b.config.BaseURL, b.config.Key, b.config.Info = "", "", nil
	a := &actor{answer: func(r model.Request) (model.Reply, error) {
		switch m := r.Meta; {
		case m.Role == "coder":
			return reply("end_turn", `{"type":"text","text":"REPORT"}`), nil
		case m.Turn == 1:
			return reply("tool_use", `{"type":"thinking","thinking":"hm","signature":""}`,
				`{"type":"tool_use","id":"toolu_r1","name":"lookup","input":{}}`), nil
		case m.Turn == 2:
			return reply("tool_use", `{"type":"tool_use","id":"toolu_r2","name":"Agent","input":{"description":"d","prompt":"p","subagent_type":"coder"}}`), nil
		}
		return reply("end_turn", `{"type":"text","text":"Done."}`), nil
	}}
	b.config.Model = a
	b.turn.HostTools = []tool.Tool{tool.Func{Def: tool.Definition{Name: "lookup", Schema: []byte(`{"type":"object"}`)},
		Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("found") }}}
	b.turn.Agent.AllowedTools = []string{"lookup", "Agent"}
	b.turn.Agent.Workers = map[string]harness.Worker{"coder": {Description: "Codes.", Prompt: "You code.", Tools: []string{"Read"}}}
	out := b.mustRun(harness.EndTurn)
	if out.Text != "Done." || out.CostUSD == nil || *out.CostUSD != 0 {
		t.Errorf("%+v", out)
	}
	var parts []string
	for _, r := range a.asked {
		parts = append(parts, fmt.Sprint(r.Meta.Step, r.Meta.Role, r.Meta.Turn, r.Meta.Agent != "", r.Meta.Session == out.SessionID))
	}
	want := "step-1tester1falsetrue step-1tester2falsetrue step-1coder1truetrue step-1tester3falsetrue"
	if got := strings.ReplaceAll(strings.Join(parts, "|"), " ", ""); got != strings.ReplaceAll(strings.ReplaceAll(want, " ", "|"), " ", "") {
		t.Errorf("parts: %s\nwant:  %s", got, want)
	}
	if n := len(b.server.Log()); n > 0 {
		t.Errorf("%d requests went to the provider", n)
	}
}

func TestModel_its_error_is_the_turn_s(t *testing.T) {
	b := newBench(t)
	b.config.Model = &actor{answer: func(model.Request) (model.Reply, error) {
		return model.Reply{}, fmt.Errorf("the rehearsal has no line for this")
	}}
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "has no line for this") {
		t.Errorf("error = %v", err)
	}
}

func TestResume_a_question_outlives_its_process(t *testing.T) {
	b := newBench(t, calls("mcp__human__ask", input("question", "Which colour?")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan string, 2)
	answer := func(ctx context.Context, c tool.Call) tool.Result {
		asked <- c.ID
		cancel()
		<-ctx.Done()
		return tool.ErrorResult("nobody answered")
	}
	b.turn.HostTools = []tool.Tool{tool.Func{Def: tool.Definition{Name: "mcp__human__ask", Schema: []byte(`{"type":"object"}`)},
		Call: func(ctx context.Context, c tool.Call) tool.Result { return answer(ctx, c) }}}
	b.turn.Agent.AllowedTools = []string{"mcp__human__ask"}
	out, err := b.runUnder(ctx)
	if err == nil || out.SessionID == "" {
		t.Fatalf("%+v %v", out, err)
	}
	// A person who interrupts the question leaves it open.
	words := make(chan string, 1)
	words <- "Not now."
	answer = func(ctx context.Context, _ tool.Call) tool.Result {
		<-ctx.Done()
		return tool.ErrorResult("nobody answered")
	}
	b.turn.Interrupt = words
	b.resume(out.SessionID, "Go on.")
	if out := b.mustRun(harness.Interrupted); out.Words != "Not now." {
		t.Errorf("%+v", out)
	}
	answer = func(_ context.Context, c tool.Call) tool.Result {
		asked <- c.ID
		return tool.TextResult("The blue one.")
	}
	b.server.Enqueue(says("Blue it is."))
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if text := said(b.last()); !strings.Contains(text, "Which colour?") || !strings.Contains(text, "The blue one.") {
		t.Errorf("the answer is not in the conversation:\n%s", text)
	}
	if len(asked) != 2 {
		t.Fatalf("the question was asked %d times", len(asked))
	}
	if first, again := <-asked, <-asked; first != again {
		t.Error("the question was not asked again under its own id")
	}
}

func TestResume_from_a_folder_with_a_long_name(t *testing.T) {
	b := newBench(t, says("First answer."))
	b.dir = filepath.Join(b.dir, strings.Repeat("a_long-name.of.a.folder/", 12), "é漢字")
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.turn.Agent.Workspace = b.dir
	first := b.mustRun(harness.EndTurn)
	b.server.Enqueue(says("Second answer."))
	b.resume(first.SessionID, "And then?")
	b.mustRun(harness.EndTurn)
	if text := said(b.last()); !strings.Contains(text, "First answer.") {
		t.Errorf("the history is not there:\n%s", text)
	}
}

func TestResume_brings_subagents_back(t *testing.T) {
	b := newBench(t)
	b.turn.Agent.AllowedTools = []string{"Agent"}
	b.turn.Agent.Workers = map[string]harness.Worker{"coder": {Description: "Codes.", Prompt: "You code.", Tools: []string{"Read"}}}
	b.server.Enqueue(calls("Agent", `{"description":"d","prompt":"TASK","subagent_type":"coder","run_in_background":true}`), says("REPORT"), says("Done."))
	first := b.mustRun(harness.EndTurn)
	if first.Text != "Done." {
		t.Errorf("the dispatcher did not wait: %+v", first)
	}
	b.resume(first.SessionID, "Go on in a copy.")
	b.turn.Session.Fork = true
	b.server.Enqueue(says("Done."))
	fork := b.mustRun(harness.EndTurn)
	subs := map[string]int{}
	for info, err := range b.store.List(t.Context(), transcript.Key{Project: project}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Key.Sub != "" {
			subs[info.Key.Session]++
		}
	}
	if subs[first.SessionID] != 1 || subs[fork.SessionID] != 1 {
		t.Errorf("transcripts of subagents: %v", subs)
	}
}

func TestResume_in_two_turns_at_a_time_fences_one_off(t *testing.T) {
	b := newBench(t, says("First answer."))
	first := b.mustRun(harness.EndTurn)
	slow := func(s string) api.Turn { return api.Turn{Blocks: []api.Block{api.Text(s)}, Delay: 3e9} }
	b.server.Enqueue(slow("One."), slow("Other."))
	b.resume(first.SessionID, "And then?")
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := b.run()
			errs <- err
		}()
	}
	one, other := <-errs, <-errs
	if (one == nil) == (other == nil) {
		t.Errorf("of two writers, %v and %v", one, other)
	}
}

// forgetful is a store that loses what the program writes of the main thread,
// as when it dies before it has.
type forgetful struct{ transcript.Store }

func (f forgetful) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	var own []transcript.Entry
	for _, e := range es {
		if e.Subtype == transcript.PrefixSubtype {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return expect, nil
	}
	return f.Store.Append(ctx, key, expect, own)
}

func TestResume_what_the_program_had_not_recorded_is_said_again(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "echo done > effect")), says("Lost."))
	real := b.store
	b.store = forgetful{real}
	b.turn.Prompt = "Make the effect."
	first := b.mustRun(harness.EndTurn)
	b.store = real
	for range 2 {
		b.server.Enqueue(says("Found."))
		b.resume(first.SessionID, "Go on.")
		if out := b.mustRun(harness.EndTurn); out.SessionID != first.SessionID {
			t.Errorf("%+v", out)
		}
		text := said(b.last())
		for _, want := range []string{"Make the effect.", "echo done > effect", "may or may not have taken effect"} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%q is said %d times:\n%s", want, strings.Count(text, want), text)
			}
		}
	}
}
