-- Errors name the value that could not be called or indexed, as it is written there.
local x = nil
x() -- ### "^attempt to call a nil value \(local 'x'\)$"
---
local x = nil
return x() -- ### "^attempt to call a nil value \(local 'x'\)$"
---
local x = 5
local function f()
  x("a") -- ### "^attempt to call a number value \(upvalue 'x'\)$"
end
f()
---
local x = true
do
  local x = "inner"
  x() -- ### "^attempt to call a string value \(local 'x'\)$"
end
---
make_page(1) -- ### "^attempt to call a nil value \(global 'make_page'\)$"
---
local a = { b = {} }
a.b.c(1, print(2)) -- ### "^attempt to call a nil value \(field 'a.b.c'\)$"
---
local a = { b = {} }
a.b:go() -- ### "^attempt to call a nil value \(method 'a.b:go'\)$"
---
local a, b = { go = print }, {}
a.go(b.go()) -- ### "^attempt to call a nil value \(one of field '[ab].go', field '[ab].go'\)$"
---
local t, key = {}, "k"
t[key]() -- ### "^attempt to call a nil value$"
---
local function find() end
return find("x").name -- ### "^attempt to index a nil value \(result of 'find\(…\)'\) with key 'name'$"
---
return cfg.y -- ### "^attempt to index a nil value \(global 'cfg'\) with key 'y'$"
---
local cfg = {}
return cfg.server.port -- ### "^attempt to index a nil value \(field 'cfg.server'\) with key 'port'$"
---
local a, b = { y = 1 }, nil
return a.y + b.y -- ### "^attempt to index a nil value \(local 'b'\) with key 'y'$"
---
local a, i = nil, 3
return a[i] -- ### "^attempt to index a nil value \(local 'a'\) with key '3'$"
---
local a
a.b = 1 -- ### "^attempt to index a nil value \(local 'a'\) with key 'b'$"
---
local a
a:b() -- ### "^attempt to index a nil value \(local 'a'\) with key 'b'$"
---
local a = setmetatable({}, { __index = 5 })
return a.b -- ### "^attempt to index a number value with key 'b'$"
---
local a, b = {}, 1
a.x, b.y = 1, 2 -- ### "^attempt to index a number value \(local 'b'\) with key 'y'$"
---
return print.x -- ### "^attempt to index a function value \(global 'print'\) with key 'x'$"
---
return #nothing -- ### "^attempt to get length of a nil value$"
---
local ok, err = pcall(nil)
assert(not ok and tostring(err):find("attempt to call a nil value", 1, true), err)
assert(getmetatable(nil) == nil and getmetatable(1) == nil and getmetatable(print) == nil and getmetatable(""))
assert(not pcall(getmetatable))
---
local co = coroutine.create(function()
  local missing
  missing.field = 1 -- ### "^attempt to index a nil value \(local 'missing'\) with key 'field'$"
end)
error(select(2, coroutine.resume(co)), 0)
---
-- What the sandbox has not, with what to use.
os.exit(3) -- ### "^attempt to call a nil value \(field 'os.exit'\); it is not there: a script ends by returning, or with flower.abort\(reason\)$"
---
local f = io.open("x") -- ### "^attempt to index a nil value \(global 'io'\) with key 'open'; it is not there: .*flower.fs; --trust"
---
os.execute("ls") -- ### "os.execute.*flower.sh"
---
dofile("x.lua") -- ### "global 'dofile'.*require"
---
local exit = os.exit
exit(1) -- ### "^attempt to call a nil value \(local 'exit'\)$"
---
for _, item in { 1, 2 } do -- ### "^attempt to call a table value; for … in takes a function: ipairs.list. or pairs"
  print(item)
end
---
for _, item in flower.json.decode("null") do end -- ### "^attempt to call a nil value; for … in takes"
---
local t = {}
t() -- ### "^attempt to call a table value$"
