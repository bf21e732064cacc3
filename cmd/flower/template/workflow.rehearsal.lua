-- Plays the model for workflow.lua, so that it can be run without a key: the first
-- program is wrong, the second right.
local wrong = "echo $(($1 + $2 + $3))\n"
local right = "sum=0\nfor n in \"$@\"; do sum=$((sum + n)); done\necho \"$sum\"\n"

return function(turn)
  local last = turn.messages[#turn.messages]
  if #last.results > 0 then
    return "sum.sh is written."
  end
  local program = wrong
  if turn.prompt:find("does not work yet", 1, true) then
    program = right
  end
  return {
    text = "I write sum.sh.",
    calls = {
      { tool = "Write", input = { file_path = "sum.sh", content = program } },
    },
  }
end
