// Package live lets other processes of the same user look at a run while it is at
// work, and speak to it.
//
// A Server is at the run: it takes every event and gives it to whoever is connected.
// A Notice is a small file in the run directory that says where a Server is; List
// reads them. A Client is the other end.
//
// Both ends speak JSON Lines. The server sends a Hello, the newest events, and then
// every event as it comes; at the end what Close was given. Each Request gets one
// Reply, in the order of the requests. docs/events.md describes all of it for other
// programs.
//
//	s, err := live.Open(live.Options{Dir: "runs/live", Hello: live.Hello{Run: id}, Handle: handle})
//	s.Emit(e)
//	s.Close(nil)
//
//	notices, err := live.List("runs/live")
//	c, err := live.Dial(ctx, notices[0])
//	line, err := c.Read()
package live

import (
	"context"
	"errors"
	"time"

	"github.com/flowerlua/flower/engine/event"
)

// Version is that of the stream. It grows when a reader of an older one would
// misunderstand; fields and kinds may come without that.
const Version = 1

// The kinds of lines that are no events.
const (
	KindHello   = "hello"
	KindReply   = "reply"
	KindAside   = "aside"
	KindDropped = "dropped"
	KindEnd     = "end"
)

// Hello is the first line of a stream.
type Hello struct {
	Kind   string `json:"kind"`
	V      int    `json:"v"`
	Flower string `json:"flower"` // the program's version
	// Run is the id of what the process does. A workflow has an id of its own, which
	// its events and accounts carry.
	Run       string    `json:"run"`
	PID       int       `json:"pid"`
	Script    string    `json:"script"` // as it was typed; "go" for the starter, "once"
	Workspace string    `json:"workspace"`
	RunDir    string    `json:"run_dir"`
	Started   time.Time `json:"started"`
	Rehearsed bool      `json:"rehearsed,omitempty"`
	// For whoever comes late: the newest event so far, and what the results so far
	// cost. Events up to Seq follow as far as they are kept.
	Seq     uint64  `json:"seq,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Request is what a client wants.
type Request struct {
	Do   string `json:"do"` // one of the words below
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"`
	Ref  string `json:"ref,omitempty"` // comes back in the reply
}

// What can be wanted.
const (
	Answer    = "answer"    // question ID, with Text
	Decline   = "decline"   // question ID is left to the agent
	Mail      = "mail"      // Text waits for the agent
	Interrupt = "interrupt" // the agents at work stop and are told Text
	Ask       = "ask"       // Text is asked from the side
	Continue  = "continue"  // a pause ends
)

// Reply says what became of a request.
type Reply struct {
	Kind    string `json:"kind"`
	Ref     string `json:"ref,omitempty"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
	Receipt string `json:"receipt,omitempty"`
}

// Aside is the answer to what a client asked from the side.
type Aside struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref,omitempty"`
	OK   bool   `json:"ok"`
	Text string `json:"text"` // why there is none, where OK is false
}

// Dropped stands where a client that read too slowly lost lines.
type Dropped struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
}

// Limits of a Server.
const (
	Backlog    = 200     // events kept for whoever comes late
	MaxRequest = 1 << 20 // bytes of one request
	MaxClients = 16
	queued     = 1024            // lines that wait for one client
	closing    = 2 * time.Second // what a client has to read the end
	maxBacklog = 8 << 20         // bytes of the backlog
)

// Options set up a Server.
type Options struct {
	// Dir is where the notice lies; made if missing.
	Dir string
	// Hello is sent first. Run names the notice, and must be a file name; Kind, V, PID,
	// Seq and CostUSD are filled in.
	Hello Hello
	// Handle does what a client asks for and gives the receipt, or why not; what it
	// hands to tell is sent to that client alone, also later, as an event is: without waiting.
	// It is called by one goroutine for each client.
	Handle func(r Request, tell func(line any)) (receipt string, err error)
}

// Open listens, and says so in a notice. Notices of processes that died are removed.
func Open(o Options) (*Server, error) { return open(o) }

// Emit gives an event to all clients. It never waits for them: one that reads too
// slowly loses events, and is told how many.
func (s *Server) Emit(e event.Event) { s.emit(e) }

// Stop ends requests: it waits for those at work and refuses others.
func (s *Server) Stop() { s.stop() }

// Forget removes notice and socket, for a process that ends at once. Close does more.
func (s *Server) Forget() { s.forget() }

// Close stops, sends every client the last line, waits until they have read it, two
// seconds at most, and removes notice and socket. A nil last is not sent.
func (s *Server) Close(last any) { s.close(last) }

// Notice says where a run can be reached.
type Notice struct {
	V       int       `json:"v"`
	Run     string    `json:"run"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Socket  string    `json:"socket"`
	Script  string    `json:"script"`
	Started time.Time `json:"started"`
}

// List gives the runs that are at work, the oldest first, and removes the notices
// that runs which were killed have left. A run on another machine that shares the
// folder is given too: its Elsewhere is true.
func List(dir string) ([]Notice, error) { return list(dir) }

// Elsewhere: the run is on another machine, or in another container.
func (n Notice) Elsewhere() bool { return n.Host != hostname() }

// Patience is how long a run may take to answer.
const Patience = 5 * time.Second

// Errors of Dial and Read.
var (
	// ErrSilent: the process is there and says nothing: it is stopped.
	ErrSilent = errors.New("it does not answer")
	// ErrVersion: the run is one of a newer flower.
	ErrVersion = errors.New("it speaks a newer language: use the flower it was started with")
	// ErrTooLong: a line is longer than a client takes; the next Read goes on behind it.
	ErrTooLong = errors.New("a line is too long")
)

// Dial connects to a run and reads its Hello.
func Dial(ctx context.Context, n Notice) (*Client, error) { return dial(ctx, n, Patience) }

// Hello is what the run said first.
func (c *Client) Hello() Hello { return c.hello }

// Greeting is the line of the Hello.
func (c *Client) Greeting() []byte { return c.greeting }

// Read gives the next line, without its end; it is valid until the next Read. The
// error is io.EOF when the run has closed the connection.
func (c *Client) Read() ([]byte, error) { return c.lines.read() }

// Send asks for something; any goroutine may.
func (c *Client) Send(r Request) error { return c.send(r) }

// SendRaw sends a request that is JSON already: one line, with its end.
func (c *Client) SendRaw(line []byte) error { return c.sendRaw(line) }

// Close ends the connection, and with it a Read that waits.
func (c *Client) Close() error { return c.conn.Close() }
