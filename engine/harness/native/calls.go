package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/trace"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/spell"
)

// call is a tool call of an answer.
type call struct {
	id    string
	name  string
	input json.RawMessage
}

// result is what became of a call.
type result struct {
	call       call
	content    json.RawMessage // of the tool_result block
	text       string          // its texts, for events
	structured json.RawMessage
	failed     bool
	denied     bool
	open       bool // left without a result: its question outlives the process
}

// answer runs the calls of an answer and stores each result the moment it is
// there. Those that only read, and subagents, run side by side; the others one
// at a time, in the order of the calls. A call that fails does not stop the
// others. When ctx ends, every call that is not finished gets a result that says
// so.
func (t *thread) answer(ctx context.Context, calls []call) ([]*result, error) {
	results := make([]*result, len(calls))
	var failed error
	for i := 0; i < len(calls); {
		n := 1
		for t.beside(calls[i]) && i+n < len(calls) && t.beside(calls[i+n]) {
			n++
		}
		if t.acts(calls[i : i+n]) {
			failed = errors.Join(failed, t.journal.sync())
		}
		if failed != nil {
			break // what cannot be recorded is not done
		}
		failed = t.together(ctx, calls[i:i+n], results[i:i+n])
		i += n
	}
	t.run.ledger.count(t.sub(), len(calls), 0)
	t.used.ToolCalls += len(calls)
	return results, failed
}

// beside reports whether a call may run at the same time as others of its kind.
func (t *thread) beside(c call) bool {
	d, ok := t.tools[c.name]
	return ok && (d.Definition().ReadOnly || c.name == agentTool)
}

// acts reports whether any of the calls does more than look.
func (t *thread) acts(calls []call) bool {
	for _, c := range calls {
		if d, ok := t.tools[c.name]; ok && (!d.Definition().ReadOnly || c.name == agentTool) {
			return true
		}
	}
	return false
}

// together runs calls side by side and adds their results to the history once all
// are there, so that the history stays with one goroutine.
func (t *thread) together(ctx context.Context, calls []call, results []*result) error {
	blocks := make([][]transcript.Entry, len(calls))
	errs := make([]error, len(calls))
	places := make(chan struct{}, t.run.h.config.SideBySide)
	var wait sync.WaitGroup
	for i, c := range calls {
		if c.name != agentTool { // those wait for a place among all subagents
			places <- struct{}{}
		}
		wait.Go(func() {
			if c.name != agentTool {
				defer func() { <-places }()
			}
			results[i] = t.perform(ctx, c)
			blocks[i], errs[i] = t.keep(results[i])
		})
	}
	wait.Wait()
	for _, entries := range blocks {
		for _, e := range entries {
			t.history.add(e)
		}
	}
	return errors.Join(errs...)
}

// keep stores a result and reports it.
func (t *thread) keep(r *result) ([]transcript.Entry, error) {
	if r.open {
		return nil, nil
	}
	entries, err := t.journal.write(r.draft())
	t.sayResult(r)
	return entries, err
}

// draft is a result as an entry.
func (r *result) draft() draft {
	d := userDraft(resultBlock(r.call.id, r.content, r.failed))
	if len(r.structured) > 0 && json.Valid(r.structured) {
		d.extra = append(d.extra, field{"toolUseResult", r.structured})
	}
	if r.denied {
		d.extra = append(d.extra, field{"toolDenialKind", quote("permission-rule")})
	}
	return d
}

// decline answers calls that are not run any more.
func (t *thread) decline(calls []call) error {
	for _, c := range calls {
		r := refuse(c, textNotRun)
		entries, err := t.keep(r)
		if err != nil {
			return err
		}
		for _, e := range entries {
			t.history.add(e)
		}
	}
	return nil
}

// refuse is a result that says why a call did not run.
func refuse(c call, why string) *result {
	return &result{call: c, content: quote(why), text: why, failed: true}
}

// perform takes a call through the guards and the tool.
func (t *thread) perform(ctx context.Context, c call) *result {
	if ctx.Err() != nil {
		return t.interrupted(c, "")
	}
	t.sayCall(c)
	d, ok := t.tools[c.name]
	if !ok {
		t.say(event.Event{Kind: event.Error, Tool: c.name, Text: fmt.Sprintf("no such tool: %s (it can call %s)", event.Cut(c.name, event.MaxCallText), t.tools.list())})
		return refuse(c, t.unknown(c.name))
	}
	if !isObject(c.input) {
		return refuse(c, fmt.Sprintf("The input of this call of %s is not a JSON object, so it was not run. Call again with an object that fits the tool's schema.", c.name))
	}
	asked := guard.Call{ID: c.id, Tool: c.name, Input: c.input, Agent: t.id, AgentRole: t.role,
		Step: t.run.turn.Step, Session: t.run.session, Dir: t.workingDir()}
	v := t.run.turn.Guards.Before(ctx, asked)
	switch {
	case ctx.Err() != nil:
		return t.interrupted(c, "")
	case v.Denied:
		r := refuse(c, resultText(v.Reason))
		r.denied = true
		return r
	}
	asked.Input = v.Input
	out := t.execute(ctx, d, tool.Call{ID: c.id, Input: v.Input, Agent: t.id,
		Run: t.run.turn.Run, Step: t.run.turn.Step, Session: t.run.session})
	if ctx.Err() != nil && out.IsError {
		return t.interrupted(c, out.Text())
	}
	// What a call did stands even if the turn is stopped now, so the guards see it.
	after, done := patient(ctx, lastLook)
	defer done()
	out = t.refresh(c.name, t.guarded(after, asked, out))
	r := &result{call: c, text: out.Text(), structured: out.Structured, failed: out.IsError}
	r.content = contentJSON(out)
	return r
}

// guarded passes a tool's result through the guards behind it.
func (t *thread) guarded(ctx context.Context, c guard.Call, out tool.Result) tool.Result {
	return withValue(out, t.run.turn.Guards.After(ctx, c, guard.Reply{Value: value(out), IsError: out.IsError}))
}

// refresh lets the tools see what a guard made of a file that was just written.
func (t *thread) refresh(name string, out tool.Result) tool.Result {
	if t.set == nil || out.IsError || name != "Write" && name != "Edit" && name != "NotebookEdit" {
		return out
	}
	return t.set.Refresh(out)
}

// execute runs a tool; one that panics has failed, no more.
func (t *thread) execute(ctx context.Context, d tool.Tool, c tool.Call) (out tool.Result) {
	ctx, end := trace.Call(ctx, d.Definition().Name, c.ID)
	defer func() { end(out.IsError) }()
	defer func() {
		if p := recover(); p != nil {
			name := d.Definition().Name
			t.say(event.Event{Kind: event.Error, Tool: name, Text: fmt.Sprintf("the tool %s panicked: %v", name, p),
				Payload: map[string]any{"stack": string(debug.Stack())}})
			out = tool.ErrorResult("The tool failed with a fault of its own, and may have taken effect in part. Look before you go on; try another way.")
		}
	}()
	return d.Run(ctx, c)
}

// interrupted is the result of a call that was stopped, or never began, because
// the work was. A question to a person stays open when the process goes: it is
// asked again when the session is opened.
func (t *thread) interrupted(c call, soFar string) *result {
	_, byPerson := t.run.words.taken()
	r := refuse(c, textInterrupted)
	if soFar != "" {
		r = refuse(c, textInterrupted+"\n\nWhat it had given until then:\n"+resultText(soFar))
	}
	r.open = c.name == askTool && !byPerson
	return r
}

// unknown tells the model that it called something it was not offered.
func (t *thread) unknown(name string) string {
	if name == agentTool && t.sub() {
		return "A subagent cannot dispatch others here. Do the task yourself, or say in your report what should be dispatched."
	}
	if name == agentTool && len(t.run.turn.Agent.Workers) == 0 {
		return "There is nobody to dispatch: this agent has no workers. Do the task with the tools you have."
	}
	return fmt.Sprintf("There is no tool %q%s. You can call: %s.", name, spell.Hint(name, t.tools.names()), t.tools.list())
}

func isObject(raw json.RawMessage) bool {
	s := scanner{text: raw}
	return s.space() == '{' && json.Valid(raw)
}
