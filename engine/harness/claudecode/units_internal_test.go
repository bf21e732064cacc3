package claudecode

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/proxy"
)

func TestPolicy_says_who_may_call_what(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join("/", "flower-outside")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	a := harness.Agent{Name: "lead", Workspace: dir, AddDirs: []string{"/added"}, AllowedTools: []string{"Agent", "Write", "Bash", "WebFetch"}, DisallowedTools: []string{"WebFetch"},
		Workers: map[string]harness.Worker{"coder": {Tools: []string{"Read"}}, "writer": {PermissionMode: harness.BypassPermissions}, "planner": {PermissionMode: harness.Plan}}}
	p := policy{a, func(command string) bool { return command == "ls" }}
	write := func(path string) json.RawMessage {
		raw, _ := json.Marshal(map[string]string{"file_path": path})
		return raw
	}
	for _, c := range []struct {
		name string
		call guard.Call
		runs bool
	}{
		{"allowed", guard.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"rm x"}`)}, true},
		{"not allowed", guard.Call{Tool: "Read"}, false},
		{"barred", guard.Call{Tool: "WebFetch"}, false},
		{"a worker's own", guard.Call{Tool: "Read", Agent: "1", AgentRole: "coder"}, true},
		{"a worker has not what its dispatcher has", guard.Call{Tool: "Bash", Agent: "1", AgentRole: "coder"}, false},
		{"a worker that nobody defined", guard.Call{Tool: "Read", Agent: "1", AgentRole: "general-purpose"}, false},
		{"barred for workers too", guard.Call{Tool: "WebFetch", Agent: "1", AgentRole: "writer"}, false},
		{"written inside", guard.Call{Tool: "Write", Input: write(filepath.Join(dir, "new", "x")), Dir: dir}, true},
		{"written by a relative path", guard.Call{Tool: "Write", Input: write("x"), Dir: dir}, true},
		{"written outside", guard.Call{Tool: "Write", Input: write(outside), Dir: dir}, false},
		{"written up and out", guard.Call{Tool: "Write", Input: write("../../../../../../flower-outside"), Dir: dir}, false},
		{"written through a link", guard.Call{Tool: "Write", Input: write(filepath.Join(link, "flower-outside")), Dir: dir}, false},
		{"written to an added folder", guard.Call{Tool: "Write", Input: write("/added/x"), Dir: dir}, true},
		{"written next to one", guard.Call{Tool: "Write", Input: write("/added-not/x"), Dir: dir}, false},
		{"written anywhere when permissions are bypassed", guard.Call{Tool: "Write", Input: write(outside), Dir: dir, Agent: "1", AgentRole: "writer"}, true},
		{"written while planning", guard.Call{Tool: "Write", Input: write(filepath.Join(dir, "x")), Agent: "1", AgentRole: "planner"}, false},
		{"run while planning", guard.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"rm x"}`), Agent: "1", AgentRole: "planner"}, false},
		{"looked at while planning", guard.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Agent: "1", AgentRole: "planner"}, true},
	} {
		if why := p.refuses(c.call); (why == "") != c.runs {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

func TestShape_a_text_goes_back_into_the_place_it_came_from(t *testing.T) {
	file := func(path string) (string, bool) { return "all of it", path == "/kept" }
	for _, c := range []struct{ tool, output, value, text, want string }{
		{"Bash", `{"stdout":"out","stderr":"","interrupted":false,"isImage":false}`, `"out"`, "new", `{"interrupted":false,"isImage":false,"stderr":"","stdout":"new"}`},
		{"Bash", `{"stdout":"out\n","stderr":"err"}`, `"out\nerr"`, "new", `{"stderr":"","stdout":"new"}`},
		{"Bash", `{"stdout":"all","stderr":"","persistedOutputPath":"/kept","persistedOutputSize":9}`, `"all of it"`, "new", `{"stderr":"","stdout":"new"}`},
		{"Bash", `{"stdout":"all","stderr":"","persistedOutputPath":"/gone"}`, `"all"`, "new", `{"stderr":"","stdout":"new"}`},
		{"Read", `{"type":"text","file":{"filePath":"/a","content":"one\ntwo","numLines":2}}`, `"one\ntwo"`, "1\n2\n3", `{"file":{"content":"1\n2\n3","filePath":"/a","numLines":3},"type":"text"}`},
		{"mcp__x__y", `[{"type":"text","text":"said"}]`, `"said"`, "new", `[{"text":"new","type":"text"}]`},
		{"Grep", `{"mode":"content","content":"a:1"}`, `"a:1"`, "b:2", `{"content":"b:2","mode":"content"}`},
		{"WebFetch", `"page"`, `"page"`, "new", `"new"`},
	} {
		s := newShape(c.tool, json.RawMessage(c.output), file)
		value, _ := json.Marshal(s.value)
		if string(value) != c.value {
			t.Errorf("%s: guards see %s, want %s", c.tool, value, c.value)
		}
		output, ok := s.replaced(c.text)
		if got, _ := json.Marshal(output); !ok || string(got) != c.want {
			t.Errorf("%s: put back as %s, want %s", c.tool, got, c.want)
		}
	}
	for tool, output := range map[string]string{
		"Bash": `{"stdout":"iVBOR","isImage":true}`, "Read": `{"type":"image","file":{"base64":"x"}}`, "mcp__x__y": `[{"type":"image"},{"type":"text","text":"a"}]`, "Edit": `{`,
	} {
		if _, ok := newShape(tool, json.RawMessage(output), nil).replaced("new"); ok {
			t.Errorf("%s: a text took the place of %s", tool, output)
		}
	}
	s := newShape("Edit", json.RawMessage(`{"a":"b"}`), nil)
	if out, ok := s.replaced(map[string]any{"a": "c"}); !ok || !reflect.DeepEqual(out, map[string]any{"a": "c"}) {
		t.Errorf("a structure was not taken back: %v", out)
	}
}

func TestNames_are_ours_inside_and_theirs_outside(t *testing.T) {
	named := func(name string) tool.Tool { return tool.Func{Def: tool.Definition{Name: name}} }
	n := newNames([]tool.Tool{named("lookup"), named("mcp__human__ask"), named("mcp__odd")})
	for ours, theirs := range map[string]string{"Bash": "Bash", "BashOutput": "TaskOutput", "lookup": "mcp__flower__lookup",
		"mcp__human__ask": "mcp__human__ask", "mcp__odd": "mcp__flower__mcp__odd"} {
		if got := n.theirs(ours); got != theirs {
			t.Errorf("theirs(%s) = %s, want %s", ours, got, theirs)
		}
		if got := n.ours(theirs); got != ours {
			t.Errorf("ours(%s) = %s, want %s", theirs, got, ours)
		}
	}
	if n.ours("Task") != "Agent" {
		t.Error("the old name of the dispatch is not known")
	}
	a := harness.Agent{AllowedTools: []string{"Read", "Agent"}, DisallowedTools: []string{"WebSearch"}, Workers: map[string]harness.Worker{"w": {}}}
	if got := offered(a); slices.Contains(got, "WebSearch") || !slices.Contains(got, "Write") || len(got) != 8 {
		t.Errorf("offered: %v", got)
	}
	a.AllowedTools = []string{"Read"}
	if got := offered(a); len(got) != 1 {
		t.Errorf("what nobody can reach is offered: %v", got)
	}
}

func TestServers_shake_hands_as_often_as_asked_and_cancel(t *testing.T) {
	began := make(chan struct{})
	n := newNames([]tool.Tool{
		tool.Func{Def: tool.Definition{Name: "mcp__human__ask", Description: "Ask."}, Call: func(ctx context.Context, _ tool.Call) tool.Result {
			close(began)
			<-ctx.Done()
			return tool.ErrorResult("nobody answered")
		}},
		tool.Func{Def: tool.Definition{Name: "picture", ReadOnly: true}, Call: func(_ context.Context, c tool.Call) tool.Result {
			return tool.Result{Content: []tool.Content{{Text: strings.Join([]string{"for", c.Agent, c.Run, c.Step, c.Session}, " ")}, {MediaType: "image/png", Data: []byte("png")}, {MediaType: "application/pdf", Data: []byte("pdf")}}}
		}},
	})
	s := newServers(n, []string{"Bash", "mcp__human__ask", "picture"}, &speaker{run: "r1", step: "fix", session: "n1"})
	if len(s.config()) != 2 {
		t.Errorf("servers: %v", s.config())
	}
	say := func(server, message string) string {
		raw, err := json.Marshal(s.answer(t.Context(), request{ServerName: server, Message: json.RawMessage(message)}))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for range 2 {
		for message, want := range map[string]string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`: `"protocolVersion":"2025-11-25"`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                   `"result":{}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                           `"name":"ask"`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"none"}}`:                  `has no tool`,
			`?`: `the message is no JSON`,
		} {
			if got := say("human", message); !strings.Contains(got, want) || !strings.Contains(got, `{"mcp_response":{`) {
				t.Errorf("%s is answered with %s", message, got)
			}
		}
	}
	s.caller("toolu_9", "agent7")
	got := say("flower", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"picture","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_9"}}}`)
	for _, want := range []string{`"text":"for agent7 r1 fix n1"`, `"mimeType":"image/png"`, `"blob":"cGRm"`, `"isError":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	done := make(chan string)
	go func() { done <- say("human", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}`) }()
	<-began
	say("human", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := <-done; !strings.Contains(got, "nobody answered") {
		t.Error(got)
	}
}

func TestLedger_keeps_the_sides_apart_and_waits_for_what_is_reserved(t *testing.T) {
	price := &model.Price{Input: 1, Output: 10}
	l := newLedger(harness.Limits{USD: 1}, func(string) *model.Price { return price })
	a := &proxy.Request{Model: "m", MaxTokens: 60_000}
	if err := l.before(t.Context(), a); err != nil || a.MaxTokens != 60_000 {
		t.Fatal(err, a.MaxTokens)
	}
	b := &proxy.Request{Model: "m", MaxTokens: 60_000, Agent: "1", Thinking: 59_999}
	if err := l.before(t.Context(), b); err != nil || b.MaxTokens > 40_000 || b.Thinking >= b.MaxTokens {
		t.Fatal(err, b.MaxTokens, b.Thinking)
	}
	third := make(chan error)
	go func() { third <- l.before(t.Context(), &proxy.Request{Model: "m", MaxTokens: 3000}) }()
	select {
	case err := <-third:
		t.Errorf("the third request did not wait: %v", err)
	default:
	}
	l.done(proxy.Exchange{Request: *a, Status: 200, Complete: true, Usage: proxy.Usage{Input: 5, Output: 10}})
	if err := <-third; err != nil {
		t.Error(err)
	}
	l.done(proxy.Exchange{Request: *b, Status: 429, ErrorType: "rate_limit_error", Message: "slow"})
	u, cost, _ := l.totals()
	if u.Main.Tokens.Output != 10 || u.Sub.Tokens.Output != 0 || cost == nil || *cost <= 0 {
		t.Errorf("%+v %v", u, cost)
	}
	if err := l.failure(); err == nil || !strings.Contains(err.Error(), "slow") {
		t.Error(err)
	}
	price = nil
	l.done(proxy.Exchange{Request: proxy.Request{Model: "unknown"}, Usage: proxy.Usage{Output: 1}})
	if _, cost, _ := l.totals(); cost != nil {
		t.Error("a cost is told though a price is missing")
	}
}

func TestProjectFolder_is_the_program_s(t *testing.T) {
	for dir, want := range map[string]string{
		"/w/a_b.c":                        "-w-a-b-c",
		"/w/é":                            "-w--",
		"/" + strings.Repeat("long/", 50): ("-" + strings.Repeat("long-", 50))[:200] + "-" + hash36("/"+strings.Repeat("long/", 50)),
	} {
		if got := projectFolder(dir); got != want {
			t.Errorf("%s is in %s, want %s", dir, got, want)
		}
	}
}

func TestJournal_knows_which_transcript_a_file_is(t *testing.T) {
	j := &journal{key: transcript.Key{Project: "p", Session: "s1"}}
	for file, want := range map[string]string{
		"/c/projects/-w/s1.jsonl":                             "+",
		"/c/projects/-w/s1/subagents/agent-7.jsonl":           "+subagents/agent-7",
		"/c/projects/-w/s2.jsonl":                             "",
		"/c/projects/-w/s1/../s2.jsonl":                       "",
		"/c/projects/-w/s1/subagents/agent-7.meta.json":       "",
		"/c/elsewhere/s1.jsonl":                               "",
		"/c/projects/-w/s1/subagents/workflows/agent-8.jsonl": "+subagents/workflows/agent-8",
	} {
		sub, ok := j.subkey(file)
		if got := map[bool]string{true: "+" + sub}[ok]; got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

func TestWithNews_no_prompt_begins_with_a_slash(t *testing.T) {
	for _, c := range []struct {
		news         []string
		prompt, want string
	}{
		{nil, "Do it.", "Do it."},
		{nil, " /compact", "The message:\n\n /compact"},
		{[]string{"News."}, "/compact", "News.\n\n/compact"},
	} {
		if got := withNews(c.news, c.prompt); got != c.want {
			t.Errorf("%q", got)
		}
	}
}
