package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowerlua/flower/engine/harness"
)

// mcpEnv makes the test binary an MCP server over its standard input and output.
const mcpEnv = "FLOWER_TEST_MCP"

// serveMCP plays a server until its input ends.
func serveMCP(mode string) {
	switch mode {
	case "fails":
		fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 10_000)+"\nno database at localhost")
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "stubborn": // does not end with its input, and leaves a child
		_ = exec.Command("sleep", "3600").Start()
		defer time.Sleep(time.Hour)
	}
	if err := mcpServer(mode).Run(context.Background(), &mcp.StdioTransport{}); err != nil && mode != "stubborn" {
		os.Exit(1)
	}
	if mode != "stubborn" {
		os.Exit(0)
	}
}

// mcpServer is a server with a few tools.
func mcpServer(mode string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name, help string, readOnly bool, f func(text string) *mcp.CallToolResult) {
		t := &mcp.Tool{Name: name, Description: help, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"anyOf":[{"required":["text"]},{}]}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}
		s.AddTool(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			if name == "hang" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return f(in.Text), nil
		})
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo", "Says the text again ("+mode+").", true, func(s string) *mcp.CallToolResult { return text(mode + ": " + s) })
	add("my.note", "Has a dot in its name.", false, func(s string) *mcp.CallToolResult { return text("noted " + s) })
	add("env", "Shows the environment.", true, func(string) *mcp.CallToolResult { return text(strings.Join(os.Environ(), "\n")) })
	add("hang", "Does not answer.", true, text)
	add("die", "Ends the server.", false, func(string) *mcp.CallToolResult { os.Exit(7); return nil })
	add("fail", "Is an error.", true, func(s string) *mcp.CallToolResult {
		r := text("it failed: " + s)
		r.IsError = true
		return r
	})
	add("big", "Gives much.", true, func(string) *mcp.CallToolResult { return text(strings.Repeat("many words \u00e9 ", 150_000)) })
	add("show", "Gives an image.", true, func(string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "This is it:"},
			&mcp.ImageContent{MIMEType: "image/png", Data: png(20, 20)},
			&mcp.ImageContent{MIMEType: "image/png", Data: png(3000, 10)},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
			&mcp.ResourceLink{Name: "doc", URI: "file:///doc"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "inside"}},
		}}
	})
	return s
}

// stdio is a server of the given mode, run by this test binary.
func stdio(mode string) harness.MCPServer {
	return harness.MCPServer{Command: os.Args[0], Args: []string{"-test.run=^$"}, Env: map[string]string{mcpEnv: mode, "GORACE": "atexit_sleep_ms=0"}}
}

// httpMCP is a server over streamable HTTP.
type httpMCP struct {
	*httptest.Server
	handler atomic.Pointer[mcp.StreamableHTTPHandler]
	seen    atomic.Pointer[http.Header] // of the last request
}

func mcpOverHTTP(t *testing.T) *httpMCP {
	t.Helper()
	s := new(httpMCP)
	s.restart()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		s.seen.Store(&header)
		s.handler.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// restart makes the server forget its sessions, as one that is started anew has.
func (s *httpMCP) restart() {
	s.handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer("http") }, nil))
}
