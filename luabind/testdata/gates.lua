-- What a callback must return, and what is told when it does something else. The
-- place is the function's, or where it raised.
local a = flower.agent{ name = "a" }
local function step(t)
  t.name, t.spec, t.prompt = t.name or "s", a, t.prompt or "p"
  return flower.step(t)
end
return flower.workflow{ steps = {
  step{ name = "nil", on_fail = "skip",
    gate = function() end, -- ### "gate of step nil is broken: gate must return true, or false and a reason; it returned nil, nil"
  },
  step{ name = "number", on_fail = "skip",
    gate = function() return 1 end, -- ### "gate must return true, or false and a reason; it returned number, nil"
  },
  step{ name = "text alone", on_fail = "skip",
    gate = function() return "not done" end, -- ### "gate must return .* it returned string, nil"
  },
  step{ name = "reason that is no text", on_fail = "skip",
    gate = function() return false, { "not done" } end, -- ### "gate must return .* it returned boolean, table"
  },
  step{ name = "raises", on_fail = "skip",
    gate = function(result)
      return result.text.x.y -- ### "gate of step raises is broken: attempt to index a nil value"
    end,
  },
  step{ name = "raises a table", on_fail = "skip",
    gate = function()
      error({ message = "my own" }) -- ### "gate of step raises a table is broken: my own"
    end,
  },
  step{ name = "raises an odd table", on_fail = "skip",
    gate = function()
      error({ 1, 2 }) -- ### "an error that is a table without a message was raised"
    end,
  },
  step{ name = "raises nothing", on_fail = "skip",
    gate = function()
      error(nil) -- ### "an error that is a nil was raised"
    end,
  },
  step{ name = "loops", on_fail = "skip",
    gate = function()
      while true do end -- ### "gate of step loops is broken: the script computed for 300ms without a call into the engine and was stopped"
    end,
  },
  step{ name = "catches and loops", on_fail = "skip",
    gate = function()
      while true do pcall(function() while true do end end) end -- ### "the script computed for 300ms"
    end,
  },
  step{ name = "deep", on_fail = "skip",
    gate = function()
      local function f() return 1 + f() end -- ### "calls are nested more than 500 deep: does a function call itself without an end\?"
      return f()
    end,
  },
  step{ name = "misuse", on_fail = "skip",
    gate = function()
      return flower.sh(5).code == 0 -- ### "gate of step misuse is broken: flower.sh takes the command, a string, not a number"
    end,
  },
  step{ name = "when", on_fail = "skip",
    when = function() return "yes" end, -- ### "when of step when is broken: when must return true or false; it returned string"
  },
  step{ name = "when nil", on_fail = "skip",
    when = function() end, -- ### "when must return true or false; it returned nil"
  },
  step{ name = "prompt", on_fail = "skip",
    prompt = function() return nil end, -- ### "prompt of step prompt is broken: prompt must return a string; it returned nil"
  },
  step{ name = "prompt table", on_fail = "skip",
    prompt = function() return {} end, -- ### "prompt must return a string; it returned table"
  },
  step{ name = "on_reject", on_fail = "skip", retries = 1,
    gate = function() return false, "no" end,
    on_reject = function() return true end, -- ### "on_reject of step on_reject is broken: on_reject must return a string; it returned boolean"
  },
  step{ name = "on_reject nil", on_fail = "skip", retries = 1,
    gate = function() return false, "no" end,
    on_reject = function() end, -- ### "on_reject must return a string; it returned nil"
  },
  step{ name = "on_reject raises", on_fail = "skip", retries = 1,
    gate = function() return false, "no" end,
    on_reject = function(_, _, reason)
      error("cannot say " .. reason) -- ### "on_reject of step on_reject raises is broken: cannot say no"
    end,
  },
  step{ name = "reduce", on_fail = "skip",
    reduce = function() end, -- ### "reduce of step reduce is broken: reduce must return a string; it returned nil"
  },
  step{ name = "coroutine", on_fail = "skip",
    gate = function()
      coroutine.yield() -- ### "can not yield from outside of a coroutine"
    end,
  },
  step{ name = "within", on_fail = "skip",
    gate = function()
      return coroutine.wrap(function()
        error("inside") -- ### "gate of step within is broken: inside"
      end)()
    end,
  },
} }
---
-- An error of on_step is told and changes nothing.
return flower.workflow{
  steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p" } },
  on_step = function()
    error("on_step does not matter") -- ### "on_step: on_step does not matter"
  end,
}
