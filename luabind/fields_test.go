package luabind_test

import (
	"strings"
	"testing"
)

func TestFields_names_mistakes_where_the_function_was_called(t *testing.T) {
	for source, want := range map[string]string{
		"greet{ name = 'a' }":                   "",
		"greet{ name = 'a', loud = true }":      "",
		"greet{\n  name = 'a',\n  laud = 1,\n}": `test.lua:6: greet.laud: is not a field — did you mean "loud"?`,
		"greet{}":                               "test.lua:4: greet.name: is missing",
		"greet()":                               "test.lua:4: greet takes a table of options, not a nil",
		"greet{ name = 'a', zzzzzzz = 1, 7 }":   "test.lua:4: greet: holds a value under [1]",
		"flower.fields('f', {}, 'name')":        "argument 3 must be a list of names, is a string",
		"flower.fields('f', {}, {}, { 1 })":     "argument 4 must be a list of names; item 1 is a number",
		"require('flower.clarify').clarify_step{ channel = flower.channel{}, brief_paht = 'b.md', prompt = 'p' }": "test.lua:4: clarify_step.brief_path: is missing\n" +
			`test.lua:4: clarify_step.brief_paht: is not a field — did you mean "brief_path"?`,
		"require('flower.goal').goal_step{ goal_path = 'g.md', alwaysset = true }":                                                                               `test.lua:4: goal_step.alwaysset: is not a field — did you mean "always_set"?`,
		"require('flower.goal').with_goal(step, { goal_path = 'g.md', round = 5 })":                                                                              `test.lua:4: with_goal.round: is not a field — did you mean "rounds"?`,
		"require('flower.goal').with_goal(step, { goal_path = 'g.md', always_set = true })":                                                                      "test.lua:4: with_goal.always_set: is not a field; it has goal_path, rounds",
		"require('flower.goal').with_goal(step, { goal_path = 'g.md', spec = step.spec, model = 'haiku' })":                                                      "test.lua:4: with_goal: spec brings its own model; give one of them",
		"require('flower.goal').goal_step{ goal_path = 'g.md', spec = step.spec, can_run = false }":                                                              "test.lua:4: goal_step: spec brings its own can_run",
		"require('flower.clarify').clarify_step{ channel = flower.channel{}, brief_path = 'b.md', prompt = 'p', spec = step.spec, can_read = false }":            "test.lua:4: clarify_step: spec brings its own can_read",
		"require('flower.clarify').clarify_step{ channel = flower.channel{}, brief_path = 'b.md', prompt = 'p', rules = 'Ask.', hooks = {}, env = { A = 'b' } }": "",
		"require('flower.starter').starter{ ask = 'x', max_ask = 5 }":                                                                                            `test.lua:4: starter.max_ask: is not a field — did you mean "max_asks"?`,
		"require('flower.starter').wake_state{ isolat = true }":                                                                                                  `test.lua:4: wake_state.isolat: is not a field — did you mean "isolate"?`,
	} {
		_, err := run(t, `local step = flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p" }
local function greet(o) flower.fields("greet", o, { "name" }, { "loud" }) return o.name
end
`+source, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant %s", source, err, want)
		}
	}
}
