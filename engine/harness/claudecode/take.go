package claudecode

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

// tally counts what the frames of a turn show.
type tally struct {
	main, sub harness.Account // turns, calls and dispatches alone
	messages  map[string]bool // ids counted
	errorWord string          // of the newest message that the program made up
	tools     map[string]string
}

// take acts on a frame that is no request and no transcript.
func (c *conversation) take(f frame) {
	if c.result != nil {
		return // the turn is over
	}
	switch f.Type {
	case "assistant":
		c.assistant(f)
	case "user":
		c.user(f)
	case "system":
		c.system(f)
	case "result":
		c.result = &f
	case "stream_event", "progress", "attachment", "keep_alive", "tool_progress":
	default:
		c.say.emit(event.Event{Kind: event.Unknown, Text: f.Type})
	}
}

// speak emits an event of whoever the frame is from.
func (c *conversation) speak(f frame, e event.Event) {
	e.Subagent, e.ParentToolUseID = c.agents.of(f.Parent), f.Parent
	if f.Parent == "" {
		_, _, e.Context = c.ledger.totals()
	}
	c.say.emit(e)
}

// assistant takes a content block of an answer: the program sends one a frame.
func (c *conversation) assistant(f frame) {
	var m message
	if lenient(f.Message, &m) != nil {
		return
	}
	if m.Model == syntheticModel {
		c.tally.errorWord = f.Error
		if stop, _ := c.ledger.refused(); stop != "" {
			return // its words for a request that we refused
		}
		c.speak(f, event.Event{Kind: event.Error, Text: texts(m.Content), Payload: map[string]any{"error": f.Error}})
		return
	}
	c.tally.errorWord = ""
	c.count(f, m.ID)
	for _, b := range blocks(m.Content) {
		switch b.Type {
		case "text":
			c.prose(f, m.ID, b.Text)
		case "thinking":
			if b.Thinking != "" {
				c.speak(f, event.Event{Kind: event.Thinking, Text: b.Thinking})
			}
		case "redacted_thinking":
		case "tool_use":
			c.called(f, b)
		default:
			c.speak(f, event.Event{Kind: event.Unknown, Text: b.Type})
		}
	}
}

// count counts an answer once, however many frames it comes in.
func (c *conversation) count(f frame, id string) {
	t := &c.tally
	if t.messages == nil {
		t.messages, t.tools = map[string]bool{}, map[string]string{}
	}
	if t.messages[id] {
		return
	}
	t.messages[id] = true
	if f.Parent == "" {
		t.main.Turns++
	} else {
		t.sub.Turns++
	}
}

func (c *conversation) prose(f frame, id, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	c.speak(f, event.Event{Kind: event.Text, Text: text})
	if f.Parent != "" {
		return
	}
	if id != c.lastID {
		c.last, c.lastID = nil, id
	}
	c.texts, c.last = append(c.texts, text), append(c.last, text)
}

func (c *conversation) called(f frame, b block) {
	name := c.names.ours(b.Name)
	side := &c.tally.main
	if f.Parent != "" {
		side = &c.tally.sub
	}
	side.ToolCalls++
	if name == agentTool {
		side.Dispatches++
	}
	c.tally.tools[b.ID] = name
	c.speak(f, event.Event{Kind: event.ToolCall, Tool: name, Text: event.Cut(describe(b.Input), event.MaxCallText), Payload: map[string]any{"id": b.ID}})
}

// user takes the results of calls.
func (c *conversation) user(f frame) {
	var m message
	if f.Replay || lenient(f.Message, &m) != nil {
		return
	}
	for _, b := range blocks(m.Content) {
		if b.Type != "tool_result" {
			continue
		}
		name := c.tally.tools[b.ToolUseID]
		delete(c.tally.tools, b.ToolUseID)
		payload := map[string]any{"id": b.ToolUseID, "is_error": b.IsError}
		if c.journal.wasDenied(b.ToolUseID) {
			payload["denied"] = true
		}
		c.speak(f, event.Event{Kind: event.ToolResult, Tool: name, Text: event.Cut(texts(b.Content), event.MaxResultText), Payload: payload})
		// A replacement in a wrong shape is dropped without a word.
		if x, ok := c.rewrites.take(b.ToolUseID); ok && !holds(x.text, b.Content, f.ToolUseResult) {
			c.speak(f, event.Event{Kind: event.Error, Tool: x.tool, Text: fmt.Sprintf("claude code dropped the result of %s that a guard rewrote; the model sees the original", x.tool)})
		}
	}
}

// system takes what the program says about itself.
func (c *conversation) system(f frame) {
	switch f.Subtype {
	case "init":
		if text := untried(f.Version); text != "" {
			c.say.emit(event.Event{Kind: event.System, Text: text, Payload: map[string]any{"version": f.Version}})
		}
	case "task_started":
		if f.TaskType == "local_agent" {
			c.agents.add(f.TaskID, f.ToolUseID, f.AgentType)
			c.task(f, "started")
			c.say.emit(event.Event{Kind: event.Prompt, Text: f.Prompt, Subagent: f.TaskID, ParentToolUseID: f.ToolUseID})
		}
	case "task_notification":
		if c.agents.role(f.TaskID) != "" {
			c.task(f, "finished")
		}
	case "api_retry":
		c.say.emit(event.Event{Kind: event.System, Text: fmt.Sprintf("request %d of %d failed (%d %s), again in %s", f.Attempt, f.MaxRetries, f.ErrorStatus, f.Error,
			(time.Duration(f.RetryDelay) * time.Millisecond).Round(100*time.Millisecond)),
			Payload: map[string]any{"attempt": f.Attempt, "status": f.ErrorStatus, "error": f.Error, "delay_s": f.RetryDelay / 1000}})
	case "compact_boundary":
		c.speak(f, event.Event{Kind: event.Reset, Text: "the conversation was compacted"})
	case "status", "task_progress", "task_updated", "hook_started", "hook_response", "thinking_tokens":
	default:
		c.say.emit(event.Event{Kind: event.System, Text: f.Subtype})
	}
}

func (c *conversation) task(f frame, phase string) {
	role := c.agents.role(f.TaskID)
	text := f.Description
	if text == "" {
		text = f.Summary
	}
	var status string
	_ = json.Unmarshal(f.Status, &status) // absent at the start
	c.say.emit(event.Event{Kind: event.Task, Text: role + ": " + text, Subagent: f.TaskID, ParentToolUseID: f.ToolUseID,
		Payload: map[string]any{"phase": phase, "agent": f.TaskID, "type": role, "is_error": phase == "finished" && status != "completed"}})
}

// telling are the fields of inputs that say best what a call is about.
var telling = []string{"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description", "question"}

// describe is a call in a few words: its path, command or pattern.
func describe(input json.RawMessage) string {
	fields := map[string]any{}
	if json.Unmarshal(input, &fields) == nil {
		for _, name := range telling {
			if s, ok := fields[name].(string); ok && s != "" {
				return s
			}
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return string(input)
}

// outcome is what the turn came to so far.
func (r *run) outcome(e ending, err error) harness.Outcome {
	out := harness.Outcome{SessionID: r.session, Stop: e.stop, Detail: e.detail, Words: e.words, Text: e.text, LastMessage: e.last}
	if err != nil {
		out.Stop = harness.Failed
	}
	if r.turn.Session.Resume == "" && (r.journal == nil || !r.journal.stored()) {
		out.SessionID = "" // nothing of it was stored
	}
	out.Usage, out.CostUSD, out.Context = r.ledger.totals()
	e.main.Tokens, e.sub.Tokens = out.Usage.Main.Tokens, out.Usage.Sub.Tokens
	out.Usage = harness.Usage{Main: e.main, Sub: e.sub}
	out.Turns = e.main.Turns
	return out
}

// sayEnd reports what the turn came to.
func (r *run) sayEnd(out harness.Outcome, err error) {
	payload := map[string]any{"stop": string(out.Stop), "turns": out.Turns, "usage": out.Usage, "context": out.Context}
	if out.CostUSD != nil {
		payload["cost_usd"] = *out.CostUSD
	}
	e := event.Event{Kind: event.Result, Text: out.Detail, Context: out.Context, Payload: payload}
	if err != nil {
		e.Text = err.Error()
	}
	r.say.emit(e)
}
