package luabind_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/luabind"
)

// callOwn calls a host tool of a turn.
func callOwn(turn harness.Turn, name, input string) string {
	for _, x := range turn.HostTools {
		if x.Definition().Name == name {
			r := x.Run(context.Background(), tool.Call{ID: "c1", Input: json.RawMessage(input), Agent: "a1"})
			if r.IsError {
				return "error: " + r.Text()
			}
			return r.Text()
		}
	}
	return "no such tool"
}

func TestTool_a_function_does_its_work(t *testing.T) {
	var got []string
	var definition tool.Definition
	h := &echo{reply: func(turn harness.Turn) string {
		definition = turn.HostTools[0].Definition()
		for _, input := range []string{`{"number":7,"how":"short"}`, `{"number":8}`, `{"number":9}`, `{"number":10}`, `{"number":11}`, `{"number":12}`, `{}`, `[]`} {
			got = append(got, callOwn(turn, "ticket", input))
		}
		return "fine"
	}}
	p := play(t, h, helper+`
		local asked = 0
		local ticket = flower.tool{
			name = "ticket", description = "Gives a ticket.", read_only = true,
			input = { number = { type = "integer", description = "which", minimum = 1 }, how = "string?" },
			call = function(input, info)
				asked = asked + 1
				if input.number == 7 then return info.agent .. " " .. info.id .. " " .. input.how end
				if input.number == 8 then return { n = input.number, asked = asked } end
				if input.number == 9 then return nil, "there is no such ticket" end
				if input.number == 10 then return end
				if input.number == 11 then error("the desk is closed") end
				return print
			end,
		}
		return flow{ step("one", { spec = flower.agent{ name = "one", allowed_tools = { "ticket" }, own_tools = { ticket } } }) }`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	want := []string{"a1 c1 short", `{"asked":2,"n":8}`, "error: there is no such ticket", "done", "error: ticket failed, which is no fault of yours: test.lua:",
		"error: ticket failed, which is no fault of yours: test.lua:", "error: The input of ticket lacks number.", "error: The input of ticket is not a JSON object."}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("call %d gave %q, want %q", i, got, want[i])
		}
	}
	if !strings.Contains(got[4], "the desk is closed") || len(p.errors) != 2 {
		t.Errorf("%q; events %q", got[4], p.errors)
	}
	if want := `{"properties":{"how":{"type":"string"},"number":{"description":"which","minimum":1,"type":"integer"}},"required":["number"],"type":"object"}`; string(definition.Schema) != want ||
		!definition.ReadOnly || definition.Description != "Gives a ticket." {
		t.Errorf("%+v, schema %s", definition, definition.Schema)
	}
}

func TestTool_of_a_coordinators_worker(t *testing.T) {
	offered := ""
	h := &echo{reply: func(turn harness.Turn) string {
		offered = strings.Join(turn.Agent.AllowedTools, " ") + " / " + strings.Join(turn.Agent.Workers["w"].Tools, " ") + " / " + callOwn(turn, "ticket", `{}`)
		return "fine"
	}}
	playFlow(t, h, `
		local ticket = flower.tool{ name = "ticket", description = "d", call = function() return "yes" end }
		local w = flower.worker{ description = "d", prompt = "p", tools = { "ticket" } }
		return flow{ step("one", { spec = flower.coordinator{ name = "one", can_read = false, glance = false, workers = { w = w }, own_tools = { ticket } } }) }`)
	if offered != "Agent TodoWrite / ticket / yes" {
		t.Errorf("offered: %s", offered)
	}
}

func TestTool_mistakes_are_told_by_their_path(t *testing.T) {
	for source, want := range map[string]string{
		`1`:                                 "own_tools: must be a list of flower.tool{…}, is a number",
		`{ 1 }`:                             "own_tools: item 1 is a number",
		`{ tool{} }`:                        "own_tools[1].name: is missing",
		`{ tool{ name = "a b" } }`:          `own_tools[1].name: is "a b"`,
		`{ tool{ name = "mcp__a__b" } }`:    "own_tools[1].name: is",
		`{ tool{ name = "Bash" } }`:         "own_tools[1].name: is Bash, which is a tool that flower brings",
		`{ tool{ name = "x", input = 1 } }`: "own_tools[1].input: must be a table of types by name",
		`{ tool{ name = "x", input = { a = "strng" } } }`:                           `own_tools[1].input: input.a is "strng"; it must be one of string, integer, number, boolean, array, object — did you mean "string"?`,
		`{ tool{ name = "x", input = { "a" } } }`:                                   "own_tools[1].input: must hold types by name, not a list",
		`{ tool{ name = "x", input = { a = 1 } } }`:                                 "own_tools[1].input: input.a must be a type",
		`{ tool{ name = "x", input = { a = { type = "x" } } } }`:                    "own_tools[1].input: input.a.type must be one of",
		`{ tool{ name = "x", input = { a = { type = "string", optional = 1 } } } }`: "own_tools[1].input: input.a.optional must be true or false",
		`{ tool{ name = "x", inputs = {} } }`:                                       `own_tools[1].inputs: is not a field — did you mean "input"?`,
		`{ tool{ name = "other" } }`:                                                "own_tools: holds other, which neither allowed_tools nor the tools of a worker name",
	} {
		p := play(t, &echo{}, helper+`
			local function tool(t) t.description, t.call = "d", function() end return flower.tool(t) end
			return flow{ step("one", { spec = flower.agent{ name = "one", allowed_tools = { "x" }, own_tools = `+source+` } }) }`, nil)
		var mistakes *luabind.Mistakes
		if !errors.As(p.err, &mistakes) || !strings.Contains(p.err.Error(), "steps[1].spec."+want) {
			t.Errorf("%s: %v", source, p.err)
		}
	}
}
