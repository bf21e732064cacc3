package luabind_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

// checked is what CheckFile finds in a source, a line for each mistake, and behind
// them what was not checked.
func checked(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.lua")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	rt, _ := newRuntime(t, &echo{})
	report, err := luabind.CheckFile(context.Background(), rt, path, &luabind.Options{ComputeLimit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range report.Mistakes {
		m.File = filepath.Base(m.File)
		lines = append(lines, m.String())
	}
	for _, text := range report.Unchecked {
		lines = append(lines, "unchecked: "+strings.ReplaceAll(text, dir+"/", ""))
	}
	return strings.Join(lines, "\n")
}

func TestCheck_names(t *testing.T) {
	for source, want := range map[string]string{
		"print(pirnt)": `s.lua:1: nothing is called "pirnt" — did you mean "print"?`,
		"local function f() return f end return f": "",
		"local a = a":                                             `s.lua:1: nothing is called "a"`,
		"do local b = 1 end print(b)":                             `s.lua:1: nothing is called "b"`,
		"repeat local done = true until done":                     "",
		"for i = 1, 2 do print(i) end print(i)":                   `s.lua:1: nothing is called "i"`,
		"for k, v in pairs({}) do print(k, v) end":                "",
		"local t = {} function t:m() return self end":             "",
		"local t = {} function t.m() return self end":             `s.lua:1: nothing is called "self"`,
		"function g(...) return select('#', ...) end g()":         "",
		"local fs = flower.fs print(fs.raed)":                     `s.lua:1: flower.fs has no "raed" — did you mean "read"?`,
		"local f = require('flower') f.setp()":                    `s.lua:1: flower has no "setp" — did you mean "step"?`,
		"local string = { own = 1 } print(string.own)":            "",
		"print(string.uper and 1, math.tau == nil)":               "",
		"if flower.nothing then print(flower.nothing.at_all) end": `s.lua:1: flower has no "nothing"`,
		"setmetatable(_G, {}) print(anything)":                    "",
		"_G.x = 1 print(x)":                                       "",
	} {
		if got := checked(t, source); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
}

func TestCheck_what_a_script_returns(t *testing.T) {
	for source, want := range map[string]string{
		"return {}":                               "",
		"return function() end":                   "",
		"return 3":                                "s.lua: the script returns a number",
		"return flower.agent{ name = 'a' }":       "s.lua: the script returns a agent",
		"return flower.workflow{}":                "s.lua:1: steps: is missing",
		"error('no')":                             "s.lua:1: no",
		"error(arg[1])":                           "unchecked: s.lua",
		"while true do end":                       "is there a loop without an end",
		"local ch = flower.channel{} ch:ask('x')": "unchecked: s.lua:1: :ask is not done",
	} {
		if got := checked(t, source); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
}

func TestCheck_fields_of_constructors_that_are_not_reached(t *testing.T) {
	got := checked(t, `local function later(x)
  return flower.coordinator{ name = x,
    worker = {}, max_turns = -x, instructions = true, workers = { a = flower.worker{ promt = "x" } } }
end
return flower.workflow{ flower.step{} }`)
	want := `s.lua:3: worker.promt: is not a field — did you mean "prompt"?
s.lua:3: coordinator.instructions: must be a string, is a boolean
s.lua:3: coordinator.worker: is not a field — did you mean "workers"?
s.lua:5: steps: is missing; it is a list of flower.step{…}
s.lua:5: holds a value under [1]; it has named fields only
s.lua:5: step.name: is missing; it is a string
s.lua:5: step.spec: is missing; it is a flower.agent{…}
s.lua:5: step.prompt: is missing; it is a string or a function of ctx`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
