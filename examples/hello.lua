-- Two steps, the second uses the first's result.
--
--   flower --rehearse examples/hello.rehearsal.lua examples/hello.lua     no key, no network
--   flower examples/hello.lua                                             with a key

local poet = flower.agent{
  name = "poet",
  instructions = "You write short, plain poems.",
  allowed_tools = { "Read", "Write" },
}

return flower.workflow{
  name = "hello",
  steps = {
    flower.step{
      name = "topic",
      spec = poet,
      prompt = "Name one thing found in a garden. Answer with the thing alone.",
    },
    flower.step{
      name = "poem",
      spec = poet,
      prompt = function(ctx)
        return "Write a poem of three lines about: " .. ctx.topic .. "\nPut it into the file poem.txt."
      end,
      retries = 1,
      gate = function()
        return flower.fs.exists("poem.txt"), "The file poem.txt is not there."
      end,
    },
  },
}
