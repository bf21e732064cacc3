-- Errors of a script name the line that raised.
local x = nil
return x.y -- ### "attempt to index a nil value \(local 'x'\) with key 'y'"
---
return nil + 1 -- ### "cannot perform add operation between nil and number"
---
error("plain") -- ### "^plain$"
---
error("unplaced", 0) -- ### "^unplaced$"
---
error("main.go:7: of something else", 0) -- ### "^main.go:7: of something else$"
---
error({ message = "of something else: main.go:7: it broke" }) -- ### "^of something else: main.go:7: it broke$"
---
local function helper()
  error("blames its caller", 2)
end
helper() -- ### "blames its caller"
---
assert(false, "asserted") -- ### "asserted"
---
assert(flower.fs.read("missing.txt")) -- ### "missing.txt: no such file or directory"
---
assert(pcall(flower.sh)) -- ### "flower.sh takes the command, a string, not a nil"
---
local ok, err = pcall(flower.abort, "enough") -- ### "^enough$"
assert(not ok and err.code == "abort" and err.message == "enough", "not an abort")
assert(tostring(err) == "test.lua:" .. tostring(err):match(":(%d+):") .. ": enough", tostring(err))
assert("it failed: " .. err == "it failed: " .. tostring(err) and getmetatable(err) == "error")
error(err)
---
flower.abort("really") -- ### "^really$"
---
flower.abort() -- ### "flower.abort takes the reason, a string, not a nil"
---
flower.run({}) -- ### "flower.run takes a flower.workflow.*, not a table"
---
flower.sh("") -- ### "flower.sh takes the command"
---
flower.sh("true", "fast") -- ### "flower.sh: the options must be a table, are a string"
---
flower.sh("true", {
  timeout = "5", -- ### "timeout: must be a number, is a string"
  dri = "x", -- ### "dri: is not a field .* did you mean \"dir\"\?"
})
---
flower.sh("true", { timeout = 0 }) -- ### "timeout: must be more than 0 seconds"
---
flower.sh("true", { timeout = -1 }) -- ### "timeout: is -1; it must not be negative"
---
flower.sh("true", { timeout = 0/0 }) -- ### "timeout: is NaN; it must not be negative"
---
flower.sh("true", { timeout = math.huge }) -- ### "timeout: is \+Inf; that is more than can be meant"
---
flower.sh("true", { timeout = 1e11 }) -- ### "timeout: is 100000000000 seconds; that is more than can be meant"
---
flower.sh("true", { dir = ".." }) -- ### "dir: .. is outside the workspace"
---
flower.sh("true", { dir = "/" }) -- ### "dir: / is outside the workspace"
---
flower.sh("true", { dir = "nowhere" }) -- ### "dir: nowhere: no such file or directory"
---
flower.fs.read() -- ### "flower.fs.read takes a path, a string that is not empty, not a nil"
---
flower.fs.write("") -- ### "flower.fs.write takes a path, a string that is not empty, not \"\""
---
flower.fs.write("a", {}) -- ### "flower.fs.write takes the content, a string, as its second argument, not a table"
---
flower.fs.read("../secret") -- ### "flower.fs.read: ../secret is outside the workspace"
---
flower.fs.list("/etc") -- ### "flower.fs.list: /etc is outside the workspace"
---
flower.fs.glob("*/../../*") -- ### "flower.fs.glob: \*/../../\* is outside the workspace"
---
flower.shh("true") -- ### "flower has no \"shh\" .* did you mean \"sh\"\?"
---
flower.sh = print -- ### "flower is read-only: flower.sh cannot be set"
---
flower.fs.read = print -- ### "flower.fs is read-only: flower.fs.read cannot be set"
---
flower.json.array(flower) -- ### "flower.json.array: this table has a metatable already"
---
rawset(string, "upper", nil) -- ### "rawset: this table is read-only"
---
return flower.runtime.sesion -- ### "a runtime has no \"sesion\""
---
return flower.runtime.workspce -- ### "a runtime has no \"workspce\" .* did you mean \"workspace\"\?"
---
flower.runtime.id = "x" -- ### "a runtime is read-only: id cannot be set"
---
flower.runtime.run() -- ### "call methods of a runtime with a colon"
---
flower.runtime:run({}, "p") -- ### "runtime:run: the first argument must be a flower.agent.*, is a table"
---
flower.runtime:run(flower.agent{ name = "a" }) -- ### "runtime:run: the second argument must be the prompt, a string, is a nil"
---
flower.runtime:run(flower.agent{ nam = "a" }, "p") -- ### "name: is missing" ### "nam: is not a field .* did you mean \"name\"\?"
---
flower.runtime:run(flower.agent{ name = "a" }, "p", {
  fork = true, resum = "x" -- ### "resum: is not a field .* did you mean \"resume\"\?"
})
---
flower.runtime:run(flower.agent{ name = "a" }, "p", { fork = true }) -- ### "fork"
---
require("missing") -- ### "there is no module \"missing\""
---
require("../etc") -- ### "require takes a module's name, words joined by dots, not ../etc"
---
require("flower.nothing") -- ### "flower has no module \"flower.nothing\""
---
local function check(n)
  if n > 1 then
    error("n is too large", 3)
  end
  return true
end
local function caller(n)
  return (check(n))
end
caller(5) -- ### "n is too large"
