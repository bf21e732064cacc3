-- Tests of review.lua: when the writer has to mend, and what is judged.
--
--   flower test examples

local test = flower.test
local review = test.load("review.lua")

it("mends nothing where nothing was found", function()
  expect(review.steps.mend.when{ review = "nothing" }).to_be(false)
  expect(review.steps.mend.when{ review = "- too long" }).to_be(true)
end)

it("judges the text as it is on disk", function()
  test.files{ ["bees.txt"] = "Bees fly.  They hum.\n" }
  local attempts = review.replay{
    { step = "draft", text = "bees.txt is written." },
    { step = "review", text = "- two blanks in a row" },
    { step = "mend", text = "bees.txt is written." },
  }
  expect(attempts[3].verdict).to_be("reject")
  expect(attempts[3].reason).to_contain("two blanks in a row")
end)

it("reviews in a copy of the writer's session", function()
  test.stub{ model = test.rehearsal("review.rehearsal.lua") }
  local run = review.run()
  expect(run.ok, run.reason).to_be(true)
  local draft, reviewed, mend = unpack(run.results)
  expect(reviewed.session_id).never.to_be(draft.session_id)
  expect(mend.session_id).to_be(draft.session_id)
end)
