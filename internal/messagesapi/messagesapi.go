// Package messagesapi serves the Anthropic Messages API over real HTTP from a
// script, for tests, benchmarks and rehearsals of programs that speak it.
//
// A Server answers each request with a Turn: content blocks, or an error, and
// the faults to go with it. Turns come from a queue (Enqueue) and, when that is
// empty, from the function Options.Script, which decides by the Request. What
// the provider would refuse is refused before any turn is taken: broken pairing
// of tool calls and results, changed thinking, a fifth cache breakpoint, a
// prompt over the window. Prompt caching is accounted for from the breakpoints
// as the provider does it, by a clock that a test may own. Every exchange is
// logged, secrets masked.
//
//	s, err := messagesapi.Start(nil)
//	defer s.Close()
//	s.Enqueue(
//		messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", "Bash", `{"command":"ls"}`)}},
//		messagesapi.Turn{Error: &messagesapi.Error{Status: 529}},
//		messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("Done.")}},
//	)
//	client := newClient(s.URL(), "test-key")
//
// Served are POST /v1/messages (streaming or not), POST
// /v1/messages/count_tokens, GET /v1/models and GET /v1/models/{id}, in the API
// versions 2023-06-01 and 2026-10-21.
//
// Usual mistakes: a script that holds state of its own without a lock (requests
// come in parallel), and turns without tool-call ids that are then looked up by
// id (leave the id empty and read it from the answer).
package messagesapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// The API versions that are served.
const (
	Version2023 = "2023-06-01"
	Version2026 = "2026-10-21"
)

// Options configure a Server. The zero value is a server on a free loopback port
// that accepts any credential and any model.
type Options struct {
	// Addr is where to listen; empty = a free port of 127.0.0.1.
	Addr string
	// Script makes the turn for a request when the queue is empty. It is called
	// from the request's goroutine, so several calls may run at a time. With
	// neither a queued turn nor a script the request is refused.
	Script func(Request) Turn
	// Keys are the credentials that are accepted, as x-api-key or as a bearer
	// token; empty = any.
	Keys []string
	// Models are the models there are, newest first; empty = any name is a model.
	Models []Model
	// Window is the number of tokens a prompt may have where Models does not say;
	// 0 = 200,000.
	Window int
	// MaxOutput is the largest max_tokens where Models does not say; 0 = 128,000.
	MaxOutput int
	// MinCache is the number of tokens below which a prefix is not cached;
	// 0 = 1,024, negative = none.
	MinCache int
	// MergeRoles lets several messages of one role follow each other, as the API
	// does. By default they are refused: a client that alternates on purpose and
	// sends such a request has lost a message.
	MergeRoles bool
	// Now is the clock of cache lifetimes; nil = time.Now.
	Now func() time.Time
	// IDs begins every id the server makes; empty = a random word, so that ids
	// differ from those of an earlier server in the same transcript.
	IDs string
	// LogEntries is how many exchanges the log keeps, the newest; 0 = 1,024.
	LogEntries int
	// LogBytes is how many bytes of bodies the log keeps; 0 = 64 MiB. Older
	// exchanges then lose their bodies first.
	LogBytes int
}

// Model is a model that the server offers.
type Model struct {
	ID          string
	DisplayName string // empty = ID
	Window      int    // tokens of a prompt; 0 = Options.Window
	MaxOutput   int    // largest max_tokens; 0 = Options.MaxOutput
}

// Turn is the answer to one request.
type Turn struct {
	Blocks []Block
	// StopReason is empty for tool_use when there is a tool_use block, else end_turn.
	StopReason   string
	StopSequence string
	StopDetails  json.RawMessage // nil = null
	// Usage replaces the counted usage; nil = counted.
	Usage *Usage

	// Error makes the answer an error instead of a message.
	Error *Error
	// Body replaces the body of a successful answer as it would be sent: the
	// frames of a stream, recorded elsewhere perhaps.
	Body []byte
	// ContentType replaces the content type of a successful answer; empty = as
	// the API says it.
	ContentType string

	// Faults happen while the body is sent.
	Faults []Fault
	// Delay passes before the status line.
	Delay time.Duration
	// Pause passes after each frame of a stream.
	Pause time.Duration
	// Piece is the largest number of bytes of text in one delta of a stream;
	// 0 = 48. Pieces end on whole characters.
	Piece int
}

// Block is a content block, of a turn to send or of a request that came.
type Block struct {
	Type      string // text, thinking, redacted_thinking, tool_use, tool_result, …
	Text      string
	Thinking  string
	Signature string          // of thinking, or the data of redacted_thinking; in a turn: made by the server
	ID        string          // tool_use; in a turn: empty = made by the server
	Name      string          // tool_use
	Input     json.RawMessage // tool_use, byte for byte
	ToolUseID string          // tool_result
	Content   []Block         // tool_result
	IsError   bool            // tool_result
	// CacheTTL is the lifetime of the breakpoint at this block of a request: 5m,
	// 1h, or empty for none.
	CacheTTL string
	// Raw is the whole block as JSON. In a turn it is sent as it is, for block
	// types without fields above; the other fields are then not used.
	Raw json.RawMessage

	blob blob // of a request's image or document
}

// Text makes a text block.
func Text(text string) Block { return Block{Type: "text", Text: text} }

// Thinking makes a thinking block, which the server signs.
func Thinking(text string) Block { return Block{Type: "thinking", Thinking: text} }

// Redacted makes a redacted_thinking block, whose data the server makes from the
// text.
func Redacted(text string) Block { return Block{Type: "redacted_thinking", Thinking: text} }

// ToolUse makes a tool call; input is a JSON object, sent byte for byte. An empty
// id is filled in.
func ToolUse(id, name, input string) Block {
	return Block{Type: "tool_use", ID: id, Name: name, Input: json.RawMessage(input)}
}

// Raw makes a block of any type from its JSON.
func Raw(block string) Block { return Block{Raw: json.RawMessage(block)} }

// Error is an error answer.
type Error struct {
	Status     int           // 0 = 500
	Type       string        // empty = the usual one of the status
	Message    string        // empty = a usual one of the type
	Code       string        // error.details.error_code; empty = no details
	RetryAfter time.Duration // sent as retry-after where positive
}

// Usage is what a message is billed by, in tokens.
type Usage struct {
	Input        int // neither read from the cache nor written to it
	Output       int
	CacheRead    int
	CacheWrite5m int
	CacheWrite1h int
}

// FaultKind is what goes wrong.
type FaultKind int

const (
	// Cut breaks the connection after At bytes of the body; At < 0: before the
	// status line.
	Cut FaultKind = iota + 1
	// End ends the body after At bytes as if it were whole.
	End
	// Stall sends nothing for For after At bytes of the body, then goes on.
	Stall
	// Malform makes the data of frame At broken JSON.
	Malform
	// Double sends frame At twice.
	Double
	// Drop leaves frame At out.
	Drop
	// Insert puts Data before frame At: an event as it goes over the wire.
	Insert
	// Fail sends Error as an error event in place of frame At, and nothing after.
	Fail
)

// Fault is one thing that goes wrong with a turn. Frames are the events of a
// stream, counted from 0: message_start, ping, the blocks, message_delta,
// message_stop; a fault of a frame has no effect on an answer that is not
// streamed. Bytes are those of the body after the faults of frames. A fault
// behind the end never happens.
type Fault struct {
	Kind  FaultKind
	At    int
	For   time.Duration // of a Stall; 0 = until the client leaves or the server closes
	Data  string        // of an Insert
	Error *Error        // of a Fail; nil = overloaded
}

// Request is a request that passed the checks, for a script and in the log.
type Request struct {
	Number    int         // counts the requests to /v1/messages in order of arrival, from 1
	Version   string      // the header anthropic-version
	Header    http.Header // secrets replaced by Mask; not to be changed
	Body      []byte      // as received; not to be changed
	Model     string
	MaxTokens int
	Stream    bool
	System    []Block
	Messages  []Message
	Tools     []Tool
	Tokens    int // estimate of the prompt: a quarter of its bytes, 1,600 an image or document
}

// Message is a message of a request. Content given as a string is one text block.
type Message struct {
	Role    string
	Content []Block
}

// Tool is a tool definition of a request.
type Tool struct {
	Name     string
	CacheTTL string // as of a Block
	Raw      json.RawMessage
}

// Turn counts from 1: one more than the assistant messages in the request.
func (r Request) Turn() int {
	n := 1
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// Results are the tool results in the last message.
func (r Request) Results() []Block {
	var out []Block
	if n := len(r.Messages); n > 0 {
		for _, b := range r.Messages[n-1].Content {
			if b.Type == "tool_result" {
				out = append(out, b)
			}
		}
	}
	return out
}

// Prompt is the text of the last message, one line a block.
func (r Request) Prompt() string {
	var texts []string
	if n := len(r.Messages); n > 0 {
		for _, b := range r.Messages[n-1].Content {
			if b.Type == "text" {
				texts = append(texts, b.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// Exchange is one entry of the log.
type Exchange struct {
	Method string
	Path   string
	// Request is what could be read of the request: all of it when it passed the
	// checks, else at least Header and Body.
	Request Request
	Status  int    // 0 = no status line was sent
	Type    string // the type of the error answered, if one was
	Message string // its message
	Usage   Usage  // of a message answered
	Sent    int    // bytes of the body sent
	Whole   bool   // the answer was sent to its end, without a fault or a client that left
}
