package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
)

// The ids of our hooks.
const (
	hookBefore  = "before"
	hookAfter   = "after"
	hookFailed  = "failed"
	hookCompact = "compact"
)

// hookTimeout is how many seconds the program waits for a hook. Guards have limits
// of their own, far shorter: where the program gave up first, it would tell the
// model that a person had refused.
const hookTimeout = 24 * 60 * 60

// hookInput is what a hook is told.
type hookInput struct {
	Event     string          `json:"hook_event_name"`
	Dir       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	Output    json.RawMessage `json:"tool_response"`
	Error     string          `json:"error"`
	ToolUseID string          `json:"tool_use_id"`
	AgentID   string          `json:"agent_id"`
	AgentType string          `json:"agent_type"`
}

// hooks are what is registered with the program.
func (r *run) hooks() map[string]any {
	on := func(id string) []any {
		return []any{map[string]any{"hookCallbackIds": []string{id}, "timeout": hookTimeout}}
	}
	all := map[string]any{"PreToolUse": on(hookBefore), "PostToolUse": on(hookAfter), "PostToolUseFailure": on(hookFailed)}
	if r.keepsAll() {
		all["PreCompact"] = on(hookCompact)
	}
	return all
}

// serve answers a request of the program. An error as answer to a hook would let
// the tool run, so whatever goes wrong in ours becomes a denial.
func (r *run) serve(ctx context.Context, q request) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.say.emit(event.Event{Kind: event.Error, Text: fmt.Sprintf("a request of claude code failed here: %v", p),
				Payload: map[string]any{"stack": string(debug.Stack())}})
			answer, err = broken(q), nil
		}
	}()
	switch q.Subtype {
	case "hook_callback":
		return r.hook(ctx, q), nil
	case "can_use_tool":
		return r.permit(q), nil
	case "mcp_message":
		return r.servers.answer(ctx, q), nil
	}
	return nil, fmt.Errorf("unsupported request %s", q.Subtype)
}

// broken is the answer to a request that we failed at.
func broken(q request) any {
	const why = "The engine could not decide about this call, so it was not run. This is a fault of the engine, not of the call."
	switch {
	case q.Subtype == "can_use_tool":
		return map[string]any{"behavior": "deny", "message": why}
	case q.Subtype == "hook_callback" && q.CallbackID == hookBefore:
		return denial(why)
	}
	return map[string]any{}
}

func (r *run) hook(ctx context.Context, q request) any {
	var in hookInput
	if err := lenient(q.Input, &in); err != nil {
		return broken(q)
	}
	if in.ToolUseID == "" {
		in.ToolUseID = q.ToolUseID
	}
	switch q.CallbackID {
	case hookBefore:
		return r.before(ctx, in)
	case hookAfter:
		return r.after(ctx, in)
	case hookFailed:
		// A failed call's result cannot be rewritten; guards see it all the same.
		r.turn.Guards.After(context.WithoutCancel(ctx), r.call(in), guard.Reply{Value: in.Error, IsError: true})
	case hookCompact:
		return map[string]any{"decision": "block", "reason": "this conversation stays as it is"}
	}
	return map[string]any{}
}

// call is a hook's call as guards see it.
func (r *run) call(in hookInput) guard.Call {
	c := guard.Call{ID: in.ToolUseID, Tool: r.names.ours(in.Tool), Input: in.Input, Agent: in.AgentID, AgentRole: in.AgentType,
		Step: r.turn.Step, Session: r.session, Dir: in.Dir}
	if c.MainThread() {
		c.AgentRole = r.turn.Agent.Name
	}
	return c
}

// before decides about a call. What is allowed is in the store, synced, before the
// program hears of it.
func (r *run) before(ctx context.Context, in hookInput) any {
	c := r.call(in)
	r.servers.caller(c.ID, c.Agent)
	// The guards come first: a wall of theirs says better what to do instead.
	adjusted := r.adjust(c)
	v := r.turn.Guards.Before(ctx, adjusted)
	switch {
	case ctx.Err() != nil || r.stopping.Load():
		return denial("The work was stopped before this call ran.")
	case v.Denied:
		return r.deny(c, v.Reason)
	}
	rewritten := adjusted
	rewritten.Input = v.Input
	if why := r.policy.refuses(rewritten); why != "" {
		return r.deny(c, why)
	}
	if err := r.journal.intend(rewritten); err != nil {
		r.fail(err)
		return denial("The call could not be recorded, so it was not run.")
	}
	r.keepTreeClean(ctx, rewritten)
	if bytes.Equal(v.Input, in.Input) {
		return decision("allow", nil)
	}
	return decision("allow", map[string]any{"updatedInput": v.Input})
}

// deny records a denial: the program's own transcript does not tell one from an
// error.
func (r *run) deny(c guard.Call, why string) any {
	if why == "" {
		why = "This call was denied."
	}
	if err := r.journal.deny(c.ID); err != nil {
		r.fail(err)
	}
	return denial(why)
}

func denial(why string) any {
	return decision("deny", map[string]any{"permissionDecisionReason": why})
}

func decision(what string, more map[string]any) any {
	out := map[string]any{"hookEventName": "PreToolUse", "permissionDecision": what}
	for key, value := range more {
		out[key] = value
	}
	return map[string]any{"hookSpecificOutput": out}
}

// adjust makes of a dispatch what the engine means by it: the dispatcher waits,
// and a worker marked isolated gets a worktree.
func (r *run) adjust(c guard.Call) guard.Call {
	if c.Tool != agentTool {
		return c
	}
	in := map[string]json.RawMessage{}
	var d dispatch
	if json.Unmarshal(c.Input, &in) != nil || lenient(c.Input, &d) != nil {
		return c
	}
	isolate := r.turn.Agent.Workers[d.Kind].Isolate && d.Isolation == ""
	if d.Background == nil && !isolate {
		return c
	}
	delete(in, "run_in_background")
	if isolate {
		in["isolation"] = json.RawMessage(`"worktree"`)
		r.say.emit(event.Event{Kind: event.Task, Tool: agentTool, Text: d.Kind + " works in a worktree of its own",
			Payload: map[string]any{"isolation": "worktree", "id": c.ID}})
	}
	if raw, err := json.Marshal(in); err == nil {
		c.Input = raw
	}
	return c
}

// after passes a result through the guards.
func (r *run) after(ctx context.Context, in hookInput) any {
	c := r.call(in)
	s := newShape(c.Tool, in.Output, r.persisted)
	// What a call did stands even if the turn is stopped now, so the guards see it.
	reply := r.turn.Guards.After(context.WithoutCancel(ctx), c, guard.Reply{Value: s.value})
	reply.Value = r.page(c, reply.Value, s.line)
	if reflect.DeepEqual(reply.Value, s.value) {
		return map[string]any{}
	}
	output, ok := s.replaced(reply.Value)
	if !ok {
		r.say.emit(event.Event{Kind: event.Error, Tool: c.Tool, Subagent: c.Agent,
			Text: fmt.Sprintf("a guard rewrote the result of %s into a form that claude code does not take; the model sees the result as it was", c.Tool)})
		return map[string]any{}
	}
	r.rewrites.expect(c.ID, c.Tool, longestText(reply.Value))
	return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PostToolUse", "updatedToolOutput": output}}
}

// maxPersisted is the largest output of a command that guards see whole, in bytes.
const maxPersisted = 64 << 20

// persisted reads a file that the program has put a large output in. It lies in
// the turn's folder and is gone with it.
func (r *run) persisted(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxPersisted || !within(real(path), real(r.config)) {
		return "", false
	}
	raw, err := os.ReadFile(path)
	return strings.ToValidUTF8(string(raw), "\uFFFD"), err == nil
}

// permit answers the program's own question for permission, which comes where its
// rules are stricter than the hook's yes.
func (r *run) permit(q request) any {
	in := hookInput{Tool: q.ToolName, Input: q.Input, ToolUseID: q.ToolUseID, AgentID: q.AgentID, Dir: r.turn.Agent.Workspace}
	in.AgentType = r.agents.role(q.AgentID)
	if why := r.policy.refuses(r.call(in)); why != "" {
		return map[string]any{"behavior": "deny", "message": why}
	}
	return map[string]any{"behavior": "allow", "updatedInput": q.Input}
}
