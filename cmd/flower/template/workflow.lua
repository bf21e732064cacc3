-- One step behind a gate: an agent writes a program, the gate runs it, and what is
-- wrong with it is sent back to the session that wrote it.
--
--   flower --rehearse workflow.rehearsal.lua workflow.lua    no key, no network
--   flower workflow.lua                                      with a key
--   flower replay --watch workflow.lua                       try another gate on what was recorded
--   flower test                                              run the tests in workflow.test.lua

local coder = flower.agent{
  name = "coder",
  instructions = "You write short, portable shell scripts.",
  allowed_tools = { "Read", "Write", "Edit" },
}

-- What the program must do: arguments and what it prints for them.
local cases = {
  { given = "1 2 3", want = "6" },
  { given = "-4 4", want = "0" },
  { given = "", want = "0" },
}

-- test runs all cases and returns nothing, or what is wrong.
local function test()
  for _, case in ipairs(cases) do
    local run = flower.sh("sh sum.sh " .. case.given)
    local printed = run.output:match("^%s*(.-)%s*$")
    if run.code ~= 0 or printed ~= case.want then
      return ("sh sum.sh %s must print %s; it printed %q and ended with %d"):format(case.given, case.want, printed, run.code)
    end
  end
end

return flower.workflow{
  name = "sum",
  steps = {
    flower.step{
      name = "write",
      spec = coder,
      prompt = "Write the script sum.sh. It prints the sum of its arguments, which are whole numbers.",
      retries = 3,
      gate = function()
        local wrong = test()
        return wrong == nil, wrong
      end,
      on_reject = function(_, _, reason)
        return "It does not work yet: " .. reason .. "\nMend sum.sh."
      end,
    },
  },
}
