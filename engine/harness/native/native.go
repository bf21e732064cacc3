// Package native is our own agent loop: it speaks to a model over the contract
// of package model, runs the tools itself and keeps every step of the work in the
// store before it counts on it.
//
// Four nouns. A Harness is set up once and runs any number of turns at a time. A
// thread is one transcript at work, the main one or a subagent's. Its journal
// writes entries and never changes one; its history is what of them goes back to
// the model, always the same bytes for the same entries.
//
//	h := native.New(native.Config{Model: anthropic.New(nil)})
//	out, err := h.Run(ctx, harness.Turn{
//		Agent:  harness.Agent{Name: "hello", Workspace: dir, AllowedTools: []string{"Read"}},
//		Prompt: "What is this project?",
//		Store:  db, Project: "demo",
//	})
//
// Usual mistakes: expecting a tool that the agent's allowed tools do not name
// (nothing else is offered); giving a budget with a model whose price nobody
// knows (an error before anything is spent); running one session in two turns at
// a time (the store fences the second writer off).
package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// DefaultModel is the model of an agent that names none, where Config names none
// either.
const DefaultModel = "claude-sonnet-5-5"

// Config sets a Harness up. Only Model is required; it is not changed afterwards.
type Config struct {
	Model model.Model

	DefaultModel  string            // empty: the constant DefaultModel
	Aliases       map[string]string // short name → model name; opus, sonnet, haiku
	SubagentModel string            // of workers that name none; empty: their dispatcher's
	// Effort is how hard agents think that do not say so themselves: low, medium,
	// high, xhigh, max, none, or a number of tokens; empty: the provider's default.
	Effort string
	// MaxTokens is the largest answer; 0 means 32,000, or the model's own limit
	// where that is known and lower.
	MaxTokens int
	// MaxBody is the largest request in bytes; 0 means 32 MiB. A gateway may take
	// less. Images and documents are left out, oldest first, to keep below it.
	MaxBody int

	// Retries is how often one request that brought nothing is sent again before
	// the turn fails; 0 means 2, negative none. Subagents, whose turn nobody else
	// repeats, get twice as many and one more.
	Retries int
	// RetryDelay passes before the first repetition and doubles with each
	// further one; 0 means a second.
	RetryDelay time.Duration

	// StoreWait is how long a turn that cannot be recorded (the disk is full, the
	// store's owner is gone) waits for the store before it fails; 0 means an hour,
	// negative not at all. It never goes on unrecorded.
	StoreWait time.Duration

	// SideBySide is how many calls of one kind run at a time, subagents of a whole
	// turn included; 0 means 10.
	SideBySide int
	// MCPStart is how long an MCP server may take to be ready, 0 means 30 s; MCPCall
	// how long a call of one of its tools may take, 0 means 10 min.
	MCPStart time.Duration
	MCPCall  time.Duration
	// MaxDispatches is how many subagents one turn may start or resume; 0 means
	// 100.
	MaxDispatches int
	// MaxDepth is how deep dispatching goes: 1, for which 0 stands, lets the main
	// thread alone dispatch.
	MaxDepth int

	// Ephemeral reports whether a command changes nothing; permission mode plan
	// asks it. nil: no command is.
	Ephemeral func(command string) bool
	// SecretEnv are variables that commands of agents must not see.
	SecretEnv []string
	// OutputDir takes long outputs of commands; empty: a temporary folder.
	OutputDir string
	// AllowPrivate lets WebFetch reach loopback and private addresses.
	AllowPrivate bool

	// Sleep waits before a request is sent again; false means that ctx ended first.
	// nil waits as long as it says.
	Sleep func(ctx context.Context, d time.Duration) bool

	Version string           // of the program, as entries name it
	Now     func() time.Time // nil means time.Now
	NewID   func() string    // of sessions and entries; nil means random UUIDs
}

// Harness is our own loop as a harness.Harness.
type Harness struct {
	config Config
	faults faults
}

// New makes a harness. It starts nothing.
func New(c Config) *Harness {
	if c.DefaultModel == "" {
		c.DefaultModel = DefaultModel
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = 32000
	}
	if c.MaxBody <= 0 {
		c.MaxBody = maxBody
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	if c.RetryDelay <= 0 {
		c.RetryDelay = time.Second
	}
	if c.StoreWait == 0 {
		c.StoreWait = time.Hour
	}
	if c.MCPStart <= 0 {
		c.MCPStart = 30 * time.Second
	}
	if c.MCPCall <= 0 {
		c.MCPCall = 10 * time.Minute
	}
	if c.SideBySide <= 0 {
		c.SideBySide = 10
	}
	if c.MaxDispatches <= 0 {
		c.MaxDispatches = 100
	}
	if c.MaxDepth <= 0 {
		c.MaxDepth = 1
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	return &Harness{config: c}
}

var (
	_ harness.Harness  = (*Harness)(nil)
	_ harness.Windower = (*Harness)(nil)
	_ harness.Checker  = (*Harness)(nil)
)

// Name is "native".
func (h *Harness) Name() string { return "native" }

// Prices reports whether the price of the named model, an alias or empty for the
// default one, is known.
func (h *Harness) Prices(ctx context.Context, name string) bool {
	if h.config.Model == nil {
		return false
	}
	info, err := infoOf(ctx, h.config.Model, h.resolve(name))
	return err == nil && info.Price != nil
}

// Window is the context of the named model, an alias or empty for the default one,
// in tokens; 0 where it is not known.
func (h *Harness) Window(ctx context.Context, name string) int64 {
	if h.config.Model == nil {
		return 0
	}
	info, err := infoOf(ctx, h.config.Model, h.resolve(name))
	if err != nil {
		return 0
	}
	return info.Window
}

// Run runs one turn; see harness.Harness.
func (h *Harness) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	if err := h.check(t); err != nil {
		return harness.Outcome{Stop: harness.Failed}, &harness.OrderError{Err: err}
	}
	r, err := h.newRun(ctx, t)
	if err != nil {
		return harness.Outcome{Stop: harness.Failed}, &harness.OrderError{Err: err}
	}
	return r.run(ctx)
}

// check reports what makes a turn impossible before anything is read or spent.
func (h *Harness) check(t harness.Turn) error {
	switch {
	case h.config.Model == nil:
		return errors.New("native harness: Config.Model is not set")
	case t.Store == nil:
		return errors.New("native harness: the turn has no store")
	case t.Agent.Workspace == "":
		return fmt.Errorf("agent %s: the workspace is not set; it is an absolute path", t.Agent.Name)
	}
	if strings.TrimSpace(t.Prompt) == "" {
		return fmt.Errorf("agent %s: the prompt is empty", t.Agent.Name)
	}
	switch t.Agent.Compact.Mode {
	case "", harness.CompactNoSummary, harness.CompactOff: // it never compacts
	default:
		return fmt.Errorf("agent %s: compact is %q; this harness has no compaction, so it is unset, no_summary or off", t.Agent.Name, t.Agent.Compact.Mode)
	}
	return t.Session.Check()
}

// resolve makes a model's full name of an alias, and the default one of none.
func (h *Harness) resolve(name string) string {
	if name == "" || name == "inherit" {
		name = h.config.DefaultModel
	}
	if full := h.config.Aliases[name]; full != "" {
		return full
	}
	return name
}
