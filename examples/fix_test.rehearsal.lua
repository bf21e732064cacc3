-- Plays the model for fix_test.lua: the first attempt is wrong, the second right.
local wrong = {
  old_string = "	return sum / len(numbers)",
  new_string = "	return sum / (len(numbers) + 1)",
}
local right = {
  old_string = wrong.new_string,
  new_string = "	return sum / max(len(numbers), 1)",
}

return function(turn)
  local last = turn.messages[#turn.messages]
  local edit = wrong
  if turn.prompt:find("still fail", 1, true) then
    edit = right
  end
  if #last.results == 0 and edit == wrong then
    return { text = "I look at the code.", tool = "Read", input = { file_path = "calc/calc.go" } }
  end
  local result = last.results[1] and last.results[1].text or ""
  if #last.results > 0 and not result:find("package calc", 1, true) then
    return "I changed how Mean divides."
  end
  return {
    tool = "Edit",
    input = { file_path = "calc/calc.go", old_string = edit.old_string, new_string = edit.new_string },
  }
end
