package luabind_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/luabind"
)

func TestGoal_39_every_other_field_survives_the_wrapping(t *testing.T) {
	p := play(t, &echo{}, `
		local goal = require("flower.goal")
		local step = flower.step{
			name = "work", spec = flower.agent{ name = "a" }, prompt = "p", resume_prompt = "r",
			when = function() return true end, reduce = function() return "short" end,
			on_fail = "skip", fork = true, resume_from = "before", retries = 9,
		}
		local guarded = goal.with_goal(step, { goal_path = "goal.md", rounds = 4 })
		for _, field in ipairs({ "name", "spec", "prompt", "resume_prompt", "when", "reduce", "on_fail", "fork", "resume_from" }) do
			assert(guarded[field] == step[field], field)
		end
		assert(guarded.retries == 3 and guarded.gate and guarded.on_reject and step.retries == 9 and not step.gate)
		for _, rounds in ipairs({ 0, -1, 1.5 }) do
			local ok, err = pcall(goal.with_goal, step, { goal_path = "goal.md", rounds = rounds })
			assert(not ok and tostring(err):find("rounds", 1, true))
		end`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestClarify_41_only_the_sections_are_kept_and_an_incomplete_answer_stops(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	noisy := "Let me think.\n\n```\n## Goal\nfake\n```\n\n" + brief + "\n## Something else\nnoise\n"
	model := `return function(turn) if turn.step == "clarify" then return [==[` + noisy + `]==] end return "x" end`
	ending, _, err := st.play(model, map[string]any{"ask": "a page", "clarify_only": true}, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	file := st.read(".flower/notes/brief.md")
	value, _ := ending.Context.Get("clarify")
	for _, text := range []string{file, value.(string)} {
		if strings.Contains(text, "fake") || strings.Contains(text, "noise") || strings.Contains(text, "Let me think") || !strings.Contains(text, "no frameworks") {
			t.Errorf("kept:\n%s", text)
		}
	}

	st = &studio{t: t, dir: t.TempDir()}
	ending, _, err = st.play(`return function() return "## Goal\na page\n" end`, map[string]any{"ask": "a page"}, nil)
	missing, _ := ending.Context.Get(engine.KeyBriefMissing)
	if err != nil || ending.OK || ending.FailedAt != "clarify" {
		t.Errorf("%+v, %v", ending, err)
	}
	if list, _ := missing.([]any); len(list) != 3 {
		t.Errorf("missing %v", missing)
	}
	if _, err := os.Stat(filepath.Join(st.dir, ".flower", "notes", "brief.md")); !os.IsNotExist(err) {
		t.Errorf("a brief was written: %v", err)
	}
}

func TestWake_49_the_probe_creates_nothing(t *testing.T) {
	dir := t.TempDir()
	p := playIn(t, dir, &echo{}, `
		local state = require("flower.starter").wake_state()
		assert(state.waking == false and state.woke == 0 and state.checks == 0 and next(state.steps) == nil and not state.brief)`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "runs" { // the runtime's own
			t.Errorf("made %s", e.Name())
		}
	}
}

func TestGuard_for_a_tool_that_is_none_warns(t *testing.T) {
	rt, seen := newRuntime(t, &echo{})
	p, err := luabind.Load("test.lua", `
		return flower.workflow{ steps = { flower.step{ name = "a", prompt = "p", spec = flower.agent{ name = "a", hooks = {
			flower.guard{ on = "before", match = "Bahs", check = function() end },
			flower.guard{ on = "before", match = { "Bash", "mcp__db__query" }, check = function() end },
		} } } } }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), rt, nil); err != nil {
		t.Fatal(err)
	}
	rt.Close()
	var warned []string
	for _, text := range seen.texts(event.Task) {
		if strings.Contains(text, "Bahs") {
			warned = append(warned, text)
		}
		if strings.Contains(text, "mcp__db__query") {
			t.Errorf("warned: %s", text)
		}
	}
	if len(warned) == 0 || !strings.Contains(warned[0], `did you mean "Bash"`) || !strings.HasPrefix(warned[0], "test.lua:") {
		t.Errorf("warned %q", warned)
	}
}
