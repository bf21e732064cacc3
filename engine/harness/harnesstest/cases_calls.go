package harnesstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

func textIsTheOutcome(r *rig) {
	r.turn.Agent.Instructions = "Always answer in one word."
	r.turn.Agent.Index = "The workbench is empty."
	var ids []string
	r.turn.OnSession = func(id string) { ids = append(ids, id) }
	r.answers(text("Done."))
	out := r.mustRun(harness.EndTurn)
	if out.Text != "Done." || out.LastMessage != "Done." || out.Turns != 1 {
		r.Errorf("outcome = %+v", out)
	}
	if out.Usage.Main.Turns != 1 || out.Usage.Main.Tokens.Output == 0 || out.Usage.Sub != (harness.Account{}) || out.Context == 0 {
		r.Errorf("usage = %+v, context = %d", out.Usage, out.Context)
	}
	if out.CostUSD == nil || *out.CostUSD <= 0 {
		r.Error("the cost is not known")
	}
	if len(ids) != 1 || ids[0] != out.SessionID {
		r.Errorf("OnSession was told %v, the session is %q", ids, out.SessionID)
	}
	r.has(system(r.requests()[0]), "Always answer in one word.", "The workbench is empty.")
	for kind, want := range map[event.Kind]int{event.Text: 1, event.Result: 1, event.Error: 0, event.Unknown: 0} {
		if got := r.of(kind); len(got) != want {
			r.Errorf("%d events of kind %s, want %d: %+v", len(got), kind, want, got)
		}
	}
}

func aCallRuns(r *rig) {
	r.answers(calls("Bash", bash("echo first > a.txt; echo seen-$((40+2))")), text("Done."))
	out := r.mustRun(harness.EndTurn)
	if out.Usage.Main.ToolCalls != 1 || out.Turns != 2 {
		r.Errorf("usage = %+v, turns = %d", out.Usage, out.Turns)
	}
	r.has(r.last(), "seen-42")
	if _, err := os.Stat(filepath.Join(r.dir, "a.txt")); err != nil {
		r.Error(err)
	}
	var uses, results int
	for _, e := range r.entries(out.SessionID) {
		uses += len(e.ToolUses)
		results += len(e.ToolResults)
	}
	if uses != 1 || results != 1 {
		r.Errorf("%d calls and %d results are stored", uses, results)
	}
}

func aDeniedCallDoesNotRun(r *rig) {
	r.turn.Guards = guards(denies(func(c guard.Call) bool { return c.Tool == "Bash" && c.MainThread() }, "dispatch a worker instead"))
	r.answers(calls("Bash", bash("touch made.txt")), text("Understood."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "dispatch a worker instead", "(error)")
	r.missing("made.txt")
	for _, e := range r.of(event.ToolResult) {
		if e.Payload["denied"] != true {
			r.Errorf("the result's event does not say that the call was denied: %+v", e)
		}
	}
}

// missing checks that a file was not made.
func (r *rig) missing(name string) {
	r.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
		r.Errorf("%s was made", name)
	}
}

func aDenialLeavesTheView(r *rig) {
	r.turn.View.Prune.KeepDenials = 0
	r.turn.Guards = guards(denies(func(c guard.Call) bool { return c.Tool == "Bash" }, "denied for a reason"))
	r.answers(calls("Bash", bash("touch made.txt")), text("Understood."))
	out := r.mustRun(harness.EndTurn)
	// Long ago: what the provider may still have in its cache is sent as it was.
	r.ahead = time.Hour
	r.resume(harness.Session{Resume: out.SessionID}, "Go on.")
	r.answers(text("Done."))
	r.mustRun(harness.EndTurn)
	r.hasNot(r.last(), "denied for a reason", "touch made.txt")
	r.has(r.last(), "Understood.", "Go on.")
}

func aToolNotAllowed(r *rig) {
	r.turn.Agent.AllowedTools = []string{"Read"}
	r.answers(calls("Bash", bash("touch made.txt"), "Write", object("file_path", filepath.Join(r.dir, "made.txt"), "content", "x")), text("Understood."))
	r.mustRun(harness.EndTurn)
	r.missing("made.txt")
	for _, t := range r.requests()[0].Tools {
		if t.Name != "Read" {
			r.Errorf("the tool %s is offered", t.Name)
		}
	}
}

func aGuardRewritesTheInput(r *rig) {
	r.turn.Guards = guards(before(func(c guard.Call) (guard.Decision, error) {
		if !strings.Contains(string(c.Input), "one") {
			return guard.Decision{}, nil
		}
		return guard.Decision{Action: guard.Rewrite, Input: []byte(bash("echo two-$((1+1))"))}, nil
	}))
	r.answers(calls("Bash", bash("echo one")), text("Done."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "two-2")
}

func aGuardRewritesTheResult(r *rig) {
	r.turn.Guards = guards(guard.After("mask", func(_ context.Context, c guard.Call, reply guard.Reply) (guard.Reply, error) {
		s, ok := reply.Value.(string)
		if !ok {
			return reply, fmt.Errorf("the value is a %T", reply.Value)
		}
		reply.Value = strings.ReplaceAll(s, "hunter2", "[masked]")
		return reply, nil
	}))
	r.turn.Guards.OnError = func(name string, c guard.Call, err error) { r.Errorf("guard %s at %s: %v", name, c.Tool, err) }
	if err := os.WriteFile(filepath.Join(r.dir, "secret.txt"), []byte("the word is hunter2\n"), 0o600); err != nil {
		r.Fatal(err)
	}
	r.turn.HostTools = []tool.Tool{tool.Func{Def: tool.Definition{Name: "mcp__vault__open", Description: "Open.", Schema: []byte(`{"type":"object"}`)},
		Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("the word is hunter2") }}}
	r.turn.Agent.AllowedTools = append(r.turn.Agent.AllowedTools, "mcp__vault__open")
	r.answers(calls("mcp__vault__open", `{}`), calls("Bash", bash("printf 'the word is hunt'; echo er2")), calls("Read", object("file_path", filepath.Join(r.dir, "secret.txt"))), text("Done."))
	out := r.mustRun(harness.EndTurn)
	if n := strings.Count(r.last(), "[masked]"); n != 3 {
		r.Errorf("%d results were rewritten:\n%s", n, r.last())
	}
	r.hasNot(r.last(), "hunter2")
	for _, e := range r.entries(out.SessionID) {
		r.hasNot(string(e.Raw), "hunter2")
	}
	if errs := r.of(event.Error); len(errs) > 0 {
		r.Errorf("errors: %+v", errs)
	}
}

func aLargeResultIsSpilled(r *rig) {
	dir := filepath.Join(r.dir, "spill")
	r.turn.Guards = guards(guard.Spill(nil, guard.Options{SpillDir: dir}))
	r.answers(calls("Bash", bash("seq 1 3000")), calls("Bash", bash("seq 10001 15000")), text("Done."))
	r.mustRun(harness.EndTurn)
	r.hasNot(r.last(), "\n2999\n", "\n12999\n")
	r.has(r.last(), dir, "\n50\n", "\n10050\n")
	files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	var all string
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			r.Fatal(err)
		}
		all += string(whole)
	}
	if len(files) != 2 || !strings.Contains(all, "\n2999\n3000") || !strings.Contains(all, "\n12999\n13000\n") {
		r.Errorf("the spill files %v are not whole", files)
	}
}

func aGuardThatFails(r *rig) {
	r.turn.Guards = guards(before(func(guard.Call) (guard.Decision, error) { return guard.Decision{}, errors.New("its rules are gone") }))
	r.answers(calls("Bash", bash("touch made.txt")), text("Understood."))
	r.mustRun(harness.EndTurn)
	r.missing("made.txt")
	r.has(r.last(), "its rules are gone", "(error)")
}

func aPersonIsAsked(r *rig) {
	var asked tool.Call
	r.turn.HostTools = []tool.Tool{tool.Func{
		Def: tool.Definition{Name: "mcp__human__ask", Description: "Ask a person.", Schema: []byte(`{"type":"object","properties":{"question":{"type":"string"}}}`)},
		Call: func(_ context.Context, c tool.Call) tool.Result {
			asked = c
			return tool.TextResult("Take the blue one.")
		},
	}}
	r.turn.Agent.AllowedTools = []string{"mcp__human__ask"}
	r.answers(calls("mcp__human__ask", object("question", "Which colour?")), text("Blue it is."))
	r.mustRun(harness.EndTurn)
	r.has(string(asked.Input), "Which colour?")
	if asked.ID == "" || asked.Agent != "" {
		r.Errorf("call = %+v", asked)
	}
	r.has(r.last(), "Take the blue one.")
}

func aHostToolIsCalled(r *rig) {
	var mu sync.Mutex
	var seen []string
	r.turn.HostTools = []tool.Tool{
		tool.Func{Def: tool.Definition{Name: "lookup", Description: "Look a word up.", Schema: []byte(`{"type":"object"}`), ReadOnly: true},
			Call: func(context.Context, tool.Call) tool.Result { return tool.ErrorResult("no such word") }},
		tool.Func{Def: tool.Definition{Name: "secret", Description: "Not for this agent.", Schema: []byte(`{"type":"object"}`)},
			Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("never") }},
	}
	r.turn.Agent.AllowedTools = []string{"lookup"}
	r.turn.Guards = guards(before(func(c guard.Call) (guard.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.Tool)
		return guard.Decision{}, nil
	}))
	// The name under which a tool is offered is the harness's; guards see our own.
	name := ""
	r.says(func(q request) turn {
		if len(q.Results()) > 0 {
			return text("Done.")
		}
		name = q.Tools[0].Name
		return calls(name, `{"word":"x"}`)
	})
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "no such word", "(error)")
	if len(seen) != 1 || seen[0] != "lookup" {
		r.Errorf("guards saw %v", seen)
	}
	if n := len(r.requests()[0].Tools); n != 1 {
		r.Errorf("%d tools are offered", n)
	}
}
