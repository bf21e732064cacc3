package playback_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
)

// working is a request in the middle of a conversation, changed by change.
func working(change func(*model.Request)) model.Request {
	q := request("s",
		user(text("Mend it.\nBe quick.")),
		assistant(text("I look."), toolUse("toolu_1"), toolUse("toolu_2")),
		user(toolResult("toolu_1", `,"content":"one"`), toolResult("toolu_2", `,"content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}],"is_error":true`)))
	q.Tools = []json.RawMessage{json.RawMessage(`{"name":"Read","description":"Reads.","input_schema":{"type":"object"}}`), json.RawMessage(`{"name":"Bash","description":"Runs.","input_schema":{"type":"object"}}`)}
	q.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"adaptive"}`)}
	if change != nil {
		change(&q)
	}
	return q
}

func TestPlayer_takes_a_request_that_differs_in_what_may(t *testing.T) {
	dir := recording(t, echo, working(nil))
	last := func(q *model.Request, i int, raw json.RawMessage) { q.Messages[2].Content[i] = raw }
	for name, change := range map[string]func(*model.Request){
		"nothing": nil,
		"ids of calls": func(q *model.Request) {
			q.Messages[1].Content[1], q.Messages[1].Content[2] = toolUse("x"), toolUse("y")
			last(q, 0, toolResult("x", `,"content":"one"`))
			last(q, 1, toolResult("y", `,"is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]`))
		},
		"text of a result":      func(q *model.Request) { last(q, 0, toolResult("toolu_1", `,"content":"quite\nanother"`)) },
		"a result as a list":    func(q *model.Request) { last(q, 0, toolResult("toolu_1", `,"content":[{"type":"text","text":"x"}]`)) },
		"a result that says it": func(q *model.Request) { last(q, 0, toolResult("toolu_1", `,"is_error":false,"content":""`)) },
		"a longer answer":       func(q *model.Request) { q.MaxTokens = 5000 },
		"white space and the order": func(q *model.Request) {
			q.Tools[0] = json.RawMessage(`{"description": "Reads.", "input_schema":{"type":"object"}, "name":"Read"}`)
		},
		"the reply before":     func(q *model.Request) { q.Previous = "msg_other" },
		"another turn's label": func(q *model.Request) { q.Meta.Turn = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, dir)
			if _, err := ask(p, working(change)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlayer_refuses_a_request_that_is_not_the_recorded_one(t *testing.T) {
	dir := recording(t, echo, working(nil))
	for name, c := range map[string]struct {
		change func(*model.Request)
		paths  string
		diff   string // a part of it
	}{
		"prompt": {func(q *model.Request) { q.Messages[0].Content[0] = text("Mend it.\nTake your time.") },
			"messages[0].content[0].text", "-Be quick.\n+Take your time."},
		"instructions": {func(q *model.Request) { q.System[0] = text("Be brief.") },
			"system[0].text", "-Be short.\n+Be brief."},
		"model":  {func(q *model.Request) { q.Model = "claude-opus-5" }, "model", "+claude-opus-5"},
		"effort": {func(q *model.Request) { q.Extra = nil }, "thinking", "+(nothing)"},
		"a tool more": {func(q *model.Request) {
			q.Tools = append([]json.RawMessage{json.RawMessage(`{"name":"Edit"}`)}, q.Tools...)
		}, "tools", "+Edit\n Read\n Bash"},
		"a tool's description": {func(q *model.Request) {
			q.Tools[1] = json.RawMessage(`{"name":"Bash","description":"Walks.","input_schema":{"type":"object"}}`)
		},
			"tools[1].description", "-Runs.\n+Walks."},
		"a shorter answer": {func(q *model.Request) { q.MaxTokens = 500 }, "max_tokens", "-1000\n+500"},
		"a message more":   {func(q *model.Request) { q.Messages = append(q.Messages, assistant(text("No."))) }, "messages[3]", "-(nothing)"},
		"a message less":   {func(q *model.Request) { q.Messages = q.Messages[:2] }, "messages[2]", "+(nothing)"},
		"a block more": {func(q *model.Request) { q.Messages[2].Content = append(q.Messages[2].Content, text("And?")) },
			"messages[2].content[2]", `"text": "And?"`},
		"another input": {func(q *model.Request) {
			q.Messages[1].Content[2] = json.RawMessage(`{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"b"}}`)
		}, "messages[1].content[2].input.file_path", "-a\n+b"},
		"results crossed": {func(q *model.Request) {
			c := q.Messages[2].Content
			c[0], c[1] = c[1], c[0]
		}, "messages[2].content[0].is_error messages[2].content[0].content[0] messages[2].content[0].tool_use_id messages[2].content[1].is_error messages[2].content[1].content[0] messages[2].content[1].tool_use_id", ""},
		"a call that fails now": {func(q *model.Request) {
			q.Messages[2].Content[0] = toolResult("toolu_1", `,"content":"no such file","is_error":true`)
		},
			"messages[2].content[0].is_error", "-a result: one\n+an error: no such file"},
		"another image": {func(q *model.Request) {
			q.Messages[2].Content[1] = toolResult("toolu_2", `,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"BBBB"}}],"is_error":true`)
		}, "messages[2].content[1].content[0].source.data", "-AAAA\n+BBBB"},
		"two things": {func(q *model.Request) { q.System, q.Messages[0].Content[0] = []json.RawMessage{text("x")}, text("y") },
			"system[0].text messages[0].content[0].text", "-Be short.\n+x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(open(t, dir), working(c.change))
			var e *playback.Error
			if !errors.As(err, &e) || e.Kind != playback.Differs {
				t.Fatalf("error %v", err)
			}
			if got := strings.Join(e.Paths, " "); got != c.paths {
				t.Errorf("paths %s\nwant  %s", got, c.paths)
			}
			if !strings.Contains(e.Diff, c.diff) {
				t.Errorf("diff:\n%s\nlacks\n%s", e.Diff, c.diff)
			}
			for _, part := range []string{dir, "step step, agent agent, turn 2", "0001-step-agent.jsonl, line 2", e.Diff, "record anew"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q:\n%v", part, err)
				}
			}
			if !failure.Final(err) || failure.Classify(err) != failure.Fatal {
				t.Error("the error is not final")
			}
		})
	}
}

func TestPlayer_is_over_with_the_first_difference(t *testing.T) {
	other := request("s2", user(text("Go")))
	other.Meta.Step = "other"
	dir := recording(t, echo, working(nil), other)
	p := open(t, dir)
	_, first := ask(p, working(func(q *model.Request) { q.Model = "x" }))
	if _, err := ask(p, other); !errors.Is(err, first) {
		t.Errorf("another step goes on: %v", err)
	}
	if !errors.Is(p.Err(), first) {
		t.Errorf("Err is %v", p.Err())
	}
}

func TestPlayer_looks_past_what_commands_say_otherwise_each_time(t *testing.T) {
	then := "Look:\ngoroutine 18 [running]:\nmain.f(0xc00001a0f0)\n--- FAIL: TestX (0.02s)\nok pkg 1.25 s, (13 ms)\n" +
		"2026-01-02T03:04:05Z run 20260102-030405-a1b2c3 at 03:04:05\n/tmp/TestX123456789/001/a /tmp/tmp.Ab12Cd34Ef\n" +
		"dial 127.0.0.1:41234, 6fa459ea-ee8a-3ca4-894e-db77e160355e, pid 4711"
	now := "Look:\ngoroutine 7 [running]:\nmain.f(0xc0000b4ff8)\n--- FAIL: TestX (1.50s)\nok pkg 12.5 s, (9 ms)\n" +
		"2027-11-12T13:14:15Z run 20271112-131415-ffffff at 13:14:15\n/tmp/TestX987654/001/a /tmp/tmp.Zz98Yx76Wv\n" +
		"dial 127.0.0.1:55555, 16fd2706-8baf-433b-82eb-8c7fada847da, pid 12"
	dir := recording(t, echo, request("s", user(text(then))))
	if _, err := ask(open(t, dir), request("t", user(text(now)))); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{
		{"/001/a", "/001/b"}, {"127.0.0.1", "10.0.0.1"}, {"FAIL", "PASS"}, {"Look", "Listen"}, {"pid", "uid"},
	} {
		changed := strings.Replace(now, change[0], change[1], 1)
		_, err := ask(open(t, dir), request("t", user(text(changed))))
		var e *playback.Error
		if !errors.As(err, &e) {
			t.Errorf("%s is taken for %s", change[1], change[0])
		}
	}
	for _, change := range [][2]string{{"Take 5 s.", "Take 50 s."}, {"Wait 300 seconds.", "Wait 30 seconds."}, {"Version 1.25", "Version 1.26"},
		{"Read /tmp/notes.txt.", "Read /tmp/other.txt."}, {"Port 8080", "Port 8081"}, {"Listen on localhost:8080", "Listen on localhost:9090"}} {
		dir := recording(t, echo, request("s", user(text(change[0]))))
		if _, err := ask(open(t, dir), request("t", user(text(change[1])))); err == nil {
			t.Errorf("%q is taken for %q", change[1], change[0])
		}
	}
}

func TestPlayer_shows_long_lines_around_their_difference(t *testing.T) {
	line := strings.Repeat("word ", 400)
	dir := recording(t, echo, request("s", user(text(line+"é one "+line))))
	_, err := ask(open(t, dir), request("t", user(text(line+"é two "+line))))
	var e *playback.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	for _, part := range []string{"from character 2003", "word é one word", "word é two word", "…"} {
		if !strings.Contains(e.Diff, part) {
			t.Errorf("the diff lacks %q:\n%s", part, e.Diff)
		}
	}
	if len(e.Diff) > 800 {
		t.Errorf("the diff has %d bytes", len(e.Diff))
	}
}

func TestPlayer_shows_a_bounded_diff(t *testing.T) {
	many := strings.Repeat("a\n", 5000)
	dir := recording(t, echo, request("s", user(text(many))))
	_, err := ask(open(t, dir), request("t", user(text(strings.ReplaceAll(many, "a", "b")))))
	if n := strings.Count(err.Error(), "\n"); n > 80 || !strings.Contains(err.Error(), "more lines") {
		t.Errorf("the error has %d lines", n)
	}
}

func TestPlayer_says_that_the_recording_ends(t *testing.T) {
	first := request("s", user(text("one")))
	second := request("s", user(text("one")), assistant(text("You said: one")), user(text("two")))
	dir := recording(t, echo, first)
	unfinished := t.TempDir()
	r := record(t, unfinished, provider(t, echo), nil)
	_ = said(t, r, first)
	_ = r.Close()
	for _, c := range []struct {
		name, dir string
		ask       []model.Request
		kind      playback.Kind
		text      string
	}{
		{"a turn more", dir, []model.Request{first, second}, playback.Ends, "ends before this turn (0001-step-agent.jsonl, line 2)"},
		{"a turn more than the run came to", unfinished, []model.Request{first, second}, playback.Ends, "The recording was cut off: this is how far it goes."},
		{"another step", dir, []model.Request{func() model.Request { q := first; q.Meta.Step = "fix"; return q }()}, playback.Missing,
			"no such conversation.\nIt has: step step (agent agent)"},
		{"another session", dir, []model.Request{first, func() model.Request { q := first; q.Meta.Session = "x"; return q }()}, playback.Missing,
			"fewer conversations of this step and agent"},
		{"a subagent", dir, []model.Request{first, sub("s", "a1", "x")}, playback.Missing, "step step, agent worker (subagent a1), turn 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, c.dir)
			var err error
			for _, q := range c.ask {
				_, err = ask(p, q)
			}
			var e *playback.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPlayer_says_when_its_files_are_gone(t *testing.T) {
	dir := recording(t, echo, request("s", user(text("one"))))
	p := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err := ask(p, request("t", user(text("one"))))
	var e *playback.Error
	if !errors.As(err, &e) || e.Kind != playback.Broken || !slices.Contains([]string{"0001-step-agent.jsonl"}, e.File) {
		t.Errorf("error %v", err)
	}
}
