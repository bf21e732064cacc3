// Package model is the contract between the native harness and whoever answers
// its requests: a provider, a rehearsal, a recording.
//
// Four nouns. A Model answers. A Request is what is sent, kept as the bytes
// that are sent, so that a resumed session sends the same prefix again. A Reply
// is what came back, its blocks byte for byte as received. Info is what is
// known of a model by its name: window, largest output, prices.
//
// The wire form is that of Anthropic's Messages API; another provider's adapter
// translates at its own border.
//
// # Writing a Model
//
// The native harness reads a reply like this: Stream, Recv until it gives an error,
// Reply, Close. What it counts on:
//
//   - Stream returns a Stream or an error, never neither. A model that has its whole
//     answer already returns a Stream whose Recv gives io.EOF at once: the deltas are
//     for showing alone.
//   - Recv gives io.EOF when the reply is whole, and then Reply has Complete set and a
//     StopReason. Without either the reply counts as cut off (ErrCut), and the request
//     is sent again. A Recv that never ends is bounded by ctx alone.
//   - Each block of Content is one JSON object with a type:
//     {"type":"text","text":"…"},
//     {"type":"thinking","thinking":"…","signature":"…"},
//     {"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.go"}}.
//     id is letters, digits, _ and -, and new in the conversation; name is a tool of the
//     request's Tools; input is an object. Blocks of other types are kept and sent back.
//   - StopReason is tool_use where the reply ends with calls, which the harness then
//     carries out, and end_turn where the model is done; the others are at Reply.
//   - Usage counts what the request cost, none of it below zero, also of a reply that
//     broke off. Budgets and the line of a handoff hold by it; all zero means that
//     nothing is counted.
//   - Info.Window and Info.Price may be missing: then the window is guessed from the
//     model's name, and a Spec with MaxBudgetUSD is refused.
//
// A reply that breaks this, or a panic in any method, is an error of the attempt: the
// run says so and lives.
//
// Errors decide what is tried again, by package failure. An *Error, or whatever else
// has the methods StatusCode, ErrorType and RetryAfter, is judged by its type and
// status: overloaded_error, rate_limit_error, timeout_error, api_error, 408, 429 and
// 5xx are transient and are tried again, after RetryAfter where it is given;
// invalid_request_error, authentication_error, permission_error, not_found_error,
// billing_error and most other 4xx are fatal. Errors of the network and io.ErrUnexpectedEOF
// are transient, context.Canceled is fatal, an error whose method Final() bool reports
// true is fatal. Any other is judged by the words of its text, and unknown where they
// say nothing: the harness does not send it again, the run's policy may. A request
// that is too long should say so in the provider's words (prompt is too long, in an
// invalid_request_error): a run with a handoff then hands over.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends the request and returns once the reply begins: a Stream or an
	// error. An error is an *Error when the provider answered, else what the
	// transport said. Cancelling ctx ends the stream at any time.
	Stream(ctx context.Context, req Request) (Stream, error)
	// Info tells what is known of the model called name; ErrUnknownModel when
	// nothing is. It may ask the provider, and answers from memory afterwards.
	Info(ctx context.Context, name string) (Info, error)
}

// Stream is one reply while it arrives. It belongs to one goroutine, which must
// Close it; Close may be called twice.
type Stream interface {
	// Recv returns the next piece. After a complete reply it returns io.EOF. Any
	// other error means the reply is broken: Reply then holds the blocks that
	// were complete, and Complete is false.
	Recv() (Delta, error)
	// Reply is what has arrived so far; after io.EOF the whole. The caller owns it.
	Reply() Reply
	Close() error
}

// Delta is a piece of a reply, for showing it while it arrives. History is made
// from Reply alone.
type Delta struct {
	Kind  DeltaKind
	Index int    // which block of the reply
	Text  string // the piece of text or thinking; for ToolStart the tool's name
}

// DeltaKind says what a Delta carries.
type DeltaKind string

// The kinds of pieces.
const (
	TextDelta     DeltaKind = "text"
	ThinkingDelta DeltaKind = "thinking"
	ToolStart     DeltaKind = "tool"
	BlockDone     DeltaKind = "done" // block Index of Reply is complete
)

// Request is one request of the Messages API, in the pieces that the caller
// renders. Raw pieces are sent as they are, in this order of fields.
type Request struct {
	Model     string
	MaxTokens int
	System    []json.RawMessage // content blocks
	Tools     []json.RawMessage // tool definitions
	Messages  []Message
	// Extra holds further top-level fields (thinking, output_config, …), sent in
	// the order of their names.
	Extra map[string]json.RawMessage
	// Previous is the ID of the reply before in the same conversation, empty where
	// there is none: a provider that can tell why its cache was missed compares
	// with it. It is no part of Body.
	Previous string

	Meta Meta // never sent
}

// Message is one message of a request.
type Message struct {
	Role    string // "user" or "assistant"
	Content []json.RawMessage
}

// Meta says who asks; for rehearsals, recordings and traces.
type Meta struct {
	Step    string
	Role    string // the agent's name
	Session string
	Agent   string // the subagent's id, empty on the main thread
	Turn    int    // from 1: the number of assistant messages in the transcript + 1
	// Call is the id of the tool call that a request beside the conversation serves,
	// such as a search; empty for the conversation itself.
	Call string
	Dir  string // the folder the agent works in
}

// Reply is the model's answer.
type Reply struct {
	ID        string
	Model     string
	RequestID string
	// Content holds the complete blocks, each a JSON object with a type, equal in every
	// string (text, thinking, signature, tool input) to what was received.
	Content    []json.RawMessage
	StopReason string // end_turn, tool_use, max_tokens, pause_turn, refusal, model_context_window_exceeded, …
	// StopDetails is what the provider says of a refusal, as it came: an object
	// with a category and an explanation; nil where it says nothing.
	StopDetails json.RawMessage
	Usage       Usage
	// CacheMiss is the provider's word for why less of the request was in its cache
	// than of the one that Request.Previous names, such as tools_changed; empty
	// where it gives none.
	CacheMiss string
	Complete  bool // the provider said that the message ended, and why: StopReason is set
}

// Usage counts tokens by kind, none below zero. The kinds do not overlap: the context a request
// had is Input + CacheRead + CacheWrite.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	// CacheWrite1h is the part of CacheWrite that is kept for an hour.
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:        u.Input + v.Input,
		Output:       u.Output + v.Output,
		CacheRead:    u.CacheRead + v.CacheRead,
		CacheWrite:   u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
	}
}

// Context is the number of tokens the model saw: all input, cached or not.
func (u Usage) Context() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Price is what a million tokens of each kind cost, in US dollars.
type Price struct {
	Input        float64
	Output       float64
	CacheRead    float64
	CacheWrite   float64 // kept for five minutes
	CacheWrite1h float64
}

// Cost is the price of u in US dollars.
func (p Price) Cost(u Usage) float64 {
	short := u.CacheWrite - u.CacheWrite1h
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(short)*p.CacheWrite + float64(u.CacheWrite1h)*p.CacheWrite1h) / 1e6
}

// Info is what is known of a model.
type Info struct {
	Name      string
	Window    int64  // tokens of context; 0 = not known
	MaxOutput int    // tokens of one reply; 0 = not known
	Price     *Price // nil = not known, which is not free
}

// ErrUnknownModel is returned by Info for a name nobody knows.
var ErrUnknownModel = errors.New("unknown model")

// Errors of a reply that broke off. Both count as transient.
var (
	// ErrCut: the stream ended before the message did.
	ErrCut = fmt.Errorf("the reply was cut off before its end: %w", io.ErrUnexpectedEOF)
	// ErrStalled: nothing arrived for the idle time.
	ErrStalled = fmt.Errorf("the reply stalled: %w", os.ErrDeadlineExceeded)
)

// Error is an answer of the provider that is not a reply. Its text never holds a
// secret.
type Error struct {
	Status    int    // HTTP status; 0 when the error came inside a stream
	Type      string // the API's error type, such as overloaded_error
	Message   string
	Retry     time.Duration // the server's retry-after; 0 = none given
	RequestID string
}

// Error tells status, type and message.
func (e *Error) Error() string {
	text := e.Message
	if e.Type != "" {
		text = e.Type + ": " + text
	}
	if e.Status != 0 {
		text = fmt.Sprintf("HTTP %d: %s", e.Status, text)
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// StatusCode, ErrorType and RetryAfter let package failure classify the error.
func (e *Error) StatusCode() int { return e.Status }

// ErrorType is the API's own word for what went wrong.
func (e *Error) ErrorType() string { return e.Type }

// RetryAfter is how long the server asked to wait.
func (e *Error) RetryAfter() time.Duration { return e.Retry }
