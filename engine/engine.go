// Package engine runs agents that work for hours: one at a time with Runtime.Run,
// or many in order, each behind a gate, with Runtime.RunWorkflow.
//
// The nouns, the same everywhere in flower:
//
//   - a run is one Runtime, or one workflow, from start to end; it has an id
//   - a Step is one unit of a Workflow: it takes the Context, runs an agent and
//     writes the result back
//   - a session is one context on the model's side; it can be resumed and forked
//   - a Spec says who works, with what; compiled it is a harness.Agent
//   - a gate decides whether a step's Result passes; on_reject says what is sent
//     back when it does not
//   - the lineage remembers which session each step used last, across processes;
//     the manifest holds the accounts, a row for every attempt of a step
//
// A Runtime needs a place for transcripts (package store) and a harness (package
// harness/native):
//
//	rt, err := engine.New(engine.Config{Workspace: ".", Store: db, Harness: h})
//	result, err := rt.Run(ctx, engine.Spec{Name: "greeter", Instructions: "Be brief."}, "Say hello.", engine.RunOptions{})
//
// Usual mistakes: taking Result.OK for "the work is good" (it says that the agent
// ended its turn; a gate says the rest), and closing the store before the last
// Run has returned.
package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/engine/workbench"
)

// Config is what a Runtime is made of. Workspace, Harness and Store are
// required; the zero value of every other field is its default.
type Config struct {
	// Workspace is the folder the agents work in; made if missing.
	Workspace string
	// RunDir holds manifest and lineage; empty means <Workspace>/runs.
	RunDir string
	// Harness does the turns.
	Harness harness.Harness
	// Store keeps the transcripts. The caller closes it, after the last Run.
	Store transcript.Store

	// Model is for specs that name none; empty means the harness's default.
	Model string
	// Tools are offered, by name, to specs whose AllowedTools name them.
	Tools []tool.Tool
	// View says what of a transcript is fed back to the model; nil means
	// DefaultView.
	View *transcript.Policy

	// Own are files and folders that the program itself writes while agents run, such
	// as a recording; absolute. They are not copied for a judge, and within the
	// workspace they are no change of what is judged. RunDir is one by itself.
	Own []string

	// Plugins are folders that bring agents, skills and MCP servers, for specs and
	// workflows that name none; relative to Workspace. nil: the workspace's folder
	// plugin, where that is one; empty: none. A folder is read once, when it is first
	// needed.
	Plugins []string
	// Workbench is where agents leave scripts, artifacts and notes; nil: none. A
	// workflow may bring its own.
	Workbench *workbench.Bench
	// SpillThreshold is the number of characters from which a tool's result is
	// moved to a file; 0 means 4000, negative never.
	SpillThreshold int
	// SpillMainOnly leaves the results of subagents as they are.
	SpillMainOnly bool
	// DelegateTools are what a DelegateOnly agent does not do itself; nil means Bash,
	// Write, Edit, NotebookEdit.
	DelegateTools []string
	// Handoff says when a session whose context fills up is replaced; nil means
	// HandoffPolicy's defaults.
	Handoff *HandoffPolicy
	// Lang is the language of what flower itself tells agents and writes: en
	// (empty) or zh.
	Lang string

	// Resilience says how failed attempts are repeated; nil means
	// failure.Policy's defaults. NoRetry turns repeating off.
	Resilience *failure.Policy
	NoRetry    bool
	// Sleep waits between attempts; false means that ctx ended first. nil waits as
	// long as it says. Runs side by side call it at once.
	Sleep func(ctx context.Context, d time.Duration) bool
	// Endpoint is the URL probed while the network is away; empty means that
	// nobody waits for the network.
	Endpoint string

	// Realm tells runs apart that must not continue each other, such as rehearsals
	// and real ones: neither sessions nor results of another realm are continued.
	Realm string
	// Apart: runs continue what other runs of this Runtime left and nothing else, and
	// nobody continues them; the lineage file is neither read nor written. For runs that
	// only look real, such as playbacks.
	Apart bool

	// Sink takes every event of every run, in order, on a goroutine of its own; nil
	// drops them. It never delays a run: of one that is slower than the runs, 1,024
	// events wait and further ones are lost, which Runtime.Dropped counts; one that
	// panics gets no more events. Logger is told of both. See event.Fanout.
	Sink event.Sink
	// Logger is told of steps, results, retries and errors, never of what models say
	// and tools give; nil logs nothing. See event.Log.
	Logger *slog.Logger
	// OnSession is told each session's id with the step's label, the moment it
	// is known; nil tells nobody. The run waits for it. Runs side by side call it at
	// once, on goroutines of theirs.
	OnSession func(step, session string)

	// Now is the clock, Random the source of ids and jitter; nil means the
	// system's. Now is called by several goroutines at once, Random by one at a time.
	Now    func() time.Time
	Random io.Reader
}

// Spec says who works, with what. Copy it freely; its slices and maps
// are shared by the copies.
type Spec struct {
	Name         string // required
	Instructions string // behind the harness's own system prompt, never instead of it
	// AllowedTools is all the main thread may call; nil means Read, Glob, Grep, an
	// empty list that is not nil means none.
	AllowedTools []string
	// DisallowedTools bars tools from subagents too.
	DisallowedTools []string
	Model           string // a name, or opus, sonnet, haiku; empty: Config.Model
	// Effort is how hard to think: none, low, medium, high, xhigh, max, or a number of
	// tokens as text; empty: the provider's default.
	Effort         string
	MaxTurns       int     // model turns; 0 = no limit
	MaxBudgetUSD   float64 // hard ceiling, checked before each request; 0 = none
	PermissionMode harness.PermissionMode
	// Compact says whether the harness may shorten the conversation by itself. Unset,
	// it does not where sessions hand over; CompactAuto takes the place of the line at
	// which they do.
	Compact harness.Compaction
	Workers map[string]harness.Worker
	AddDirs []string
	Env     map[string]string // for the agent's commands
	// MCPServers bring tools, by the servers' names; AllowedTools name them one by
	// one, as mcp__<server>__<tool>.
	MCPServers map[string]harness.MCPServer
	// Plugins are folders that bring agents, skills and MCP servers, in the place of
	// Config.Plugins; nil: those; empty: none. Their agents can be dispatched, as
	// <plugin>:<name>, where AllowedTools name Agent; their skills are read by who may
	// call Skill; a server is started where AllowedTools, or a worker's tools, name one
	// of its tools, which are called mcp__plugin_<plugin>_<server>__<tool>.
	Plugins []string
	// Guards are asked after the built-in ones.
	Guards []guard.Guard
	// Tools are offered, beside Config.Tools, where AllowedTools name them.
	Tools []tool.Tool
	// Glance: a DelegateOnly agent may run ephemeral commands itself.
	Glance       bool
	DelegateOnly bool
	// InCopy runs the agent in a throw-away copy of the workspace: it may run things
	// and change nothing. A change of the original voids the result.
	InCopy bool
	// NoWorkbench leaves the workbench's index out of the system prompt; for roles
	// that cannot write.
	NoWorkbench bool
}

// RunOptions say where and how one Run goes on. The zero value starts a new
// session.
type RunOptions struct {
	// StepName labels the run in manifest and events; empty means Spec.Name.
	StepName string
	Resume   string // session to continue
	Fork     bool   // continue in a copy
	ResumeAt string // uuid of the message to go back to
	// OnEvent takes the events of this Run alone, in order, on a goroutine of its own.
	// It never delays the Run: of one that is slower than the Run, 1,024 events wait
	// and further ones are lost, which Runtime.Dropped counts. When Run returns, all
	// that wait have been delivered, unless that takes longer than two seconds.
	OnEvent func(event.Event)

	// remember is told the session's id before OnSession is.
	remember func(id string)
}

// Result is what a Run came to, and a row of the manifest.
type Result struct {
	Run string `json:"run"`
	// Workflow is the name of the workflow whose run it is; empty outside of one.
	Workflow  string `json:"workflow,omitempty"`
	Step      string `json:"step"` // the label: name, name#retry1, name#round2
	SessionID string `json:"session_id"`
	// OK: the agent ended its turn. Whether the work is good is for a gate to say.
	OK   bool         `json:"ok"`
	Stop harness.Stop `json:"stop"`
	// CostUSD is accumulated over attempts; nil where no price is known.
	CostUSD  *float64      `json:"cost_usd"`
	NumTurns int           `json:"num_turns"`
	Usage    harness.Usage `json:"usage"`
	// Text is the main thread's prose of the last attempt that had any;
	// LastMessage that of its last message.
	Text        string `json:"text"`
	LastMessage string `json:"last_message"`
	Error       string `json:"error"`
	// hopeless: the same order fails again until a person changes something.
	hopeless bool
	// Gate is what the step's gate made of it: passed, rejected, aborted, broken; ""
	// where none was asked. GateReason is why it did not pass.
	Gate       string `json:"gate"`
	GateReason string `json:"gate_reason,omitempty"`
	// Errors holds one text for each attempt that failed or was interrupted.
	Errors    []string  `json:"errors"`
	Attempts  int       `json:"attempts"` // interrupts and handoffs not counted
	Resumed   bool      `json:"resumed"`  // an attempt continued this run's own session
	Retired   []string  `json:"retired"`  // sessions burned by handoff, in order
	Context   int64     `json:"context"`  // tokens the main thread saw in its last request
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	DurationS float64   `json:"duration_s"`
}

// Marks that Result.Error and Result.Errors hold where a person or a signal
// ended an attempt.
const (
	MarkInterrupted = "interrupted-by-human"
	MarkContextFull = "context-full-handoff"
	MarkKilled      = "killed-by-signal"
)

// Runtime runs specs and workflows in one workspace. It is safe for concurrent
// use.
type Runtime struct {
	*base
	id string // of this run
	// parent is told of the results too; nil for a Runtime made by New.
	parent *Runtime
	bench  *workbench.Bench
	human  []tool.Tool // of the workflow's channel
	flow   string      // the workflow's name; empty outside of one
	// asks is that channel: the workflow's own, or that of the one it runs in.
	asks   *human.Channel
	ledger ledger
	// plugins are Config.Plugins, or those of the workflow.
	plugins []string
}

// New makes a Runtime. It makes the workspace and the run directory, and reads
// the project's id from the latter. Errors name the field or the path.
func New(c Config) (*Runtime, error) { return newRuntime(c) }

// Close ends the delivery of events to Config.Sink and waits for it, at most two
// seconds. Later runs are refused. It neither ends nor awaits the runs that are going on:
// cancel their contexts and wait for them first. It does not close the store.
func (rt *Runtime) Close() {
	rt.closed.Store(true)
	rt.tellLost()
	var both sync.WaitGroup
	both.Go(func() { rt.lost.log.CloseWithin(sinkPatience) })
	rt.fan.CloseWithin(sinkPatience)
	both.Wait()
}

// Dropped is the number of events, over Config.Sink, Config.Logger and every
// RunOptions.OnEvent so far, that were lost because their taker was too slow, or
// panicked with events waiting.
func (rt *Runtime) Dropped() uint64 { return rt.dropped() }

// ErrClosed is returned by Run and RunWorkflow after Close.
var ErrClosed = errors.New("the runtime is closed")

// ErrNoStep is wrapped by the error of a workflow, or of its replay, that is to begin
// at a step, or show one, that it does not have.
var ErrNoStep = errors.New("no step is called")

// Run runs one agent on one prompt to the end of its turn: it repeats attempts that
// failed in passing, goes on in its own session, and waits for the network, as
// Config.Resilience and Config.Endpoint say. The Result is real and in the manifest
// even when the agent failed. The error is for orders that cannot be carried out, which
// is known before anything is spent (a bad spec, fork without resume, a session in
// use), and for a manifest that cannot be written. What only the harness can tell, that
// a prompt is empty, or that the session or message to go on from is not there, is the
// Error of a Result that is not OK; so is the cause when ctx ends.
func (rt *Runtime) Run(ctx context.Context, spec Spec, prompt string, o RunOptions) (Result, error) {
	return rt.run(ctx, spec, prompt, o)
}

// Compile makes a spec and a prompt a turn for a harness, with the guards, tools and
// view that a Runtime of c would give it; for programs that drive a harness themselves.
// There are no retries, handoffs or accounts then, and Project is for the caller to
// set. Of c, Workspace is required, and no folder is made; Store and Harness may be nil.
// c.Sink takes the turn's events, also from several goroutines at once.
func Compile(c Config, s Spec, prompt string) (harness.Turn, error) { return compileTurn(c, s, prompt) }

// Check reports the first thing in a spec that cannot work here, as Run would before
// anything is spent.
func (rt *Runtime) Check(s Spec) error { return rt.checkSpec(s) }

// CheckIn is Check of a spec of a workflow, which may bring plugins and a channel.
func (rt *Runtime) CheckIn(w *Workflow, s Spec) error { return rt.checkIn(w, s) }

// RunWorkflow runs the steps of w in order, under a run id of its own. The
// Ending tells how it went; the error is for a workflow that cannot start.
func (rt *Runtime) RunWorkflow(ctx context.Context, w *Workflow, o WorkflowOptions) (Ending, error) {
	return rt.runWorkflow(ctx, w, o)
}

// Interrupt ends the turn of every active Run at the next message boundary and
// lets each go on with a person's words, which may be empty. With no active Run
// it does nothing and reports false.
func (rt *Runtime) Interrupt(words string) bool { return rt.interrupt(words) }

// Hold ends the turn of every active Run as Interrupt does, and keeps each of
// these Runs from going on until release is called with a person's words, which
// may be empty: so that a person can stop an agent first and find the words then.
// Runs that begin meanwhile, gates, timers and questions are not held. The first
// call of release counts and reports whether one of the Runs was still there to
// hear. A hold that is not released ends with the Run's context. With no active
// Run nothing happens and ok is false.
func (rt *Runtime) Hold() (release func(words string) (heard bool), ok bool) { return rt.hold() }

// ID is the run's id: YYYYmmdd-HHMMSS and six hex digits.
func (rt *Runtime) ID() string { return rt.id }

// Workspace is the absolute path of the folder the agents work in.
func (rt *Runtime) Workspace() string { return rt.workspace }

// RunDir is the absolute path of the run directory.
func (rt *Runtime) RunDir() string { return rt.runDir }

// ManifestPath is where the accounts are.
func (rt *Runtime) ManifestPath() string { return rt.manifest.path }

// Project is the id under which this directory's sessions are stored.
func (rt *Runtime) Project() string { return rt.project }

// Channel is the way to a person of the newest workflow that has one, running or not;
// nil before there is one. A user interface of one workflow answers and sends mail
// through it. Where workflows run side by side, ChannelOf gives the right one.
func (rt *Runtime) Channel() *human.Channel { return rt.channel.Load() }

// ChannelOf is the channel that the agents of a workflow's run ask through, by the
// Run of an event: question ids count per channel, so an answer goes to
// ChannelOf(e.Run). Nil when that run has ended, or has no channel.
func (rt *Runtime) ChannelOf(run string) *human.Channel { return rt.channelOf(run) }

// Workbench is where the agents of this run leave things; nil: nowhere.
func (rt *Runtime) Workbench() *workbench.Bench { return rt.bench }

// Lang is en or zh.
func (rt *Runtime) Lang() string { return rt.lang() }

// Store is the store the Runtime was given.
func (rt *Runtime) Store() transcript.Store { return rt.config.Store }

// Harness is the harness the Runtime was given.
func (rt *Runtime) Harness() harness.Harness { return rt.config.Harness }

// Results are the results of this runtime and of the workflows it ran, in the
// order in which they ended. The caller owns them.
func (rt *Runtime) Results() []Result { return rt.ledger.all() }

// TotalCost is the sum of all results in US dollars; ok is false when the price
// of one of them is not known, and the sum then is of the others.
func (rt *Runtime) TotalCost() (usd float64, ok bool) { return rt.ledger.cost() }

// Emit sends an event of the embedding program to the run's sinks; run id and
// time are filled in.
func (rt *Runtime) Emit(e event.Event) { rt.emit(e) }
