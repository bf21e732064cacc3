package claudecode

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/flowerlua/flower/engine/tool"
)

// servers are the host tools, offered to the program as MCP servers over its own
// pipe. It shakes hands more than once, so nothing is remembered of that.
type servers struct {
	names   names
	offered []string // host tools, by our names
	say     *speaker // knows whose the calls are

	mu      sync.Mutex
	turns   map[string]*sync.Mutex        // of tools that run one call at a time
	callers map[string]string             // call → subagent
	running map[string]context.CancelFunc // JSON-RPC request of a server → its call
	asking  int                           // questions of the main thread that wait for a person
}

func newServers(n names, offered []string, say *speaker) *servers {
	s := &servers{names: n, say: say, turns: map[string]*sync.Mutex{}, callers: map[string]string{}, running: map[string]context.CancelFunc{}}
	for _, name := range offered {
		if n.host[name] != nil {
			s.offered = append(s.offered, name)
			s.turns[name] = new(sync.Mutex)
		}
	}
	return s
}

// adopt puts other tools behind the same definitions.
func (s *servers) adopt(n names) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = n
}

// tools are the names as they are now.
func (s *servers) tools() names {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names
}

// config is the program's list of servers; nil without any.
func (s *servers) config() map[string]any {
	list := map[string]any{}
	for _, name := range s.offered {
		server, _ := s.names.server(name)
		list[server] = map[string]string{"type": "sdk", "name": server}
	}
	return list
}

// caller notes whose a call is, which the program does not tell a server.
func (s *servers) caller(call, agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if agent != "" {
		s.callers[call] = agent
	}
}

// asks reports whether the main thread waits for a person.
func (s *servers) asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking > 0
}

// rpc is a JSON-RPC message.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
		Meta      struct {
			ToolUseID string `json:"claudecode/toolUseId"`
		} `json:"_meta"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// answer serves a message to one of the servers.
func (s *servers) answer(ctx context.Context, q request) any {
	var m rpc
	if err := lenient(q.Message, &m); err != nil {
		return wrapped(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32700, "message": "the message is no JSON"}})
	}
	out := map[string]any{"jsonrpc": "2.0"}
	if len(m.ID) > 0 {
		out["id"] = m.ID
	}
	switch m.Method {
	case "initialize":
		out["result"] = map[string]any{"protocolVersion": m.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": q.ServerName, "version": "1"}}
	case "tools/list":
		out["result"] = map[string]any{"tools": s.list(q.ServerName)}
	case "tools/call":
		result, err := s.run(ctx, q.ServerName, m)
		if err != nil {
			out["error"] = map[string]any{"code": -32602, "message": err.Error()}
		} else {
			out["result"] = result
		}
	case "notifications/cancelled":
		s.mu.Lock()
		if cancel := s.running[q.ServerName+" "+string(m.Params.RequestID)]; cancel != nil {
			cancel()
		}
		s.mu.Unlock()
		out["result"] = map[string]any{}
	default: // ping and notifications
		out["result"] = map[string]any{}
	}
	return wrapped(out)
}

func wrapped(m map[string]any) any { return map[string]any{"mcp_response": m} }

// list are a server's tools.
func (s *servers) list(server string) []any {
	list, n := []any{}, s.tools()
	for _, name := range s.offered {
		at, plain := n.server(name)
		if at != server {
			continue
		}
		d := n.host[name].Definition()
		schema := d.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		list = append(list, map[string]any{"name": plain, "description": d.Description, "inputSchema": schema,
			"annotations": map[string]any{"readOnlyHint": d.ReadOnly}, "_meta": map[string]any{"anthropic/alwaysLoad": true}})
	}
	return list
}

// run runs a call. Tools that do more than read run one call at a time.
func (s *servers) run(ctx context.Context, server string, m rpc) (any, error) {
	n := s.tools()
	i := slices.IndexFunc(s.offered, func(name string) bool {
		at, plain := n.server(name)
		return at == server && plain == m.Params.Name
	})
	if i < 0 {
		return nil, fmt.Errorf("the server %s has no tool %q", server, m.Params.Name)
	}
	name := s.offered[i]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := server + " " + string(m.ID)
	s.mu.Lock()
	s.running[id] = cancel
	agent := s.callers[m.Params.Meta.ToolUseID]
	asks := 0
	if name == askTool && agent == "" {
		asks = 1
	}
	s.asking += asks
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking -= asks
		delete(s.running, id)
		delete(s.callers, m.Params.Meta.ToolUseID)
	}()
	t := n.host[name]
	if !t.Definition().ReadOnly {
		s.turns[name].Lock()
		defer s.turns[name].Unlock()
	}
	return mcpResult(t.Run(ctx, s.say.sign(tool.Call{ID: m.Params.Meta.ToolUseID, Input: m.Params.Arguments, Agent: agent}))), nil
}

// mcpResult is a tool's result as a server gives it.
func mcpResult(r tool.Result) any {
	content := []any{}
	for _, c := range r.Content {
		switch {
		case c.MediaType == "":
			content = append(content, map[string]any{"type": "text", "text": c.Text})
		case len(c.MediaType) > 6 && c.MediaType[:6] == "image/":
			content = append(content, map[string]any{"type": "image", "mimeType": c.MediaType, "data": base64.StdEncoding.EncodeToString(c.Data)})
		default:
			content = append(content, map[string]any{"type": "resource", "resource": map[string]any{
				"uri": "flower://result", "mimeType": c.MediaType, "blob": base64.StdEncoding.EncodeToString(c.Data)}})
		}
	}
	return map[string]any{"content": content, "isError": r.IsError}
}
