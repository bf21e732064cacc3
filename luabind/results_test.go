package luabind_test

import (
	"strings"
	"testing"
)

func TestResult_says_what_the_gate_made_of_it(t *testing.T) {
	p := playFlow(t, &echo{}, `
		local function has(result, gate, reason)
			return result.gate == gate and result.gate_reason == reason
		end
		local rounds = 0
		return flow({
			step("one", { retries = 1,
				gate = function(result)
					assert(has(result, "", ""))
					rounds = rounds + 1
					return rounds == 2, "not yet"
				end,
				on_reject = function(result, _, reason)
					assert(has(result, "rejected", "not yet"))
					return reason
				end,
				reduce = function(result)
					assert(has(result, "passed", ""))
					return "reduced"
				end }),
			step("none"),
			step("two", { on_fail = "skip", gate = function() return false end }),
			step("three", { on_fail = "skip", gate = function() flower.abort("enough") end }),
			step("last", { prompt = function(ctx)
				local r = ctx._results
				assert(has(r.one, "passed", "") and has(r.none, "", ""))
				assert(has(r.two, "rejected", "the gate gave no reason") and has(r.three, "aborted", "enough"))
				return "p"
			end }),
		}, { on_step = function(name, result) print(name, result.gate, result.gate_reason) end })`)
	want := []string{"one\tpassed\t", "none\t\t", "two\trejected\tthe gate gave no reason", "three\taborted\tenough", "last\t\t"}
	var told []string
	for _, line := range p.printed {
		if strings.Contains(line, "\t") {
			told = append(told, line)
		}
	}
	sameLines(t, "told", told, want...)
}

func TestRole_limits(t *testing.T) {
	for source, want := range map[string]string{
		`flower.oracle{}`: "",
		`flower.oracle{ max_turns = 30, max_budget_usd = 2 }`:    "",
		`flower.clarifier{ name = "c", max_budget_usd = 2 }`:     "",
		`flower.clarifier{ name = "c", max_turns = 5 }`:          "spec.max_turns: is not for a clarifier: it asks until the requirement is clear",
		`flower.judge{ name = "j", max_turns = 5 }`:              "",
		`flower.coordinator{ name = "j", max_budget_usd = "2" }`: "spec.max_budget_usd: must be a number",
	} {
		_, err := run(t, `return flower.workflow{ steps = { flower.step{ name = "s", prompt = "p", spec = `+source+` } } }`, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func TestConstructors_say_what_was_meant(t *testing.T) {
	for source, want := range map[string]string{
		`return flower:workflow{ steps = { one } }`:                               "call flower.workflow with a dot: flower.workflow{ … }",
		`return flower.workflow{ steps = one }`:                                   "steps: must be a list of flower.step{…}, is a flower.step",
		`return flower.workflow{ steps = { { name = "x" } } }`:                    "steps: item 1 is a table; it must be a flower.step{…}",
		`return flower.workflow{ steps = {} }`:                                    "steps: is empty",
		`return flower.workflow{ steps = { flower.parallel{ flower.agent{} } } }`: "item 1 is a flower.agent; it must be a flower.step{…}",
		`return flower.step("one")`:                                               "flower.step takes one table: flower.step{ … }; it was given a string",
		`return flower.workflow{ steps = { flower.step{ name = "x", spec = "a", prompt = "" } } }`: "steps[1].spec: must be a flower.agent{…}, is a string\n" +
			"test.lua:2: steps[1].prompt: is empty; it is what the agent is asked",
	} {
		_, err := run(t, `local one = flower.step{ name = "one", spec = flower.agent{ name = "a" }, prompt = "p" }
`+source, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", source, err, want)
		}
	}
}
