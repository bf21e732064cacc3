-- Three questions looked into side by side, then one answer.
--
--   flower --rehearse examples/research.rehearsal.lua examples/research.lua

local researcher = flower.agent{
  name = "researcher",
  instructions = "You answer one question from the files in the workspace, in one sentence.",
}

local questions = { what = "What is this project?", how = "How is it built?", who = "Who is it for?" }

local group = {}
for _, name in ipairs({ "what", "how", "who" }) do
  group[#group + 1] = flower.step{ name = name, spec = researcher, prompt = questions[name], on_fail = "skip" }
end

return flower.workflow{
  name = "research",
  steps = {
    flower.parallel(group),
    flower.step{
      name = "answer",
      spec = flower.agent{ name = "editor", allowed_tools = { "Write" } },
      prompt = function(ctx)
        local parts = {}
        for name, question in pairs(questions) do
          parts[#parts + 1] = question .. "\n" .. (ctx[name] or "(nobody found out)")
        end
        table.sort(parts)
        return "Write answer.md from these findings:\n\n" .. table.concat(parts, "\n\n")
      end,
      gate = function()
        return flower.fs.exists("answer.md"), "answer.md is not there."
      end,
    },
  },
}
