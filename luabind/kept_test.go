package luabind_test

import "testing"

func TestContext_functions_and_handles_are_not_kept_without_a_word(t *testing.T) {
	p := playFlow(t, &echo{}, `
		return flow{ step("a", { reduce = function(result, ctx)
			ctx.fn, ctx.tool, ctx.n = function() end, { call = print }, 7
			return result.text
		end }), step("b") }`)
	sameLines(t, "told", p.printed)
}
