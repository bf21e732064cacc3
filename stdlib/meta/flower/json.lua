---@meta flower.json

---@class flower.json
local json = {}

--- A text in JSON, names in alphabetical order. nil and a text where the value is
--- no plain data, or not a number that JSON has.
---
--- ```lua
--- assert(flower.json.encode({ b = 1, a = { 2, 3 } }) == '{"a":[2,3],"b":1}')
--- ```
---@param value any
---@param indent? boolean over several lines
---@return string? text
---@return string? err
function json.encode(value, indent) end

--- The value of a text. null is nil.
---
--- ```lua
--- local value, err = flower.json.decode('{"n": 1}')
--- ```
---@param text string
---@return any value
---@return string? err
function json.decode(text) end

--- Marks a table as a list, so that it is [] when it is empty; gives the table.
---
--- ```lua
--- assert(flower.json.encode({ names = flower.json.array() }) == '{"names":[]}')
--- ```
---@param list? any[] default a new one
---@return any[]
function json.array(list) end

return json
