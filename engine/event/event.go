// Package event holds what a run tells the outside while it works: the Event,
// the Sink that takes events, and the Fanout that delivers them to many sinks
// without ever letting one of them harm the run.
//
//	fan := event.NewFanout(nil)
//	defer fan.Close()
//	fan.Add(event.SinkFunc(func(e event.Event) { fmt.Println(e.Kind, e.Text) }))
//	fan.Emit(event.Event{Kind: event.Text, Text: "hello"})
package event

import "time"

// Kind says what an event reports. The words are the ones of the JSON stream.
type Kind string

// The kinds of events, in the order in which a run usually emits them.
const (
	Step       Kind = "step"        // a step begins; Payload: index, total, resumed, woke, restored
	Prompt     Kind = "prompt"      // what was sent to the model; input, never output
	Text       Kind = "text"        // prose of the model
	Thinking   Kind = "thinking"    // reasoning of the model
	ToolCall   Kind = "tool_call"   // Text is the path, command or pattern (200 characters at most)
	ToolResult Kind = "tool_result" // Text is the result (500 characters at most)
	Task       Kind = "task"        // something the engine did or found that a person should see
	System     Kind = "system"      // the harness speaks about itself
	Reset      Kind = "reset"       // a compaction boundary
	Result     Kind = "result"      // a turn of the harness ended; Payload holds the accounts
	Error      Kind = "error"       // something went wrong and the run knows what to do about it; Payload: class; stack, where a callback panicked
	Retry      Kind = "retry"       // an attempt follows a failed one; Payload: attempt, delay_s, class
	Handoff    Kind = "handoff"     // Payload.phase: near, writing, paused, done
	Ask        Kind = "ask"         // a question to a person, or mail when Payload.kind is "mail"
	Unknown    Kind = "unknown"     // what a harness reported and we do not know
)

// Limits of the text carried by tool events, in characters.
const (
	MaxCallText   = 200
	MaxResultText = 500
)

// Event is one report. An event is a value: a sink may keep it, and must not
// change its Payload, which all sinks share.
type Event struct {
	Time time.Time `json:"time"`
	Seq  uint64    `json:"seq"` // 1, 2, … in the order of Emit, per Fanout
	Kind Kind      `json:"kind"`

	Run     string `json:"run,omitempty"`
	Step    string `json:"step,omitempty"`
	Session string `json:"session,omitempty"`

	Text string `json:"text,omitempty"`
	Tool string `json:"tool,omitempty"` // the tool's name, for tool_call and tool_result

	// Subagent is the id of the agent that speaks, empty on the main thread;
	// ParentToolUseID is the Agent call that dispatched it.
	Subagent        string `json:"subagent,omitempty"`
	ParentToolUseID string `json:"parent_tool_use_id,omitempty"`
	// Context is the number of tokens the speaking agent saw in its last
	// request; 0 where it is not known.
	Context int64 `json:"context,omitempty"`

	// Payload holds what else belongs to the kind. Every value can be written
	// as JSON.
	Payload map[string]any `json:"payload,omitempty"`
}

// Sink takes events. Emit is called from the goroutine that runs the step or,
// behind a Fanout, from a goroutine of the sink's own; it is never called by
// two goroutines at once for one Fanout.
type Sink interface {
	Emit(Event)
}

// SinkFunc makes a function a Sink.
type SinkFunc func(Event)

// Emit calls f(e).
func (f SinkFunc) Emit(e Event) { f(e) }

// Discard is a Sink that drops everything.
var Discard Sink = SinkFunc(func(Event) {})

// Cut shortens text to at most n characters, never inside one, and marks the
// cut with an ellipsis that counts as one of the n.
func Cut(text string, n int) string {
	count := 0
	last := 0 // where character n-1 ends: the place for the ellipsis
	for i := range text {
		if count == n-1 {
			last = i
		}
		if count == n {
			return text[:last] + "…"
		}
		count++
	}
	return text
}
