package luabind_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/luabind"
)

// rehearse loads a rehearsal from its source.
func rehearse(t *testing.T, source string) *luabind.Rehearsal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.lua")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := luabind.LoadRehearsal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func ask(text string) model.Request {
	block, _ := json.Marshal(map[string]string{"type": "text", "text": text}) // strings always marshal
	return model.Request{Model: "m", Messages: []model.Message{{Role: "user", Content: []json.RawMessage{block}}},
		Meta: model.Meta{Step: "fix", Role: "coder", Session: "s", Turn: 1}}
}

// reply is the whole reply to a request.
func reply(t *testing.T, r *luabind.Rehearsal, req model.Request) (model.Reply, []model.Delta, error) {
	t.Helper()
	st, err := r.Stream(context.Background(), req)
	if err != nil {
		return model.Reply{}, nil, err
	}
	defer st.Close()
	var deltas []model.Delta
	for {
		d, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return st.Reply(), deltas, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, d)
	}
}

// content is a reply's blocks, without ids.
func content(t *testing.T, r model.Reply) string {
	t.Helper()
	var out []string
	for _, raw := range r.Content {
		var block map[string]any
		if err := json.Unmarshal(raw, &block); err != nil {
			t.Fatal(err)
		}
		delete(block, "id")
		text, _ := json.Marshal(block) // was JSON
		out = append(out, string(text))
	}
	return strings.Join(out, " ")
}

func TestRehearsal_answers_in_every_form(t *testing.T) {
	text := `{"text":"hello","type":"text"}`
	read := `{"input":{"file_path":"a"},"name":"Read","type":"tool_use"}`
	for source, c := range map[string]struct{ content, stop string }{
		`"hello"`:                             {text, "end_turn"},
		`{ text = "hello" }`:                  {text, "end_turn"},
		`{ thinking = "hm", text = "hello" }`: {`{"signature":"rehearsed","thinking":"hm","type":"thinking"} ` + text, "end_turn"},
		`{ tool = "Read", input = { file_path = "a" } }`:                                  {read, "tool_use"},
		`{ text = "hello", tool = "Read", input = { file_path = "a" } }`:                  {text + " " + read, "tool_use"},
		`{ tool = "TodoRead" }`:                                                           {`{"input":{},"name":"TodoRead","type":"tool_use"}`, "tool_use"},
		`{ calls = { { tool = "Read", input = { file_path = "a" } }, { tool = "Ls" } } }`: {read + ` {"input":{},"name":"Ls","type":"tool_use"}`, "tool_use"},
		`{ tool = "X", input = { list = {}, n = 1, deep = { { a = true } } } }`:           {`{"input":{"deep":[{"a":true}],"list":{},"n":1},"name":"X","type":"tool_use"}`, "tool_use"},
		`{ tool = "X", input = { list = require("flower.json").array() } }`:               {`{"input":{"list":[]},"name":"X","type":"tool_use"}`, "tool_use"},
		`{ text = "hello", stop = "max_tokens" }`:                                         {text, "max_tokens"},
		`{ stop = "refusal" }`:                                                            {"", "refusal"},
		`{}`:                                                                              {"", "end_turn"},
		`"a\255b"`:                                                                        {"{\"text\":\"a\uFFFDb\",\"type\":\"text\"}", "end_turn"},
	} {
		got, deltas, err := reply(t, rehearse(t, "return function() return "+source+" end"), ask("hi"))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if content(t, got) != c.content || got.StopReason != c.stop || !got.Complete || got.Model != "m" {
			t.Errorf("%s: %s, %s, %+v", source, content(t, got), got.StopReason, got)
		}
		if len(deltas) != 2*len(got.Content) {
			t.Errorf("%s: %d pieces of %d blocks", source, len(deltas), len(got.Content))
		}
	}
}

func TestRehearsal_plays_errors_of_the_provider(t *testing.T) {
	r := rehearse(t, `return function() return { error = { status = 529, type = "overloaded_error", message = "busy", retry_after = 1.5 } } end`)
	_, _, err := reply(t, r, ask("hi"))
	var e *model.Error
	if !errors.As(err, &e) || e.Status != 529 || e.Type != "overloaded_error" || e.Message != "busy" || e.Retry != 1500*time.Millisecond {
		t.Errorf("%#v", err)
	}
}

func TestRehearsal_that_is_wrong_is_a_failure_that_nobody_repeats(t *testing.T) {
	for source, want := range map[string]string{
		"\nerror('on purpose')":              "model.lua:2: on purpose",
		"return 5":                           "model.lua:1: a rehearsal must return a string or a table; it returned number",
		"":                                   "it returned nil",
		"\n\nreturn { txt = 'x' }":           `txt: is not a field — did you mean "text"?`,
		"return { text = 5 }":                "text: must be a string, is a number",
		"return { tool = 'X', input = 'x' }": "input: must be a table, is a string",
		"return { tool = 'X', input = { print } }":              "input: [1]: not plain data: a function",
		"return { calls = 'x' }":                                "calls: must be a list of {tool, input}",
		"return { calls = { 'x' } }":                            "calls: item 1 is a string; it must be {tool, input}",
		"return { calls = { {} } }":                             "calls[1].tool: is missing; it is the tool's name",
		"return { calls = { { tool = 'X', in_ = 1 } } }":        "calls[1].in_: is not a field",
		"return { error = 'busy' }":                             "error: must be a table {status, type, message, retry_after}",
		"return { error = { status = 'x' } }":                   "error.status: must be a whole number, is a string",
		"local t = {} t.t = t return { tool = 'X', input = t }": "does one contain itself?",
		"while true do end":                                     "is there a loop without an end?",
		"return flower.fs.read('x')":                            "a rehearsal has no flower",
		"return require('flower').sh('x')":                      `flower has no module "flower"`,
	} {
		if strings.Contains(source, "while") {
			continue // takes the whole limit; TestRehearsal_ends_with_the_request is about it
		}
		_, _, err := reply(t, rehearse(t, "return function() "+source+" end"), ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.Status != 400 || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "model.lua") {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func TestRehearsal_ends_with_the_request(t *testing.T) {
	r := rehearse(t, `return function(turn) while turn.prompt == "loop" do pcall(function() while true do end end) end return "fine" end`)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	time.AfterFunc(30*time.Millisecond, func() { cancel(stop) })
	if _, err := r.Stream(ctx, ask("loop")); !errors.Is(err, stop) {
		t.Errorf("err = %v", err)
	}
	if got, _, err := reply(t, r, ask("hi")); err != nil || content(t, got) != `{"text":"fine","type":"text"}` {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

func TestRehearsal_is_told_who_asks_and_what_was_said(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	req := model.Request{
		Model: "m", Tools: []json.RawMessage{raw(`{"name":"Read"}`), raw(`{"name":"Bash"}`)},
		Messages: []model.Message{
			{Role: "user", Content: []json.RawMessage{raw(`{"type":"text","text":"first"}`), raw(`{"type":"text","text":"second"}`)}},
			{Role: "assistant", Content: []json.RawMessage{raw(`{"type":"thinking","thinking":"hm"}`), raw(`{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}`)}},
			{Role: "user", Content: []json.RawMessage{
				raw(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"is_error":true}`),
				raw(`{"type":"tool_result","tool_use_id":"t2","content":"plain"}`), raw(`{"type":"image"}`), raw(`not JSON`)}},
		},
		Meta: model.Meta{Step: "fix", Role: "coder", Session: "s", Agent: "a1", Turn: 2},
	}
	r := rehearse(t, `return function(turn)
		assert(turn.step == "fix" and turn.role == "coder" and turn.agent == "a1" and turn.turn == 2)
		assert(turn.prompt == "first\nsecond" and #turn.messages == 3 and table.concat(turn.tools, ",") == "Read,Bash")
		local call, results = turn.messages[2].calls[1], turn.messages[3].results
		assert(turn.messages[2].role == "assistant" and call.id == "t1" and call.tool == "Read" and call.input.file_path == "a")
		assert(results[1].id == "t1" and results[1].text == "one\ntwo" and results[1].is_error == true)
		assert(results[2].text == "plain" and results[2].is_error == false and #turn.messages[1].calls == 0)
		return "ok"
	end`)
	if _, _, err := reply(t, r, req); err != nil {
		t.Error(err)
	}
}

func TestRehearsal_makes_the_same_ids_for_the_same_turn(t *testing.T) {
	r := rehearse(t, `return function() return { calls = { { tool = "A" }, { tool = "B" } } } end`)
	ids := map[string]bool{}
	for _, meta := range []model.Meta{{Session: "s", Turn: 1}, {Session: "s", Turn: 2}, {Session: "t", Turn: 1}, {Session: "s", Agent: "a", Turn: 1}} {
		req := ask("hi")
		req.Meta = meta
		one, _, err := reply(t, r, req)
		two, _, err2 := reply(t, r, req)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if one.ID != two.ID || string(one.Content[0]) != string(two.Content[0]) || string(one.Content[1]) != string(two.Content[1]) {
			t.Errorf("%+v: %v, then %v", meta, one, two)
		}
		for _, id := range []string{one.ID, string(one.Content[0]), string(one.Content[1])} {
			if ids[id] {
				t.Errorf("%+v: %s was used before", meta, id)
			}
			ids[id] = true
		}
	}
}

func TestRehearsal_serves_many_at_once(t *testing.T) {
	r := rehearse(t, `local n = 0 return function(turn)
		n = n + 1
		local before = n
		for i = 1, 1000 do end
		assert(n == before, "two at once")
		return turn.prompt
	end`)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			got, _, err := reply(t, r, ask(fmt.Sprint(i)))
			if want := fmt.Sprintf(`{"text":"%d","type":"text"}`, i); err != nil || content(t, got) != want {
				t.Errorf("%d: %v, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestRehearsal_costs_nothing_and_knows_every_model(t *testing.T) {
	r := rehearse(t, `return function() return "x" end`)
	info, err := r.Info(context.Background(), "any")
	if err != nil || info.Price == nil || info.Price.Cost(model.Usage{Input: 1e9, Output: 1e9}) != 0 || info.Window == 0 {
		t.Errorf("%+v, %v", info, err)
	}
	r.Close()
	r.Close()
	if _, err := r.Stream(context.Background(), ask("hi")); err == nil {
		t.Error("a closed rehearsal answers")
	}
}

func TestLoadRehearsal_says_what_is_wrong_with_the_file(t *testing.T) {
	for source, want := range map[string]string{
		"return = 1":          "syntax error",
		"return 5":            "a rehearsal returns the function that plays the model, this returned a number",
		"":                    "this returned a nil",
		"error('at loading')": "at loading",
		"return flower.agent": "a rehearsal has no flower: it plays the model",
	} {
		path := filepath.Join(t.TempDir(), "model.lua")
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := luabind.LoadRehearsal(path, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := luabind.LoadRehearsal("none.lua", nil); err == nil {
		t.Error("no error")
	}
}

func TestRehearsal_has_no_flower_and_says_so(t *testing.T) {
	_, _, err := reply(t, rehearse(t, `return function() return flower.fs.read("x") end`), ask("hi"))
	if err == nil || !strings.Contains(err.Error(), "model.lua:1: a rehearsal has no flower") {
		t.Errorf("err = %v", err)
	}
}

func TestRehearsal_computes_no_longer_than_it_may(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.lua")
	if err := os.WriteFile(path, []byte("return function()\n while true do end\nend"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := luabind.LoadRehearsal(path, &luabind.Options{ComputeLimit: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := reply(t, r, ask("hi")); err == nil || !strings.Contains(err.Error(), "model.lua:2: the script computed for 20ms") {
		t.Errorf("err = %v", err)
	}
}

// TestRehearsal_plays_a_workflow_whose_tools_are_real from one process to the
// next: files are written, a rejected session is sent back, a second run continues.
func TestRehearsal_plays_a_workflow_whose_tools_are_real(t *testing.T) {
	r := rehearse(t, `
		local function last(turn) return turn.messages[#turn.messages] end
		return function(turn)
			if #last(turn).results > 0 then
				return "done: " .. last(turn).results[1].text:match("^[^\n]*")
			end
			if turn.step:find("^write") then
				local word = turn.prompt:match("write (%w+)") or "nothing"
				return { thinking = "I write.", tool = "Write", input = { file_path = word .. ".txt", content = word } }
			end
			return { tool = "Bash", input = { command = "cat *.txt" } }
		end`)
	source := `
		local a = flower.agent{ name = "a", allowed_tools = { "Read", "Write", "Bash" } }
		return flower.workflow{ name = "real", steps = {
			flower.step{ name = "write", spec = a, prompt = "write one", resume_prompt = "write three", retries = 1,
				gate = function(result, ctx)
					assert(result.ok and result.num_turns == 2 and result.usage.main.tool_calls == 1 and result.cost_usd == 0, result.error)
					return flower.fs.exists("two.txt"), "write two, too"
				end },
			flower.step{ name = "read", spec = a, prompt = function(ctx) return ctx.write end,
				gate = function(result) return result.text:find("^done: one.*two$") ~= nil, result.text end },
		} }`
	dir := t.TempDir()
	for i, want := range []string{"write#round2", "write"} {
		h := native.New(native.Config{Model: r})
		p := playIn(t, dir, h, source, nil)
		if p.err != nil || !p.ending.OK {
			t.Fatalf("%v %+v %v", p.err, p.ending, p.errors)
		}
		if got := p.ending.Results[len(p.ending.Results)-2].Step; got != want {
			t.Errorf("run %d: the attempt before the last step is %s, want %s", i+1, got, want)
		}
	}
	for _, name := range []string{"one", "two", "three"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name+".txt")); err != nil || string(raw) != name {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}
