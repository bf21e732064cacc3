-- Mends a small Go module whose test fails. The gate runs the tests; what they
-- print is sent back to the session that was wrong.
--
--   flower --rehearse examples/fix_test.rehearsal.lua examples/fix_test.lua

-- The broken module lies beside this script; the agent gets a copy in the
-- workspace.
if not flower.fs.exists("calc") then
  local copy = flower.sh("cp -R '" .. flower.script_dir .. "/testdata/fix_test' calc")
  assert(copy.code == 0, copy.output)
end

local function run_tests()
  return flower.sh("go test ./...", { dir = "calc", timeout = 300 })
end

local coder = flower.agent{
  name = "coder",
  instructions = "You mend Go code. Change the code, not the tests.",
  allowed_tools = { "Read", "Edit", "Bash" },
}

return flower.workflow{
  name = "fix_test",
  steps = {
    flower.step{
      name = "fix",
      spec = coder,
      prompt = function()
        return "The tests of the Go module in calc fail. Mend calc/calc.go.\n\n" .. run_tests().output
      end,
      retries = 3,
      gate = function()
        local tests = run_tests()
        return tests.code == 0, tests.output
      end,
      on_reject = function(_, _, reason)
        return "The tests still fail:\n\n" .. reason .. "\nLook again and mend it."
      end,
    },
  },
}
