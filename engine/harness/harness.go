// Package harness is the contract of what turns a prompt into model turns and
// tool calls. A Harness runs a Turn to its Outcome; the Turn carries an Agent, a
// compiled spec. There are two: native, a loop of our own on the Messages API,
// and claudecode, which drives the Claude Code CLI. The contract fits both a loop
// that runs tools itself and a program that runs them and asks before and after.
package harness

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
)

// Harness runs turns. It is safe for concurrent use; everything between start
// and outcome belongs to one call of Run.
type Harness interface {
	// Name is "native" or "claude": what manifests and messages call it.
	Name() string
	// Run sends the prompt and works until the model ends its turn or a limit
	// does. The Outcome is filled as far as it goes also when there is an error:
	// its session id, accounts and text are real. An error is a failed attempt
	// (package failure says which class); a Stop other than EndTurn is not an
	// error. When Run returns nothing it started is running any more.
	Run(ctx context.Context, t Turn) (Outcome, error)
	// Prices reports whether the cost of using the named model (empty: the
	// default one) is known. Without, a budget cannot be held.
	Prices(ctx context.Context, model string) bool
}

// Windower is a Harness that knows how large a model's context is.
type Windower interface {
	// Window is the context of the named model (empty: the default one) in
	// tokens; 0 where it is not known.
	Window(ctx context.Context, model string) int64
}

// Compactor is a Harness that can shorten a conversation by itself. One that is
// none has no CompactAuto.
type Compactor interface {
	Compacts() bool
}

// OrderError is the error of a turn that cannot be carried out as it is ordered: an
// unknown tool, an empty prompt. Nothing was stored or spent, and nobody repeats it.
type OrderError struct{ Err error }

// Error is what is wrong with the order.
func (e *OrderError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *OrderError) Unwrap() error { return e.Err }

// Turn is one order to a harness.
type Turn struct {
	Agent   Agent
	Prompt  string
	Session Session

	Store   transcript.Store
	Project string // the first part of every key in the store
	View    transcript.Policy

	// Guards hold for the main thread and every subagent.
	Guards guard.Chain
	// HostTools are tools of the program that embeds us: ask and inbox, Go and
	// Lua functions. They are offered when the agent's allowed tools name them.
	HostTools []tool.Tool
	Limits    Limits

	// OnSession is told the session's id as soon as it is known, once for each
	// id; nil tells nobody. Called on the goroutine of Run.
	OnSession func(id string)
	// Interrupt brings a person's words; the turn then ends at the next message
	// boundary with Stop Interrupted. nil never interrupts.
	Interrupt <-chan string
	// Sink takes the turn's events; nil drops them.
	Sink event.Sink

	Run  string // the run's id, for events
	Step string // the step's label, for events and requests
}

// Session says where a turn goes on. The zero Session is a new one.
type Session struct {
	Resume string // the session to continue
	Fork   bool   // continue in a copy, which gets an id of its own
	At     string // uuid of the message to go back to; with Fork the copy ends there
}

// Check reports a Fork or At without a session to apply it to.
func (s Session) Check() error {
	switch {
	case s.Resume == "" && s.Fork:
		return fmt.Errorf("fork needs a session to resume")
	case s.Resume == "" && s.At != "":
		return fmt.Errorf("resume_at needs a session to resume")
	}
	return nil
}

// Limits bound a turn. Zero means no limit.
type Limits struct {
	Turns       int     // model turns of the main thread
	USD         float64 // hard: checked before each request, subagents included
	SpentUSD    float64 // what counts against USD already (earlier attempts)
	ContextLine int64   // tokens; the main thread stops there with ContextFull
}

// Agent is a compiled spec: who works, with what.
type Agent struct {
	Name         string
	Instructions string // behind the harness's own system prompt
	Index        string // the workbench block, the last of the system prompt; may be empty
	Workspace    string // absolute; the working directory
	AddDirs      []string

	// AllowedTools is all the main thread may call. DisallowedTools bars subagents
	// too.
	AllowedTools    []string
	DisallowedTools []string
	Model           string // empty: the harness's default
	Effort          string // empty: the provider's default
	PermissionMode  PermissionMode
	Env             map[string]string
	Workers         map[string]Worker
	// MCPServers are programs and addresses that bring tools, by name; the tools
	// are called mcp__<name>__<tool> and offered where AllowedTools, or a worker's
	// tools, name them.
	MCPServers map[string]MCPServer
	// Skills are offered, by the tool Skill, where AllowedTools, or a worker's tools,
	// name it.
	Skills []tool.Skill
	// PageChars bounds what the main thread sees of a file at a time, in
	// characters; 0 means the tools' own limit.
	PageChars int
	// Compact says whether the harness may shorten the conversation by itself.
	Compact Compaction
}

// Offers reports whether the main thread may call the named tool.
func (a Agent) Offers(name string) bool {
	return slices.Contains(a.AllowedTools, name) && !slices.Contains(a.DisallowedTools, name)
}

// Worker is a subagent that an agent can dispatch.
type Worker struct {
	Description    string
	Prompt         string
	Tools          []string
	Model          string
	Effort         string         // empty: its dispatcher's
	MaxTurns       int            // model turns of one dispatch; 0 = no limit
	PermissionMode PermissionMode // empty: its dispatcher's
	Isolate        bool
	// Skills are the names of those that it may read, of a worker whose tools name
	// Skill; none: all.
	Skills []string
}

// ReadableSkills are the skills that a worker may read.
func (a Agent) ReadableSkills(w Worker) []tool.Skill {
	if len(w.Skills) == 0 {
		return a.Skills
	}
	var some []tool.Skill
	for _, s := range a.Skills {
		if slices.Contains(w.Skills, s.Name) {
			some = append(some, s)
		}
	}
	return some
}

// MCPServer is an external server of the Model Context Protocol: a program to
// start, which talks over its standard input and output, or an address (streamable
// HTTP). It is started for a turn and ended with it.
type MCPServer struct {
	Command string            // a name on the PATH, or a path
	Args    []string          // of the command
	Env     map[string]string // for the command; secrets of ours are not inherited
	URL     string            // http or https
	Headers map[string]string // sent to the URL, and nowhere else
}

var serverName = regexp.MustCompile(`^[a-zA-Z0-9-]([a-zA-Z0-9_-]{0,62}[a-zA-Z0-9-])?$`)

// Check reports the first thing in the server called name that cannot work; field
// says where: command, args, env, url, headers, or empty for the whole.
func (s MCPServer) Check(name string) (field string, err error) {
	u, badURL := url.Parse(s.URL)
	switch {
	case !serverName.MatchString(name) || strings.Contains(name, "__"):
		return "", fmt.Errorf("an MCP server is called %q; a name has 1 to 64 letters, digits, - and single _ within", name)
	case name == "human":
		return "", fmt.Errorf(`an MCP server is called "human", which is the name of the tools that reach a person`)
	case s.Command == "" && s.URL == "":
		return "", fmt.Errorf("it has neither command nor url")
	case s.Command != "" && s.URL != "":
		return "url", fmt.Errorf("it has a command and a url; give one of them")
	case s.URL == "" && len(s.Headers) > 0:
		return "headers", fmt.Errorf("headers are for a server with a url")
	case s.URL != "" && len(s.Args) > 0:
		return "args", fmt.Errorf("args are for a server with a command")
	case s.URL != "" && len(s.Env) > 0:
		return "env", fmt.Errorf("env is for a server with a command")
	case s.URL != "" && (badURL != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return "url", fmt.Errorf("url is not one of http or https") // not shown: it may hold a password
	}
	return "", nil
}

// PermissionMode is what an agent may do without being asked.
type PermissionMode string

// The permission modes; empty means Default.
const (
	Default           PermissionMode = "default"
	AcceptEdits       PermissionMode = "acceptEdits"
	Plan              PermissionMode = "plan"
	BypassPermissions PermissionMode = "bypassPermissions"
)

// Compaction says whether a harness may shorten a conversation that fills its
// context. The zero value leaves that to the harness, which does not where
// Limits.ContextLine is set.
type Compaction struct {
	Mode CompactMode
	// Window is how large the context is taken to be, in tokens, of CompactAuto
	// alone; 0: as large as the model's.
	Window int64
}

// CompactMode is what becomes of a conversation that fills its context.
type CompactMode string

// The modes; empty is unset.
const (
	CompactAuto      CompactMode = "auto"       // it is summarised, when the harness thinks so
	CompactNoSummary CompactMode = "no_summary" // it is not: what was said stays as it was said
	CompactOff       CompactMode = "off"        // the harness has no compaction, not even when asked for it
)

// Stop says why a turn ended.
type Stop string

// The ways a turn ends.
const (
	EndTurn        Stop = "end_turn"        // the model had nothing more to do
	MaxTurns       Stop = "max_turns"       // Limits.Turns
	Budget         Stop = "budget"          // Limits.USD
	Refusal        Stop = "refusal"         // the model declined
	Empty          Stop = "empty_answer"    // twice no text and no call
	MaxTokens      Stop = "max_tokens"      // the answer did not fit, twice
	WindowExceeded Stop = "window_exceeded" // the provider says the context is full
	ContextFull    Stop = "context_full"    // Limits.ContextLine
	Interrupted    Stop = "interrupted"     // Turn.Interrupt
	Stuck          Stop = "stuck"           // the same calls over and over; Detail names them
	Failed         Stop = "failed"          // Run returned an error
)

// Outcome is what a turn came to.
type Outcome struct {
	SessionID string
	Stop      Stop
	Detail    string // of a Stop that is not EndTurn: one sentence for a person
	Words     string // of Interrupted: what the person said

	Text        string // the main thread's prose, blocks joined by an empty line
	LastMessage string // the last assistant message's prose

	Usage   Usage
	CostUSD *float64 // nil: no price is known
	Turns   int      // model turns of the main thread
	Context int64    // tokens the main thread saw in its last request
}

// Usage counts tokens and calls of the main thread and of subagents apart.
type Usage struct {
	Main Account `json:"main"`
	Sub  Account `json:"sub"`
}

// Account is what one side used.
type Account struct {
	Tokens     model.Usage `json:"tokens"`
	Turns      int         `json:"turns"`
	ToolCalls  int         `json:"tool_calls"`
	Dispatches int         `json:"dispatches"`
}

// Add returns the sum of both.
func (a Account) Add(b Account) Account {
	return Account{a.Tokens.Add(b.Tokens), a.Turns + b.Turns, a.ToolCalls + b.ToolCalls, a.Dispatches + b.Dispatches}
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage { return Usage{u.Main.Add(v.Main), u.Sub.Add(v.Sub)} }
