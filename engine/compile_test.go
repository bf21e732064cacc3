package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
)

func TestCompile_a_page_of_a_delegate_only_agent_is_what_spills(t *testing.T) {
	for threshold, want := range map[int]int{0: 4000, 1000: 1000, -1: 0} {
		p := newBench(t).startWith(engine.Config{SpillThreshold: threshold})
		lead, err := p.Compile(engine.Coordinator("lead", nil, engine.RoleOptions{}))
		if err != nil || lead.PageChars != want {
			t.Errorf("threshold %d: a page has %d characters, want %d (%v)", threshold, lead.PageChars, want, err)
		}
		if one, err := p.Compile(engine.Spec{Name: "one"}); err != nil || one.PageChars != 0 {
			t.Errorf("an agent that acts itself: %d, %v", one.PageChars, err)
		}
	}
}

func TestCompile_mcp_servers_are_checked_and_handed_on(t *testing.T) {
	p := newBench(t).start()
	spec := engine.Spec{Name: "one", MCPServers: map[string]harness.MCPServer{"db": {Command: "x"}}}
	a, err := p.Compile(spec)
	if err != nil || a.MCPServers["db"].Command != "x" {
		t.Errorf("%+v, %v", a.MCPServers, err)
	}
	spec.MCPServers["web"] = harness.MCPServer{}
	if _, err := p.Compile(spec); err == nil || !strings.Contains(err.Error(), "spec one: mcp_servers.web: it has neither command nor url") {
		t.Errorf("err = %v", err)
	}
}

func TestCompile_variables_that_would_not_arrive_are_an_error(t *testing.T) {
	for name, value := range map[string]string{"ANTHROPIC_API_KEY": "x", "CLAUDE_CONFIG_DIR": "x", "CLAUDECODE": "1", "": "x", "A=B": "x", "A": "x\x00"} {
		err := engine.Spec{Name: "s", Env: map[string]string{name: value, "GOFLAGS": "-mod=mod"}}.Check()
		if err == nil || !strings.Contains(err.Error(), "spec s: env holds") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := (engine.Spec{Name: "s", Env: map[string]string{"GOFLAGS": "", "MY_API_KEY": "x"}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestCompile_workers_are_checked(t *testing.T) {
	for want, w := range map[string]harness.Worker{
		"workers.w.max_turns is -1":      {MaxTurns: -1},
		`workers.w.permission_mode is "`: {PermissionMode: "yolo"},
		`workers.w.effort is "hihg"`:     {Effort: "hihg"},
	} {
		err := engine.Spec{Name: "s", Workers: map[string]harness.Worker{"w": w}}.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for effort, ok := range map[string]bool{"": true, "none": true, "max": true, "4096": true, "0": false, "-1": false, "much": false} {
		if err := (engine.Spec{Name: "s", Effort: effort}).Check(); (err == nil) != ok {
			t.Errorf("effort %q: %v", effort, err)
		}
	}
}

func TestGuards_have_their_settings(t *testing.T) {
	long := guard.Reply{Value: strings.Repeat("x", 5000)}
	for _, set := range []bool{false, true} {
		c := engine.Config{}
		if set {
			c.SpillMainOnly, c.DelegateTools = true, []string{"WebFetch"}
		}
		p := newBench(t).startWith(c, answer{do: func(ctx context.Context, turn harnessTurn) {
			for tool, denied := range map[string]bool{"Write": !set, "WebFetch": set} {
				d := turn.Guards.Before(ctx, guard.Call{Tool: tool, Input: []byte("{}")})
				if byDelegate := strings.Contains(d.Reason, "Agent"); byDelegate != denied {
					t.Errorf("set %v, %s: %+v", set, tool, d)
				}
			}
			spilled := turn.Guards.After(ctx, guard.Call{Tool: "Bash", Agent: "a1"}, long).Value != long.Value
			if spilled == set {
				t.Errorf("set %v: a subagent's result was spilled: %v", set, spilled)
			}
		}})
		lead := engine.Spec{Name: "lead", DelegateOnly: true, AllowedTools: []string{"Agent", "Write", "WebFetch"}}
		if _, err := p.Run(context.Background(), lead, "go", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompile_a_turn_without_a_runtime(t *testing.T) {
	b := newBench(t)
	b.write(demo("plugin"))
	seen := &eventLog{}
	lead := engine.Coordinator("lead", nil, engine.RoleOptions{MaxTurns: 3})
	turn, err := engine.Compile(engine.Config{Workspace: b.dir, Model: "opus", Sink: seen}, lead, "Go.")
	if err != nil {
		t.Fatal(err)
	}
	a := turn.Agent
	if turn.Prompt != "Go." || a.Name != "lead" || a.Model != "opus" || a.Workspace != b.dir || turn.Limits.Turns != 3 || !turn.View.Prune.HealOrphans ||
		a.Workers["demo:helper"].Prompt == "" {
		t.Errorf("%+v", turn)
	}
	call := guard.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"rm -r ."}`), AgentRole: "lead"}
	if v := turn.Guards.Before(context.Background(), call); !v.Denied {
		t.Error("the coordinator may do what it wants")
	}
	if len(seen.of("system")) == 0 {
		t.Error("what of the plugin is not used is not told")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "runs")); err == nil {
		t.Error("a run directory was made")
	}
	for want, c := range map[string]struct {
		config engine.Config
		spec   engine.Spec
	}{
		"Config.Workspace is empty": {engine.Config{}, lead},
		"needs a Runtime":           {engine.Config{Workspace: b.dir}, engine.Judge("j", engine.RoleOptions{CanRun: true})},
		"spec without a name":       {engine.Config{Workspace: b.dir}, engine.Spec{}},
	} {
		if _, err := engine.Compile(c.config, c.spec, "Go."); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
