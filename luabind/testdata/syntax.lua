local = 1 -- ### "syntax error near \"=\""
---
x = = 1 -- ### "syntax error near \"=\""
---
if x the -- ### "syntax error near"
end
---
local s = 'not closed -- ### "unterminated string"
---
goto nowhere -- ### "no visible label"
---
break -- ### "no loop to break"
---
local a, b = 1
b = function(
  a,
  a.b -- ### "syntax error near"
) end
---
return ("x"):rep(3) -- ### "the script returned a string"
