package luabind_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
)

// compacting is a harness that can shorten conversations.
type compacting struct{ echo }

func (*compacting) Compacts() bool { return true }

func TestAgent_compact_reaches_the_harness(t *testing.T) {
	var got []string
	h := &compacting{echo{reply: func(turn harness.Turn) string {
		got = append(got, string(turn.Agent.Compact.Mode)+" "+strings.Repeat("w", int(turn.Agent.Compact.Window/100_000)))
		return "fine"
	}}}
	p := play(t, h, helper+`
		return flow{
			step("one", { spec = flower.agent{ name = "one", compact = { mode = "auto", window = 200000 } } }),
			step("two", { spec = flower.coordinator{ name = "two", compact = "off" } }),
			step("three", { spec = flower.judge{ name = "three", compact = { mode = "no_summary" } } }),
			step("four", { spec = flower.clarifier{ name = "four", compact = "no_summary" } }),
			step("five", { spec = flower.oracle{ compact = "auto" } }),
		}`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	sameLines(t, "policies", got, "auto ww", "off ", "no_summary ", "no_summary ", "auto ")
}

func TestAgent_mistakes_in_its_newer_fields_are_told_by_their_path(t *testing.T) {
	for source, want := range map[string]string{
		`agent{ name = "x", compact = "atuo" }`:                                            `spec.compact: is "atuo"; it must be one of auto, no_summary, off — did you mean "auto"?`,
		`agent{ name = "x", compact = 1 }`:                                                 "spec.compact: must be a mode or a table {mode, window}, is a number",
		`agent{ name = "x", compact = {} }`:                                                "spec.compact.mode: is missing",
		`agent{ name = "x", compact = { mode = "of" } }`:                                   `spec.compact.mode: is "of"`,
		`agent{ name = "x", compact = { mode = "auto", window = 5 } }`:                     "spec.compact.window: is 5; it is 100000 tokens or more",
		`agent{ name = "x", compact = { mode = "off", window = 200000 } }`:                 "spec.compact.window: is 200000, but only mode auto has a window",
		`agent{ name = "x", compact = { mode = "off", windw = 1 } }`:                       "spec.compact.windw: is not a field",
		`oracle{ compact = "no" }`:                                                         "spec.compact: is",
		`agent{ name = "x", compact = "auto" }`:                                            "spec.compact: is auto, but this harness has no compaction",
		`agent{ name = "x", effort = "hihg" }`:                                             `spec.effort: is "hihg"; it is one of none, low, medium, high, xhigh, max, or a number of tokens — did you mean "high"?`,
		`agent{ name = "x", effort = -5 }`:                                                 `spec.effort: is "-5"`,
		`agent{ name = "x", plugins = "plugin" }`:                                          "spec.plugins: must be a list of strings",
		`agent{ name = "x", plugins = { "plugn" } }`:                                       "spec.plugins: cannot be used: plugin ",
		`agent{ name = "x", workers = { w = w{} } }`:                                       `spec.workers: cannot be dispatched: allowed_tools does not name "Agent"`,
		`agent{ name = "x", allowed_tools = { "Agent" }, workers = { w = 1 } }`:            "spec.workers: must hold flower.worker",
		`coordinator{ name = "x", permission_mode = "plna" }`:                              `spec.permission_mode: is "plna"`,
		`coordinator{ name = "x", workers = { w = w{ permission_mode = "x" } } }`:          "spec.workers.w.permission_mode: is",
		`coordinator{ name = "x", workers = { w = w{ effort = "x" } } }`:                   "spec.workers.w.effort: is",
		`coordinator{ name = "x", workers = { w = w{ max_turns = -1 } } }`:                 "spec.workers.w.max_turns: is -1",
		`coordinator{ name = "x", workers = { w = w{ skills = { "lint" } } } }`:            `spec.workers.w.skills: cannot be read: there is no skill "lint", and no other: plugins bring them`,
		`coordinator{ name = "x", plugins = {}, workers = { w = w{ skills = { "l" } } } }`: `there is no skill "l"`,
	} {
		p := play(t, &echo{}, helper+`
			local function w(t) t.description, t.prompt = "d", "p" return flower.worker(t) end
			return flow{ step("one", { spec = flower.`+source+` }) }`, nil)
		var mistakes *luabind.Mistakes
		if !errors.As(p.err, &mistakes) || !strings.Contains(p.err.Error(), "steps[1]."+want) && !strings.Contains(p.err.Error(), want) {
			t.Errorf("%s: %v", source, p.err)
		}
	}
}

func TestAgent_fields_of_a_plain_agent_that_dispatches(t *testing.T) {
	var got []harness.Agent
	h := &echo{reply: func(turn harness.Turn) string {
		got = append(got, turn.Agent)
		return "fine"
	}}
	playFlow(t, h, `
		local w = flower.worker{ description = "d", prompt = "p", effort = 4096, max_turns = 7, permission_mode = "plan" }
		return flow{
			step("one", { spec = flower.agent{ name = "one", allowed_tools = { "Agent", "Read" }, workers = { w = w }, delegate_only = true, glance = true, workbench = false } }),
			step("two", { spec = flower.coordinator{ name = "two", permission_mode = "plan" } }),
		}`)
	w := got[0].Workers["w"]
	if w.Effort != "4096" || w.MaxTurns != 7 || w.PermissionMode != harness.Plan || got[0].PageChars == 0 {
		t.Errorf("%+v", got[0])
	}
	if got[1].PermissionMode != harness.Plan {
		t.Errorf("the coordinator's mode is %s", got[1].PermissionMode)
	}
}

func TestPlugins_of_a_workflow_an_agent_and_the_workspace(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin/skills/own/SKILL.md":     "---\ndescription: d\n---\nx",
		"plugin/agents/helper.md":        "---\ndescription: d\n---\nx",
		"tools/flow/skills/f/SKILL.md":   "---\ndescription: d\n---\nx",
		"tools/agent/skills/a/SKILL.md":  "---\ndescription: d\n---\nx",
		"tools/broken/skills/b/SKILL.md": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	h := &echo{reply: func(turn harness.Turn) string {
		line := turn.Step + ":"
		for _, s := range turn.Agent.Skills {
			line += " " + s.Name
		}
		for name, w := range turn.Agent.Workers {
			line += " " + name + strings.Join(w.Skills, "+")
		}
		got = append(got, line)
		return "fine"
	}}
	p := playIn(t, dir, h, helper+`
		local reader = flower.agent{ name = "reader", allowed_tools = { "Skill" } }
		local w = flower.worker{ description = "d", prompt = "p", skills = { "own" } }
		flower.run(flow{
			step("a", { spec = reader }),
			step("b", { spec = flower.coordinator{ name = "c", workers = { w = w }, plugins = { "plugin" } } }),
		})
		flower.run(flow({
			step("c", { spec = reader }),
			step("d", { spec = flower.agent{ name = "d", allowed_tools = { "Skill" }, plugins = { "tools/agent" } } }),
			step("e", { spec = flower.agent{ name = "e", plugins = {} } }),
		}, { plugins = { "tools/flow" } }))`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	if len(got) == 5 && strings.Contains(got[1], "plugin:helper") && strings.Contains(got[1], "wplugin:own") {
		got[1] = "b"
	}
	sameLines(t, "skills", got, "a: plugin:own", "b", "c: flow:f", "d: agent:a", "e:")

	p = playIn(t, dir, h, helper+`return flow({
		step("one", { spec = flower.agent{ name = "one", allowed_tools = { "Skill" } } }),
	}, { plugins = { "tools/broken" } })`, nil)
	if p.err == nil || !strings.Contains(p.err.Error(), "test.lua:") || !strings.Contains(p.err.Error(), "SKILL.md:1: it has no front matter") {
		t.Errorf("err = %v", p.err)
	}
}
