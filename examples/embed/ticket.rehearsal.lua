return function(turn)
  return "Thank you; we will mend this: " .. turn.prompt:match(": (.*)$")
end
