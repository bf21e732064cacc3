package luabind_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
)

func TestAgent_mcp_servers_reach_the_harness(t *testing.T) {
	var got []map[string]harness.MCPServer
	h := &echo{reply: func(turn harness.Turn) string {
		got = append(got, turn.Agent.MCPServers)
		return "fine"
	}}
	playFlow(t, h, `
		local servers = {
			db = { command = "db-server", args = { "--port", "1" }, env = { TOKEN = "test-key" } },
			web = { url = "https://example.org/mcp", headers = { ["X-House"] = "flower" } },
		}
		return flow{
			step("one", { spec = flower.agent{ name = "one", mcp_servers = servers, allowed_tools = { "mcp__db__query" } } }),
			step("two", { spec = flower.coordinator{ name = "two", mcp_servers = servers } }),
		}`)
	want := map[string]harness.MCPServer{
		"db":  {Command: "db-server", Args: []string{"--port", "1"}, Env: map[string]string{"TOKEN": "test-key"}},
		"web": {URL: "https://example.org/mcp", Headers: map[string]string{"X-House": "flower"}},
	}
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) || !reflect.DeepEqual(got[1], want) {
		t.Errorf("%+v", got)
	}
}

func TestAgent_mistakes_in_mcp_servers_are_told_by_their_path(t *testing.T) {
	for source, want := range map[string]string{
		`1`:                             "mcp_servers: must be a table of servers by name",
		`{ "db" }`:                      "mcp_servers: must hold tables with a command or a url",
		`{ db = {} }`:                   "mcp_servers.db: it has neither command nor url",
		`{ db = { command = 1 } }`:      "mcp_servers.db.command: must be a string",
		`{ db = { comand = "x" } }`:     `mcp_servers.db.comand: is not a field`,
		`{ human = { command = "x" } }`: `mcp_servers.human: an MCP server is called "human"`,
		`{ db = { url = "ftp://x" } }`:  "mcp_servers.db.url: url is not one of http or https",
		`{ db = { command = "x", headers = { a = "b" } } }`: "mcp_servers.db.headers: headers are for",
		`{ db = { command = "x", args = { 1 } } }`:          "mcp_servers.db.args: item 1 must be a string",
		`{ db = { command = "x", env = { 1 } } }`:           "mcp_servers.db.env: must hold strings by name",
	} {
		p := play(t, &echo{}, helper+`return flow{ step("one", { spec = flower.agent{ name = "one", mcp_servers = `+source+` } }) }`, nil)
		var mistakes *luabind.Mistakes
		if !errors.As(p.err, &mistakes) || !strings.Contains(p.err.Error(), "steps[1].spec."+want) {
			t.Errorf("%s: %v", source, p.err)
		}
	}
}
