package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

func TestCalls_what_cannot_run_is_an_error_result(t *testing.T) {
	b := newBench(t, nil)
	b.host("panics", false, func(tool.Call) tool.Result { panic("inside") })
	b.host("silent", true, func(tool.Call) tool.Result { return tool.Result{} })
	b.server.Enqueue(
		calls("Raed", `{}`, "Grep", `{"pattern":"x"}`, "Agent", `{"prompt":"x"}`, "panics", `{}`, "silent", `{}`),
		says("I see."))
	b.mustRun(harness.EndTurn)
	r := b.last()
	want := []string{`no tool "Raed" — did you mean "Read"?`, `no tool "Grep"`, "nobody to dispatch", "fault of its own", "(no output)"}
	for i, got := range results(r) {
		if !strings.Contains(got, want[i]) {
			t.Errorf("result %d: %q, want %q in it", i, got, want[i])
		}
		if isError := r.Results()[i].IsError; isError != (i < 4) {
			t.Errorf("result %d: is_error %v", i, isError)
		}
	}
	var told []string
	for _, e := range b.of(event.Error) {
		told = append(told, e.Text)
	}
	if text := strings.Join(told, "\n"); len(told) != 4 || !strings.Contains(text, "no such tool: Raed (it can call ") || !strings.Contains(text, "panicked") {
		t.Errorf("reported: %s", text)
	}
}

func TestCalls_readers_run_side_by_side_and_writers_in_order(t *testing.T) {
	b := newBench(t, nil)
	var now, most atomic.Int32
	var mu sync.Mutex
	var order []string
	gate := make(chan struct{})
	b.host("reads", true, func(c tool.Call) tool.Result {
		if now.Add(1) == 3 {
			close(gate) // all three are here at once
		}
		<-gate
		most.Store(max(most.Load(), now.Load()))
		now.Add(-1)
		return tool.TextResult("r")
	})
	b.host("writes", false, func(c tool.Call) tool.Result {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, string(c.Input)+fmt.Sprint(now.Load()))
		return tool.TextResult("w")
	})
	b.server.Enqueue(calls("reads", `{}`, "reads", `{}`, "reads", `{}`, "writes", `{"n":1}`, "writes", `{"n":2}`), says("Done."))
	b.mustRun(harness.EndTurn)
	if most.Load() < 2 {
		t.Error("readers did not run side by side")
	}
	if got := strings.Join(order, " "); got != `{"n":1}0 {"n":2}0` {
		t.Errorf("writers: %s (the number: readers at that time)", got)
	}
}

func TestCalls_synced_before_anything_is_done_and_not_for_a_look(t *testing.T) {
	b := newBench(t, nil)
	b.host("look", true, func(tool.Call) tool.Result { return tool.TextResult("x") })
	atCall := 0
	b.host("act", false, func(tool.Call) tool.Result { atCall = b.memory.syncs; return tool.TextResult("x") })
	b.server.Enqueue(calls("look", `{}`), calls("act", `{}`), says("Done."))
	b.mustRun(harness.EndTurn)
	// One before each of three requests, one before the act, one at the end.
	if b.memory.syncs != 5 || atCall != 3 {
		t.Errorf("%d syncs in all, %d at the act", b.memory.syncs, atCall)
	}
}

// F-007
func TestCalls_time_out_of_one_call_ends_that_call_alone(t *testing.T) {
	b := newBench(t, nil, calls("Bash", `{"command":"sleep 100","timeout":100}`, "Bash", input("command", "echo after")), says("Go on."))
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if len(got) != 2 || !strings.Contains(got[1], "after") || !b.last().Results()[0].IsError {
		t.Errorf("results: %q", got)
	}
}

func TestCalls_provider_secrets_are_not_in_the_environment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "test-key")
	t.Setenv("MY_OWN_SECRET", "test-secret")
	b := newBench(t, nil, calls("Bash", input("command", "env; echo end")), says("x"))
	b.config.SecretEnv = []string{"MY_OWN_SECRET"}
	b.turn.Agent.Env = map[string]string{"OF_THE_AGENT": "yes"}
	b.mustRun(harness.EndTurn)
	got := results(b.last())[0]
	if strings.Contains(got, "test-key") || strings.Contains(got, "test-secret") || !strings.Contains(got, "OF_THE_AGENT=yes") {
		t.Errorf("environment: %s", got)
	}
}

// guardFunc is a guard of two functions; nil ones allow and keep.
type guardFunc struct {
	name   string
	before func(ctx context.Context, c guard.Call) (guard.Decision, error)
	after  func(c guard.Call, r guard.Reply) (guard.Reply, error)
}

func (g guardFunc) Name() string { return g.name }

func (g guardFunc) Before(ctx context.Context, c guard.Call) (guard.Decision, error) {
	if g.before == nil {
		return guard.Decision{}, nil
	}
	return g.before(ctx, c)
}

func (g guardFunc) After(_ context.Context, c guard.Call, r guard.Reply) (guard.Reply, error) {
	if g.after == nil {
		return r, nil
	}
	return g.after(c, r)
}

// F-076
func TestCalls_rewritten_input_runs_and_a_denial_wins_over_it(t *testing.T) {
	rewrite := guardFunc{name: "rewrites", before: func(_ context.Context, c guard.Call) (guard.Decision, error) {
		if strings.Contains(string(c.Input), "plain") {
			return guard.Decision{Action: guard.Rewrite, Input: json.RawMessage(`{"command":"echo changed"}`)}, nil
		}
		return guard.Decision{}, nil
	}}
	deny := guardFunc{name: "denies", before: func(_ context.Context, c guard.Call) (guard.Decision, error) {
		if strings.Contains(string(c.Input), "forbidden") {
			return guard.Decision{Action: guard.Deny, Reason: "no"}, nil
		}
		return guard.Decision{}, nil
	}}
	b := newBench(t, nil, calls("Bash", input("command", "echo plain"), "Bash", input("command", "echo forbidden plain")), says("x"))
	b.turn.Guards.Guards = []guard.Guard{deny, rewrite}
	out := b.mustRun(harness.EndTurn)
	got := results(b.last())
	if !strings.Contains(got[0], "changed") || got[1] != "no" {
		t.Errorf("results: %q", got)
	}
	if raw := string(b.memory.entries(key(out.SessionID))[2].Raw); !strings.Contains(raw, "echo plain") {
		t.Errorf("the stored call is not the one the model made: %s", raw)
	}
}

// F-077
func TestCalls_guard_that_hangs_denies(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "touch ran")), says("x"))
	b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "hangs", before: func(ctx context.Context, _ guard.Call) (guard.Decision, error) {
		<-ctx.Done()
		return guard.Decision{}, ctx.Err()
	}}}
	b.turn.Guards.Timeout = 20 * time.Millisecond
	b.mustRun(harness.EndTurn)
	got := results(b.last())[0]
	if !strings.Contains(got, "timed out") || strings.Contains(got, "user") || !b.last().Results()[0].IsError {
		t.Errorf("result: %q", got)
	}
}

func TestCalls_guards_see_and_change_results(t *testing.T) {
	b := newBench(t, nil)
	b.host("mixed", true, func(tool.Call) tool.Result {
		return tool.Result{Content: []tool.Content{{Text: "secret"}, {MediaType: "image/png", Data: png(2, 2)}, {Text: "open"}}}
	})
	var seen []guard.Reply
	b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "spills", after: func(c guard.Call, r guard.Reply) (guard.Reply, error) {
		seen = append(seen, r)
		switch v := r.Value.(type) {
		case string:
			r.Value = "pointer to " + v
		case []any:
			v[0].(map[string]any)["text"] = "hidden"
		}
		return r, nil
	}}}
	b.server.Enqueue(calls("mixed", `{}`, "Bash", input("command", "echo long")), says("x"))
	b.mustRun(harness.EndTurn)
	r := b.last().Results()
	if len(r) != 2 || r[0].Content[0].Text != "hidden" || r[0].Content[1].Type != "image" || r[0].Content[2].Text != "open" {
		t.Errorf("mixed result: %+v", r)
	}
	if !strings.HasPrefix(r[1].Content[0].Text, "pointer to ") {
		t.Errorf("text result: %q", r[1].Content[0].Text)
	}
	if len(seen) != 2 {
		t.Errorf("the guard saw %d results", len(seen))
	}
}

func TestCalls_guard_sees_who_calls_and_where(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "true")), says("x"))
	var got guard.Call
	b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "looks", before: func(_ context.Context, c guard.Call) (guard.Decision, error) {
		got = c
		return guard.Decision{}, nil
	}}}
	out := b.mustRun(harness.EndTurn)
	if !got.MainThread() || got.AgentRole != "tester" || got.Step != "step-1" || got.Session != out.SessionID || got.Dir != b.dir || got.ID == "" {
		t.Errorf("%+v", got)
	}
}

func TestCalls_search_asks_the_provider(t *testing.T) {
	b := newBench(t, nil)
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "WebSearch")
	b.server.Enqueue(
		calls("WebSearch", `{"query":"go release","allowed_domains":["go.dev"]}`),
		api.Turn{Blocks: []api.Block{
			api.Raw(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go release"}}`),
			api.Raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev/doc","encrypted_content":"x"}]}`),
			api.Text("It came in August."),
		}},
		says("Told."))
	out := b.mustRun(harness.EndTurn)
	got := results(b.last())[0]
	if !strings.Contains(got, "It came in August.") || !strings.Contains(got, "https://go.dev/doc") {
		t.Errorf("result: %q", got)
	}
	side := b.requests()[1]
	if !strings.Contains(string(side.Body), `"allowed_domains":["go.dev"]`) || len(side.Messages) != 1 {
		t.Errorf("side request: %s", side.Body)
	}
	if out.Turns != 2 {
		t.Errorf("turns = %d: a search is no turn", out.Turns)
	}
	b.server.Enqueue(calls("WebSearch", `{"query":"x"}`), refuses(400), says("Without."))
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.Contains(got, "does not search") {
		t.Errorf("result: %q", got)
	}
}

// F-079
func TestCalls_a_guard_that_changes_the_written_file_does_not_make_it_stale(t *testing.T) {
	b := newBench(t, nil)
	path := filepath.Join(b.dir, "f.txt")
	b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "formats", after: func(c guard.Call, r guard.Reply) (guard.Reply, error) {
		if c.Tool != "Write" {
			return r, nil
		}
		return r, os.WriteFile(path, []byte("formatted\n"), 0o644)
	}}}
	b.server.Enqueue(
		calls("Write", input("file_path", path, "content", "raw\n")),
		calls("Edit", input("file_path", path, "old_string", "formatted", "new_string", "edited")),
		says("Done."))
	b.mustRun(harness.EndTurn)
	if content, _ := os.ReadFile(path); string(content) != "edited\n" {
		t.Errorf("file: %q, result: %q", content, results(b.last()))
	}
	if got := results(b.requests()[1])[0]; !strings.Contains(got, "+formatted") {
		t.Errorf("the change was not shown: %q", got)
	}
}

func TestCalls_ids_that_come_again_or_are_none_are_replaced(t *testing.T) {
	b := newBench(t, nil)
	call := func(id, command string) api.Block {
		return api.Raw(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}`, id, command))
	}
	turn := func(blocks ...api.Block) api.Turn { return api.Turn{Blocks: blocks, StopReason: "tool_use"} }
	b.server.Enqueue(
		turn(call("call_0", "echo one"), call("call_0", "echo two"), call("functions.Bash:1", "echo three")),
		turn(call("call_0", "echo four")), says("1"),
		turn(call("call_0", "echo five")), says("2"))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn) // the server refuses ids that come twice
	for i, want := range []string{"one two three", "four", "", "five"} {
		if want == "" {
			continue
		}
		got := strings.Join(results(api.Request{Messages: b.last().Messages[2*i+2 : 2*i+3]}), " ")
		for _, word := range strings.Fields(want) {
			if !strings.Contains(got, word) {
				t.Errorf("results of answer %d: %q, want %q in it", i, got, word)
			}
		}
	}
}
