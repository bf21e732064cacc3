-- A review in a copy of the session that did the work: the reviewer knows what the
-- writer knows, and the writer's session stays as it was.
--
--   flower --rehearse examples/review.rehearsal.lua examples/review.lua

local writer = flower.agent{
  name = "writer",
  instructions = "You write short texts.",
  allowed_tools = { "Read", "Write" },
}
local reviewer = flower.agent{
  name = "reviewer",
  instructions = "You find what is wrong with a text. One finding a line; `nothing` when there is none.",
  allowed_tools = { "Read" },
}

return flower.workflow{
  name = "review",
  steps = {
    flower.step{ name = "draft", spec = writer, prompt = "Write two sentences about bees to bees.txt." },
    flower.step{
      name = "review",
      spec = reviewer,
      resume_from = "draft",
      fork = true,
      prompt = "Read bees.txt once more, as somebody else would, and list what is wrong with it.",
    },
    flower.step{
      name = "mend",
      spec = writer,
      when = function(ctx)
        return ctx.review ~= "nothing"
      end,
      resume_from = "draft",
      prompt = function(ctx)
        return "A reviewer found:\n" .. ctx.review .. "\nMend bees.txt."
      end,
      gate = function()
        local text = assert(flower.fs.read("bees.txt"))
        return not text:find("  ", 1, true), "bees.txt still has two blanks in a row."
      end,
    },
  },
}
