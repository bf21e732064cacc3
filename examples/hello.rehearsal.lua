-- Plays the model for hello.lua: a function of what a model would be asked.
return function(turn)
  if turn.step == "topic" then
    return "a bee"
  end
  local last = turn.messages[#turn.messages]
  if #last.results > 0 then
    return "The poem is in poem.txt."
  end
  return {
    text = "I write it down.",
    tool = "Write",
    input = { file_path = "poem.txt", content = "A bee, still early,\nreads the open page of a rose:\nshe will be back soon.\n" },
  }
end
