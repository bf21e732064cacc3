package native_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
)

func TestCheck_says_ahead_what_cannot_be_carried_out(t *testing.T) {
	ch, err := human.New(human.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		agent harness.Agent
		tools []tool.Tool
		field string
		want  string
	}{
		"nothing wrong": {agent: harness.Agent{AllowedTools: []string{"Read", "Agent", "WebSearch"}, Effort: "xhigh"}},
		"a slip":        {agent: harness.Agent{AllowedTools: []string{"Raed"}}, field: "allowed_tools", want: `names "Raed", which is no tool of this harness — did you mean "Read"?`},
		"barred":        {agent: harness.Agent{DisallowedTools: []string{"Bsh"}}, field: "disallowed_tools", want: `did you mean "Bash"?`},
		"a worker's": {agent: harness.Agent{Workers: map[string]harness.Worker{"w": {Tools: []string{"Wrte"}}}},
			field: "workers.w.tools", want: `did you mean "Write"?`},
		"nobody to ask": {agent: harness.Agent{AllowedTools: []string{"mcp__human__ask"}}, field: "allowed_tools", want: "give a channel to the agent"},
		"somebody":      {agent: harness.Agent{AllowedTools: []string{"mcp__human__ask"}}, tools: tool.HumanTools(ch)},
		"a slip in ask": {agent: harness.Agent{AllowedTools: []string{"mcp__human__aks"}}, tools: tool.HumanTools(ch), field: "allowed_tools",
			want: `did you mean "mcp__human__ask"?`},
		"a server": {agent: harness.Agent{AllowedTools: []string{"mcp__books__find"}, MCPServers: map[string]harness.MCPServer{"books": {Command: "x"}}}},
		"no server": {agent: harness.Agent{AllowedTools: []string{"mcp__boks__find"}, MCPServers: map[string]harness.MCPServer{"books": {Command: "x"}}},
			field: "allowed_tools", want: `names "mcp__boks__find", but mcp_servers has no "boks" — did you mean "books"?`},
		"an effort":             {agent: harness.Agent{Effort: "hihg"}, field: "effort", want: `is "hihg"; it is one of low, medium, high, xhigh, max, none, or a number of tokens from 1024 — did you mean "high"?`},
		"a mode":                {agent: harness.Agent{PermissionMode: "paln"}, field: "permission_mode", want: `did you mean "plan"?`},
		"a tool of the program": {agent: harness.Agent{AllowedTools: []string{"jira"}}, tools: []tool.Tool{tool.Func{Def: tool.Definition{Name: "jira"}}}},
	} {
		err := native.New(native.Config{}).Check(c.agent, c.tools)
		var at *harness.FieldError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &at) || at.Field != c.field || !strings.Contains(at.Err.Error(), c.want)):
			t.Errorf("%s: %v, want %s %s", name, err, c.field, c.want)
		}
	}
}
