package harnesstest

import (
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// skills are those of a plugin.
var skills = []tool.Skill{
	{Name: "demo:lint", Description: "How this project is linted.", Text: "Run the linter of this project.", Dir: "/repo/plugin/skills/lint"},
	{Name: "demo:ship", Description: "How this project is shipped.", Text: "Ship $ARGUMENTS from the dock.", Dir: "/repo/plugin/skills/ship"},
}

// skillTool is what the harness calls the tool Skill; empty where it is not offered.
func skillTool(q request) string {
	for _, t := range q.Tools {
		if strings.HasSuffix(t.Name, tool.SkillTool) {
			return t.Name
		}
	}
	return ""
}

func aSkillIsRead(r *rig) {
	r.turn.Agent.AllowedTools, r.turn.Agent.Skills = []string{"Skill"}, skills
	r.says(func(q request) turn {
		if len(q.Results()) > 0 {
			return text("Done.")
		}
		return calls(skillTool(q), object("skill", "demo:ship", "args", "version 2"))
	})
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "Ship version 2 from the dock.", "/repo/plugin/skills/ship")
	first := r.requests()[0]
	if len(first.Tools) != 1 {
		r.Fatalf("%d tools are offered", len(first.Tools))
	}
	r.has(string(first.Tools[0].Raw), "demo:lint: How this project is linted.", "demo:ship: How this project is shipped.")
	for _, e := range r.of(event.ToolCall) {
		if e.Tool != tool.SkillTool {
			r.Errorf("an event calls the tool %s", e.Tool)
		}
	}
}

// aWorkerReadsItsSkills: a worker of a plugin, with a colon in its name, may read one
// skill; its dispatcher may read none.
func aWorkerReadsItsSkills(r *rig) {
	r.turn.Agent.AllowedTools, r.turn.Agent.Skills = []string{"Agent"}, skills
	r.turn.Agent.Workers = map[string]harness.Worker{"demo:helper": {Description: "Helps.", Prompt: "You are the coder of this test.",
		Tools: []string{"Skill"}, Skills: []string{"demo:lint"}}}
	r.says(func(q request) turn {
		name := skillTool(q)
		if strings.Contains(system(q), "You are the coder") {
			switch len(q.Results()) {
			case 0:
				return calls(name, object("skill", "demo:ship"), name, object("skill", "demo:lint"))
			}
			return text("REPORT: linted.")
		}
		switch {
		case strings.Contains(conversation(q), "REPORT"):
			return text("Done.")
		case name != "" && len(q.Results()) == 0:
			return calls(name, object("skill", "demo:lint"))
		}
		return calls("Agent", object("description", "help", "prompt", "Help.", "subagent_type", "demo:helper"))
	})
	r.mustRun(harness.EndTurn)
	main, coder := r.sides()
	r.has(conversation(coder[len(coder)-1]), "Run the linter of this project.", `there is no skill "demo:ship"`, "(error)")
	r.hasNot(conversation(coder[len(coder)-1]), "from the dock")
	r.has(conversation(main[len(main)-1]), "REPORT: linted.")
	r.hasNot(conversation(main[len(main)-1]), "Run the linter")
}
