package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/spell"
)

// servers are the MCP servers of a turn and those of their tools that somebody may
// call.
type servers struct {
	list  map[string]*server
	tools []remote // sorted by name
}

// remote is a tool of an MCP server as a session keeps it.
type remote struct {
	Name        string          `json:"name"`   // mcp__<server>__<tool>
	Server      string          `json:"server"` // as the agent names it
	Tool        string          `json:"tool"`   // as the server names it
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	ReadOnly    bool            `json:"read_only,omitempty"`
}

// serverOf is the server that a tool's name names.
func serverOf(name string) string {
	rest, is := strings.CutPrefix(name, "mcp__")
	server, _, whole := strings.Cut(rest, "__")
	if !is || !whole {
		return ""
	}
	return server
}

// named are the tools of configured servers that the agent or a worker names, sorted.
func (r *run) named() []string {
	a := r.turn.Agent
	all := slices.Concat(a.AllowedTools, a.DisallowedTools)
	for _, w := range a.Workers {
		all = append(all, w.Tools...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool {
		_, ours := a.MCPServers[serverOf(name)]
		return !ours || slices.ContainsFunc(r.turn.HostTools, func(t tool.Tool) bool { return t.Definition().Name == name })
	})
}

// connect starts the servers of which a tool is named, side by side, and decides
// which tools there are.
func (r *run) connect(ctx context.Context) error {
	named := r.named()
	r.servers.list = map[string]*server{}
	for _, name := range slices.Sorted(maps.Keys(r.turn.Agent.MCPServers)) {
		if slices.ContainsFunc(named, func(n string) bool { return serverOf(n) == name }) {
			r.servers.list[name] = r.newServer(name)
			continue
		}
		r.say.emit(event.Event{Kind: event.System, Text: fmt.Sprintf("the MCP server %s is not started: allowed_tools names none of its tools (mcp__%s__…)", name, name)})
	}
	if len(r.servers.list) == 0 {
		return nil
	}
	offered, err := r.offered(ctx)
	if err != nil {
		return err
	}
	kept, err := r.keptTools(ctx)
	if err != nil {
		return err
	}
	for _, x := range kept {
		offered[x.Name] = x
	}
	for _, name := range named {
		x, ok := offered[name]
		if !ok {
			return notOffered(name, offered)
		}
		r.servers.tools = append(r.servers.tools, x)
	}
	return nil
}

// offered asks all servers for their tools.
func (r *run) offered(ctx context.Context) (map[string]remote, error) {
	names := slices.Sorted(maps.Keys(r.servers.list))
	lists, errs := make([][]remote, len(names)), make([]error, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { lists[i], errs[i] = r.servers.list[name].tools(ctx) })
	}
	wait.Wait()
	offered := map[string]remote{}
	for _, list := range lists {
		for _, x := range list {
			if _, twice := offered[x.Name]; !twice {
				offered[x.Name] = x
			}
		}
	}
	return offered, errors.Join(errs...)
}

// keptTools are those that the session to continue has known; none in a new one.
func (r *run) keptTools(ctx context.Context) ([]remote, error) {
	if r.turn.Session.Resume == "" {
		return nil, nil
	}
	entries, err := r.load(ctx, transcript.Key{Project: r.turn.Project, Session: r.turn.Session.Resume})
	if err != nil {
		return nil, err
	}
	return readPrefix(entries).prefix.Remote, nil
}

// notOffered says that a server has no tool of this name, and what it has.
func notOffered(name string, offered map[string]remote) error {
	server := serverOf(name)
	var has []string
	for _, x := range offered {
		if x.Server == server {
			has = append(has, x.Name)
		}
	}
	slices.Sort(has)
	list := "nothing"
	if len(has) > 0 {
		list = strings.Join(has, ", ")
	}
	return fmt.Errorf("the MCP server %s has no tool %q%s (it offers: %s)", server, name, spell.Hint(name, has), list)
}

// disconnect ends the servers, side by side.
func (r *run) disconnect() {
	var wait sync.WaitGroup
	for name, s := range r.servers.list {
		wait.Go(func() {
			if err := s.close(); err != nil {
				r.say.emit(event.Event{Kind: event.Error, Text: fmt.Sprintf("the MCP server %s: %v", name, err)})
			}
		})
	}
	wait.Wait()
}

func (r *run) newServer(name string) *server {
	c := r.h.config
	return &server{name: name, spec: r.turn.Agent.MCPServers[name], dir: r.turn.Agent.Workspace, version: c.Version,
		secrets: c.SecretEnv, ready: c.MCPStart, most: c.MCPCall, tell: r.say.emit}
}
