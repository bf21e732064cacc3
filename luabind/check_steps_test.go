package luabind_test

import "testing"

func TestCheck_warns_of_different_steps_of_one_name(t *testing.T) {
	const begin = `local a = flower.agent{ name = "a" }
local function step(name) return flower.step{ name = name, spec = a, prompt = "p" } end
local one = flower.step{ name = "x", spec = a, prompt = "p" }
local two = flower.step{ name = "x", spec = a, prompt = "q" }
`
	const warning = `warning: s.lua:4:33: another step is called "x" too: their values in the context, and the sessions that a later run continues, go by the name`
	findings(t, map[string]string{
		begin + `return flower.workflow{ steps = { one, two } }`:                                           warning,
		begin + `return flower.workflow{ steps = { one, two, step("y"), two } }`:                           warning,
		begin + `return flower.workflow{ steps = { one, flower.parallel{ two, step("y") } } }`:             warning,
		begin + `return flower.workflow{ steps = { one, step("y"), one } }`:                                "",
		begin + `flower.run(flower.workflow{ steps = { one } }) return flower.workflow{ steps = { two } }`: "",
	})
}
