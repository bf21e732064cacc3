package claudecode_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
)

// serveHTTP is an MCP server over HTTP with one tool, for those who have the header.
// calls counts the requests that had it not.
func serveHTTP(t *testing.T) (url string, strangers func() int) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "find", Description: "Finds orders.", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found with " + string(r.Params.Arguments)}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("X-House") != "flower" {
			mu.Lock()
			n++
			mu.Unlock()
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestServers_one_over_HTTP_is_called_with_its_headers(t *testing.T) {
	url, strangers := serveHTTP(t)
	b := newBench(t, calls("mcp__plugin_shop_orders__find", `{"number":7}`), says("Done."))
	b.turn.Agent.AllowedTools = []string{"mcp__plugin_shop_orders__find"}
	b.turn.Agent.MCPServers = map[string]harness.MCPServer{
		"plugin_shop_orders": {URL: url, Headers: map[string]string{"X-House": "flower"}},
		"stranger":           {URL: url},
	}
	var seen []string
	b.turn.Guards = chain(judge{before: func(c guard.Call) guard.Decision {
		seen = append(seen, c.Tool)
		return guard.Decision{}
	}})
	b.mustRun(harness.EndTurn)
	if text := said(b.last()); !strings.Contains(text, `found with {"number":7}`) {
		t.Errorf("the server was not asked:\n%s", text)
	}
	if len(seen) != 1 || seen[0] != "mcp__plugin_shop_orders__find" {
		t.Errorf("guards saw %v", seen)
	}
	if errs := b.of(event.Error); len(errs) != 0 || strangers() != 0 {
		t.Errorf("errors %+v, %d requests without the header", errs, strangers())
	}
}

func TestServers_one_over_HTTP_that_refuses_is_told(t *testing.T) {
	url, strangers := serveHTTP(t)
	b := newBench(t, says("Done."))
	b.turn.Agent.AllowedTools = []string{"mcp__orders__find"}
	b.turn.Agent.MCPServers = map[string]harness.MCPServer{"orders": {URL: url}}
	b.mustRun(harness.EndTurn)
	if errs := b.of(event.Error); len(errs) != 1 || !strings.Contains(errs[0].Text, "the MCP server orders is not there") || strangers() == 0 {
		t.Errorf("errors %+v", errs)
	}
}
