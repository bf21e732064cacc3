-- One short turn: what a start costs, and nothing more.
return flower.workflow{
  name = "hello",
  steps = {
    flower.step{
      name = "hello",
      spec = flower.agent{ name = "greeter", instructions = "Be brief." },
      prompt = "Say hello.",
    },
  },
}
