---@meta flower.goal

---@class flower.goal
---@field name string the step's name in the run's language
local goal = {}

---@class flower.JudgedFields
---@field channel? flower.Channel
---@field goal_path string
---@field spec? flower.Agent default a judge of the fields below
---@field name? string default goal.name; of with_goal the step's name
---@field instructions? string behind the role's own text
---@field rules? string in the place of that text
---@field can_run? boolean default false
---@field model? string
---@field effort? flower.Effort
---@field max_turns? integer
---@field max_budget_usd? number
---@field compact? flower.CompactMode|flower.Compact
---@field env? table<string, string>
---@field hooks? flower.Guard[]

---@class flower.GoalFields: flower.JudgedFields
---@field brief_key? string where in ctx the brief stands; default the clarifying step's name
---@field always_set? boolean default false; true: also where a complete goal is on disk
---@field retries? integer default 1
---@field on_fail? "stop"|"skip"|"continue"

---@class flower.WithGoalFields: flower.JudgedFields
---@field rounds? integer how often is ruled, at least 1; default 3

--- A step that leaves a complete goal in the file, in ctx._goal and, as a block for
--- prompts, in ctx under the step's name. A complete goal on disk skips it.
---
--- ```lua
--- local set = require("flower.goal").goal_step{ channel = flower.channel{}, goal_path = "notes/goal.md" }
--- ```
---@param o flower.GoalFields
---@return flower.Step
function goal.goal_step(o) end

--- A copy of a step whose gate is a judge that did none of the work.
---
--- ```lua
--- local work = flower.step{ name = "work", spec = flower.agent{ name = "coder" }, prompt = "Make it." }
--- work = require("flower.goal").with_goal(work, { goal_path = "notes/goal.md", rounds = 5 })
--- ```
---@param step flower.Step
---@param o flower.WithGoalFields
---@return flower.Step
function goal.with_goal(step, o) end

return goal
