package native

import (
	"encoding/json"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

// speaker sends the events of a turn, one at a time whichever thread speaks.
type speaker struct {
	mu      sync.Mutex
	sink    event.Sink
	run     string
	step    string
	session string
}

func (s *speaker) emit(e event.Event) {
	if s.sink == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Run, e.Step, e.Session = s.run, s.step, s.session
	s.sink.Emit(e)
}

// say emits an event of this thread.
func (t *thread) say(e event.Event) {
	e.Subagent, e.ParentToolUseID, e.Context = t.id, t.call, t.context
	t.run.say.emit(e)
}

func (t *thread) sayCall(c call) {
	t.say(event.Event{Kind: event.ToolCall, Tool: c.name, Text: event.Cut(describe(c.input), event.MaxCallText),
		Payload: map[string]any{"id": c.id}})
}

func (t *thread) sayResult(r *result) {
	payload := map[string]any{"id": r.call.id, "is_error": r.failed}
	if r.denied {
		payload["denied"] = true
	}
	t.say(event.Event{Kind: event.ToolResult, Tool: r.call.name, Text: event.Cut(r.text, event.MaxResultText), Payload: payload})
}

// telling are the fields of inputs that say best what a call is about.
var telling = []string{"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description", "question"}

// describe is a call in a few words: its path, command or pattern.
func describe(input json.RawMessage) string {
	for _, name := range telling {
		if s := text(member(input, name)); s != "" {
			return s
		}
	}
	if s := string(input); s != "{}" {
		return s
	}
	return ""
}

// sayEnd reports what the turn came to.
func (r *run) sayEnd(out harness.Outcome, err error) {
	payload := map[string]any{
		"stop": string(out.Stop), "turns": out.Turns, "usage": out.Usage, "context": out.Context,
	}
	if out.CostUSD != nil {
		payload["cost_usd"] = *out.CostUSD
	}
	e := event.Event{Kind: event.Result, Text: out.Detail, Context: out.Context, Payload: payload}
	if err != nil {
		e.Text = err.Error()
	}
	r.say.emit(e)
}
