package luabind_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
)

// silent is the native harness with a model that is never to be asked.
func silent(t *testing.T) harness.Harness {
	t.Helper()
	return native.New(native.Config{Model: rehearse(t, `return function() return "asked" end`)})
}

func TestTools_that_there_are_not_are_mistakes_before_anything_runs(t *testing.T) {
	for source, want := range map[string]string{
		`flower.agent{ name = "a",
			allowed_tools = { "Read", "Raed" } }`: `test.lua:3: steps[2].spec.allowed_tools: names "Raed", which is no tool of this harness — did you mean "Read"?`,
		`flower.agent{ name = "a", allowed_tools = { "mcp__human__ask" } }`:                                              `test.lua:2: steps[2].spec.allowed_tools: names "mcp__human__ask", but nobody can be reached: give a channel to the agent`,
		`flower.agent{ name = "a", allowed_tools = { "mcp__boks__find" }, mcp_servers = { books = { command = "x" } } }`: `but mcp_servers has no "boks" — did you mean "books"?`,
		`flower.agent{ name = "a", effort = "crazy" }`:                                                                   `test.lua:2: steps[2].spec.effort: is "crazy"; it is one of none, low, medium, high, xhigh, max`,
		`flower.agent{ name = "a", permission_mode = "paln" }`:                                                           `steps[2].spec.permission_mode: is "paln"; it must be one of default`,
		`flower.coordinator{ name = "c", workers = { w = flower.worker{ description = "d", prompt = "p",
			tools = { "Bahs" } } } }`: `test.lua:3: steps[2].spec.workers.w.tools: names "Bahs"`,
	} {
		p := play(t, silent(t), `local wrong = `+"\n"+source+`
return flower.workflow{ steps = {
	flower.step{ name = "first", prompt = "p", spec = flower.agent{ name = "fine" } },
	flower.step{ name = "second", prompt = "p", spec = wrong },
} }`, nil)
		if p.err == nil || !strings.Contains(p.err.Error(), want) || len(p.ending.Results) > 0 {
			t.Errorf("%s:\n%v\nwant %s; %d results", source, p.err, want, len(p.ending.Results))
		}
	}
}

func TestTools_of_a_runtime_run_are_looked_at_too(t *testing.T) {
	p := play(t, silent(t), `
		local ok, err = pcall(flower.runtime.run, flower.runtime, flower.agent{ name = "a", allowed_tools = { "Raed" } }, "p")
		assert(not ok and err.code == "engine" and err.message:find('did you mean "Read"', 1, true), tostring(err))`, nil)
	if p.err != nil || len(p.ending.Results) > 0 {
		t.Errorf("%v, %d results", p.err, len(p.ending.Results))
	}
}

func TestTools_that_reach_a_person_come_with_a_channel(t *testing.T) {
	for _, source := range []string{
		`return flower.workflow{ steps = { flower.step{ name = "s", prompt = "p",
			spec = flower.agent{ name = "a", channel = ch, allowed_tools = { "mcp__human__ask", "mcp__human__inbox" } } } } }`,
		`return flower.workflow{ channel = ch, steps = { flower.step{ name = "s", prompt = "p",
			spec = flower.agent{ name = "a", allowed_tools = { "mcp__human__ask" } } } } }`,
		`return flower.workflow{ channel = ch, steps = { flower.parallel{ flower.step{ name = "s", prompt = "p",
			spec = flower.agent{ name = "a", allowed_tools = { "mcp__human__ask" } },
			gate = function(_, ctx)
				return ctx._runtime:run(flower.agent{ name = "b", allowed_tools = { "mcp__human__ask" } }, "p").ok
			end } } } }`,
	} {
		p := play(t, silent(t), "local ch = flower.channel{ timeout = 0 }\n"+source, nil)
		if p.err != nil || !p.ending.OK {
			t.Errorf("%s: %v %+v", source, p.err, p.ending.Reason)
		}
	}
}
