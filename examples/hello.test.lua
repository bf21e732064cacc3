-- Tests of hello.lua: what one step hands to the next.
--
--   flower test examples

local test = flower.test
local hello = test.load("hello.lua")

it("asks for a poem about the topic", function()
  expect(hello.steps.poem.prompt{ topic = "a bee" }).to_contain("about: a bee\n")
end)

it("sends it back while there is no poem", function()
  test.stub{
    model = {
      "a bee",
      "Here is a poem, in words alone.",
      { tool = "Write", input = { file_path = "poem.txt", content = "A bee.\n" } },
      "It is in poem.txt.",
    },
  }
  local run = hello.run()
  expect(run.ok, run.reason).to_be(true)
  expect(run.context.topic).to_be("a bee")
  expect(run.prompts[3]).to_equal{ step = "poem#round2", prompt = "The file poem.txt is not there." }
end)
