package luabind_test

import "testing"

func TestEnding_of_a_script_that_breaks_is_never_ok(t *testing.T) {
	for _, source := range []string{
		`error("at once")`,
		`return 5`,
		helper + `flower.run(flow{ step("a") }) error("after a workflow that came to its end")`,
	} {
		p := play(t, &echo{}, source, nil)
		if p.err == nil || p.ending.OK {
			t.Errorf("%s: ok %v beside %v", source, p.ending.OK, p.err)
		}
		if p.ending.Run == "" && source == `error("at once")` {
			t.Error("the ending has no run")
		}
	}
}
