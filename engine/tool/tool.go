// Package tool is the contract of what an agent can call, and the built-in tools
// of the native harness. A Tool has a Definition, which the model sees, and runs
// a Call into a Result. A Set is the built-in tools of one agent's session: they
// share its working directory, its read receipts and its background commands.
//
//	set := tool.NewSet(tool.Options{Workspace: dir, Writable: []string{os.TempDir()}})
//	defer set.Close()
//	for _, t := range set.Tools() {
//		fmt.Println(t.Definition().Name)
//	}
//
// Usual mistakes: one Set for two agents (they would share the working
// directory; a subagent gets a Set of its own); a session continued without
// Restore (every file would have to be read again before it can be edited); a
// Set that is not closed (its background commands live on).
package tool

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Tool is something an agent can call. Run may be called from several goroutines
// at once when the definition says ReadOnly, else it is called by one at a time.
// It returns when ctx ends. Whatever goes wrong is a Result with IsError and a
// text that tells the model what to do next: a tool never fails the run.
type Tool interface {
	Definition() Definition
	Run(ctx context.Context, c Call) Result
}

// Definition is what the model is told about a tool.
type Definition struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,128}$
	Description string          // what it does, when to use it, its limits
	Schema      json.RawMessage // JSON Schema of the input, an object
	// ReadOnly: the tool changes nothing, so calls of one turn may run side by
	// side. The others run in call order.
	ReadOnly bool
}

// Call is one call of a tool.
type Call struct {
	ID    string          // tool_use_id
	Input json.RawMessage // a JSON object; not checked against the schema
	Agent string          // the calling subagent's id; empty on the main thread

	// Whose call it is: the run, its step and its session.
	Run, Step, Session string
}

// Result is what a call returned.
type Result struct {
	Content []Content
	IsError bool
	// Structured is kept with the stored result (toolUseResult) and never sent:
	// read receipts, exit codes, paths. A JSON value, or nil.
	Structured json.RawMessage
}

// Content is one piece of a result: a text, or an image or document as bytes.
type Content struct {
	Text      string
	MediaType string // of Data: image/png, application/pdf, …; empty for a text
	Data      []byte
}

// TextResult is a result of one text.
func TextResult(text string) Result { return Result{Content: []Content{{Text: text}}} }

// ErrorResult is a result that says what went wrong and what to do next.
func ErrorResult(text string) Result {
	return Result{Content: []Content{{Text: text}}, IsError: true}
}

// Text is the result's texts, joined by line ends.
func (r Result) Text() string {
	var parts []string
	for _, c := range r.Content {
		if c.MediaType == "" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Func makes a Go function a Tool.
type Func struct {
	Def  Definition
	Call func(ctx context.Context, c Call) Result
}

// Definition returns f.Def.
func (f Func) Definition() Definition { return f.Def }

// Run calls f.Call.
func (f Func) Run(ctx context.Context, c Call) Result { return f.Call(ctx, c) }

// Options configure a Set. Only Workspace is required.
type Options struct {
	// Workspace is the absolute path of the folder the agent works in: where
	// commands start and relative paths begin.
	Workspace string
	// AddDirs are further folders the agent may use: written to, and a command's
	// working directory may carry over into them.
	AddDirs []string
	// Writable are folders that may be written to, nothing more: the workbench,
	// the temporary folder. None is writable unless it is named.
	Writable []string
	// PermissionMode is "default", "acceptEdits" (the same here), "plan" (no
	// write, and no command but an ephemeral one) or "bypassPermissions" (writes
	// go anywhere). Empty means "default"; any other word holds like "plan".
	PermissionMode string
	// Ephemeral reports whether a command only looks and changes nothing; plan
	// mode asks it. nil means that no command does.
	Ephemeral func(command string) bool

	// Env is added to the environment of commands.
	Env map[string]string
	// SecretEnv are names that commands must not see, whoever set them. Always
	// hidden are ANTHROPIC_* and CLAUDE_*; what is inherited (not in Env) and
	// named like a provider's key, *_API_KEY for one, is hidden as well.
	SecretEnv []string
	// Subagent: every command starts in Workspace; the working directory does not
	// carry over.
	Subagent bool
	// OutputDir takes the whole of an output that was cut. The files stay when
	// the Set is closed, since the transcript names them. Empty means a folder of
	// the user's in the temporary folder.
	OutputDir string
	// PageChars bounds a page of Read in characters, everything in it counted; 0
	// means that the limits in bytes and lines alone hold.
	PageChars int
	// AllowPrivate lets WebFetch reach loopback, private and link-local addresses.
	AllowPrivate bool
	// OnTodos is told the list of every TodoWrite, on the goroutine of Run.
	OnTodos func(agent string, todos []Todo)
	// NoRipgrep makes Grep search by itself also where ripgrep is installed.
	NoRipgrep bool

	Limits Limits
	Now    func() time.Time // nil means time.Now
}

// Limits bound what the tools of a Set take and give. A zero field means the
// default named beside it.
type Limits struct {
	PageLines int // lines of a page of Read; 2,000
	PageBytes int // bytes of a page of Read; 50 KiB
	LineChars int // characters of a line that Read shows; 2,000

	EditBytes int64 // largest file that Edit changes and that has a receipt; 10 MiB

	ImageSide  int // pixels of an image's longer side; 2,000
	ImageBytes int // bytes of an image in base64; 5 MiB
	PDFBytes   int // bytes of a PDF; 20 MiB
	PDFPages   int // pages of a PDF that are read unasked; 10

	OutputChars int           // characters of a command's output in its result; 30,000
	OutputBytes int64         // bytes a command may print before it is ended; 64 MiB
	Timeout     time.Duration // of a command that asks for none; 2 min
	MaxTimeout  time.Duration // the longest a command may ask for; 10 min
	Grace       time.Duration // between the asking and the forcing end of a command; 2 s
	Jobs        int           // background commands at once; 32

	GlobFiles   int           // paths Glob names; 100
	GrepLines   int           // lines Grep gives unless head_limit says otherwise; 250
	GrepTimeout time.Duration // of one search; 20 s

	WebBytes   int64         // bytes of a page that are read; 5 MiB
	WebTimeout time.Duration // of one fetch with its redirects; 30 s
	WebCache   time.Duration // how long a page is kept; 15 min
}

// Todo is one line of an agent's list.
type Todo struct {
	Content    string `json:"content"`
	Status     string `json:"status"` // pending, in_progress or completed
	ActiveForm string `json:"activeForm,omitempty"`
}

// Live is a background command that is running: one started as such, or what a
// command left behind when its shell exited.
type Live struct {
	ID          string // what BashOutput and KillBash take
	Command     string
	Description string
	Group       int // the process group
	Started     time.Time
}

// Set is the built-in tools of one agent's session. It is safe for concurrent
// use within the promise that Tool.Run makes.
type Set struct {
	o   Options
	lim Limits

	mu       sync.Mutex
	dir      string             // of the next command
	receipts map[string]receipt // by real path
	written  written            // what the newest write left
	jobs     []*job             // in the background, oldest first
	lastJob  int
	mark     string // in the environment of every process
	lastMark int
	calls    sync.WaitGroup // commands that are starting or in the foreground
	closed   bool
	done     chan struct{} // closed by Close
	end      func()        // closes done, once
	unwatch  func()        // of its commands; nil before the first

	web       webCache
	checkAddr func(netip.Addr) error // of what WebFetch is about to dial
}

// Mark makes a mark for the environment of a program that others start: to be put
// behind what the variable FLOWER_JOB holds. Until done is called, a kill -9 of this
// process ends within seconds whatever carries the mark, on Linux; what a Set or a
// Process starts has that anyway.
func Mark() (mark string, done func()) { return newMark() + ";", watchOver() }

// NewSet makes the tools. It starts nothing and touches no file.
func NewSet(o Options) *Set { return newSet(o) }

// Tools are the tools in a fixed order: Read, Write, Edit, Bash, Glob, Grep,
// BashOutput, KillBash, NotebookEdit, TodoWrite, WebFetch. The slice is the
// caller's.
func (s *Set) Tools() []Tool { return s.tools() }

// Restore brings back what earlier results of the session left in Structured:
// read receipts, the working directory, used ids of background commands. To be
// called in the order of the results, before the first call; what is not from a
// Set is passed over.
func (s *Set) Restore(structured json.RawMessage) { s.restore(structured) }

// Refresh is to be called with a result of Write, Edit or NotebookEdit after
// whoever acts on results (a formatter in a guard) has done so. Where the file
// is no longer what the call wrote, the receipt is renewed and the returned
// result shows the difference; else the result comes back as it is.
func (s *Set) Refresh(r Result) Result { return s.refresh(r) }

// Dir is the working directory that the next command would start in.
func (s *Set) Dir() string { return s.workingDir() }

// Live lists the background commands that are running, oldest first.
func (s *Set) Live() []Live { return s.live() }

// Close ends every process that the Set's commands started and waits until they
// are gone, a few seconds at most. Calls that are running return an error
// result, and so does every later one. It may be called more than once.
func (s *Set) Close() error { return s.close() }
