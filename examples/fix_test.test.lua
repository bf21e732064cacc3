-- Tests of fix_test.lua.
--
--   flower test examples

local test = flower.test
local fix = test.load("fix_test.lua") -- which copies the module into the workspace
local step = fix.steps.fix

describe("the step fix, with tests that need not run", function()
  local go_test

  before_each(function()
    go_test = { code = 0 }
    test.stub{
      sh = function(command, options)
        expect(command).to_be("go test ./...")
        expect(options.dir).to_be("calc")
        return go_test
      end,
    }
  end)

  it("passes when they do", function()
    expect(step.gate()).to_be(true)
  end)

  it("sends back what they print", function()
    go_test = { code = 1, output = "Mean(2, 4, 6) = 3, want 4" }
    local pass, reason = step.gate()
    expect(pass).to_be(false)
    expect(step.on_reject({}, {}, reason)).to_contain("Mean(2, 4, 6) = 3, want 4")
  end)

  it("shows the agent what fails", function()
    go_test = { code = 1, output = "FAIL calc_test.go:7" }
    expect(step.prompt()).to_contain("FAIL calc_test.go:7")
  end)

  it("gives up after four attempts", function()
    go_test = { code = 1, output = "FAIL" }
    test.stub{ model = { "first", "second", "third", "fourth" } }
    local run = fix.run()
    expect(run.failed_at).to_be("fix")
    expect(#run.results).to_be(4)
  end)
end)

it("mends the module in the second attempt", function()
  test.stub{ model = test.rehearsal("fix_test.rehearsal.lua") }
  local run = fix.run()
  expect(run.ok, run.reason).to_be(true)
  expect(#run.results).to_be(2)
  expect(run.results[2].session_id).to_be(run.results[1].session_id)
  expect(run.prompts[2].prompt).to_contain("Mean(2, 4, 6) = 3, want 4")
end)
