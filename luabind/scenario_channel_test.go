package luabind_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
)

// script runs a script that asserts by itself.
func script(t *testing.T, source string) played {
	t.Helper()
	p := play(t, &echo{}, source, nil)
	if p.err != nil || len(p.errors) > 0 {
		t.Errorf("%v %q", p.err, p.errors)
	}
	return p
}

func TestChannel_states_of_questions_that_nobody_answers(t *testing.T) {
	script(t, `
		local function asks(fields, question, state)
			local channel = flower.channel(fields)
			local text, got = channel:ask(question)
			assert(got == state, got)
			assert(state == "invalid" or text:find("assumption", 1, true), text)
			return channel
		end
		asks({ timeout = 0 }, "Which port?", "timeout")
		asks({ timeout = -5 }, "Which port?", "timeout")
		asks({ timeout = 0.02 }, "Which port?", "timeout")
		asks({ max_asks = 0 }, "Which port?", "over_budget")
		asks({ timeout = 0 }, "  \n ", "invalid")`)
}

func TestChannel_69_a_blank_question_costs_none_of_the_quota(t *testing.T) {
	script(t, `
		local channel = flower.channel{ max_asks = 2, timeout = 0.01 }
		assert(channel:remaining() == 2)
		local _, state = channel:ask("")
		assert(state == "invalid")
		channel:ask("one")
		local _, last = channel:ask("two")
		local left = channel:remaining()
		local _, over = channel:ask("three")
		assert(over == "over_budget", over)
		print(state, last, left)
		assert(flower.channel{}:remaining() == -1)`)
}

// TestChannel_answers_come_once: the guard of one agent answers what another asks.
func TestChannel_answers_come_once(t *testing.T) {
	for _, c := range []struct{ settle, text, state string }{
		{`assert(channel:answer(q.id, "9090") and not channel:answer(q.id, "8080") and not channel:decline(q.id))`, "9090", "answered"},
		{`assert(channel:decline(q.id) and not channel:decline(q.id) and not channel:answer(q.id, "x"))`, "", "declined"},
	} {
		model := rehearse(t, `return function(turn)
			if turn.turn == 1 and turn.role == "b" then
				return { tool = "Read", input = { file_path = "x" } }
			elseif turn.turn == 1 then
				return { tool = "mcp__human__ask", input = { question = "Which port?", options = { "8080", "9090" } } }
			end
			return "got: " .. turn.messages[#turn.messages].results[1].text
		end`)
		program, err := luabind.Load("test.lua", `
			local channel = flower.channel{ max_asks = 5 }
			local agent = flower.agent{ name = "a", channel = channel, allowed_tools = { "mcp__human__ask" } }
			return flower.workflow{ channel = channel, steps = { flower.parallel{
				flower.step{ name = "asks", spec = agent, prompt = "p" },
				flower.step{ name = "answers", prompt = "p", spec = flower.agent{ name = "b", hooks = { flower.guard{ on = "before", check = function()
					while #channel:pending() == 0 do flower.sh("sleep 0.01") end
					local q = channel:pending()[1]
					assert(q.state == "asked" and q.text == "Which port?" and q.options[2] == "9090", flower.json.encode(q))
					assert(not channel:answer("q99", "x"))
					`+c.settle+`
					assert(#channel:pending() == 0 and channel:remaining() == 4)
				end } } } },
			} } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		rt, seen := newRuntime(t, native.New(native.Config{Model: model}))
		ending, err := program.Run(t.Context(), rt, nil)
		rt.Close()
		if errs := seen.texts(event.Error); err != nil || !ending.OK || len(errs) > 0 {
			t.Errorf("%+v, %v %q", ending, err, errs)
		}
		if text, _ := ending.Context.Get("asks"); !strings.Contains(text.(string), c.text) {
			t.Errorf("%s: the agent %v", c.state, text)
		}
	}
}

func TestChannel_72_mail_is_in_the_brief_at_once_and_in_the_inbox_once(t *testing.T) {
	p := script(t, `
		local channel = flower.channel{ amend_path = "notes/brief.md", log_path = "notes/qa.md" }
		assert(channel:send("Use the blue one.") == true)
		assert(flower.fs.read("notes/brief.md"):find("Use the blue one.", 1, true))
		assert(flower.fs.read("notes/qa.md"):find("Use the blue one.", 1, true))
		assert(channel:send("And round.") == true)
		local first, second = channel:inbox(), channel:inbox()
		assert(first:find("blue", 1, true) and first:find("round", 1, true), first)
		assert(not second:find("blue", 1, true) and not second:find("round", 1, true), second)
		local without = flower.channel{}
		assert(without:send("No brief here.") == false and without:inbox():find("No brief", 1, true))`)
	if _, err := os.Stat(filepath.Join(p.dir, "notes", "brief.md")); err != nil {
		t.Error(err)
	}
}

func TestChannel_mail_that_cannot_be_written_says_why_and_arrives(t *testing.T) {
	script(t, `
		assert(flower.fs.write("plain.md", "x"))
		local channel = flower.channel{ amend_path = "plain.md/brief.md" }
		local amended, why = channel:send("Blue.")
		assert(amended == false and why ~= "", why)
		assert(channel:inbox():find("Blue", 1, true))`)
}

func TestChannel_events_reach_whoever_watches_the_workflow(t *testing.T) {
	rt, seen := newRuntime(t, &echo{})
	p, err := luabind.Load("test.lua", `
		local channel = flower.channel{ timeout = 0.02 }
		return flower.workflow{ channel = channel, steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p",
			gate = function() channel:ask("Which port?", { "8080" }) channel:send("Blue.") return true end } } }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), rt, nil); err != nil {
		t.Fatal(err)
	}
	rt.Close()
	var told []string
	for _, e := range seen.list {
		if e.Kind == event.Ask {
			state, _ := e.Payload["state"].(string)
			kind, _ := e.Payload["kind"].(string)
			told = append(told, strings.Join([]string{kind, state, e.Text}, "/"))
		}
	}
	if len(told) != 3 || !strings.Contains(told[0], "asked/Which port?") || !strings.Contains(told[1], "timeout") || !strings.HasPrefix(told[2], "mail/") {
		t.Errorf("told %q", told)
	}
}

func TestChannel_misuse_names_the_mistake(t *testing.T) {
	for source, want := range map[string]string{
		`flower.channel{ max_ask = 1 }`:                     `max_ask: is not a field — did you mean "max_asks"?`,
		`flower.channel{ max_asks = -1 }`:                   "max_asks: is -1; it must not be negative",
		`flower.channel{ max_asks = 1.5 }`:                  "max_asks: must be a whole number",
		`flower.channel{ timeout = "1" }`:                   "timeout: must be a number of seconds, is a string",
		`flower.channel{ timeout = 0/0 }`:                   "timeout: is NaN seconds",
		`flower.channel{ timeout = 1e12 }`:                  "that is more than can be meant",
		`flower.channel{ log_path = "../out.md" }`:          "is outside the workspace",
		`flower.channel(3)`:                                 "the options must be a table, are a number",
		`flower.channel{}.ask("x")`:                         "call methods of a channel with a colon",
		`flower.channel{}:aks("x")`:                         `a channel has no "aks" — did you mean "ask"?`,
		`flower.channel{}.timeout = 3`:                      "a channel is read-only",
		`flower.channel{}:ask(nil)`:                         "string expected, got nil",
		`flower.channel{ timeout = 0 }:ask("x", "8080")`:    "the options must be a list of texts, are a string",
		`flower.channel{ timeout = 0 }:ask("x", { a = 1 })`: "the options must be a list of texts",
		`flower.channel{}:answer("q1")`:                     "string expected",
	} {
		_, err := run(t, source, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", source, err, want)
		}
	}
}
