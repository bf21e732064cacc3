-- Plays the model for review.lua.
local function write(text)
  return { tool = "Write", input = { file_path = "bees.txt", content = text } }
end

return function(turn)
  local last = turn.messages[#turn.messages]
  local answered = #last.results > 0
  if turn.step == "review" then
    return "- two blanks in a row"
  end
  if answered then
    return "bees.txt is written."
  end
  if turn.step == "draft" then
    return write("Bees fly.  They hum.\n")
  end
  return write("Bees fly. They hum.\n")
end
