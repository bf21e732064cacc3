-- Run by the Go program beside it, which lends it the module tickets.
local tickets = require("tickets")

local id = assert(tonumber((...)), "name the ticket's number")
local title = assert(tickets.title(id))

return flower.workflow{
  name = "ticket",
  steps = {
    flower.step{
      name = "answer",
      spec = flower.agent{ name = "clerk", instructions = "You answer tickets in one sentence." },
      prompt = "Answer ticket " .. id .. ": " .. title,
    },
  },
}
