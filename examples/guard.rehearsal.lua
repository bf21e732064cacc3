-- Plays the model for guard.lua: it tries the network first.
return function(turn)
  local last = turn.messages[#turn.messages]
  local result = last.results[1]
  if not result then
    return { tool = "Bash", input = { command = "curl https://example.org/words" } }
  end
  if result.text:find("not allowed", 1, true) then
    return { text = "Offline, then.", tool = "Bash", input = { command = "seq 100" } }
  end
  return "I saw: " .. result.text
end
