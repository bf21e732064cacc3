-- Tests of guard.lua: what the agent gets to hear of its commands.
--
--   flower test examples

local test = flower.test
local guard = test.load("guard.lua")

-- heard has the agent run a command and gives the result it was shown.
local function heard(command)
  local result
  test.stub{
    model = function(turn)
      local last = turn.messages[#turn.messages]
      if #last.results == 0 then
        return { tool = "Bash", input = { command = command } }
      end
      result = last.results[1]
      return "95 more lines"
    end,
  }
  local run = guard.run()
  expect(run.ok, run.reason).to_be(true)
  return result
end

describe("no network", function()
  for _, command in ipairs({ "curl example.org", "cd /tmp && wget -q example.org", "git push origin" }) do
    it("denies " .. command, function()
      local result = heard(command)
      expect(result.is_error).to_be(true)
      expect(result.text).to_contain("is not allowed here")
    end)
  end

  it("lets others through", function()
    local result = heard("echo offline")
    expect(result.is_error).to_be(false)
    expect(result.text).to_contain("offline")
  end)
end)

describe("short results", function()
  it("cuts what is longer than five lines", function()
    expect(heard("seq 7").text).to_match("1\n2\n3\n4\n5\n… 2 more lines")
  end)

  it("leaves the rest as it is", function()
    expect(heard("seq 5").text).never.to_contain("more lines")
  end)
end)

it("wants the lines counted", function()
  expect(guard.steps.count.gate{ text = "words, and 95 more lines" }).to_be(true)
  expect(guard.steps.count.gate{ text = "many" }).to_be(false)
end)
