---@meta flower.starter

---@class flower.starter
local starter = {}

---@class flower.StarterFields
---@field ask? string what to make or, where a brief is, one more thing
---@field new? boolean archive what is there and begin anew
---@field isolate? boolean each dispatch of the worker gets a git worktree
---@field clarify_only? boolean stop when the requirement is clear
---@field goal? boolean default true; false: nobody judges
---@field rounds? integer how often is ruled; default 3
---@field judge_can_run? boolean default false
---@field max_asks? integer default any number
---@field timeout_s? number seconds that a question waits; default 1800
---@field instructions? string for the coordinator
---@field worker_prompt? string what the worker is
---@field brief_path? string default in the workbench
---@field goal_path? string default in the workbench
---@field question_log? string default in the workbench

---@class flower.WakeState
---@field waking boolean a complete brief is there
---@field brief? flower.Brief
---@field goal? flower.Goal
---@field checks integer
---@field woke integer
---@field steps table<string, string>

--- The workflow behind `flower "make me X"`: clarify, set a goal, work under a judge.
---
--- ```lua
--- return require("flower.starter").starter{ ask = "a script that says hello", rounds = 5 }
--- ```
---@param o flower.StarterFields
---@return flower.Workflow
function starter.starter(o) end

--- What a run in this workspace would find. Writes nothing.
---
--- ```lua
--- print(require("flower.starter").wake_state().waking)
--- ```
---@param o? flower.StarterFields
---@return flower.WakeState
function starter.wake_state(o) end

return starter
