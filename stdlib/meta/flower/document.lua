---@meta flower.document

---@alias flower.DocumentKind "brief"|"goal"|"verdict"|"handoff"

--- Has every document: what parsing found.
---@class flower.Document
---@field kind flower.DocumentKind
---@field complete boolean no required section is empty
---@field missing string[] the headings of those that are

--- What was agreed with the person who asked.
---@class flower.Brief: flower.Document
---@field goal string
---@field accept string
---@field bounds string
---@field unknowns string

--- What the work is judged by.
---@class flower.Goal: flower.Document
---@field statement string
---@field checks string[]
---@field unverifiable string[] the checks that say they cannot be verified here

--- How a round was judged.
---@class flower.Verdict: flower.Document
---@field state "achieved"|"not_yet"|"unreachable"|"" "" when the text did not say, or said two things
---@field reason string
---@field failed string[]

--- What a session whose context is full leaves to the next.
---@class flower.Handoff: flower.Document
---@field doing string
---@field decided string
---@field deadends string
---@field next string
---@field scene string
---@field step string
---@field degraded boolean flower put it together, not the model

---@alias flower.AnyDocument flower.Brief|flower.Goal|flower.Verdict|flower.Handoff

--- The documents of the workflow layer. Paths lie in the workspace, the workbench or
--- the run directory; others are an error. What the file system refuses comes back as
--- nil and a text.
---@class flower.document
local document = {}

--- The document in a text; what is not there is empty.
---
--- ```lua
--- local v = flower.document.parse("verdict", "## Conclusion\nachieved\n")
--- assert(v.state == "achieved")
--- ```
---@param kind flower.DocumentKind
---@param text string
---@param step? string of a handoff
---@return flower.AnyDocument
---@overload fun(kind: "brief", text: string): flower.Brief
---@overload fun(kind: "goal", text: string): flower.Goal
---@overload fun(kind: "verdict", text: string): flower.Verdict
---@overload fun(kind: "handoff", text: string, step?: string): flower.Handoff
function document.parse(kind, text, step) end

--- The document in a file.
---
--- ```lua
--- local brief = flower.document.load("brief", "notes/brief.md")
--- if brief and brief.complete then print(brief.goal) end
--- ```
---@param kind flower.DocumentKind
---@param path string
---@param step? string of a handoff
---@return flower.AnyDocument?
---@return string? err
---@overload fun(kind: "brief", path: string): flower.Brief?
---@overload fun(kind: "goal", path: string): flower.Goal?
---@overload fun(kind: "verdict", path: string): flower.Verdict?
---@overload fun(kind: "handoff", path: string, step?: string): flower.Handoff?
function document.load(kind, path, step) end

--- Replaces the file whole.
---
--- ```lua
--- local goal = flower.document.parse("goal", "## Goal\nIt runs.\n\n## Checks\n- run it\n")
--- assert(flower.document.write(goal, "goal.md"))
--- ```
---@param doc flower.AnyDocument
---@param path string
---@return true? ok
---@return string? err
function document.write(doc, path) end

--- The document as its file holds it.
---
--- ```lua
--- print(flower.document.markdown({ kind = "goal", statement = "It runs.", checks = { "run it" } }))
--- ```
---@param doc flower.AnyDocument
---@return string
function document.markdown(doc) end

--- The document as a prompt holds it.
---
--- ```lua
--- print(flower.document.block({ kind = "goal", statement = "It runs.", checks = { "run it" } }))
--- ```
---@param doc flower.AnyDocument
---@return string
function document.block(doc) end

--- What to send back of a verdict; "" when it is achieved.
---
--- ```lua
--- print(flower.document.feedback({ kind = "verdict", state = "not_yet", reason = "It does not run." }))
--- ```
---@param verdict flower.Verdict
---@return string
function document.feedback(verdict) end

--- The goal with more behind its statement; the file is not written.
---
--- ```lua
--- local goal = flower.document.parse("goal", "## Goal\nIt runs.\n\n## Checks\n- run it\n")
--- goal = flower.document.amend(goal, "On Windows too.")
--- ```
---@param goal flower.Goal
---@param text string
---@return flower.Goal
function document.amend(goal, text) end

--- A text that, appended to the file of a brief, is part of the brief.
---
--- ```lua
--- print(flower.document.addition("Added", "Blue, please."))
--- ```
---@param title string
---@param text string
---@return string
function document.addition(title, text) end

--- The name of the document's file in the run's language; "" for a verdict.
---
--- ```lua
--- assert(flower.document.file_name("handoff", "fix") ~= "")
--- ```
---@param kind flower.DocumentKind
---@param step? string of a handoff
---@return string
function document.file_name(kind, step) end

--- The path of the document in a folder, also under the other language's name.
---
--- ```lua
--- local path = flower.document.find("brief", "notes") or "notes/" .. flower.document.file_name("brief")
--- ```
---@param kind flower.DocumentKind
---@param dir string
---@param step? string of a handoff
---@return string? path
---@return string? err
function document.find(kind, dir, step) end

--- Whether a text has a heading of this kind of document.
---
--- ```lua
--- assert(flower.document.headed("brief", "## Goal\nIt runs.\n"))
--- ```
---@param kind flower.DocumentKind
---@param text string
---@return boolean
function document.headed(kind, text) end

--- A file as it is.
---
--- ```lua
--- local text = flower.document.text("notes/asks.json") or "[]"
--- ```
---@param path string
---@return string? text
---@return string? err
function document.text(path) end

--- Adds to a file, and waits until it is on disk.
---
--- ```lua
--- assert(flower.document.append("brief.md", flower.document.addition("Added", "Blue, please.")))
--- ```
---@param path string
---@param text string
---@return true? ok
---@return string? err
function document.append(path, text) end

--- Replaces a file whole.
---
--- ```lua
--- assert(flower.document.save("asks.json", "[]\n"))
--- ```
---@param path string
---@param text string
---@return true? ok
---@return string? err
function document.save(path, text) end

return document
