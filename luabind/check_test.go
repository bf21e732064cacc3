package luabind_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

// checked is what CheckFile finds in a source, a line for each mistake, behind them
// the warnings and what was not checked.
func checked(t *testing.T, source string) string {
	t.Helper()
	text, _ := checkedWith(t, source, luabind.Options{})
	return text
}

func checkedWith(t *testing.T, source string, o luabind.Options) (text string, rehearsal bool) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.lua")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	rt, _ := newRuntime(t, &echo{})
	o.ComputeLimit = 50 * time.Millisecond
	report, err := luabind.CheckFile(context.Background(), rt, path, &o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range report.Mistakes {
		m.File = filepath.Base(m.File)
		lines = append(lines, m.String())
	}
	for _, m := range report.Warnings {
		m.File = filepath.Base(m.File)
		lines = append(lines, "warning: "+m.String())
	}
	for _, text := range report.Unchecked {
		lines = append(lines, "unchecked: "+strings.ReplaceAll(text, dir+"/", ""))
	}
	return strings.Join(lines, "\n"), report.Rehearsal
}

func TestCheck_names(t *testing.T) {
	for source, want := range map[string]string{
		"print(pirnt)": `s.lua:1:7: nothing is called "pirnt" — did you mean "print"?`,
		"local function f() return f end return f": "",
		"local a = a":                                             `s.lua:1:11: nothing is called "a"`,
		"do local b = 1 end print(b)":                             `s.lua:1:26: nothing is called "b"`,
		"repeat local done = true until done":                     "",
		"for i = 1, 2 do print(i) end print(i)":                   `s.lua:1:36: nothing is called "i"`,
		"for k, v in pairs({}) do print(k, v) end":                "",
		"local t = {} function t:m() return self end":             "",
		"local t = {} function t.m() return self end":             `s.lua:1:36: nothing is called "self"`,
		"local function g(...) return select('#', ...) end g()":   "",
		"local fs = flower.fs print(fs.raed)":                     `s.lua:1:31: flower.fs has no "raed" — did you mean "read"?`,
		"local f = require('flower') f.setp()":                    `s.lua:1:31: flower has no "setp" — did you mean "step"?`,
		"local string = { own = 1 } print(string.own)":            "",
		"print(string.uper and 1, math.tau == nil)":               "",
		"if flower.nothing then print(flower.nothing.at_all) end": `s.lua:1:37: flower has no "nothing"`,
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
		"return 3":                                "s.lua:1:1: the script returns a number",
		"return flower.agent{ name = 'a' }":       "s.lua:1:1: the script returns a flower.agent",
		"return flower.workflow{}":                "s.lua:1:1: steps: is missing",
		"\t\terror('no')":                         "s.lua:1:3: no",
		"--[[é]] error('no')":                     "s.lua:1:9: no",
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
	want := `s.lua:3:5: coordinator.worker: is not a field — did you mean "workers"?
s.lua:3:34: coordinator.instructions: must be a string, is a boolean
s.lua:3:86: worker.promt: is not a field — did you mean "prompt"?
s.lua:5:1: steps: is missing; it is a list of flower.step{…}
s.lua:5:1: holds a value under [1]; it has named fields only
s.lua:5:32: step.name: is missing; it is a string
s.lua:5:32: step.spec: is missing; it is a flower.agent{…}
s.lua:5:32: step.prompt: is missing; it is a string or a function of ctx`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// findings checks sources and compares what is found with what is wanted, in the
// order of the lines.
func findings(t *testing.T, wanted map[string]string) {
	t.Helper()
	for source, want := range wanted {
		if got := checked(t, source); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
}

func TestCheck_warns_of_globals_that_are_assigned(t *testing.T) {
	findings(t, map[string]string{
		"local x = 1 x = 2":                          "",
		"_G.x = 1 print(x)":                          "",
		"x = 1 x = 2 print(x)":                       `warning: s.lua:1:1: "x" is a global here; write local in front of it, or _G.x where a global is meant`,
		"local function f() deep = 1 end f()":        `warning: s.lua:1:20: "deep" is a global here; write local in front of it, or _G.deep where a global is meant`,
		"function f() end":                           `warning: s.lua:1:10: "f" is a global here; write local in front of it, or _G.f where a global is meant`,
		"local t = {} t.x = 1 function t.f() end":    "",
		"local count = 0 do cuont = count + 1 end":   `warning: s.lua:1:20: "cuont" is a global here; write local in front of it, or _G.cuont where a global is meant — did you mean "count"?`,
		"local total = 1 print(totl)":                `s.lua:1:23: nothing is called "totl" — did you mean "total"?`,
		"local function f(x) x = x + 1 return x end": "",
	})
}

func TestCheck_callbacks_that_return_nothing(t *testing.T) {
	step := func(fields string) string {
		return `local a = flower.agent{ name = "a" }
local function partly(r) if r.ok then return true end end
return flower.workflow{ steps = { flower.step{ name = "s", spec = a, ` + fields + ` } } }`
	}
	findings(t, map[string]string{
		step(`prompt = "p", gate = function(r) return r.ok end`):                                          "",
		step(`prompt = "p", gate = function() print("x") end`):                                            "s.lua:3:84: gate returns nothing; it must return true, or false and a reason",
		step(`prompt = "p", when = function() end`):                                                       "s.lua:3:84: when returns nothing; it must return true or false",
		step(`prompt = function() end`):                                                                   "s.lua:3:70: prompt returns nothing; it must return a string",
		step(`prompt = function(ctx) return "a" .. ctx.x end`):                                            "",
		step(`prompt = function(ctx) return { ctx.x } end`):                                               "s.lua:3:93: prompt returns a table here; it must return a string",
		step(`prompt = "p", gate = function() return end`):                                                "s.lua:3:102: gate returns nothing here; it must return true, or false and a reason",
		step(`prompt = "p", gate = function() return "yes" end`):                                          "s.lua:3:102: gate returns a string here; it must return true, or false and a reason",
		step(`prompt = "p", gate = partly`):                                                               "warning: s.lua:2:51: the end of gate may be reached, where it returns nothing; it must return true, or false and a reason",
		step(`prompt = "p", gate = function(r) if r.ok then return true else return false end end`):       "",
		step(`prompt = "p", gate = function() error("no") end`):                                           "",
		step(`prompt = "p", gate = function() flower.abort("no") end`):                                    "",
		step(`prompt = "p", gate = function(r) while true do if r.ok then return true end end end`):       "",
		step(`prompt = "p", gate = function(r) repeat if r.ok then break end return true until r.ok end`): "warning: s.lua:3:129: the end of gate may be reached, where it returns nothing; it must return true, or false and a reason",
		step(`prompt = "p", gate = function(r) for _ = 1, 2 do return true end end`):                      "warning: s.lua:3:131: the end of gate may be reached, where it returns nothing; it must return true, or false and a reason",
		step(`prompt = "p", gate = function(r) local f = function() end f() return true end`):             "",
		step(`prompt = "p", reduce = function(r) do return r.text end end`):                               "",
	})
}

func TestCheck_fields_of_what_flower_gives(t *testing.T) {
	findings(t, map[string]string{
		`local r = flower.sh("true") print(r.output, r.outptu)`:                                                          `warning: s.lua:1:47: a command result has no field "outptu" — did you mean "output"?`,
		`flower.sh("true", { timout = 3 })`:                                                                              `s.lua:1:21: timout: is not a field — did you mean "timeout"?`,
		`local sh = flower.sh local out = sh("true").outputs print(out)`:                                                 `warning: s.lua:1:45: a command result has no field "outputs" — did you mean "output"?`,
		`local c = flower.channel{} for _, q in ipairs(c:pending()) do print(q.txt) end`:                                 `warning: s.lua:1:71: a question has no field "txt" — did you mean "text"?`,
		`local c = flower.channel{} print(c:pendign())`:                                                                  `s.lua:1:36: a channel has no "pendign" — did you mean "pending"?`,
		`local function later() flower.runtime:rnu() end later = nil`:                                                    `s.lua:1:39: a runtime has no "rnu" — did you mean "run"?`,
		`local function f() local d = assert(flower.document.load("goal", "g.md")) print(d.check) end f = nil`:           `warning: s.lua:1:83: a goal has no field "check" — did you mean "checks"?`,
		`local s = flower.system() s.mine = 1 print(s.mine)`:                                                             "",
		`local g = require("flower.goal") local f = g.with_gaol`:                                                         `s.lua:1:46: flower.goal has no "with_gaol" — did you mean "with_goal"?`,
		`local g = require("flower.goal") local function f(s) return g.with_goal(s, { goal_path = "g", round = 2 }) end`: `s.lua:1:95: with_goal.round: is not a field — did you mean "rounds"?`,
		`local function f() return flower.agent{ name = "a", mcp_servers = { x = { comand = "y" } } } end`:               `s.lua:1:75: agent.mcp_servers.x.comand: is not a field — did you mean "command"?`,
		`return flower.workflow{ steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p",
  gate = function(result, ctx) return result.txt == ctx._runtime.idd and ctx.mine == ctx._runtim end,
} } }`: `s.lua:2:66: a runtime has no "idd" — did you mean "id"?
warning: s.lua:2:46: a result has no field "txt" — did you mean "text"?
warning: s.lua:2:90: a context has no field "_runtim" — did you mean "_runtime"?`,
		`return flower.guard{ on = "before", check = function(call) if call.main then return false, call.tol end end }`: `s.lua:1:1: the script returns a flower.guard; return what flower.workflow{…} gives, or nothing
warning: s.lua:1:97: a call has no field "tol" — did you mean "tool"?`,
	})
}

func TestCheck_rehearsals(t *testing.T) {
	for source, want := range map[string]string{
		`return function(turn) return turn.prompt end`:                                     "",
		`local json = require("flower.json") return function() return json.encode({}) end`: "",
		`local function f(t) return "x" end return f`:                                      "",
		`local function make() return function() return "x" end end return make()`:         "",
		`return function() end`: "s.lua:1:8: a rehearsal returns nothing; it must return a string or a table",
		`return function(turn) if turn.turn == 1 then return "x" end end`: "warning: s.lua:1:57: the end of a rehearsal may be reached, where it returns nothing; it must return a string or a table",
		`return function(turn) return turn.tunr end`:                      `warning: s.lua:1:35: a turn has no field "tunr" — did you mean "turn"?`,
		`return function(turn) for _, m in ipairs(turn.messages) do print(m.txt, m.calls[1].inputs) end return "" end`: `warning: s.lua:1:68: a message has no field "txt" — did you mean "text"?
warning: s.lua:1:84: a message call has no field "inputs" — did you mean "input"?`,
		`return function() return { tol = "x", calls = { { tool = "a", inptu = {} } }, error = { stauts = 1 } } end`: `s.lua:1:28: answer.tol: is not a field — did you mean "tool"?
s.lua:1:63: answer.calls[1].inptu: is not a field — did you mean "input"?
s.lua:1:89: answer.error.stauts: is not a field — did you mean "status"?`,
		`local a = flower.agent{} return function() return "x" end`:         `s.lua:1:11: a rehearsal has no flower; of its parts it can have require("flower.json")`,
		`local c = require("flower.goal") return function() return "x" end`: `s.lua:1:19: a rehearsal cannot require "flower.goal"; of flower it has "flower.json" alone`,
	} {
		got, rehearsal := checkedWith(t, source, luabind.Options{})
		if got != want || !rehearsal {
			t.Errorf("%s\ngot  %s (a rehearsal: %v)\nwant %s", source, got, rehearsal, want)
		}
	}
}

func TestCheck_of_trusted_scripts_does_nothing_either(t *testing.T) {
	target := filepath.Join(t.TempDir(), "made")
	for source, want := range map[string]string{
		`print(os.time(), os.date())`:        "",
		`os.execute("touch ` + target + `")`: "unchecked: s.lua:1: os.execute is not done when a script is checked",
		`io.open("` + target + `", "w")`:     "unchecked: s.lua:1: io.open is not done when a script is checked",
		`dofile("x.lua")`:                    "unchecked: s.lua:1: dofile is not done when a script is checked",
	} {
		if got, _ := checkedWith(t, source, luabind.Options{Trust: true}); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a script that was checked made a file")
	}
}

func TestCheck_syntax_has_a_column(t *testing.T) {
	if got, want := checked(t, "local x = 1\nlocal y = = 2\n"), `s.lua:2:11: syntax error near "="`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// checkedFiles is checked of a script with files beside it.
func checkedFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rt, _ := runtimeIn(t, dir, silent(t))
	report, err := luabind.CheckFile(context.Background(), rt, filepath.Join(dir, "s.lua"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range append(report.Mistakes, report.Warnings...) {
		lines = append(lines, m.String())
	}
	lines = append(lines, report.Unchecked...)
	return strings.ReplaceAll(strings.Join(lines, "\n"), dir+"/", "")
}

func TestCheck_reads_the_modules_beside_the_script(t *testing.T) {
	got := checkedFiles(t, map[string]string{
		"s.lua": `local a = require("a")
local b = require("lib.b")
local c = require("c")
local no = require("absent")
local odd = require("../x")
print(a, b, c, no, odd)`,
		"a.lua":          "local M = {}\nfunction M.f() return stirng.upper('x') end\nshared = 1\nreturn M",
		"lib/b/init.lua": "return require('a').f(flower.stp)",
		"c.lua":          "return = 1",
	})
	for _, want := range []string{
		`a.lua:2:23: nothing is called "stirng" — did you mean "string"?`, `a.lua:3:1: "shared" is a global here`,
		`lib/b/init.lua:1:30: flower has no "stp" — did you mean "step"?`, `c.lua:1:8: syntax error near "="`,
		`s.lua:4:20: there is no module "absent"`, `s.lua:5:21: require takes a module's name`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

func TestCheck_pretends_whatever_has_an_effect(t *testing.T) {
	got := checkedFiles(t, map[string]string{"kept.txt": "x", "s.lua": `
assert(flower.fs.write("made.txt", "x") and flower.fs.append("made.txt", "x") and flower.fs.mkdir("made") and flower.fs.remove("kept.txt"))
assert(flower.fs.read("kept.txt") == "x")
local run = flower.sh("touch made.txt", { timeout = 3 })
assert(run.code == 0 and run.output == "" and not run.timed_out)
assert(flower.document.save("made.md", "x") and flower.document.append("made.md", "x"))
assert(flower.archive("old", "kept.txt"))
local bench = flower.workbench()
assert(bench.notes ~= "")
local step = flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p" }
local ending = flower.run(flower.workflow{ workbench = bench, steps = { step } })
assert(ending.ok and ending.context and ending.reason == "")
local flow = flower.workflow{ workbench = bench, steps = { step } }
flow.steps[1].retires = 3
return flow`})
	if !strings.HasPrefix(got, "s.lua:10:1: steps[1].retires: is not a field") || strings.Contains(got, "\n") {
		t.Errorf("found %s", got)
	}
}

func TestCheck_what_runs_agents_is_not_checked_further(t *testing.T) {
	for source, want := range map[string]string{
		`flower.runtime:run(flower.agent{ name = "a" }, "p")`: "s.lua:1: :run is not done when a script is checked",
		`flower.runtime:interrupt()`:                          ":interrupt is not done",
		`flower.channel{}:send("x")`:                          ":send is not done",
		`local r = flower.sh("x") print(r.none.deeper)`:       "(behind what was not done: s.lua:1: flower.sh)",
	} {
		if got := checkedFiles(t, map[string]string{"s.lua": source}); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", source, got, want)
		}
	}
}

func TestCheck_names_of_tools(t *testing.T) {
	got := checkedFiles(t, map[string]string{"s.lua": `local channel = flower.channel{}
local asks = flower.agent{ name = "asks", allowed_tools = { "mcp__human__ask" } }
local slip = flower.agent{ name = "slip", allowed_tools = { "Read", "Raed" } }
local function later(name)
  return flower.coordinator{ name = name, workers = {
    w = flower.worker{ description = "d", prompt = "p", tools = { "mcp__x__y", "Skill", name, "Bahs" } },
  } }
end
print(slip, later)
return flower.workflow{ channel = channel, steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p",
  gate = function(_, ctx) return ctx._runtime:run(asks, "p").ok end } } }`})
	for _, want := range []string{
		`s.lua:3:69: agent.allowed_tools: names "Raed", which is no tool of this harness — did you mean "Read"?`,
		`s.lua:6:95: worker.tools: names "Bahs", which is no tool of this harness — did you mean "Bash"?`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 2 {
		t.Errorf("%d findings:\n%s", n, got)
	}
	// Without a channel nobody can be reached.
	got = checkedFiles(t, map[string]string{"s.lua": `local asks = flower.agent{ name = "asks", allowed_tools = { "mcp__human__ask" } }`})
	if !strings.Contains(got, `s.lua:1:43: agent.allowed_tools: names "mcp__human__ask", but nobody can be reached`) {
		t.Errorf("found %s", got)
	}
}

func TestCheck_findings_are_not_without_end(t *testing.T) {
	var source strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&source, "name%d = missing%d.x flower.nothing%d() ", i, i, i)
	}
	rt, _ := newRuntime(t, &echo{})
	path := filepath.Join(t.TempDir(), "s.lua")
	if err := os.WriteFile(path, []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := luabind.CheckFile(context.Background(), rt, path, nil)
	if err != nil || len(report.Mistakes) > 600 || len(report.Warnings) > 600 || len(report.Mistakes) < 400 {
		t.Errorf("%d mistakes, %d warnings, %v", len(report.Mistakes), len(report.Warnings), err)
	}
}
