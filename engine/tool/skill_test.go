package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

var skills = []tool.Skill{
	{Name: "demo:release", Description: "How a release is made.", Text: "Tag $ARGUMENTS, then push.", Dir: "/w/plugin/skills/release"},
	{Name: "demo:lint", Description: strings.Repeat("words ", 300), Text: "Lint.", Dir: "/w/plugin/skills/lint"},
	{Name: "other:lint", Description: "Lints too.", Text: "Lint more.", Dir: "/w/other/skills/lint"},
}

func TestSkill_gives_the_text_with_its_folder(t *testing.T) {
	x := tool.NewSkillTool(skills)
	for _, c := range []struct {
		skill, args, want string
		isError           bool
	}{
		{"demo:release", "v2", "Base directory for this skill: /w/plugin/skills/release\n\nTag v2, then push.", false},
		{"release", "", "Tag , then push.", false},
		{" /demo:lint ", "src", "Lint.\n\nARGUMENTS: src", false},
		{"lint", "", `there are several skills called "lint": demo:lint and other:lint`, true},
		{"demo:relase", "", `there is no skill "demo:relase"`, true},
		{"demo:relase", "", `"demo:release"`, true},
	} {
		raw, err := json.Marshal(map[string]string{"skill": c.skill, "args": c.args})
		if err != nil {
			t.Fatal(err)
		}
		r := x.Run(context.Background(), tool.Call{Input: raw})
		if r.IsError != c.isError || !strings.Contains(r.Text(), c.want) {
			t.Errorf("%s: %t %q, want %q", c.skill, r.IsError, r.Text(), c.want)
		}
	}
	if r := x.Run(context.Background(), tool.Call{Input: json.RawMessage(`{}`)}); !r.IsError || !strings.Contains(r.Text(), "skill is missing") {
		t.Errorf("without a name: %+v", r)
	}
	if _, err := tool.FindSkill(nil, "x"); err == nil || !strings.Contains(err.Error(), "plugins bring them") {
		t.Errorf("err = %v", err)
	}
}

func TestSkill_lists_what_there_is_in_order_and_within_bounds(t *testing.T) {
	turned := []tool.Skill{skills[2], skills[0], skills[1]}
	a, b := tool.NewSkillTool(skills).Definition(), tool.NewSkillTool(turned).Definition()
	if a.Description != b.Description {
		t.Errorf("the order changes the bytes:\n%s\n%s", a.Description, b.Description)
	}
	at := strings.Index(a.Description, "- demo:lint: words")
	if at < 0 || at > strings.Index(a.Description, "- demo:release: How a release is made.") || len(a.Description) > 2500 {
		t.Errorf("%d bytes:\n%s", len(a.Description), a.Description)
	}
	if !json.Valid(a.Schema) || !a.ReadOnly || a.Name != "Skill" {
		t.Errorf("%+v", a)
	}
}

func TestBuiltin_holds_the_tools_of_a_set(t *testing.T) {
	known := map[string]bool{}
	for _, name := range tool.Builtin {
		known[name] = true
	}
	for _, x := range tool.NewSet(tool.Options{Workspace: t.TempDir()}).Tools() {
		if name := x.Definition().Name; !known[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
