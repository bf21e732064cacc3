-- Plays the model for research.lua.
return function(turn)
  if turn.step ~= "answer" then
    return "Found out about " .. turn.step .. "."
  end
  if #turn.messages[#turn.messages].results > 0 then
    return "answer.md is written."
  end
  return { tool = "Write", input = { file_path = "answer.md", content = turn.prompt } }
end
