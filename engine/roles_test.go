package engine_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

func TestRoles_hold_the_tools_they_may(t *testing.T) {
	workers := map[string]harness.Worker{"coder": engine.NewWorker("writes code", "Write.", engine.WorkerOptions{})}
	reader := map[string]harness.Worker{"reader": engine.NewWorker("reads", "Read.", engine.WorkerOptions{Tools: []string{"Read"}})}
	cases := []struct {
		name string
		spec engine.Spec
		want string
	}{
		{"coordinator", engine.Coordinator("lead", workers, engine.RoleOptions{Human: true}), "Agent TodoWrite Read Bash mcp__human__ask mcp__human__inbox WebFetch WebSearch"},
		{"blind coordinator", engine.Coordinator("lead", reader, engine.RoleOptions{NoRead: true, NoGlance: true}), "Agent TodoWrite"},
		{"clarifier", engine.Clarifier("c", engine.RoleOptions{Human: true}), "mcp__human__ask Read Glob Grep WebFetch WebSearch"},
		{"clarifier that cannot read", engine.Clarifier("c", engine.RoleOptions{NoRead: true}), ""},
		{"judge", engine.Judge("j", engine.RoleOptions{Human: true}), "mcp__human__ask Read Glob Grep"},
		{"judge that runs", engine.Judge("j", engine.RoleOptions{CanRun: true}), "Read Glob Grep Bash"},
		{"oracle", engine.Oracle(engine.RoleOptions{}), "Read Glob Grep"},
	}
	for _, c := range cases {
		if got := strings.Join(c.spec.AllowedTools, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if err := c.spec.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, writes := range []string{"Write", "Edit", "NotebookEdit"} {
			if slices.Contains(c.spec.AllowedTools, writes) {
				t.Errorf("%s may %s", c.name, writes)
			}
		}
	}
}

func TestRoles_fixed_values(t *testing.T) {
	lead := engine.Coordinator("lead", nil, engine.RoleOptions{})
	if !lead.DelegateOnly || !lead.Glance || lead.PermissionMode != harness.AcceptEdits || lead.NoWorkbench {
		t.Errorf("coordinator %+v", lead)
	}
	if o := engine.Oracle(engine.RoleOptions{MaxTurns: 99, MaxBudgetUSD: 2}); o.MaxTurns != 99 || o.MaxBudgetUSD != 2 {
		t.Errorf("oracle with limits of its own %+v", o)
	}
	oracle := engine.Oracle(engine.RoleOptions{Lang: "zh"})
	if oracle.Name != "旁路问答" || oracle.MaxTurns != 12 || oracle.MaxBudgetUSD != 0.5 || oracle.NoWorkbench {
		t.Errorf("oracle %+v", oracle)
	}
	if c := engine.Clarifier("c", engine.RoleOptions{MaxTurns: 5}); c.MaxTurns != 0 || !c.NoWorkbench {
		t.Errorf("clarifier %+v", c)
	}
}

func TestRules_exist_in_both_languages_and_can_be_replaced(t *testing.T) {
	for _, role := range []engine.Role{engine.RoleCoordinator, engine.RoleWorker, engine.RoleClarifier, engine.RoleJudge, engine.RoleOracle} {
		en, zh := engine.Rules(role, "en"), engine.Rules(role, "zh")
		if len(en) < 100 || strings.ContainsFunc(en, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: en is %q", role, en)
		}
		if !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: zh is %q", role, zh)
		}
	}
	s := engine.Judge("j", engine.RoleOptions{Rules: "Mine.", Instructions: "And this."})
	if s.Instructions != "Mine.\nAnd this." {
		t.Errorf("instructions %q", s.Instructions)
	}
}

func TestWorker_discipline_does_not_name_the_artifacts_folder(t *testing.T) {
	w := engine.NewWorker("d", "Do it.", engine.WorkerOptions{})
	if !strings.Contains(w.Prompt, "four parts") || strings.Contains(w.Prompt, "artifacts") {
		t.Errorf("prompt %q", w.Prompt)
	}
	if w := engine.NewWorker("d", "Do it.", engine.WorkerOptions{NoDiscipline: true}); w.Prompt != "Do it." {
		t.Errorf("prompt %q", w.Prompt)
	}
}
