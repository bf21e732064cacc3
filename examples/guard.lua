-- A guard written in Lua: no command may touch the network, and what a command
-- prints is cut to what matters.
--
--   flower --rehearse examples/guard.rehearsal.lua examples/guard.lua

local no_network = flower.guard{
  name = "no network",
  on = "before",
  match = "Bash",
  check = function(call)
    for _, word in ipairs({ "curl", "wget", "ssh", "git push" }) do
      if call.input.command:find(word, 1, true) then
        return false, word .. " is not allowed here: this step works offline. Use what is in the workspace."
      end
    end
  end,
}

local short_results = flower.guard{
  name = "short results",
  on = "after",
  match = "Bash",
  check = function(_, reply)
    local lines = {}
    for line in reply.value:gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
    if #lines > 5 then
      return table.concat(lines, "\n", 1, 5) .. "\n… " .. (#lines - 5) .. " more lines"
    end
  end,
}

return flower.workflow{
  name = "guard",
  steps = {
    flower.step{
      name = "count",
      spec = flower.agent{
        name = "counter",
        allowed_tools = { "Bash" },
        hooks = { no_network, short_results },
      },
      prompt = "Fetch the list of words and count it.",
      gate = function(result)
        return result.text:find("95 more lines", 1, true) ~= nil, "Say how many lines there were."
      end,
    },
  },
}
