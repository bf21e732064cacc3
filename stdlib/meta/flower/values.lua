---@meta flower.values

-- What callbacks are given and handles have. This is no module: scripts do not
-- require it.

--- Tokens by kind.
---@class flower.Tokens
---@field input integer
---@field output integer
---@field cache_read integer
---@field cache_write integer
---@field cache_write_1h integer

---@class flower.Account
---@field tokens flower.Tokens
---@field turns integer
---@field tool_calls integer
---@field dispatches integer

---@class flower.Usage
---@field main flower.Account the agent itself
---@field sub flower.Account its subagents

---@alias flower.Stop
---| "end_turn" # the model had nothing more to do
---| "max_turns"
---| "budget"
---| "refusal" # the model declined
---| "empty_answer" # twice neither text nor a call
---| "max_tokens" # the answer did not fit, twice
---| "window_exceeded" # the provider says that the context is full
---| "context_full" # the context is full and nothing took over
---| "interrupted"
---| "stuck" # the same calls over and over
---| "failed" # see error

--- What an attempt came to.
---@class flower.Result
---@field run string the run's id
---@field step string the label: fix, fix#round2 (sent back), fix#retry1 (started over)
---@field session_id string
---@field ok boolean the agent came to its end; whether the work is good is for the gate to say
---@field stop flower.Stop
---@field text string all the agent said
---@field last_message string what it said last
---@field error string the last error; "" for none
---@field gate "passed"|"rejected"|"aborted"|"broken"|"" what the step's gate made of it; "" where none was asked, and before it is
---@field gate_reason string why it did not pass; ""
---@field errors string[] one text for each attempt that failed or was interrupted
---@field cost_usd? number nil where no price is known
---@field num_turns integer
---@field usage flower.Usage
---@field attempts integer requests repeated after failures count, interrupts do not
---@field resumed boolean an attempt went on in this run's own session
---@field retired string[] sessions that a handoff replaced
---@field context integer tokens the agent saw in its last request
---@field started_at string RFC 3339, UTC
---@field ended_at string RFC 3339, UTC
---@field duration_s number seconds

--- What the steps of a workflow share: the value of every step that passed, under
--- its name, and what callbacks write.
---@class flower.Context
---@field [string] any
---@field _runtime flower.Runtime of this workflow
---@field _on_event fun(event: flower.Event) sends an event to whoever watches
---@field _sessions table<string, string> the session of each step that ran
---@field _results table<string, flower.Result> the last result of each step that ran
---@field _lineage table<string, string> the sessions that earlier runs left, by step
---@field _woke integer runs in this directory, from 1; 0 when the workflow is not continuous
---@field _aborted? string the reason of an abort
---@field _failed_at? string the step that stopped the workflow
---@field _brief? flower.Brief set by flower.clarify
---@field _brief_missing? string[] the sections that the last brief lacked
---@field _goal? flower.Goal set by flower.goal
---@field _verdict? flower.Verdict the last ruling
---@field _goal_rounds? integer how often was ruled

---@class flower.Event
---@field kind? string default "task"
---@field text? string
---@field step? string
---@field payload? table<string, any> plain data

--- Something that happened in a run, as --events writes it.
---@class flower.RunEvent
---@field kind string step, prompt, text, thinking, tool_call, tool_result, task, system, reset, result, error, retry, handoff, ask, unknown
---@field time string
---@field seq integer from 1
---@field text? string
---@field tool? string
---@field step? string
---@field session? string
---@field subagent? string its id; nil on the main thread
---@field payload? table<string, any>
---@field [string] any

--- How a workflow ended.
---@class flower.Ending
---@field ok boolean it reached its end
---@field failed_at string the step that stopped it; ""
---@field reason string why; ""
---@field aborted string the reason of the last abort; ""
---@field context flower.Context
---@field cost_usd? number nil where the price of an attempt is not known

--- A tool call, as a guard sees it.
---@class flower.Call
---@field id string
---@field tool string
---@field input table<string, any>
---@field agent string the subagent's id; "" on the main thread
---@field role string the subagent's kind; on the main thread the agent's name
---@field step string
---@field session string
---@field dir string the working directory
---@field main_thread boolean

--- What a tool call returned.
---@class flower.Reply
---@field value any a text, or plain data
---@field is_error boolean

--- What flower raises: an error value with a place. tostring gives
--- `where: message`.
---@class flower.Error
---@field code "misuse"|"engine"|"abort"|"limit"|"syntax"
---@field message string
---@field where string file:line

---@class flower.RunOptions
---@field step_name? string the label in accounts; default the agent's name
---@field resume? string the session to continue
---@field fork? boolean default false; true: in a copy
---@field resume_at? string the uuid of the message to go back to
---@field on_event? fun(event: flower.RunEvent) told of everything that happens, in order

--- Runs agents in the workspace. Nothing in it can be set.
---@class flower.Runtime
---@field id string of the run
---@field workspace string absolute
---@field run_dir string absolute
---@field manifest string where the accounts are
local Runtime = {}

--- Runs an agent on a prompt to the end of its turn. Raises when the order cannot be
--- carried out; an agent that failed has ok = false.
---
--- ```lua
--- local r = flower.runtime:run(flower.agent{ name = "reader" }, "What is this project?", { step_name = "look" })
--- print(r.ok, r.text)
--- ```
---@param agent flower.Agent
---@param prompt string
---@param options? flower.RunOptions
---@return flower.Result
function Runtime:run(agent, prompt, options) end

--- Ends the turn of every agent at work, which then goes on with the words. False
--- when none is.
---
--- ```lua
--- flower.runtime:interrupt("Look at the tests first.")
--- ```
---@param words? string
---@return boolean
function Runtime:interrupt(words) end

---@class flower.Question
---@field id string q1, q2, …
---@field text string
---@field options? string[]
---@field state flower.AskState
---@field answer? string
---@field asked string RFC 3339

---@alias flower.AskState
---| "answered"
---| "timeout"
---| "declined" # left to whoever asked
---| "over_budget" # max_asks were asked before
---| "invalid" # the question was empty
---| "asked" # interrupted; it stays open

--- The way to a person.
---@class flower.Channel
local Channel = {}

--- Asks and waits. The text is the answer or, where the state is not "answered",
--- what an agent would be told.
---
--- ```lua
--- local channel = flower.channel{ timeout = 0 }
--- local text, state = channel:ask("Which port?", { "8080", "9090" })
--- ```
---@param question string
---@param options? string[]
---@return string text
---@return flower.AskState state
function Channel:ask(question, options) end

--- Takes out all mail, as the text an agent gets. Never waits.
---
--- ```lua
--- print(flower.channel{}:inbox())
--- ```
---@return string
function Channel:inbox() end

--- Mail for the agents; true when it was written into the brief.
---
--- ```lua
--- local in_brief, why_not = flower.channel{ amend_path = "brief.md" }:send("Blue, please.")
--- ```
---@param text string
---@return boolean amended
---@return string? err
function Channel:send(text) end

--- Answers an open question; false when it is not open.
---
--- ```lua
--- local channel = flower.channel{}
--- for _, q in ipairs(channel:pending()) do channel:answer(q.id, "yes") end
--- ```
---@param id string
---@param text string
---@return boolean
function Channel:answer(id, text) end

--- Leaves the decision to whoever asked; false when the question is not open.
---
--- ```lua
--- flower.channel{}:decline("q1")
--- ```
---@param id string
---@return boolean
function Channel:decline(id) end

--- The open questions, oldest first.
---
--- ```lua
--- local open = flower.channel{}:pending()
--- print(#open)
--- ```
---@return flower.Question[]
function Channel:pending() end

--- How many questions may still be asked; -1 is any number.
---
--- ```lua
--- assert(flower.channel{ max_asks = 3 }:remaining() == 3)
--- ```
---@return integer
function Channel:remaining() end

--- What a rehearsal is asked: the turn that a model would be.
---@class flower.Turn
---@field step string the label of the attempt
---@field role string
---@field agent string a subagent's id; "" on the main thread
---@field turn integer from 1
---@field prompt string the newest words of the user
---@field messages flower.Message[]
---@field tools string[] the names of those offered

---@class flower.Message
---@field role "user"|"assistant"
---@field text string
---@field calls flower.MessageCall[]
---@field results flower.MessageResult[]

---@class flower.MessageCall
---@field id string
---@field tool string
---@field input table<string, any>

---@class flower.MessageResult
---@field id string of the call
---@field text string
---@field is_error boolean

---@class flower.ToolCall
---@field tool string
---@field input? table<string, any> default {}

--- A request that fails.
---@class flower.RequestError
---@field status? integer of HTTP
---@field type? string such as overloaded_error
---@field message? string
---@field retry_after? number seconds

--- What a rehearsal answers, where it is not just a text.
---@class flower.Answer
---@field text? string
---@field thinking? string
---@field tool? string one call
---@field input? table<string, any> of tool
---@field calls? flower.ToolCall[] several calls
---@field stop? string default end_turn, or tool_use with calls
---@field error? flower.RequestError the request fails instead

--- What the file of a rehearsal returns.
---@alias flower.Rehearsal fun(turn: flower.Turn): string|flower.Answer
