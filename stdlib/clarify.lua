--- Clarify first: ask until the requirement is clear, then freeze it in a brief.
---
---   local clarify = require("flower.clarify")
---   local ask_first = clarify.clarify_step{
---     channel = flower.channel{}, brief_path = ".flower/notes/brief.md", prompt = "We need a login page.",
---   }

local flower = require("flower")
local document = flower.document

local words = ({
  en = {
    name = "clarify",
    resume = "You were asking what the requirement is. Go on with what is still open; do not start over. End with the four sections.",
    more = "Since then the person has asked, the newest words last:\n\n%s\n\nWhere they contradict what was asked before, the newest words count.",
    missing = "Sections are missing or empty: %s. Answer with all four sections.",
  },
  zh = {
    name = "确认需求",
    resume = "你正在确认需求。请继续问还没弄清的部分，不要从头再来。最后给出四节内容。",
    more = "此后对方又提出（最新的在最后）：\n\n%s\n\n与之前的要求矛盾时，以最新的为准。",
    missing = "以下章节缺失或为空：%s。请给出完整的四节。",
  },
})[flower.lang]

local M = {}

--- The name of the step in the run's language.
M.name = words.name

--- Parses a document from what an agent said: from its last message, and from all
--- it said when that has none of the document's headings.
function M.parse(kind, result)
  if document.headed(kind, result.last_message) then
    return document.parse(kind, result.last_message)
  end
  return document.parse(kind, result.text)
end

--- What a clarifier is made of, where no spec is given.
local asker_fields = { "instructions", "rules", "model", "effort", "max_budget_usd", "compact", "env", "hooks", "can_read" }

local function asker(o, name)
  local fields = { name = name, channel = o.channel }
  for _, field in ipairs(asker_fields) do
    if o.spec and o[field] ~= nil then
      error("clarify_step: spec brings its own " .. field .. "; give one of them", 3)
    end
    fields[field] = o[field]
  end
  return o.spec or flower.clarifier(fields)
end

--- A step that leaves a complete brief in the file, in ctx._brief and, as a block
--- for prompts, under its name. A complete brief on disk skips it.
---
--- channel, brief_path and prompt are required; more (what was asked for since the
--- session of an earlier run began, which is told of it), name, always_ask, on_fail,
--- retries (1) and spec, or what a clarifier is made of, are not.
function M.clarify_step(o)
  flower.fields("clarify_step", o, { "channel", "brief_path", "prompt" },
    { "more", "name", "always_ask", "retries", "on_fail", "spec", unpack(asker_fields) })
  local name = o.name or words.name

  local function fill(ctx, brief)
    ctx._brief = brief
    ctx._brief_missing = nil
    ctx[name] = document.block(brief)
  end

  return flower.step{
    name = name,
    spec = asker(o, name),
    prompt = o.prompt,
    resume_prompt = o.more and words.resume .. "\n\n" .. words.more:format(o.more) or words.resume,
    retries = o.retries or 1,
    on_fail = o.on_fail,

    when = function(ctx)
      local brief = document.load("brief", o.brief_path)
      if o.always_ask or not brief or not brief.complete then
        return true
      end
      fill(ctx, brief)
      return false
    end,

    gate = function(result, ctx)
      local brief = M.parse("brief", result)
      if not brief.complete then
        ctx._brief_missing = brief.missing
        return false, words.missing:format(table.concat(brief.missing, ", "))
      end
      assert(document.write(brief, o.brief_path))
      fill(ctx, brief)
      return true
    end,

    reduce = function(_, ctx)
      return document.block(ctx._brief)
    end,
  }
end

return M
