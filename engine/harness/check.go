package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// Checker is a Harness that says ahead what of an agent it could not carry out, so
// that nothing of a workflow is run, or spent, before its last step is known to be
// possible.
type Checker interface {
	// Check reports the first field that names a tool, an effort or a permission mode
	// that there is not, as a *FieldError. tools are those that the turn's HostTools
	// will be. It starts nothing and reads nothing.
	Check(a Agent, tools []tool.Tool) error
}

// FieldError is what is wrong with a field of an agent.
type FieldError struct {
	Field string // as scripts call it: allowed_tools, workers.coder.tools
	Err   error
}

// Error is the field and what is wrong with it.
func (e *FieldError) Error() string { return e.Field + " " + e.Err.Error() }

// Unwrap is Err.
func (e *FieldError) Unwrap() error { return e.Err }

// NamedTools are the lists of tools that the agent and its workers name, by field, in
// a fixed order.
func (a Agent) NamedTools() (lists []ToolList) {
	lists = []ToolList{{"allowed_tools", a.AllowedTools}, {"disallowed_tools", a.DisallowedTools}}
	for _, name := range slices.Sorted(maps.Keys(a.Workers)) {
		lists = append(lists, ToolList{"workers." + name + ".tools", a.Workers[name].Tools})
	}
	return lists
}

// ToolList is the names of tools in a field.
type ToolList struct {
	Field string
	Names []string
}

// MissingServer says why a name of a tool can mean nothing because of the server it
// names: there is no channel to a person, or no such MCP server. nil: that is not what
// is wrong with it. known are the names of the tools there are.
func (a Agent) MissingServer(name string, known []string) error {
	server, _, isServers := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !strings.HasPrefix(name, "mcp__") || !isServers {
		return nil
	}
	if _, ok := a.MCPServers[server]; ok {
		return nil
	}
	if slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, "mcp__"+server+"__") }) {
		return nil
	}
	if server == "human" {
		return fmt.Errorf("names %q, but nobody can be reached: give a channel to the agent, or to the workflow", name)
	}
	servers := slices.Sorted(maps.Keys(a.MCPServers))
	return fmt.Errorf("names %q, but mcp_servers has no %q%s", name, server, spell.Hint(server, servers))
}
