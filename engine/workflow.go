package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/workbench"
)

// Workflow is steps in order. It may be run again and again, and by several
// goroutines and Runtimes at once where each run has a Context of its own
// (WorkflowOptions.Context): a run without one uses Workflow.Context, and is refused
// while another one does. Nobody changes the fields during a run.
type Workflow struct {
	Name  string // empty means "workflow"
	Steps []Step
	// Context is what the steps share; nil means an empty one, made by the first
	// run and kept.
	Context Context
	// Once: steps do not continue the sessions of earlier runs, and nothing is
	// left behind for later ones.
	Once bool
	// Workbench is where the agents of this workflow leave things; nil: the
	// Runtime's.
	Workbench *workbench.Bench
	// Plugins take the place of Config.Plugins for specs that name none; nil: those.
	Plugins []string
	// Channel is the way to a person; nil: none. Specs that name mcp__human__ask or
	// mcp__human__inbox get these tools of it. It joins the run's events unless it
	// has a sink of its own.
	Channel *human.Channel
	// OnStep is told of every step that ran, failed ones too, with its last result;
	// nil tells nobody. It is called where the callbacks of the step are.
	OnStep func(step string, r Result)
}

// Step is one unit of a workflow. The callbacks of one run are called one at a time:
// on the goroutine of RunWorkflow, those of steps side by side on goroutines of these.
// They stop when their ctx ends. An error from one of them, or a panic, ends the step
// without another attempt, then OnFail decides. An error made by Abort does the same
// and is noted in the Context.
type Step struct {
	// Name is the stable key in context, manifest and lineage.
	Name string
	Spec Spec
	// Prompt makes what the agent is asked, once for the whole step; Text makes
	// one of a constant.
	Prompt Prompt
	// ResumeFrom names an earlier step whose session this one continues.
	ResumeFrom string
	// Fork: continue in a copy.
	Fork bool
	// Retries is how many attempts may follow the first.
	Retries int
	// Gate decides whether a result passes, and why not; nil passes everything
	// that is OK. It is asked once an attempt, and only of OK results.
	Gate func(ctx context.Context, r Result, c Context) (pass bool, reason string, err error)
	// OnReject makes what is sent back to the session of a rejected or failed
	// attempt; "" starts over. nil sends a gate's reason back.
	OnReject func(ctx context.Context, r Result, c Context, reason string) (string, error)
	// When decides whether the step runs at all; nil always runs it.
	When func(ctx context.Context, c Context) (bool, error)
	// ResumePrompt replaces Prompt when a session is continued.
	ResumePrompt Prompt
	// Reduce makes what the context keeps of a result that passed; nil keeps
	// its text.
	Reduce func(ctx context.Context, r Result, c Context) (string, error)
	// OnFail says what a failed step means for the workflow.
	OnFail OnFail

	// Parallel makes this step stand for others, which run side by side; no other
	// field is set then. Each has its own session, gate and OnFail; their callbacks
	// are called one at a time. When one of them stops the workflow, the others
	// still come to their end.
	Parallel []Step
}

// Prompt makes a text from the context.
type Prompt func(ctx context.Context, c Context) (string, error)

// Text is a Prompt that is always the same.
func Text(s string) Prompt {
	return func(context.Context, Context) (string, error) { return s, nil }
}

// OnFail says what a failed step means.
type OnFail string

// The policies; empty means Stop.
const (
	Stop     OnFail = "stop"     // the workflow ends; _failed_at names the step
	Skip     OnFail = "skip"     // go on without a value for the step
	Continue OnFail = "continue" // go on with the result's text as its value
)

// AbortError stops a step: no further attempt.
type AbortError struct{ Reason string }

// Error is the reason.
func (e *AbortError) Error() string { return "aborted: " + e.Reason }

// Abort is the error by which a callback stops its step for good.
func Abort(reason string) error { return &AbortError{Reason: reason} }

func aborted(err error) (reason string, ok bool) {
	var a *AbortError
	if errors.As(err, &a) {
		return a.Reason, true
	}
	return "", false
}

// WorkflowOptions say how a workflow starts.
type WorkflowOptions struct {
	// Context is used instead of Workflow.Context; of one run at a time. Runs of one
	// Workflow side by side have one each.
	Context Context
	// Origin tells runs of one workflow apart that do different things, such as its
	// arguments: neither sessions nor results of another origin are continued.
	Origin string
	// Fresh runs every step, in new sessions, whatever earlier runs left.
	Fresh bool
	// From begins at the named step, with the recorded results of those before it.
	From string
}

// Ending is how a workflow ended.
type Ending struct {
	Run string // the run's id
	// OK: the workflow reached its end.
	OK bool
	// FailedAt names the step that stopped the workflow, Reason says why; Aborted
	// is the reason of the last abort, also of a step whose OnFail went on.
	FailedAt string
	Reason   string
	Aborted  string
	// Interrupted: ctx ended before the workflow did; Reason holds the cause.
	Interrupted bool
	// Context is what the steps left.
	Context Context
	Results []Result // of this workflow, every attempt, in order
	// CostUSD is the sum; nil when the price of an attempt is not known.
	CostUSD *float64
}

// Context is what the steps of a workflow share: values by name. Implementations
// are safe for use by one goroutine at a time, which is how the runner uses them.
//
// When a run is cut off, the next one finds again what the steps that passed had left,
// also in another process, with its Go type: texts, truth values, numbers, []byte,
// time.Time, time.Duration; slices of strings, bool, int, int64 and float64, and maps
// from string to these; []any and map[string]any of all that. Anything else, what JSON
// does not have (NaN), and what goes beyond 256 KiB a step is not kept: an event of
// kind Task names key and step, once a key. Functions, channels and pointers that were
// there before the run are passed over without one: whoever starts the next run puts
// them there again. Keys that begin with _ are never kept.
type Context interface {
	Get(key string) (any, bool)
	Set(key string, value any)
	Delete(key string)
	Keys() []string // sorted
}

// Remaker is a Context whose program makes some values again whenever it runs, such as
// the functions of a script: nobody is told that these are not kept.
type Remaker interface {
	Remakes(value any) bool
}

// NewContext makes a Context from a copy of values; it is safe for concurrent
// use.
func NewContext(values map[string]any) Context {
	c := &mapContext{values: map[string]any{}}
	maps.Copy(c.values, values)
	return c
}

type mapContext struct {
	mu     sync.Mutex
	values map[string]any
}

func (c *mapContext) Get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[key]
	return v, ok
}

func (c *mapContext) Set(key string, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[key] = value
}

func (c *mapContext) Delete(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
}

func (c *mapContext) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.values))
}

// The keys of a Context that the runner owns.
const (
	KeyRuntime  = "_runtime"   // *Runtime of this workflow
	KeyOnEvent  = "_on_event"  // func(event.Event): to the run's sinks
	KeySessions = "_sessions"  // map[string]string: step → session; a copy
	KeyResults  = "_results"   // map[string]Result: step → last result; a copy
	KeyLineage  = "_lineage"   // map[string]string: step → remembered session; a copy
	KeyWoke     = "_woke"      // int: runs in this directory, from 1
	KeyAborted  = "_aborted"   // string: the reason of an abort
	KeyFailedAt = "_failed_at" // string: the step that stopped the workflow

	KeyBrief        = "_brief"
	KeyBriefMissing = "_brief_missing"
	KeyGoal         = "_goal"
	KeyVerdict      = "_verdict"
	KeyGoalRounds   = "_goal_rounds"
)

// ownedKeys may not be the name of a step.
var ownedKeys = []string{
	KeyRuntime, KeyOnEvent, KeySessions, KeyResults, KeyLineage, KeyWoke, KeyAborted, KeyFailedAt,
	KeyBrief, KeyBriefMissing, KeyGoal, KeyVerdict, KeyGoalRounds,
}
