package luabind

import (
	"slices"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// testBed is a bed whose agents are asked nothing.
func testBed(t *testing.T) *bed {
	t.Helper()
	p, err := Load("meta.test.lua", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &testFile{path: "meta.test.lua", program: p, o: TestOptions{
		Config:  engine.Config{Store: benchRuntime(t).Store(), NoRetry: true},
		Harness: func(model.Model, string) harness.Harness { return idle{} },
	}}
	b, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestMeta_names_what_tests_have(t *testing.T) {
	a, b := readMeta(t), testBed(t)
	flower := behind(b.s.loaded["flower"])
	same(t, "flower.test", a.functions["test"], keys(t, b.s, behind(flower.RawGetString("test"))))
	same(t, "expect", sortedKeys(a.of("flower.Expectation")), append(sortedNames(matchers()), "never"))
	same(t, "it", a.functions["it"], keys(t, b.s, b.s.L.GetGlobal("it")))
	for _, name := range []string{"describe", "before_each", "after_each", "expect"} {
		if _, ok := b.s.L.GetGlobal(name).(*lua.LFunction); !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

// sampleFlow is a script with a workflow of two steps.
const sampleFlow = `
local spec = flower.agent{ name = "a" }
return flower.workflow{ steps = {
  flower.step{ name = "s", spec = spec, prompt = "p", resume_prompt = "r", gate = function() return true end,
    when = function() return true end, on_reject = function() return "" end, reduce = function() return "" end },
} }`

func TestMeta_has_the_fields_of_tests(t *testing.T) {
	a, b := readMeta(t), testBed(t)
	for class, call := range map[string]string{
		"flower.Stubs":          `flower.test.stub(X)`,
		"flower.StubbedCommand": `flower.test.stub{ sh = function() return X end } flower.sh("true")`,
	} {
		_, err := b.s.eval(t, "local X = { "+noField+" = true } "+call, 0)
		if err == nil {
			t.Fatalf("%s takes any field", call)
		}
		same(t, class, sortedKeys(a.of(class)), listed(t, err.Error()))
	}
	out, err := b.s.eval(t, sampleFlow, 1)
	if err != nil {
		t.Fatal(err)
	}
	script := b.scriptTable("sample.lua", out[0].(*lua.LTable))
	same(t, "script", a.members("flower.Script"), keys(t, b.s, script))
	b.s.L.SetGlobal("script", script)

	_, err = b.s.eval(t, "script.run{ "+noField+" = true }", 0)
	if err == nil {
		t.Fatal("run takes any field")
	}
	same(t, "run options", sortedKeys(a.of("flower.TestRunOptions")), listed(t, err.Error()))

	step := slices.Concat(plainFields, sortedKeys(callbacks))
	same(t, "step", sortedKeys(a.of("flower.TestedStep")), step)
	for _, name := range step {
		if _, err := b.s.eval(t, "return script.steps.s."+name, 1); err != nil {
			t.Error(err)
		}
	}
	for class, call := range map[string]string{
		"flower.TestRun":    `return script.run()`,
		"flower.SentPrompt": `return script.run().prompts[1]`,
		"flower.Replayed":   `return script.replay{ { step = "s" } }[1]`,
	} {
		out, err := b.s.eval(t, call, 1)
		if err != nil {
			t.Fatal(err)
		}
		there := keys(t, b.s, out[0])
		if class == "flower.TestRun" && !slices.Contains(there, "cost_usd") {
			there = append(there, "cost_usd") // nobody knows the price here
		}
		same(t, class, sortedKeys(a.of(class)), there)
	}
}
