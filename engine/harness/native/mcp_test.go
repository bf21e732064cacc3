package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// serves gives the bench's agent a server and the tools of it that it may call.
func (b *bench) serves(name string, s harness.MCPServer, tools ...string) {
	if b.turn.Agent.MCPServers == nil {
		b.turn.Agent.MCPServers = map[string]harness.MCPServer{}
	}
	b.turn.Agent.MCPServers[name] = s
	for _, t := range tools {
		b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "mcp__"+name+"__"+t)
	}
}

func TestMCP_tools_are_offered_where_they_are_named_and_called_over_both_transports(t *testing.T) {
	for _, kind := range []string{"stdio", "http"} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, nil, calls("mcp__db__echo", input("text", "hello"), "mcp__db__my_note", input("text", "this"), "mcp__db__fail", input("text", "x")), says("Done."))
			s := stdio("plain")
			over := mcpOverHTTP(t)
			if kind == "http" {
				s = harness.MCPServer{URL: over.URL, Headers: map[string]string{"X-House": "flower"}}
			}
			b.serves("db", s, "echo", "my_note", "fail")
			b.mustRun(harness.EndTurn)
			if got := results(b.last()); len(got) != 3 || got[0] != "plain: hello" && got[0] != "http: hello" || got[1] != "noted this" || got[2] != "it failed: x" {
				t.Errorf("results: %q", got)
			}
			if !b.last().Results()[2].IsError || b.last().Results()[0].IsError {
				t.Error("errors are told apart wrongly")
			}
			var names []string
			for _, d := range b.last().Tools {
				if strings.HasPrefix(d.Name, "mcp__") {
					names = append(names, d.Name)
				}
			}
			if got := strings.Join(names, " "); got != "mcp__db__echo mcp__db__fail mcp__db__my_note" {
				t.Errorf("offered: %s", got)
			}
			if strings.Contains(string(b.last().Body), "anyOf") {
				t.Error("a schema that providers refuse was sent")
			}
			if h := over.seen.Load(); h != nil && h.Get("X-House") != "flower" {
				t.Error("the headers were not sent")
			}
		})
	}
}

func TestMCP_environment_of_a_server_holds_no_secrets_but_those_given(t *testing.T) {
	for name, value := range map[string]string{"ANTHROPIC_API_KEY": "hidden-1", "SOME_API_KEY": "hidden-2", "HOUSE": "hidden-3", "OPEN": "to-see"} {
		t.Setenv(name, value)
	}
	b := newBench(t, nil, calls("mcp__db__env", "{}"), says("Done."))
	b.config.SecretEnv = []string{"HOUSE"}
	s := stdio("env")
	s.Env["GIVEN_API_KEY"] = "wanted"
	b.serves("db", s, "env")
	b.mustRun(harness.EndTurn)
	got := results(b.last())[0]
	if strings.Contains(got, "hidden-") || !strings.Contains(got, "OPEN=to-see") || !strings.Contains(got, "GIVEN_API_KEY=wanted") || !strings.Contains(got, "PWD="+b.dir) {
		t.Errorf("environment:\n%s", got)
	}
}

func TestMCP_a_server_that_does_not_start_is_an_error_before_anything_is_spent(t *testing.T) {
	gone := mcpOverHTTP(t)
	gone.Close()
	cases := map[string]struct {
		server harness.MCPServer
		tool   string
		want   []string
	}{
		"no such command": {harness.MCPServer{Command: "no-such-command-here"}, "echo", []string{"the MCP server db (command no-such-command-here) did not start", "not found"}},
		"fails":           {stdio("fails"), "echo", []string{"command " + os.Args[0], "its last words", "no database at localhost"}},
		"silent":          {stdio("silent"), "echo", []string{"it was not ready after 1s"}},
		"no such address": {harness.MCPServer{URL: gone.URL + "/?key=hidden"}, "echo", []string{gone.URL, "refused"}},
		"no such tool":    {stdio("plain"), "ecko", []string{`has no tool "mcp__db__ecko"`, `did you mean "mcp__db__echo"`, "mcp__db__my_note"}},
		"a bad name":      {harness.MCPServer{}, "echo", []string{"mcp_servers.db", "neither command nor url"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, says("never"))
			b.config.MCPStart = time.Second
			if name != "silent" {
				b.config.MCPStart = 20 * time.Second
			}
			b.serves("db", c.server, c.tool)
			out, err := b.run()
			if err == nil || out.Stop != harness.Failed {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, want := range append(c.want, "agent tester") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if len(err.Error()) > 2500 || strings.Contains(err.Error(), "hidden") {
				t.Errorf("error of %d bytes: %v", len(err.Error()), err)
			}
			if len(b.requests()) > 0 || len(b.memory.keys()) > 0 {
				t.Error("something was spent or stored")
			}
		})
	}
}

func TestMCP_a_server_that_nobody_names_is_not_started_and_a_person_hears_of_it(t *testing.T) {
	b := newBench(t, nil, says("Done."))
	b.serves("db", harness.MCPServer{Command: "no-such-command-here"})
	b.mustRun(harness.EndTurn)
	if got := b.of(event.System); len(got) != 1 || !strings.Contains(got[0].Text, "mcp__db__") {
		t.Errorf("%+v", got)
	}
}

func TestMCP_results_are_cleaned_and_bounded(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__show", "{}", "mcp__db__big", "{}"), says("Done."))
	b.serves("db", stdio("plain"), "show", "big")
	b.mustRun(harness.EndTurn)
	show := b.last().Results()[0]
	var got []string
	for _, c := range show.Content {
		got = append(got, c.Type+" "+c.Text)
	}
	for i, want := range []string{"text This is it:", "image", "text [an image of 3000 × 10 pixels was left out", "text [4 bytes of type audio/wav were left out", "text [resource doc: file:///doc]\ninside"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("part %d: %.100q, want %q", i, got, want)
		}
	}
	if big := results(b.last())[1]; len(big) > 120_000 || !strings.Contains(big, "characters were left out") {
		t.Errorf("%d bytes of a large result are sent", len(big))
	}
}

func TestMCP_guards_hold_and_large_results_spill(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__big", "{}", "mcp__db__echo", input("text", "x")), says("Done."))
	b.serves("db", stdio("plain"), "big", "echo")
	dir := t.TempDir()
	b.turn.Guards = guard.Chain{Guards: []guard.Guard{guard.Spill(nil, guard.Options{SpillDir: dir}), denies{"mcp__db__echo", "Not now."}}}
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if len(got[0]) > 1500 || !strings.Contains(got[0], dir) || got[1] != "Not now." {
		t.Errorf("results: %.300q", got)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	if len(files) != 1 {
		t.Fatalf("spilled: %v", files)
	}
	if content, _ := os.ReadFile(files[0]); len(content) < 1_500_000 {
		t.Errorf("%d bytes were spilled", len(content))
	}
}

func TestMCP_a_broken_connection_is_told_and_made_anew(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__die", "{}"), calls("mcp__db__echo", input("text", "again")), says("Done."))
	b.serves("db", stdio("plain"), "die", "echo")
	b.mustRun(harness.EndTurn)
	r := b.requests()
	if got := results(r[1])[0]; !strings.Contains(got, "broke during this call") || !strings.Contains(got, "It may have taken effect") {
		t.Errorf("result: %q", got)
	}
	if got := results(r[2])[0]; got != "plain: again" {
		t.Errorf("result: %q", got)
	}
}

func TestMCP_a_session_that_the_server_forgot_is_begun_anew(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__echo", input("text", "1")), calls("forget", "{}"), calls("mcp__db__echo", input("text", "2")), says("Done."))
	s := mcpOverHTTP(t)
	b.serves("db", harness.MCPServer{URL: s.URL}, "echo")
	b.host("forget", false, func(tool.Call) tool.Result { s.restart(); return tool.TextResult("forgotten") })
	b.mustRun(harness.EndTurn)
	if got := results(b.last()); got[0] != "http: 2" {
		t.Errorf("result: %q", got)
	}
}

func TestMCP_a_call_that_takes_too_long_is_given_up_and_the_server_stays(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__hang", "{}"), calls("mcp__db__echo", input("text", "x")), says("Done."))
	b.config.MCPCall = 300 * time.Millisecond
	b.serves("db", stdio("plain"), "hang", "echo")
	b.mustRun(harness.EndTurn)
	r := b.requests()
	if got := results(r[1])[0]; !strings.Contains(got, "did not answer within 300ms") {
		t.Errorf("result: %q", got)
	}
	if got := results(r[2])[0]; got != "plain: x" {
		t.Errorf("result: %q", got)
	}
}

func TestMCP_an_interrupt_ends_a_call_at_once(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__hang", "{}"))
	b.serves("db", stdio("plain"), "hang")
	words := make(chan string, 1)
	b.turn.Interrupt = words
	var begin time.Time
	b.turn.Sink = event.SinkFunc(func(e event.Event) {
		if e.Kind == event.ToolCall {
			begin = time.Now()
			words <- "Stop."
		}
	})
	out := b.mustRun(harness.Interrupted)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := kinds(b.memory.entries(key(out.SessionID))); got != "flower_prefix user calls(1) result" {
		t.Errorf("stored: %s", got)
	}
}

func TestMCP_a_stubborn_server_and_what_it_started_are_gone_with_the_turn(t *testing.T) {
	b := newBench(t, nil, says("Done."))
	b.serves("db", stdio("stubborn"), "echo")
	b.mustRun(harness.EndTurn)
	if left := leftOver(0); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMCP_the_list_of_tools_is_frozen_for_a_session(t *testing.T) {
	b := newBench(t, nil, says("Hello."))
	b.serves("db", stdio("first"), "echo")
	b.turn.Agent.Workers = map[string]harness.Worker{"coder": {Description: "Works.", Tools: []string{"mcp__db__my_note"}}}
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "Agent")
	out := b.mustRun(harness.EndTurn)
	first := b.last()
	b.turn.Agent.MCPServers["db"] = stdio("second") // whose descriptions are others
	b.resume(out.SessionID, "Again.")
	b.server.Enqueue(calls("mcp__db__echo", input("text", "x")), says("Done."))
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; got != "second: x" {
		t.Errorf("result: %q", got)
	}
	if kept := b.last().Tools; fmt.Sprint(kept) != fmt.Sprint(first.Tools) || !strings.Contains(fmt.Sprint(string(b.last().Body)), "again (first)") {
		t.Error("the tools were told anew")
	}
	if got := b.of(event.System); len(got) > 0 {
		t.Errorf("the cache starts over: %+v", got)
	}
	b.turn.Session, b.turn.Prompt = harness.Session{}, "New."
	b.server.Enqueue(says("Done."))
	b.mustRun(harness.EndTurn)
	if !strings.Contains(string(b.last().Body), "again (second)") {
		t.Error("a new session does not ask the server")
	}
}

func TestMCP_subagents_call_the_tools_that_their_worker_names(t *testing.T) {
	b := team(t, once(dispatches(1)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("mcp__db__echo", input("text", "sub"))
		}
		return says("Report: " + results(r)[0])
	})
	b.turn.Agent.MCPServers = map[string]harness.MCPServer{"db": stdio("plain")}
	w := b.turn.Agent.Workers["coder"]
	w.Tools = []string{"mcp__db__echo"}
	b.turn.Agent.Workers["coder"] = w
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.Contains(got, "Report: plain: sub") {
		t.Errorf("result: %q", got)
	}
}

func TestMCP_plan_mode_lets_only_tools_run_that_read(t *testing.T) {
	b := newBench(t, nil, calls("mcp__db__my_note", input("text", "x"), "mcp__db__echo", input("text", "y")), says("Done."))
	b.turn.Agent.PermissionMode = harness.Plan
	b.serves("db", stdio("plain"), "my_note", "echo")
	b.mustRun(harness.EndTurn)
	if got := results(b.last()); !strings.Contains(got[0], "In plan mode") || got[1] != "plain: y" {
		t.Errorf("results: %q", got)
	}
}

func TestMCP_names_and_fields_are_checked(t *testing.T) {
	good := harness.MCPServer{Command: "x"}
	cases := map[string]struct {
		name   string
		server harness.MCPServer
		field  string
	}{
		"fine":        {"my-db_2", good, "-"},
		"http":        {"web", harness.MCPServer{URL: "https://example.org/mcp", Headers: map[string]string{"a": "b"}}, "-"},
		"two names":   {"a__b", good, ""},
		"ends in _":   {"a_", good, ""},
		"empty":       {"", good, ""},
		"ours":        {"human", good, ""},
		"both":        {"a", harness.MCPServer{Command: "x", URL: "http://h"}, "url"},
		"bad address": {"a", harness.MCPServer{URL: "ftp://h"}, "url"},
		"headers":     {"a", harness.MCPServer{Command: "x", Headers: map[string]string{"a": "b"}}, "headers"},
		"args":        {"a", harness.MCPServer{URL: "http://h", Args: []string{"x"}}, "args"},
		"env":         {"a", harness.MCPServer{URL: "http://h", Env: map[string]string{"a": "b"}}, "env"},
	}
	for name, c := range cases {
		field, err := c.server.Check(c.name)
		if fine := c.field == "-"; fine != (err == nil) || !fine && field != c.field {
			t.Errorf("%s: %q, %v", name, field, err)
		}
	}
}
