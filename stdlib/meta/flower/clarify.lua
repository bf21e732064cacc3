---@meta flower.clarify

---@class flower.clarify
---@field name string the step's name in the run's language
local clarify = {}

---@class flower.ClarifyFields
---@field channel flower.Channel
---@field brief_path string
---@field prompt flower.Prompt
---@field more? string what was asked for since the session of an earlier run began, which is told so
---@field name? string default clarify.name
---@field spec? flower.Agent default a clarifier of the fields below
---@field instructions? string behind the role's own text
---@field rules? string in the place of that text
---@field can_read? boolean default true
---@field model? string
---@field effort? flower.Effort
---@field max_budget_usd? number
---@field compact? flower.CompactMode|flower.Compact
---@field env? table<string, string>
---@field hooks? flower.Guard[]
---@field always_ask? boolean default false; true: also where a complete brief is on disk
---@field retries? integer default 1
---@field on_fail? "stop"|"skip"|"continue"

--- A step that asks a person until a complete brief is in the file, in ctx._brief
--- and, as a block for prompts, in ctx under the step's name. A complete brief on disk
--- skips it.
---
--- ```lua
--- local clarify = require("flower.clarify")
--- local ask_first = clarify.clarify_step{
---   channel = flower.channel{}, brief_path = "notes/brief.md", prompt = "We need a login page.",
--- }
--- ```
---@param o flower.ClarifyFields
---@return flower.Step
function clarify.clarify_step(o) end

--- The document in what an agent said: in its last message, or in all it said when
--- that has none of the document's headings.
---
--- ```lua
--- local clarify = require("flower.clarify")
--- local goal = clarify.parse("goal", { text = "## Goal\nIt runs.\n\n## Checks\n- run it\n", last_message = "Done." })
--- ```
---@param kind flower.DocumentKind
---@param result flower.Result
---@return flower.AnyDocument
function clarify.parse(kind, result) end

return clarify
