---@meta flower.test

-- What files of tests (NAME.test.lua, run by `flower test`) have beside what scripts
-- have. The file is executed anew for every test, each time in a workspace of its own.

--- Groups tests. Groups may stand in groups; hooks inside are for the tests inside.
---
--- ```lua
--- describe("a list", function()
---   it("begins empty", function() expect(#{}).to_be(0) end)
--- end)
--- ```
---@param name string
---@param fn fun()
function describe(name, fn) end

--- One test: it passes when the function comes to its end. Call it.
---@class flower.It
---@overload fun(name: string, fn: fun())
it = {}

--- A test that is not run, and counted as skipped.
---
--- ```lua
--- it.skip("counts in Roman numbers")
--- it("counts", function() expect(1 + 1).to_be(2) end)
--- ```
---@param name string
---@param fn? fun()
function it.skip(name, fn) end

--- Called before every test of the group it stands in, those of outer groups first.
---
--- ```lua
--- before_each(function() flower.test.files{ ["notes.md"] = "one\n" } end)
--- it("has notes", function() expect(flower.fs.exists("notes.md")).to_be(true) end)
--- ```
---@param fn fun()
function before_each(fn) end

--- Called after every test of the group it stands in, in the opposite order, also
--- when the test failed.
---
--- ```lua
--- after_each(function() print(flower.sh("ls").output) end)
--- it("leaves a file", function() flower.test.files{ ["a.txt"] = "a" } end)
--- ```
---@param fn fun()
function after_each(fn) end

--- What is expected of a value: `expect(value).to_be(2)`, and the opposite:
--- `expect(value).never.to_be(2)`. An expectation that is not met ends the test.
---@class flower.Expectation
---@field never flower.Expectation the opposite
---@field to_be fun(value: any) the same: for tables the very same one; nan is nan
---@field to_equal fun(value: any) equal by what is in it; metatables do not count
---@field to_contain fun(part: any) a text with this part, or a list with an equal item
---@field to_match fun(pattern: string) a text with a match of the Lua pattern
---@field to_be_nil fun()
---@field to_be_truthy fun() neither nil nor false
---@field to_be_falsy fun() nil or false
---@field to_raise fun(part?: string): any a function that raises, with a message that contains the part; gives what was raised

--- Begins an expectation. A text behind the value is shown when it is not met, such
--- as a gate's reason.
---
--- ```lua
--- it("knows its numbers", function()
---   expect(1 + 1).to_be(2)
---   expect({ 1, { 2 } }).to_equal{ 1, { 2 } }
---   expect("a bee").never.to_contain("wasp")
---   expect(function() error("no way") end).to_raise("no way")
---   expect(flower.fs.read("notes.md")).to_be_nil()
--- end)
--- ```
---@param value any
---@param message? string
---@return flower.Expectation
function expect(value, message) end

---@class flower.Stubs
---@field model? flower.Rehearsal|(string|flower.Answer)[] plays the model: a function, or answers in order
---@field sh? fun(command: string, options: flower.CommandOptions): flower.StubbedCommand? how a command of the script ended; nil: it is run
---@field person? fun(question: flower.Question): string? answers what is asked on a channel; nil, or no stub: it is left to the agent

--- How a command ended that was not run.
---@class flower.StubbedCommand
---@field code? integer default 0
---@field output? string default ""
---@field timed_out? boolean default false
---@field signal? string
---@field file? string

--- A script that was executed, and what can be tried of it.
---@class flower.Script
---@field workflow flower.Workflow what it returned
---@field steps table<string, flower.TestedStep> by name
local Script = {}

--- Runs the workflow as flower does: everything is real but the model, which the stub
--- plays.
---
--- ```lua
--- flower.test.files{ ["hi.lua"] = [[return flower.workflow{ steps = {
---   flower.step{ name = "hi", spec = flower.agent{ name = "poet" }, prompt = "Say hello." } } }]] }
--- local hi = flower.test.load(flower.runtime.workspace .. "/hi.lua")
--- it("says hello", function()
---   flower.test.stub{ model = { "Hello!" } }
---   local run = hi.run()
---   expect(run.ok, run.reason).to_be(true)
---   expect(run.context.hi).to_be("Hello!")
--- end)
--- ```
---@param options? flower.TestRunOptions
---@return flower.TestRun
function Script.run(options) end

--- Lets when, gate, on_reject and reduce judge results that were recorded or made up, as
--- flower replay does. Gives the attempts, and ctx.
---
--- ```lua
--- flower.test.files{ ["hi.lua"] = [[return flower.workflow{ steps = {
---   flower.step{ name = "hi", spec = flower.agent{ name = "poet" }, prompt = "Say hello.", retries = 1,
---     gate = function(result) return result.text == "Hello!", "Louder!" end } } }]] }
--- local hi = flower.test.load(flower.runtime.workspace .. "/hi.lua")
--- it("wants it louder", function()
---   local attempts = hi.replay{ { step = "hi", text = "Hello." } }
---   expect(attempts[1].verdict).to_be("reject")
---   expect(attempts[1].sent).to_be("Louder!")
--- end)
--- ```
---@param results flower.GivenResult[]
---@return flower.Replayed[]
---@return flower.Context
function Script.replay(results) end

--- A step whose callbacks can be called as flower calls them: wrong returns are
--- raised, and ctx has what flower puts into it. It has those of the step alone.
---@class flower.TestedStep
---@field name string
---@field spec flower.Agent
---@field resume_from? string
---@field fork? boolean
---@field retries? integer
---@field on_fail? string
---@field prompt fun(ctx?: flower.Context): string
---@field resume_prompt fun(ctx?: flower.Context): string
---@field when fun(ctx?: flower.Context): boolean
---@field gate fun(result?: flower.GivenResult, ctx?: flower.Context): boolean, string?
---@field on_reject fun(result?: flower.GivenResult, ctx?: flower.Context, reason?: string): string
---@field reduce fun(result?: flower.GivenResult, ctx?: flower.Context): string

--- A result that a test makes up: any fields of a result. What it does not say is as
--- of an agent that came to its end.
---@class flower.GivenResult
---@field step? string the label of the attempt
---@field text? string
---@field [string] any

---@class flower.TestRunOptions
---@field context? table<string, any> the table that is ctx; default that of the workflow
---@field step? string the only step to run

--- How a run in a test ended.
---@class flower.TestRun: flower.Ending
---@field results flower.Result[] of each attempt, in order
---@field prompts flower.SentPrompt[] what agents were asked, in order

---@class flower.SentPrompt
---@field step string the label of the attempt
---@field prompt string

--- What becomes of a recorded attempt.
---@class flower.Replayed
---@field step string
---@field label string of the attempt, such as fix#round2
---@field verdict "pass"|"reject"|"fail"|"abort"|"skip"|"none"
---@field reason string why it does not pass
---@field sent string what is sent back to the session; "" where the step starts over
---@field value string what ctx keeps of a result that passes
---@field result flower.Result

---@class flower.test
local test = {}

--- Executes a script, in the workspace of the test, and gives what can be tried of it.
--- The path begins in the folder of the test file.
---
--- ```lua
--- local test = flower.test
--- it("knows that a script is missing", function()
---   expect(function() test.load("missing.lua") end).to_raise("missing.lua")
--- end)
--- ```
---@param path string
---@param arguments? string[] of the script
---@return flower.Script
function test.load(path, arguments) end

--- Stands in for the model, for commands of flower.sh, and for the person who is
--- asked, until the end of the test. A later call replaces those it names.
---
--- ```lua
--- it("stubs a command", function()
---   flower.test.stub{ sh = function(command)
---     if command == "make test" then return { code = 1, output = "FAIL" } end
---   end }
---   expect(flower.sh("make test").output).to_be("FAIL")
---   expect(flower.sh("echo real").output).to_contain("real")
--- end)
--- ```
---@param stubs flower.Stubs
function test.stub(stubs) end

--- The function that a file with a rehearsal returns, to be the stub of the model.
---
--- ```lua
--- it("knows that a rehearsal is missing", function()
---   expect(function() flower.test.rehearsal("missing.lua") end).to_raise("missing.lua")
--- end)
--- ```
---@param path string
---@return flower.Rehearsal
function test.rehearsal(path) end

--- The results that a run directory holds, oldest first, to be replayed or given to a
--- gate.
---
--- ```lua
--- it("knows that nothing is recorded", function()
---   expect(function() flower.test.recorded("no_runs") end).to_raise("no_runs")
--- end)
--- ```
---@param folder string
---@return flower.GivenResult[]
function test.recorded(folder) end

--- Writes files of the workspace.
---
--- ```lua
--- it("has a file", function()
---   flower.test.files{ ["src/a.txt"] = "a\n", ["README.md"] = "# A\n" }
---   expect(flower.fs.list("src")).to_equal{ "a.txt" }
--- end)
--- ```
---@param contents table<string, string> by path
function test.files(contents) end

--- Copies a file or folder that is beside the test into the workspace.
---
--- ```lua
--- it("knows that there is nothing to copy", function()
---   expect(function() flower.test.copy("missing", "calc") end).to_raise("missing")
--- end)
--- ```
---@param from string
---@param to? string default its own name
function test.copy(from, to) end

return test
