package claudecode_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

// serveWord is an MCP server on standard input and output with one tool, which
// tells a word of its environment. TestMain becomes it when asked to.
func serveWord() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := "{}"
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"` + m.Params.Version + `","capabilities":{"tools":{}},"serverInfo":{"name":"word","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"tell","description":"Tells the word.","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			text, _ := json.Marshal(fmt.Sprintf("the word is %s, the key is %q", os.Getenv("WORD"), os.Getenv("ANTHROPIC_API_KEY")))
			result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

func TestServers_an_external_one_is_started_for_the_turn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, calls("mcp__word__tell", `{}`), says("Done."))
	b.turn.Agent.AllowedTools = []string{"mcp__word__tell"}
	b.turn.Agent.MCPServers = map[string]harness.MCPServer{
		"word":   {Command: self, Env: map[string]string{"FLOWER_TEST_SERVER": "1", "WORD": "daisy"}},
		"unused": {Command: "/none"},
		"gone":   {Command: "/none"},
	}
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "mcp__gone__tell")
	b.mustRun(harness.EndTurn)
	if text := said(b.last()); !strings.Contains(text, `the word is daisy, the key is ""`) {
		t.Errorf("the server was not asked:\n%s", text)
	}
	if errs := b.of(event.Error); len(errs) != 1 || !strings.Contains(errs[0].Text, "the MCP server gone is not there") {
		t.Errorf("what is not there is not told: %+v", errs)
	}
	if left := leftOver(0); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	b.turn.Agent.MCPServers["bad"] = harness.MCPServer{}
	var order *harness.OrderError
	if _, err := b.run(); !errors.As(err, &order) {
		t.Errorf("a server that is none: %v", err)
	}
}

func TestRead_the_main_thread_sees_a_page_at_a_time(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "long.txt")
	var long strings.Builder
	for i := range 500 {
		fmt.Fprintf(&long, "this is line %d\n", i+1)
	}
	if err := os.WriteFile(path, []byte(long.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b.server.Enqueue(calls("Read", input("file_path", path)), calls("Read", `{"file_path":"`+path+`","offset":100}`), says("Done."))
	b.turn.Agent.PageChars = 1000
	b.mustRun(harness.EndTurn)
	all := b.requests()
	first, second := said(all[1]), said(all[2])
	if !strings.Contains(first, "this is line 60") || strings.Contains(first, "this is line 80") || !strings.Contains(first, "Read on with offset 6") {
		t.Errorf("the first page:\n%s", first)
	}
	if !strings.Contains(second, "this is line 150") || strings.Contains(second, "this is line 180") || !strings.Contains(second, "Read on with offset 15") {
		t.Errorf("the second page:\n%s", second)
	}
}
