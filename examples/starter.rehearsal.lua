-- Plays the model for the starter:
--
--   flower --rehearse examples/starter.rehearsal.lua "a script that says hello"
--
-- It asks two questions, sets a goal, does half the work first and is sent back.
local brief = [[
## Goal
A shell script hello.sh that says hello.

## Acceptance criteria
- `sh hello.sh` prints a line with hello in it
- `sh hello.sh Ann` greets Ann

## Boundaries
One file, plain sh.

## Unknowns and assumptions
The greeting is in English.
]]

local goal = [[
## Goal
hello.sh greets whoever it is told.

## Checks
- run `sh hello.sh`, see hello
- run `sh hello.sh Ann`, see Ann
]]

local function verdict(state, reason, failed)
  return "## Conclusion\n" .. state .. "\n\n## Reason\n" .. reason .. "\n\n## Not passed\n" .. failed .. "\n"
end

local function write(content)
  return { tool = "Write", input = { file_path = "hello.sh", content = content } }
end

local function calls(turn)
  local n = 0
  for _, message in ipairs(turn.messages) do
    n = n + #message.calls
  end
  return n
end

return function(turn)
  local last = turn.messages[#turn.messages]
  if turn.step == "aside" then -- a question from the side: ? what is it doing
    return "As far as the events tell, it is at work on hello.sh."
  end
  if turn.step == "clarify" then
    local questions = {
      { question = "Which shell should it run in?", options = { "plain sh", "bash" } },
      { question = "Should it greet somebody by name?", options = { "yes", "no" } },
    }
    local question = questions[calls(turn) + 1]
    if question then
      return { tool = "mcp__human__ask", input = question }
    end
    return brief
  end
  if turn.step == "goal" then
    return goal
  end
  if turn.step:find("verdict#", 1, true) then
    if #last.results == 0 then
      return { tool = "Read", input = { file_path = "hello.sh" } }
    end
    if last.results[1].text:find("${1", 1, true) then
      return verdict("achieved", "Both checks pass.", "none")
    end
    return verdict("not achieved", "It greets nobody by name.", "- run `sh hello.sh Ann`, see Ann")
  end
  if turn.agent ~= "" then -- the worker
    local by_name = turn.messages[1].text:find("by name", 1, true)
    if by_name and calls(turn) == 0 then
      return { tool = "Read", input = { file_path = "hello.sh" } }
    end
    if by_name and calls(turn) == 1 then
      return write('echo "hello ${1:-world}"\n')
    end
    if #last.results > 0 then
      return "Conclusion: hello.sh is written.\nEvidence: hello.sh:1\nOutput: hello.sh\nUnverified and risks: none"
    end
    return write("echo hello\n")
  end
  if #last.results > 0 then
    return "The worker reports that hello.sh is done."
  end
  local task = "Write hello.sh, plain sh, that prints hello."
  if turn.prompt:find("nobody by name", 1, true) then
    task = "hello.sh must greet by name: its first argument."
  end
  return {
    text = "I give this to the coder.",
    tool = "Agent",
    input = { description = "write hello.sh", prompt = task, subagent_type = "coder" },
  }
end
