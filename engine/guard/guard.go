// Package guard decides about tool calls in code, where an agent cannot talk its
// way round: a Guard sees each Call before it runs (and allows, denies or
// rewrites it) and each Reply after it (and may rewrite it). Guards hold on every
// path, the main thread's and the subagents', on both harnesses. A Chain runs
// several of them and fails closed.
package guard

import (
	"context"
	"encoding/json"
)

// Guard decides about tool calls. Its methods may be called from several
// goroutines at once, and must return when ctx ends.
type Guard interface {
	// Name is how denials and errors call the guard.
	Name() string
	// Before decides about a call that has not run. An error denies the call.
	Before(ctx context.Context, c Call) (Decision, error)
	// After returns the reply to pass on, usually r itself. An error leaves the
	// reply as it was.
	After(ctx context.Context, c Call, r Reply) (Reply, error)
}

// Call is a tool call a model asked for.
type Call struct {
	ID    string          // tool_use_id
	Tool  string          // the tool's name, mcp__server__tool for MCP tools
	Input json.RawMessage // a JSON object; each guard has a copy of its own, and Rewrite alone changes the call

	Agent     string // the subagent's id; empty on the main thread
	AgentRole string // the subagent's type; on the main thread the agent's name
	Step      string
	Session   string
	Dir       string // the working directory of the call
}

// MainThread reports whether the agent a step runs made the call itself.
func (c Call) MainThread() bool { return c.Agent == "" }

// Reply is what a tool call returned. Value is a string, or a JSON-like
// structure of map[string]any, []any, string, float64, bool and nil in which
// strings are text the model will read.
type Reply struct {
	Value   any
	IsError bool
}

// Action is what a guard wants done with a call.
type Action int

// The actions. Deny beats allow; a rewritten input is checked again by the
// guards before. Any other number denies.
const (
	Allow Action = iota
	Deny
	Rewrite
)

// Decision is a guard's answer. The zero Decision allows.
type Decision struct {
	Action Action
	Reason string          // of Deny: what the model reads; says what to do instead; empty: a general text
	Input  json.RawMessage // of Rewrite: the new input
}
