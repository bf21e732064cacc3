-- Tests of workflow.lua: no key, no network, a workspace of its own for each.
--
--   flower test            all tests in this folder and below
--   flower test --watch    again whenever one of the files changes

local test = flower.test
local sum = test.load("workflow.lua")

describe("the gate", function()
  it("passes a program that works", function()
    test.files{ ["sum.sh"] = 's=0; for n in "$@"; do s=$((s + n)); done; echo $s\n' }
    expect(sum.steps.write.gate()).to_be(true)
  end)

  it("says what is wrong with one that does not", function()
    test.files{ ["sum.sh"] = "echo 6\n" }
    local pass, reason = sum.steps.write.gate()
    expect(pass).to_be(false)
    expect(reason).to_contain("sh sum.sh -4 4 must print 0")
  end)
end)

it("sends back what does not work, until it does", function()
  test.stub{ model = test.rehearsal("workflow.rehearsal.lua") }
  local run = sum.run()
  expect(run.ok, run.reason).to_be(true)
  expect(#run.results).to_be(2)
  expect(run.prompts[2].prompt).to_contain("It does not work yet")
  expect(flower.sh("sh sum.sh 20 22").output).to_be("42\n")
end)
