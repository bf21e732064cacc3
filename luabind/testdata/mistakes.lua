-- Everything that is wrong with a workflow's tables is told at once, each by the
-- line of its field.
local lead = flower.agent{
  name = "lead",
  instuctions = "Be brief.", -- ### "steps\[1\]\.spec\.instuctions: is not a field .* did you mean \"instructions\"\?"
  allowed_tools = "Read", -- ### "steps\[1\]\.spec\.allowed_tools: must be a list of strings, is a string"
  max_turns = -1, -- ### "steps\[1\]\.spec\.max_turns: is -1; it must not be negative"
  max_budget_usd = "1", -- ### "steps\[1\]\.spec\.max_budget_usd: must be a number, is a string"
  permission_mode = "acceptEdit", -- ### "steps\[1\]\.spec\.permission_mode: is \"acceptEdit\"; it must be one of default, acceptEdits, plan, bypassPermissions .* did you mean \"acceptEdits\"\?"
  env = { A = 1 }, -- ### "steps\[1\]\.spec\.env: must hold strings by name; \[A\] is a number"
}
return flower.workflow{
  nme = "fix", -- ### "nme: is not a field .* did you mean \"name\"\?"
  continuous = "yes", -- ### "continuous: must be true or false, is a string"
  context = 7, -- ### "context: must be a table, is a number"
  on_step = "print", -- ### "on_step: must be a function, is a string"
  steps = { -- ### "steps: item 2 is a table; it must be a flower.step" ### "steps: item 3 is a string; it must be a flower.step"
    flower.step{
      name = "one",
      spec = lead,
      prompt = "Do it.",
      retries = 1.5, -- ### "steps\[1\]\.retries: must be a whole number, is 1.5"
      gate = true, -- ### "steps\[1\]\.gate: must be a function, is a boolean"
      on_fail = "ignore", -- ### "steps\[1\]\.on_fail: is \"ignore\"; it must be one of stop, skip, continue"
    },
    { name = "two" },
    "three",
    flower.step{ -- ### "steps\[4\]\.name: is missing; it is a string" ### "steps\[4\]\.spec: is missing; it is a flower.agent" ### "steps\[4\]\.prompt: is missing; it is a string or a function of ctx"
    },
    flower.step{
      name = 5, -- ### "steps\[5\]\.name: must be a string, is a number"
      spec = { name = "plain" }, -- ### "steps\[5\]\.spec: must be a flower.agent.*, is a table"
      prompt = 5, -- ### "steps\[5\]\.prompt: must be a string or a function of ctx, is a number"
      resume_prompt = true, -- ### "steps\[5\]\.resume_prompt: must be a string or a function of ctx, is a boolean"
      fork = 1, -- ### "steps\[5\]\.fork: must be true or false, is a number"
      retrys = 3, -- ### "steps\[5\]\.retrys: is not a field .* did you mean \"retries\"\?"
    },
  },
}
---
-- A table that is not written in the call is placed by the call.
local w = { steps = { {} } }
return flower.workflow(w) -- ### "steps: item 1 is a table; it must be a flower.step"
---
-- What the engine itself finds wrong is told with the field's line as well.
local a = flower.agent{ name = "a" }
return flower.workflow{
  steps = {
    flower.step{
      name = "first", spec = a, prompt = "p",
      resume_from = "frist", -- ### "steps\[1\]\.resume_from: no earlier step is called \"frist\""
    },
    flower.step{
      name = "_sessions", -- ### "steps\[2\]\.name: \"_sessions\" is a key of the context that the runner owns"
      spec = a, prompt = "p",
    },
    flower.step{
      name = "third", spec = a, prompt = "p",
      resume_from = "frst", -- ### "steps\[3\]\.resume_from: no earlier step is called \"frst\" .* did you mean \"first\"\?"
    },
    flower.step{
      name = " ", -- ### "steps\[4\]\.name: is missing"
      spec = a, prompt = "p",
    },
    flower.step{
      name = "fifth", prompt = "p",
      spec = flower.agent{ name = " " }, -- ### "steps\[5\]\.spec: spec without a name"
    },
  },
}
---
-- A table that was set later is placed by its constructor.
local a = flower.agent{ name = "a" }
local s = flower.step{ name = "s", spec = a, prompt = "p" } -- ### "steps\[1\]\.gate: must be a function, is a number"
s.gate = 5
return flower.workflow{ steps = { s } }
---
return flower.workflow{} -- ### "steps: is missing; it is a list of flower.step"
---
return flower.workflow{ steps = {} } -- ### "steps: is empty; a workflow has at least one flower.step"
---
return flower.workflow{ steps = "all" } -- ### "steps: must be a list of flower.step.*, is a string"
---
return flower.workflow{ 1, 2, 3, steps = {} } -- ### "holds a value under \[1\]; it has named fields only" ### "steps: is empty"
---
return flower.workflow("fix") -- ### "flower.workflow takes one table: .*; it was given a string"
---
return flower.workflow() -- ### "flower.workflow takes one table: .*; it was given nothing"
---
return flower.step({}, {}) -- ### "flower.step takes one table: .*; it was given a table, a table"
---
local t = { name = "twice" }
flower.agent(t)
flower.agent(t) -- ### "flower.agent was given the table of a agent; give it a table of its own"
---
-- A module's mistakes are told by the line of the call, in one place.
local make = function(name)
  return flower.step{ name = name, spec = flower.agent{ name = "x" }, prompt = nil } -- ### "steps\[1\]\.prompt: is missing"
end
return flower.workflow{ steps = { make("a") } }
---
-- Effort is a level or a number of tokens.
local a = flower.agent{ name = "a", effort = 4000 }
local b = flower.agent{ name = "b", effort = {} } -- ### "steps\[2\]\.spec\.effort: must be a string, is a table"
return flower.workflow{ steps = {
  flower.step{ name = "a", spec = a, prompt = "p" },
  flower.step{ name = "b", spec = b, prompt = "p" },
} }
---
-- A script returns a workflow or nothing.
return 5 -- ### "the script returned a number; return what flower.workflow.* gives, or nothing"
---
return { steps = {} } -- ### "the script returned a table; return what flower.workflow"
---
return flower.step{ name = "s" } -- ### "the script returned a flower.step; return what flower.workflow"
