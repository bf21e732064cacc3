---@meta flower

-- What a script has: the global `flower`, for the Lua language server. Nothing here
-- is executed. What callbacks are given stands in flower/values.lua.

--- The engine, as a script sees it. A name it does not have is an error when it is
--- read; nothing in it can be set.
---@class flower
---@field lang "en"|"zh" the language of what flower tells agents and writes
---@field script_dir string the absolute folder of the script; "" when it came from no file
---@field options table<string, any> values that the program which runs the script gives it; empty where it gives none
---@field runtime flower.Runtime runs one agent on one prompt, outside of steps
---@field fs flower.fs files of the workspace
---@field json flower.json
---@field document flower.document briefs, goals, verdicts and handoffs
---@field test flower.test scripts, stubs and files; in files of tests alone
flower = {}

---@alias flower.Effort "none"|"low"|"medium"|"high"|"xhigh"|"max"|integer a level, or tokens to think with, from 1024
---@alias flower.PermissionMode "default"|"acceptEdits"|"plan"|"bypassPermissions"
---@alias flower.CompactMode "auto"|"no_summary"|"off" auto: the harness summarises a conversation that fills its context; no_summary: it does not; off: nor when asked to
---@alias flower.Prompt string|fun(ctx: flower.Context): string

--- What starts an MCP server, or where it is: `command` or `url`, one of them. Its
--- tools are called `mcp__<name>__<tool>`.
---@class flower.MCPServer
---@field command? string a program on the PATH, or a path; it talks over its standard input and output
---@field args? string[] of the command
---@field env? table<string, string> for the command
---@field url? string http or https
---@field headers? table<string, string> sent to the url, and nowhere else

--- Whether the harness may shorten a conversation that fills its context.
---@class flower.Compact
---@field mode flower.CompactMode
---@field window? integer tokens from 100000, of auto alone; default: the model's context

---@class flower.AgentFields
---@field name string what accounts and messages call it
---@field instructions? string who it is; behind the harness's own system prompt
---@field allowed_tools? string[] all it may call; default Read, Glob, Grep; {} is none
---@field disallowed_tools? string[] barred, for its subagents too
---@field model? string a name, or opus, sonnet, haiku; default: that of the run
---@field effort? flower.Effort how hard to think; default: the provider's
---@field max_turns? integer turns of the model; 0 (default) is no limit
---@field max_budget_usd? number hard, subagents included; 0 (default) is no limit
---@field permission_mode? flower.PermissionMode default "default"
---@field compact? flower.CompactMode|flower.Compact default: not where sessions hand over; the native harness has no auto
---@field workers? table<string, flower.Worker> by the name it dispatches them with, where allowed_tools name Agent
---@field plugins? string[] folders, relative to the workspace; default: those of the workflow; {} is none
---@field delegate_only? boolean default false; true: it dispatches, and never writes or runs itself
---@field glance? boolean default false; true: may run commands that only look, although it is delegate_only
---@field workbench? boolean default true; false: it is not told of the workbench
---@field add_dirs? string[] folders beside the workspace that it may use; relative to the workspace
---@field env? table<string, string> for its commands
---@field mcp_servers? table<string, flower.MCPServer> by name
---@field hooks? flower.Guard[] asked behind the built-in guards, in order
---@field own_tools? flower.Tool[] tools of the script, where allowed_tools, or a worker's tools, name them
---@field channel? flower.Channel brings mcp__human__ask and mcp__human__inbox, where allowed_tools name them

--- What flower.agent and the roles made.
---@class flower.Agent

--- A plain agent. What is in the table is checked when it is used.
---
--- ```lua
--- local coder = flower.agent{ name = "coder", allowed_tools = { "Read", "Edit", "Bash" }, max_budget_usd = 2 }
--- ```
---@param fields flower.AgentFields
---@return flower.Agent
function flower.agent(fields) end

---@class flower.OracleFields
---@field instructions? string behind the rules
---@field rules? string in the place of the role's own text
---@field model? string default: that of the run
---@field effort? flower.Effort
---@field compact? flower.CompactMode|flower.Compact as an agent's
---@field max_turns? integer default no limit, of an oracle 12; not for a clarifier
---@field max_budget_usd? number default no limit, of an oracle 0.50
---@field env? table<string, string> for its commands
---@field hooks? flower.Guard[]

---@class flower.RoleFields: flower.OracleFields
---@field name string
---@field channel? flower.Channel gives it the tools that reach a person
---@field mcp_servers? table<string, flower.MCPServer>

---@class flower.CoordinatorFields: flower.RoleFields
---@field workers? table<string, flower.Worker> by the name it dispatches them with
---@field can_read? boolean default true: it may Read
---@field own_tools? flower.Tool[] tools of the script, where a worker's tools name them
---@field glance? boolean default true: it may run commands that only look
---@field permission_mode? flower.PermissionMode default "acceptEdits"
---@field plugins? string[] folders, relative to the workspace; default: those of the workflow; {} is none

---@class flower.ClarifierFields: flower.RoleFields
---@field can_read? boolean default true: Read, Glob, Grep, WebFetch, WebSearch

---@class flower.JudgeFields: flower.RoleFields
---@field can_run? boolean default false; true: it may run commands, in a throw-away copy of the workspace

--- An agent that dispatches workers and does nothing itself.
---
--- ```lua
--- local lead = flower.coordinator{
---   name = "lead",
---   workers = { coder = flower.worker{ description = "writes code", prompt = "You implement." } },
--- }
--- ```
---@param fields flower.CoordinatorFields
---@return flower.Agent
function flower.coordinator(fields) end

--- An agent that asks a person until the requirement is clear. It cannot write,
--- run or dispatch.
---
--- ```lua
--- local asker = flower.clarifier{ name = "asker", channel = flower.channel{ max_asks = 5 } }
--- ```
---@param fields flower.ClarifierFields
---@return flower.Agent
function flower.clarifier(fields) end

--- An agent that sets goals and rules on work. It cannot write or dispatch.
---
--- ```lua
--- local judge = flower.judge{ name = "judge", can_run = true }
--- ```
---@param fields flower.JudgeFields
---@return flower.Agent
function flower.judge(fields) end

--- An agent that answers a question about the run from the side, by Read, Glob and
--- Grep.
---
--- ```lua
--- local aside = flower.runtime:run(flower.oracle{}, "Which files changed so far?")
--- ```
---@param fields flower.OracleFields
---@return flower.Agent
function flower.oracle(fields) end

---@class flower.WorkerFields
---@field description string when to dispatch it
---@field prompt string what it is
---@field tools? string[] default Read, Write, Edit, Bash, Glob, Grep, WebFetch, WebSearch
---@field model? string default: its dispatcher's
---@field effort? flower.Effort default: its dispatcher's
---@field max_turns? integer of one dispatch; 0 (default) is no limit
---@field permission_mode? flower.PermissionMode default: its dispatcher's
---@field skills? string[] of plugins, those it may read; default: none, or all where tools name Skill
---@field isolate? boolean default false; true: a git worktree for each dispatch
---@field discipline? boolean default true: how to report is added to the prompt
---@field rules? string in the place of the text that discipline adds

--- What flower.worker made.
---@class flower.Worker

--- A subagent for a coordinator.
---
--- ```lua
--- local coder = flower.worker{ description = "writes code", prompt = "You implement.", isolate = true }
--- ```
---@param fields flower.WorkerFields
---@return flower.Worker
function flower.worker(fields) end

---@class flower.GuardFields
---@field on "before"|"after"
---@field check fun(call: flower.Call, reply: flower.Reply): any, string? see flower.guard
---@field match? string|string[] the tools it looks at; default: all
---@field name? string default: where it was made

--- What flower.guard made.
---@class flower.Guard

--- A check of tool calls, those of subagents too. on = "before": nothing or true
--- allows, false and a reason denies, a table is the new input. on = "after":
--- nothing leaves the reply as it is, any other plain value replaces it. A check that
--- fails denies a call, and leaves a reply as it was.
---
--- ```lua
--- local offline = flower.guard{
---   on = "before", match = "Bash",
---   check = function(call)
---     if call.input.command:find("curl", 1, true) then
---       return false, "This step works offline."
---     end
---   end,
--- }
--- ```
---@param fields flower.GuardFields
---@return flower.Guard
function flower.guard(fields) end

---@alias flower.InputType "string"|"integer"|"number"|"boolean"|"array"|"object"|"string?"|"integer?"|"number?"|"boolean?"|"array?"|"object?" what a field holds; with ? it may be left out

--- A field of a tool's input; it may hold more of JSON Schema.
---@class flower.InputField
---@field type "string"|"integer"|"number"|"boolean"|"array"|"object"
---@field description? string what the agent is told of it
---@field optional? boolean default false
---@field [string] any

---@class flower.ToolFields
---@field name string what agents and their allowed_tools call it
---@field description string what it does, and when to call it
---@field call fun(input: table, info: flower.ToolInfo): any, string? see flower.tool
---@field input? table<string, flower.InputField|flower.InputType> fields by name; default none
---@field read_only? boolean default false; true: it changes nothing

--- Whose call it is.
---@class flower.ToolInfo
---@field id string the call's
---@field agent string a subagent's id, "" on the main thread

--- What flower.tool made.
---@class flower.Tool

--- A tool of the script's own, for agents that have it in own_tools. call(input, info)
--- returns a text or other plain data, nothing, or nil and a message for the agent; what
--- it raises is told as a failure of the tool.
---
--- ```lua
--- local ticket = flower.tool{
---   name = "ticket_title", description = "Gives the title of a ticket.", read_only = true,
---   input = { number = "integer" },
---   call = function(input)
---     if input.number ~= 7 then return nil, "There is no such ticket." end
---     return "The greeting lacks a name"
---   end,
--- }
--- local clerk = flower.agent{ name = "clerk", allowed_tools = { "ticket_title" }, own_tools = { ticket } }
--- ```
---@param fields flower.ToolFields
---@return flower.Tool
function flower.tool(fields) end

---@class flower.StepFields
---@field name string the step's key in ctx, accounts and lineage; no # and no key that flower owns
---@field spec flower.Agent
---@field prompt flower.Prompt what is asked, made once for the step
---@field resume_prompt? flower.Prompt asked instead of prompt when a session is continued
---@field resume_from? string an earlier step, whose session goes on
---@field fork? boolean default false; true: in a copy of that session
---@field retries? integer attempts behind the first, 0 (default) to 1000
---@field gate? fun(result: flower.Result, ctx: flower.Context): boolean, string? true, or false and a reason
---@field on_reject? fun(result: flower.Result, ctx: flower.Context, reason: string): string what is sent back to the session; "" starts over
---@field when? fun(ctx: flower.Context): boolean whether the step runs at all
---@field reduce? fun(result: flower.Result, ctx: flower.Context): string what ctx keeps of a result that passed; default its text
---@field on_fail? "stop"|"skip"|"continue" default "stop"

--- What flower.step made.
---@class flower.Step: flower.StepFields

--- One unit of a workflow.
---
--- ```lua
--- local fix = flower.step{
---   name = "fix", spec = flower.agent{ name = "coder", allowed_tools = { "Edit" } },
---   prompt = "Mend the code.", retries = 2,
---   gate = function()
---     local tests = flower.sh("make test")
---     return tests.code == 0, tests.output
---   end,
--- }
--- ```
---@param fields flower.StepFields
---@return flower.Step
function flower.step(fields) end

--- What flower.parallel made.
---@class flower.Parallel

--- Steps that run side by side. All come to their end, also when one of them stops
--- the workflow.
---
--- ```lua
--- local reader = flower.agent{ name = "reader" }
--- local both = flower.parallel{
---   flower.step{ name = "what", spec = reader, prompt = "What is this?" },
---   flower.step{ name = "who", spec = reader, prompt = "Who is it for?" },
--- }
--- ```
---@param steps flower.Step[]
---@return flower.Parallel
function flower.parallel(steps) end

---@class flower.WorkflowFields
---@field steps (flower.Step|flower.Parallel)[] in order, 1 to 10000
---@field name? string default: the script's, without its ending
---@field context? table<string, any> the table that is ctx; default an empty one
---@field continuous? boolean default true; false: continues no session, and leaves none behind
---@field on_step? fun(step: string, result: flower.Result) told of every step that ran
---@field channel? flower.Channel through which the person who watches answers
---@field workbench? flower.Workbench where the agents leave things; default: that of the run
---@field plugins? string[] folders with agents, skills and MCP servers, for agents that name none; default: the folder plugin

--- What flower.workflow made.
---@class flower.Workflow

--- Steps in order. Everything that is wrong with it, its steps and their agents is
--- raised at once. Return it from the script, or give it to flower.run.
---
--- ```lua
--- return flower.workflow{
---   name = "hello",
---   steps = { flower.step{ name = "hello", spec = flower.agent{ name = "poet" }, prompt = "Say hello." } },
--- }
--- ```
---@param fields flower.WorkflowFields
---@return flower.Workflow
function flower.workflow(fields) end

--- Runs a workflow now and waits for its end. Raises when it cannot start; a step
--- that fails is in what it returns.
---
--- ```lua
--- local step = flower.step{ name = "hello", spec = flower.agent{ name = "poet" }, prompt = "Say hello." }
--- local ending = flower.run(flower.workflow{ steps = { step } })
--- print(ending.ok, ending.context.hello)
--- ```
---@param workflow flower.Workflow
---@return flower.Ending
function flower.run(workflow) end

---@class flower.CommandOptions
---@field timeout? number seconds, more than 0; default 120
---@field dir? string a folder of the workspace; default the workspace

--- How a command ended.
---@class flower.CommandResult
---@field code integer -1 when a signal or the time-out ended it
---@field output string what it printed on both channels; cut in the middle beyond 30000 characters
---@field timed_out boolean
---@field signal? string the signal that ended it
---@field file? string where the whole output is, when it was cut

--- Runs a command line in the workspace and waits for it. A command that fails is no
--- error.
---
--- ```lua
--- local tests = flower.sh("make test", { timeout = 300 })
--- if tests.code ~= 0 then print(tests.output) end
--- ```
---@param command string
---@param options? flower.CommandOptions
---@return flower.CommandResult
function flower.sh(command, options) end

--- A line for the person who watches the run.
---
--- ```lua
--- flower.log("three files to go")
--- ```
---@param text any
function flower.log(text) end

--- Ends the step whose callback says it, without another attempt; outside of
--- callbacks, the script. It does not return.
---
--- ```lua
--- if flower.lang ~= "en" then flower.abort("the prompts are in English") end
--- ```
---@param reason string
function flower.abort(reason) end

--- Looks through a table of options: raises when a required field is missing, or when
--- one is there that neither list names, and says where the function that asks was
--- called. For functions of your own that take options.
---
--- ```lua
--- local function greet(options)
---   flower.fields("greet", options, { "name" }, { "loud" })
---   return options.loud and options.name:upper() or options.name
--- end
--- assert(greet{ name = "ada", loud = true } == "ADA")
--- ```
---@param what string the function, as messages call it
---@param options table
---@param required string[]
---@param optional? string[]
---@return table options
function flower.fields(what, options, required, optional) end

---@class flower.ChannelFields
---@field max_asks? integer how many questions may be asked; default any number, 0 none
---@field timeout? number seconds that a question waits; default for ever, 0 asks nobody
---@field log_path? string a file for every question with its end, and every mail
---@field amend_path? string the brief, to which mail is appended

--- A way to a person. Give it to the workflow, and to the agents that may ask.
---
--- ```lua
--- local channel = flower.channel{ max_asks = 5, timeout = 1800, log_path = "notes/qa.md" }
--- ```
---@param fields? flower.ChannelFields
---@return flower.Channel
function flower.channel(fields) end

---@class flower.WorkbenchFields
---@field outside? boolean default false; true: beside the workspace, where isolated workers can write
---@field make? boolean default true; false: only names the folders

--- The folders in which agents leave things, as absolute paths.
---@class flower.Workbench
---@field root string
---@field notes string
---@field scripts string
---@field artifacts string
---@field spill string large results that were moved to files
---@field index string the file that lists what is there

--- The workbench's folders, which are made.
---
--- ```lua
--- local bench = flower.workbench()
--- print(bench.notes)
--- ```
---@param fields? flower.WorkbenchFields
---@return flower.Workbench
function flower.workbench(fields) end

---@class flower.System
---@field os string such as linux, darwin
---@field arch string such as amd64, arm64
---@field shell "bash"|"sh"
---@field git boolean the workspace is the root of a git repository
---@field tools string[] of a fixed list of programs, those on the PATH

--- What is known of the machine.
---
--- ```lua
--- local s = flower.system()
--- print(s.os, s.arch, table.concat(s.tools, ", "))
--- ```
---@return flower.System
function flower.system() end

---@class flower.Lineage
---@field woke integer how many runs this directory has seen
---@field steps table<string, string> the session that each step used last

--- What earlier runs left. It writes nothing.
---
--- ```lua
--- if flower.lineage().woke == 0 then print("the first run here") end
--- ```
---@return flower.Lineage
function flower.lineage() end

--- Moves the lineage and files that are there into a new folder below into, and so
--- begins anew. Gives that folder, "" when there was nothing to move.
---
--- ```lua
--- local dir = assert(flower.archive("notes/archive", "notes/brief.md"))
--- ```
---@param into string
---@param ... string files
---@return string? dir
---@return string? err
function flower.archive(into, ...) end

--- A digest of the workspace's files, without .git, .flower and the run directory:
--- the same text means that nothing changed.
---
--- ```lua
--- local before = assert(flower.workspace_hash())
--- ```
---@return string? hash
---@return string? err
function flower.workspace_hash() end

return flower
