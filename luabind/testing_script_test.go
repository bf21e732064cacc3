package luabind_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// fixScript is what most of these tests try.
const fixScript = `
local coder = flower.agent{ name = "coder", allowed_tools = { "Write" } }
local judge = flower.judge{ name = "judge" }
return flower.workflow{
  steps = {
    flower.step{
      name = "fix", spec = coder, retries = 2,
      prompt = function(ctx) return "Mend " .. (ctx.what or arg[1] or "it") end,
      resume_prompt = "Go on.",
      when = function(ctx) return ctx.skip ~= true end,
      gate = function(result, ctx)
        local run = flower.sh("make test", { dir = "src", timeout = 9 })
        if run.timed_out then flower.abort("too slow") end
        ctx.seen = result.text
        return run.code == 0, run.output
      end,
      on_reject = function(result, _, reason) return result.step .. " still: " .. reason end,
      reduce = function(result) return "1. " .. result.text end,
    },
    flower.parallel{
      flower.step{ name = "judged", spec = coder, prompt = "More.", on_fail = "continue",
        gate = function(_, ctx)
          local verdict = ctx._runtime:run(judge, "Is it good?", { step_name = "judged·verdict" })
          return verdict.text == "yes", verdict.text
        end },
      flower.step{ name = "broken", spec = coder, prompt = "Break.", when = function(ctx) return ctx.break_it == true end,
        gate = function(result) return result.text end },
    },
    flower.step{ name = "resumes", spec = coder, resume_from = "fix", prompt = "And?", when = function(ctx) return ctx.fix == nil end },
  },
}`

func TestTest_callbacks_of_steps_one_by_one(t *testing.T) {
	passAll(t, `
local test = flower.test
local ended = { code = 0 }
test.stub{ sh = function(command, options)
  expect(command).to_be("make test")
  expect(options.dir).to_be("src")
  return ended
end }
local fix = test.load("fix.lua", { "the door" })
local step = fix.steps.fix
it("gate", function()
  local ctx = {}
  expect(step.gate({ text = "done" }, ctx)).to_be(true)
  expect(ctx).to_equal{ seen = "done" }
  ended = { code = 1, output = "FAIL" }
  local pass, reason = step.gate()
  expect(pass).to_be(false)
  expect(reason).to_be("FAIL")
end)
it("abort", function()
  ended = { timed_out = true }
  local err = expect(step.gate).to_raise("too slow")
  expect(err.code).to_be("abort")
end)
it("the others", function()
  expect(step.prompt()).to_be("Mend the door")
  expect(step.prompt{ what = "a wall" }).to_be("Mend a wall")
  expect(step.resume_prompt()).to_be("Go on.")
  expect(step.when()).to_be(true)
  expect(step.when{ skip = true }).to_be(false)
  expect(step.on_reject({ step = "fix#round2" }, {}, "no")).to_be("fix#round2 still: no")
  expect(step.reduce{ text = "x" }).to_be("1. x")
  expect(step.name).to_be("fix")
  expect(step.retries).to_be(2)
  expect(step.on_fail).to_be_nil()
  expect(step.spec.allowed_tools).to_contain("Write")
  expect(fix.steps.judged.on_fail).to_be("continue")
end)
it("a broken gate can be caught", function()
  expect(function() fix.steps.broken.gate{ text = "x" } end).to_raise("gate must return true, or false and a reason")
end)
it("a gate asks a judge", function()
  test.stub{ model = { "yes", "no" } }
  expect(fix.steps.judged.gate()).to_be(true)
  local pass, reason = fix.steps.judged.gate()
  expect(reason).to_be("no")
end)
it("misuse", function()
  expect(function() return fix.steps.fixx end).to_raise('the workflow has no "fixx" — did you mean "fix"?')
  expect(function() return step.gat end).to_raise('a step has no "gat"')
  expect(function() return fix.steps.judged.reduce end).to_raise("step judged has no reduce")
  expect(function() step.gate{ txt = "x" } end).to_raise('unknown field "txt"')
  expect(function() step.gate("x") end).to_raise("must be a table such as")
  expect(function() step.gate{ ok = false } end).to_raise("does not ask it about a result that is not ok")
  expect(function() step.gate({}, 1) end).to_raise("ctx must be a table, is a number")
  expect(function() fix.test() end).to_raise('a loaded script has no "test"')
end)
`, "fix.lua", fixScript)
}

func TestTest_runs_the_whole_workflow(t *testing.T) {
	passAll(t, `
local test = flower.test
local codes, asked = { 1, 0 }, {}
test.stub{
  sh = function() return { code = table.remove(codes, 1), output = "bad" } end,
  model = function(turn)
    asked[#asked + 1] = turn.step
    if turn.role == "judge" then return "yes" end
    local last = turn.messages[#turn.messages]
    if turn.step == "fix" and #last.results == 0 then
      return { tool = "Write", input = { file_path = "src/a.txt", content = "hi\n" } }
    end
    return "done " .. turn.step
  end,
}
local fix = test.load("fix.lua")
it("goes its way", function()
  local run = fix.run{ context = { what = "all" } }
  expect(run.ok, run.reason).to_be(true)
  expect(run.context.fix).to_be("1. done fix#round2")
  expect(run.context.judged).to_be("done judged")
  expect(run.context.broken).to_be_nil()
  expect(flower.fs.read("src/a.txt")).to_be("hi\n")
  local labels = {}
  for i, result in ipairs(run.results) do labels[i] = result.step end
  table.sort(labels)
  expect(labels).to_equal{ "fix", "fix#round2", "judged", "judged·verdict" }
  expect(run.prompts[1]).to_equal{ step = "fix", prompt = "Mend all" }
  expect(run.prompts[2]).to_equal{ step = "fix#round2", prompt = "fix still: bad" }
  expect(asked).to_contain("judged·verdict")
end)
it("runs one step", function()
  codes = { 0 }
  local run = fix.run{ step = "fix" }
  expect(run.ok, run.reason).to_be(true)
  expect(run.context.judged).to_be_nil()
  expect(fix.run{ step = "judged" }.context.judged).to_be("done judged")
  expect(function() fix.run{ step = "judge" } end).to_raise('no step is called "judge"')
  expect(function() fix.run{ step = "resumes" } end).to_raise("resumes continues the session of fix, so it cannot run alone")
  expect(function() fix.run{ stp = 1 } end).to_raise('stp: is not a field — did you mean "step"?')
end)
it("fails as it would", function()
  codes = { 1, 1, 1 }
  local run = fix.run()
  expect(run.ok).to_be(false)
  expect(run.failed_at).to_be("fix")
  expect(run.reason).to_be("bad")
  expect(#run.results).to_be(3)
  codes = { 0 }
  expect(fix.run().ok).to_be(true) -- goes on where it was
end)
it("repeats requests that fail, at once", function()
  local n = 0
  test.stub{ model = function() n = n + 1 return { error = { status = 529, type = "overloaded_error" } } end }
  expect(fix.run{ step = "judged" }.results[1].ok).to_be(false)
  expect(n > 1).to_be(true)
end)
`, "fix.lua", fixScript)
}

func TestTest_what_breaks_in_a_run_fails_the_test(t *testing.T) {
	for body, want := range map[string]string{
		`fix.run{ step = "fix" }`: "step fix asks the model, and tests ask no real one: play it with flower.test.stub",
		`test.stub{ model = { "x" } } fix.run{ step = "broken", context = { break_it = true } }`:        "fix.lua:27: gate must return true, or false and a reason; it returned string, nil",
		`test.stub{ model = { "x" } } flower.run(fix.workflow)`:                                         "fix.lua:12: dir: src: no such file or directory",
		`test.stub{ model = function() error("no model") end } pcall(fix.run)`:                          "a.test.lua:5: no model",
		`test.stub{ model = function() return 1 end } fix.run()`:                                        "a.test.lua:5: a rehearsal must return a string or a table; it returned number",
		`test.stub{ model = function() return { txt = 1 } end } fix.run()`:                              `txt: is not a field — did you mean "text"?`,
		`test.stub{ model = function(turn) expect(turn.turn).to_be(7) end } fix.run()`:                  "a.test.lua:5: expected the same value [7|1]",
		`test.stub{ model = { "a" }, sh = function() return { code = 1 } end } fix.run{ step = "fix" }`: "the model was asked once more than the stub has answers (1)",
		`test.stub{ model = { "a" }, sh = function() return 1 end } fix.run()`:                          "the stub of flower.sh must return a table such as { code = 1, output = \"…\" }, or nil; it returned number",
		`test.stub{ model = { "a" }, sh = function() return { cod = 1 } end } fix.run()`:                `what the stub returns.cod: is not a field — did you mean "code"?`,
		`test.stub{ modl = 1 }`:                 `modl: is not a field — did you mean "model"?`,
		`test.stub{ model = {} }`:               "model: must be a function of turn, or a list of answers, is a table",
		`test.stub{ model = { 1 } }`:            "model: item 1 is a number; an answer is a string or a table",
		`test.stub()`:                           "flower.test.stub takes one table",
		`test.load("none.lua")`:                 "no such file or directory",
		`test.load(1)`:                          "flower.test.load takes the path of a script, a string, not a number",
		`test.load("fix.lua", { 1 })`:           "the arguments of the script, a list of strings",
		`test.load("bad.lua")`:                  "bad.lua:1: syntax error",
		`test.load("wrong.lua")`:                `wrong.lua:2: steps[1].retires: is not a field — did you mean "retries"?`,
		`test.load("raises.lua")`:               "raises.lua:1: in the script",
		`test.load("number.lua")`:               "number.lua:1: the script returned a number",
		`test.load("nothing.lua").run()`:        "nothing.lua returned no workflow: there is nothing of it to try",
		`test.rehearsal("nothing.lua")`:         "a rehearsal returns the function that plays the model, this returned a nil",
		`test.recorded("none")`:                 "manifest.json: no such file or directory",
		`test.files{ ["../x"] = "x" }`:          "../x is outside the workspace",
		`test.files{ x = 1 }`:                   `["x"] is a number; it takes contents, strings, by path`,
		`test.files{ "x" }`:                     `[1] is a string; it takes contents, strings, by path`,
		`test.copy("none")`:                     "no such file or directory",
		`test.copy("fix.lua", "/etc/x")`:        "outside the workspace",
		`test.lod("x")`:                         `flower.test has no "lod" — did you mean "load"?`,
		`fix.replay()`:                          "replay takes a list of results",
		`fix.replay{ { text = "x" } }`:          "replay: result 1: has no step",
		`fix.replay{ { step = "fix", x = 1 } }`: `replay: result 1: unknown field "x"`,
		`fix.replay{ { step = "fix" } }`:        "fix.lua:12: dir: src: no such file or directory",
	} {
		got := failing(t, "local test = flower.test\nlocal fix = test.load('fix.lua')\n\n"+body, "fix.lua", fixScript,
			"bad.lua", "return = 1", "raises.lua", `error("in the script")`, "number.lua", "return 1", "nothing.lua", "local x = 1",
			"wrong.lua", "return flower.workflow{ steps = { flower.step{ name = 'a', spec = flower.agent{ name = 'a' }, prompt = 'p',\n  retires = 1 } } }")
		if !strings.Contains(got, want) {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}

func TestTest_says_from_where_a_script_was_called(t *testing.T) {
	all := testsOf(t, `local fix = flower.test.load("fix.lua")
it("breaks", function()
  local function helper()
    fix.steps.fix.gate{}
  end
  helper()
end)`, "fix.lua", fixScript)
	f := all[0].Failure
	if filepath.Base(f.File) != "fix.lua" || f.Line != 12 || f.Caller != 4 || !strings.Contains(f.Trace, "a.test.lua:6") {
		t.Errorf("%+v", f)
	}
}

func TestTest_replays_results(t *testing.T) {
	passAll(t, `
local test = flower.test
local codes = { 1, 0 }
test.stub{ sh = function() return { code = table.remove(codes, 1), output = "bad" } end }
local fix = test.load("fix.lua")
it("made up", function()
  test.stub{ model = { "yes" } }
  local all, ctx = fix.replay{ { step = "fix", text = "a" }, { step = "fix#round2", text = "b" }, { step = "judged", text = "c" } }
  expect(#all).to_be(5)
  expect(all[1].verdict).to_be("reject")
  expect(all[1].sent).to_be("fix still: bad")
  expect(all[2].label).to_be("fix#round2")
  expect(all[2].value).to_be("1. b")
  expect(all[3].verdict).to_be("pass")
  expect(all[4].verdict).to_be("skip")
  expect(ctx.fix).to_be("1. b")
  expect(all[1].result.text).to_be("a")
end)
it("recorded, judges too", function()
  local rows = test.recorded("runs")
  expect(#rows).to_be(2)
  expect(rows[1].text).to_be("recorded")
  local all = fix.replay(rows)
  expect(all[1].verdict).to_be("none")
  expect(all[2].verdict).to_be("reject")
  expect(all[2].reason).to_be("no, said the judge")
  expect(fix.steps.fix.reduce(rows[1])).to_be("1. recorded")
end)
it("one that failed", function()
  local all = fix.replay{ { step = "fix", error = "cut off", session_id = "s" } }
  expect(all[1].verdict).to_be("fail")
end)
`, "fix.lua", fixScript, "runs/manifest.json", `[
{"run":"1","step":"judged","ok":true,"stop":"end_turn","session_id":"a","text":"recorded","errors":null,"started_at":"2026-01-02T03:04:05Z","cost_usd":null},
{"run":"1","step":"judged·verdict","ok":true,"stop":"end_turn","session_id":"b","text":"no, said the judge"}]`)
}

func TestTest_stub_of_commands_while_it_is_at_work_elsewhere(t *testing.T) {
	passAll(t, `
it("stands in for the command of a guard", function()
  local seen
  local guard = flower.guard{ on = "before", check = function() seen = flower.sh("echo real").output end }
  local runner = flower.agent{ name = "runner", allowed_tools = { "Bash" }, hooks = { guard } }
  flower.test.stub{
    model = { { tool = "Bash", input = { command = "true" } }, "done" },
    sh = function(command)
      if command == "outer" then flower.runtime:run(runner, "Go.") end
      return { output = "stub" }
    end,
  }
  expect(flower.sh("outer").output).to_be("stub")
  expect(seen).to_be("stub")
end)`)
}

func TestTest_plays_the_person(t *testing.T) {
	script := `
local channel = flower.channel{}
local asker = flower.agent{ name = "asker", allowed_tools = { "mcp__human__ask" }, channel = channel }
return flower.workflow{ channel = channel, steps = {
  flower.step{ name = "ask", spec = asker, prompt = "Ask.",
    gate = function() return true end,
    reduce = function(result) return result.text .. " " .. (channel:ask("And what else?", { "a", "b" })) end } } }`
	passAll(t, `
local test = flower.test
local asker = test.load("ask.lua")
test.stub{ model = function(turn)
  local last = turn.messages[#turn.messages]
  if #last.results > 0 then return "I heard: " .. last.results[1].text end
  return { tool = "mcp__human__ask", input = { question = "Which colour?" } }
end }
it("answers", function()
  local asked = {}
  test.stub{ person = function(question)
    asked[#asked + 1] = question.text
    if question.options then return question.options[2] end
    return "blue"
  end }
  local run = asker.run()
  expect(run.context.ask).to_match("^I heard: .*blue.* b$")
  expect(asked).to_equal{ "Which colour?", "And what else?" }
end)
it("does not wait where nobody plays it", function()
  expect(asker.run().ok).to_be(true)
end)
it("does not wait where it does not answer", function()
  test.stub{ person = function() end }
  expect(asker.run().ok).to_be(true)
end)
`, "ask.lua", script)
	got := failing(t, `
flower.test.stub{ person = function() return 1 end }
flower.channel{}:ask("What?")`)
	if !strings.Contains(got, "the stub of the person must return the answer, a string, or nil; it returned number") {
		t.Error(got)
	}
}

func TestTest_scripts_in_other_folders_find_their_own_modules(t *testing.T) {
	passAll(t, `
local test = flower.test
local own = require("lib")
local fix = test.load("../scripts/fix.lua")
it("each has its own", function()
  expect(own.name).to_be("of the test")
  expect(fix.steps.s.prompt()).to_match("^of the script, part .*/scripts$")
  expect(require("lib")).to_be(own)
  expect(flower.script_dir).to_match("/%d+$")
  expect(later()).to_be("later")
end)
it("the same module is the same table", function()
  local lib = require("shared")
  lib.name = function() return "stubbed" end
  expect(test.load("beside.lua").steps.s.prompt()).to_be("stubbed")
end)
`, "lib.lua", `return { name = "of the test" }`, "shared.lua", `return { name = function() return "real" end }`,
		"beside.lua", `local shared = require("shared")
return flower.workflow{ steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = function() return shared.name() end } } }`,
		"../scripts/fix.lua", `local lib = require("lib")
function later() return require("sub.later") end
return flower.workflow{ steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" },
  prompt = function() return lib.name .. " " .. flower.script_dir end } } }`,
		"../scripts/lib.lua", `return { name = "of the script, " .. require("sub.part") }`,
		"../scripts/sub/part.lua", `return "part"`, "../scripts/sub/later.lua", `return "later"`)
}

func TestTest_scripts_that_run_themselves_and_rehearsals(t *testing.T) {
	passAll(t, `
local test = flower.test
test.copy("data")
test.copy("data/a.txt", "deep/b.txt")
it("is played by its rehearsal", function()
  test.stub{ model = test.rehearsal("self.rehearsal.lua") }
  test.load("self.lua")
  expect(flower.fs.read("said.txt")).to_be("played, self")
  expect(flower.fs.read("data/a.txt")).to_be("a\n")
  expect(flower.fs.read("deep/b.txt")).to_be("a\n")
end)
`, "data/a.txt", "a\n", "self.rehearsal.lua", `local word = require("word") return function(turn) return word .. ", " .. turn.step end`, "word.lua", `return "played"`,
		"self.lua", `
local step = flower.step{ name = "self", spec = flower.agent{ name = "a" }, prompt = "Go." }
local ending = flower.run(flower.workflow{ steps = { step } })
flower.fs.write("said.txt", ending.context.self)`)
}

func TestTest_stub_of_commands_lets_real_ones_through(t *testing.T) {
	passAll(t, `
it("through", function()
  flower.test.stub{ sh = function(command, options)
    if command == "date" then return { output = "now" } end
    if command == "twice" then return { output = flower.sh("echo inner", options).output:rep(2) } end
  end }
  expect(flower.sh("date")).to_equal{ code = 0, output = "now", timed_out = false }
  expect(flower.sh("echo real").output).to_be("real\n")
  expect(flower.sh("twice").output).to_be("inner\ninner\n")
  expect(function() flower.sh("date", { timout = 1 }) end).to_raise('timout: is not a field — did you mean "timeout"?')
  flower.test.stub{ sh = function() error("no command") end }
  expect(function() flower.sh("date") end).to_raise("no command")
  flower.test.stub{ sh = function() return { code = -1, signal = "killed", file = "out.txt" } end }
  expect(flower.sh("date")).to_equal{ code = -1, output = "", timed_out = false, signal = "killed", file = "out.txt" }
end)`)
}
