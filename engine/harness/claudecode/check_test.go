package claudecode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
)

func TestCheck_says_ahead_what_cannot_be_carried_out(t *testing.T) {
	for name, c := range map[string]struct {
		agent harness.Agent
		want  string
	}{
		"nothing wrong":         {harness.Agent{AllowedTools: []string{"Read", "Agent", "KillBash"}, Effort: "max"}, ""},
		"a tool we do not know": {harness.Agent{AllowedTools: []string{"SomethingElse"}}, ""},
		"a slip":                {harness.Agent{AllowedTools: []string{"Raed"}}, `allowed_tools names "Raed", which is no tool of this harness — did you mean "Read"?`},
		"a worker's":            {harness.Agent{Workers: map[string]harness.Worker{"w": {Tools: []string{"Bsh"}}}}, `workers.w.tools names "Bsh"`},
		"nobody to ask":         {harness.Agent{AllowedTools: []string{"mcp__human__ask"}}, "give a channel to the agent"},
		"an effort":             {harness.Agent{Effort: "crazy"}, `effort is "crazy"; it is one of low, medium, high, xhigh, max, none, or a number of tokens`},
		"an effort of tokens":   {harness.Agent{Effort: "500"}, ""},
	} {
		err := claudecode.New(claudecode.Config{}).Check(c.agent, nil)
		var at *harness.FieldError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &at) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
