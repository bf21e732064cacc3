package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// team is a bench whose agent dispatches workers; script answers the main thread's
// requests and work those of the subagents.
func team(t testing.TB, script func(r api.Request) api.Turn, work func(r api.Request) api.Turn) *bench {
	t.Helper()
	b := newBench(t, &api.Options{Script: func(r api.Request) api.Turn {
		if isWorker(r) {
			return work(r)
		}
		return script(r)
	}})
	b.turn.Agent.AllowedTools = []string{"Agent", "Read"}
	b.turn.Agent.Workers = map[string]harness.Worker{
		"coder": {Description: "Writes code.", Prompt: "WORKER RULES", Tools: []string{"Bash", "Read", "Write"}},
		"other": {Description: "Does the rest."},
	}
	return b
}

// isWorker reports whether a request is a subagent's.
func isWorker(r api.Request) bool { return strings.Contains(r.System[0].Text, "You were dispatched") }

// dispatches is a turn of n Agent calls.
func dispatches(n int) api.Turn {
	var pairs []string
	for i := range n {
		pairs = append(pairs, "Agent", input("description", fmt.Sprint("task ", i), "prompt", fmt.Sprint("TASK ", i), "subagent_type", "coder"))
	}
	return calls(pairs...)
}

// once answers first and then, when the results are there, says Done.
func once(first api.Turn) func(api.Request) api.Turn {
	return func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return first
		}
		return says("Done.")
	}
}

// subs are the keys of a session's subagents.
func (b *bench) subs() []transcript.Key {
	return slices.DeleteFunc(b.memory.keys(), func(k transcript.Key) bool { return k.Sub == "" })
}

var idInReport = regexp.MustCompile(`subagent ([0-9a-f]{12})`)

func TestSubagent_works_on_its_own_transcript_and_reports(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("Bash", input("command", "echo inner"))
		}
		return says("The report.")
	})
	out := b.mustRun(harness.EndTurn)
	got := results(b.last())
	if len(got) != 1 || !strings.HasPrefix(got[0], "The report.\n\n[subagent ") || strings.Contains(got[0], "inner") {
		t.Fatalf("report: %q", got)
	}
	id := idInReport.FindStringSubmatch(got[0])[1]
	sub := b.memory.entries(key(out.SessionID).Subagent(id))
	if k := kinds(sub); k != "flower_prefix user calls(1) result assistant" {
		t.Errorf("stored: %s", k)
	}
	for _, e := range sub[1:] {
		if !e.Flags.Has(transcript.Sidechain) || !strings.Contains(string(e.Raw), `"agentId":"`+id+`"`) {
			t.Errorf("entry: %s", e.Raw)
		}
	}
	if k := kinds(b.memory.entries(key(out.SessionID))); k != "flower_prefix user calls(1) result assistant" {
		t.Errorf("main thread stored: %s", k)
	}
	if out.Text != "Done." || out.Usage.Sub.Turns != 2 || out.Usage.Main.Turns != 2 || out.Turns != 2 ||
		out.Usage.Main.Dispatches != 1 || out.Usage.Sub.ToolCalls != 1 || out.Usage.Sub.Tokens.Output == 0 {
		t.Errorf("%+v", out)
	}
	worker := b.requests()[1]
	if !strings.Contains(worker.System[0].Text, "WORKER RULES") || len(worker.Tools) != 3 {
		t.Errorf("the worker was offered %d tools", len(worker.Tools))
	}
	var kindsOf []string
	for _, e := range b.events {
		if e.Subagent == id {
			if e.ParentToolUseID == "" {
				t.Errorf("event %s does not name the call", e.Kind)
			}
			kindsOf = append(kindsOf, string(e.Kind))
		}
	}
	if want := "task prompt tool_call tool_result text task"; strings.Join(kindsOf, " ") != want {
		t.Errorf("events: %v, want %s", kindsOf, want)
	}
}

// F-049: twenty side by side, ten at a time, three of which cannot start.
func TestSubagent_twenty_at_once_are_capped_and_all_end(t *testing.T) {
	var now, most atomic.Int32
	b := team(t, once(dispatches(20)), func(r api.Request) api.Turn {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(3 * time.Millisecond)
		now.Add(-1)
		return says("Report on " + r.Prompt())
	})
	var died atomic.Int32
	b.memory.before = func(_ int, k transcript.Key, es []transcript.Entry) error {
		if k.Sub != "" && es[0].Subtype != "" && died.Add(1) <= 3 {
			return errors.New("no room")
		}
		return nil
	}
	b.mustRun(harness.EndTurn)
	var good, bad int
	for i, r := range b.last().Results() {
		switch {
		case r.IsError:
			bad++
		case strings.Contains(results(b.last())[i], fmt.Sprint("Report on TASK ", i, "\n")):
			good++
		}
	}
	if good != 17 || bad != 3 || most.Load() > 10 || most.Load() < 2 {
		t.Errorf("%d reports, %d errors, at most %d side by side", good, bad, most.Load())
	}
}

// F-050
func TestSubagent_error_of_the_provider_is_no_finding(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return api.Turn{Blocks: []api.Block{api.Text("So far: one bug."), api.ToolUse("", "Bash", input("command", "true"))}}
		}
		return api.Turn{Error: &api.Error{Status: 400, Message: "Your credit balance is too low: PROVIDER WORDS"}}
	})
	b.mustRun(harness.EndTurn)
	r := b.last().Results()[0]
	got := results(b.last())[0]
	if !r.IsError || !strings.Contains(got, "did not finish") || !strings.Contains(got, "So far: one bug.") || !strings.Contains(got, "incomplete") {
		t.Errorf("result: %q", got)
	}
	if strings.Contains(got, "PROVIDER WORDS") {
		t.Error("the provider's error is in the result")
	}
}

// F-065
func TestSubagent_does_not_dispatch_others(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("Agent", input("description", "d", "prompt", "p", "subagent_type", "coder"))
		}
		return says("It said: " + results(r)[0])
	})
	w := b.turn.Agent.Workers["coder"]
	w.Tools = append(w.Tools, "Agent")
	b.turn.Agent.Workers["coder"] = w
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.Contains(got, "cannot dispatch others") {
		t.Errorf("report: %q", got)
	}
	if n := len(b.subs()); n != 1 {
		t.Errorf("%d subagents", n)
	}
}

func TestSubagent_depth_can_be_allowed(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 && r.Prompt() == "TASK 0" {
			return calls("Agent", input("description", "d", "prompt", "INNER", "subagent_type", "other"))
		}
		return says("Report on " + r.Messages[0].Content[0].Text)
	})
	w := b.turn.Agent.Workers["coder"]
	w.Tools = append(w.Tools, "Agent")
	b.turn.Agent.Workers["coder"] = w
	b.config.MaxDepth, b.config.SideBySide = 2, 1
	out := b.mustRun(harness.EndTurn)
	if len(b.subs()) != 2 || out.Usage.Sub.Dispatches != 1 || out.Usage.Main.Dispatches != 1 {
		t.Errorf("%d subagents, %+v", len(b.subs()), out.Usage)
	}
}

// F-066
func TestSubagent_number_is_capped(t *testing.T) {
	b := team(t, once(dispatches(5)), func(api.Request) api.Turn { return says("R") })
	b.config.MaxDispatches = 3
	b.mustRun(harness.EndTurn)
	refused := 0
	for _, got := range results(b.last()) {
		if strings.Contains(got, "No more subagents") {
			refused++
		}
	}
	if refused != 2 || len(b.subs()) != 3 {
		t.Errorf("%d refused, %d subagents", refused, len(b.subs()))
	}
}

// F-067
func TestSubagent_budget_is_shared_and_stops_all(t *testing.T) {
	spend := api.Usage{Input: 1000, Output: 2000} // $0.021
	b := team(t, func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return used(dispatches(6), spend)
		}
		return used(dispatches(1), spend)
	}, func(api.Request) api.Turn { return used(calls("Bash", input("command", "date +%N")), spend) })
	b.config.Model = priced{b.config.Model}
	b.turn.Limits.USD = 0.3
	out := b.mustRun(harness.Budget)
	if *out.CostUSD > 0.3 || *out.CostUSD < 0.25 {
		t.Errorf("cost = $%.3f of $0.30", *out.CostUSD)
	}
	total := float64(out.Usage.Main.Turns+out.Usage.Sub.Turns) * 0.021
	if diff := total - *out.CostUSD; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("accounts: %d turns, $%.3f", out.Usage.Main.Turns+out.Usage.Sub.Turns, *out.CostUSD)
	}
	for _, k := range b.subs() {
		if s := kinds(b.memory.entries(k)); strings.HasSuffix(s, "calls(1)") {
			t.Errorf("%s ends with an open call", k)
		}
	}
}

// F-074, F-075: the list of the paths a call can take; a guard that denies
// everything named in it leaves nothing to run.
func TestSubagent_guards_hold_on_every_path(t *testing.T) {
	paths := []string{"main", "main beside others", "subagent", "resumed subagent", "resumed session", "forked session"}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "ran")
			touch := calls("Bash", input("command", "touch "+mark))
			var id string
			b := team(t, func(r api.Request) api.Turn {
				switch {
				case r.Prompt() == "again" && path == "resumed subagent":
					return calls("Agent", input("description", "d", "prompt", "now", "resume", id))
				case r.Prompt() == "again" || r.Turn() == 1 && path == "main":
					return touch
				case r.Turn() == 1 && path == "main beside others":
					return calls("Read", input("file_path", "x"), "Bash", input("command", "touch "+mark), "Read", input("file_path", "y"))
				case r.Turn() == 1 && strings.HasSuffix(path, "subagent"):
					return dispatches(1)
				case len(r.Results()) > 0:
					if m := idInReport.FindStringSubmatch(results(r)[0]); m != nil {
						id = m[1]
					}
				}
				return says("Done.")
			}, func(r api.Request) api.Turn {
				if len(r.Results()) == 0 && (r.Turn() == 1) == (path == "subagent") {
					return touch
				}
				return says("Report.")
			})
			b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "Bash")
			var seen []guard.Call
			var mu sync.Mutex
			b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "denies", before: func(_ context.Context, c guard.Call) (guard.Decision, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, c)
				if c.Tool == "Bash" {
					return guard.Decision{Action: guard.Deny, Reason: "denied here"}, nil
				}
				return guard.Decision{}, nil
			}}}
			out := b.mustRun(harness.EndTurn)
			if strings.HasPrefix(path, "resumed") || path == "forked session" {
				b.resume(out.SessionID, "again")
				b.turn.Session.Fork = path == "forked session"
				b.mustRun(harness.EndTurn)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the denied command ran")
			}
			at := slices.IndexFunc(seen, func(c guard.Call) bool { return c.Tool == "Bash" })
			if at < 0 {
				t.Fatal("the guard did not see the call")
			}
			if inSub := seen[at].Agent != ""; inSub != strings.HasSuffix(path, "subagent") || inSub && seen[at].AgentRole != "coder" {
				t.Errorf("the guard saw %+v", seen[at])
			}
		})
	}
}

// F-075
func TestSubagent_guard_can_deny_and_rewrite_a_dispatch(t *testing.T) {
	var dir atomic.Value
	b := team(t, once(dispatches(2)), func(r api.Request) api.Turn { return says("Report on " + r.Prompt()) })
	b.turn.Guards.Guards = []guard.Guard{guardFunc{name: "changes", before: func(_ context.Context, c guard.Call) (guard.Decision, error) {
		var in map[string]string
		if c.Tool != "Agent" || json.Unmarshal(c.Input, &in) != nil {
			return guard.Decision{}, nil
		}
		dir.Store(c.Dir)
		switch in["prompt"] {
		case "TASK 0":
			return guard.Decision{Action: guard.Deny, Reason: "not that"}, nil
		case "TASK 1":
			in["prompt"] = "CHANGED"
			raw, err := json.Marshal(in)
			return guard.Decision{Action: guard.Rewrite, Input: raw}, err
		}
		return guard.Decision{}, nil
	}}}
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if got[0] != "not that" || !strings.HasPrefix(got[1], "Report on CHANGED") || dir.Load() != b.dir {
		t.Errorf("results: %q, dir %q", got, dir.Load())
	}
	if len(b.subs()) != 1 {
		t.Errorf("%d subagents", len(b.subs()))
	}
}

func TestSubagent_resumes_with_all_it_knows(t *testing.T) {
	var id string
	b := team(t, func(r api.Request) api.Turn {
		switch r.Turn() {
		case 1:
			return dispatches(1)
		case 2:
			id = idInReport.FindStringSubmatch(results(r)[0])[1]
			return calls("Agent", input("description", "more", "prompt", "MORE", "resume", id),
				"Agent", input("description", "more", "prompt", "MORE", "resume", "0123456789ab"),
				"Agent", input("description", "more", "prompt", "MORE", "resume", "../../etc"))
		}
		return says("Done.")
	}, func(r api.Request) api.Turn { return says(fmt.Sprintf("Report %d on %s", r.Turn(), r.Prompt())) })
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if !strings.HasPrefix(got[0], "Report 2 on MORE") || !strings.Contains(got[1], "no subagent") || !strings.Contains(got[2], "no id") {
		t.Errorf("results: %q", got)
	}
	if len(b.subs()) != 1 {
		t.Errorf("%d subagents", len(b.subs()))
	}
}

func TestSubagent_cut_off_by_a_crash_is_named_in_the_result_and_goes_on(t *testing.T) {
	b := team(t, func(r api.Request) api.Turn {
		switch {
		case r.Turn() == 1:
			return dispatches(1)
		case r.Prompt() == "Go on.":
			id := regexp.MustCompile(`resume "([0-9a-f]{12})"`).FindStringSubmatch(results(r)[0])
			return calls("Agent", input("description", "d", "prompt", "FINISH", "resume", id[1]))
		}
		return says("Done.")
	}, func(r api.Request) api.Turn {
		if r.Prompt() == "FINISH" {
			return says(fmt.Sprintf("Finished what %d results told.", len(r.Results())+strings.Count(string(r.Body), "tool_result")))
		}
		return calls("Bash", input("command", "echo work"))
	})
	id := b.crash(6) // prefix and prompt, answer; of the subagent the same and one result
	b.resume(id, "Go on.")
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.HasPrefix(got, "Finished what") {
		t.Errorf("report: %q", got)
	}
	if len(b.subs()) != 1 {
		t.Errorf("%d subagents, want the one that goes on", len(b.subs()))
	}
}

func TestSubagent_interrupt_keeps_its_work_and_names_it(t *testing.T) {
	words := make(chan string, 1)
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("Bash", input("command", "echo x"))
		}
		words <- "stop"
		return api.Turn{Blocks: []api.Block{api.Text("y")}, Faults: []api.Fault{{Kind: api.Stall, At: 20}}}
	})
	b.turn.Interrupt = words
	out := b.mustRun(harness.Interrupted)
	entries := b.memory.entries(key(out.SessionID))
	last := entries[len(entries)-1]
	id := b.subs()[0].AgentID()
	if len(last.ToolResults) != 1 || !strings.Contains(string(last.Raw), id) {
		t.Errorf("the result does not name the subagent: %s", last.Raw)
	}
	if k := kinds(b.memory.entries(b.subs()[0])); k != "flower_prefix user calls(1) result" {
		t.Errorf("the subagent's transcript: %s", k)
	}
}

func TestSubagent_barred_tools_are_barred_for_all(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn { return says("R") })
	b.turn.Agent.DisallowedTools = []string{"Write"}
	b.mustRun(harness.EndTurn)
	for _, x := range b.requests()[1].Tools {
		if x.Name == "Write" {
			t.Error("a barred tool was offered to the subagent")
		}
	}
}

func TestSubagent_models(t *testing.T) {
	cases := []struct{ worker, sub, agent, want string }{
		{"opus", "haiku", "sonnet", "claude-opus-5-5"},
		{"inherit", "haiku", "sonnet", "claude-haiku-4-5"},
		{"", "", "opus", "claude-opus-5-5"},
		{"", "", "", "claude-sonnet-5-5"},
	}
	for _, c := range cases {
		b := team(t, once(dispatches(1)), func(api.Request) api.Turn { return says("R") })
		b.config.Aliases = map[string]string{"opus": "claude-opus-5-5", "haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5"}
		b.config.SubagentModel, b.turn.Agent.Model = c.sub, c.agent
		w := b.turn.Agent.Workers["coder"]
		w.Model = c.worker
		b.turn.Agent.Workers["coder"] = w
		b.mustRun(harness.EndTurn)
		if got := b.requests()[1].Model; got != c.want {
			t.Errorf("%+v: model %s", c, got)
		}
	}
}

func TestSubagent_a_full_window_makes_it_report(t *testing.T) {
	b := newBench(t, &api.Options{Models: []api.Model{{ID: "small", Window: 100_000}}, Script: func(r api.Request) api.Turn {
		switch {
		case !isWorker(r) && r.Turn() == 1:
			return dispatches(1)
		case !isWorker(r):
			return says("Done.")
		case strings.Contains(r.Prompt(), "nearly full"):
			return says("My report.")
		}
		return used(calls("Bash", input("command", "date +%N")), api.Usage{Input: 30_000 * r.Turn()})
	}})
	b.turn.Agent.AllowedTools = []string{"Agent"}
	b.turn.Agent.Workers = map[string]harness.Worker{"coder": {Description: "d", Prompt: "p"}}
	b.turn.Agent.Model = "small"
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.HasPrefix(got, "My report.") {
		t.Errorf("report: %q", got)
	}
}

func TestSubagent_isolation_outside_of_git_is_an_error_result(t *testing.T) {
	b := team(t, once(calls("Agent", input("description", "d", "prompt", "P", "subagent_type", "coder", "isolation", "worktree"),
		"Agent", input("description", "d", "prompt", "P", "subagent_type", "codr"),
		"Agent", input("description", "d", "prompt", "P", "subagent_type", "coder", "cwd", "/etc"),
		"Agent", input("description", "d", "prompt", "P", "subagent_type", "coder", "cwd", "missing"),
		"Agent", input("description", "d", "prompt", " ", "subagent_type", "coder"),
		"Agent", `{"prompt":7}`)), func(api.Request) api.Turn { return says("R") })
	b.mustRun(harness.EndTurn)
	want := []string{"needs a git repository", `did you mean "coder"`, "outside of the workspace", "no folder", "prompt is empty", "does not fit"}
	for i, got := range results(b.last()) {
		if !strings.Contains(got, want[i]) || !b.last().Results()[i].IsError {
			t.Errorf("result %d: %q, want %q in it", i, got, want[i])
		}
	}
}

func TestSubagent_host_tools_are_there_when_its_list_names_them(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("lookup", `{}`)
		}
		return says("It is " + results(r)[0])
	})
	b.turn.HostTools = append(b.turn.HostTools, tool.Func{Def: tool.Definition{Name: "lookup", Description: "x"},
		Call: func(_ context.Context, c tool.Call) tool.Result { return tool.TextResult("for " + c.Agent) }})
	w := b.turn.Agent.Workers["coder"]
	w.Tools = append(w.Tools, "lookup")
	b.turn.Agent.Workers["coder"] = w
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.HasPrefix(got, "It is for "+b.subs()[0].AgentID()) {
		t.Errorf("report: %q", got)
	}
	if len(b.of(event.Error)) != 0 {
		t.Errorf("%+v", b.of(event.Error))
	}
}
