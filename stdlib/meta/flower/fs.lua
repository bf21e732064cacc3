---@meta flower.fs

--- Files of the workspace. Paths are relative to it, or absolute and inside it; one
--- that leads out is an error. What the file system refuses comes back as nil and a
--- text.
---@class flower.fs
local fs = {}

--- The whole file, at most 16 MiB.
---
--- ```lua
--- local text = flower.fs.read("notes.md") or ""
--- ```
---@param path string
---@return string? text
---@return string? err
function fs.read(path) end

--- Replaces the file whole, and makes its folders.
---
--- ```lua
--- assert(flower.fs.write("out/notes.md", "one\n"))
--- ```
---@param path string
---@param content string|number
---@return true? ok
---@return string? err
function fs.write(path, content) end

--- Adds to the file, and makes it and its folders.
---
--- ```lua
--- assert(flower.fs.append("log.txt", "one more\n"))
--- ```
---@param path string
---@param content string|number
---@return true? ok
---@return string? err
function fs.append(path, content) end

--- The names in a folder, sorted.
---
--- ```lua
--- for _, name in ipairs(assert(flower.fs.list("."))) do print(name) end
--- ```
---@param path string
---@return string[]? names
---@return string? err
function fs.list(path) end

--- The files that a pattern with *, ** and {a,b} matches, sorted; at most 100000.
---
--- ```lua
--- local sources = assert(flower.fs.glob("**/*.{c,h}"))
--- ```
---@param pattern string
---@return string[]? paths
---@return string? err
function fs.glob(pattern) end

--- Makes a folder and those above it.
---
--- ```lua
--- assert(flower.fs.mkdir("out/figures"))
--- ```
---@param path string
---@return true? ok
---@return string? err
function fs.mkdir(path) end

--- Removes a file or an empty folder.
---
--- ```lua
--- local ok, err = flower.fs.remove("old.txt")
--- ```
---@param path string
---@return true? ok
---@return string? err
function fs.remove(path) end

--- Whether something is there; links are followed.
---
--- ```lua
--- if not flower.fs.exists("go.mod") then print("no Go module") end
--- ```
---@param path string
---@return boolean
function fs.exists(path) end

return fs
