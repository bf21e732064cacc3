// Package claudecode drives the Claude Code CLI as a harness: its prompt, its
// tools, its skills, with the engine's guards, transcripts and accounts around
// them.
//
// Four nouns. A Harness is set up once and runs any number of turns at a time. A
// turn is one process of the program, over whose pipes a link carries requests in
// both directions: hooks before and after each tool, permissions, the tools of the
// embedding program. A journal mirrors the program's transcripts into the store
// as they are written, and a session is resumed, on any machine, by restoring
// them as files into a fresh folder of the program's. Between the program and the
// provider stands a proxy: the program never has the real key.
//
//	h := claudecode.New(claudecode.Config{Key: "test-key", Info: provider.Info})
//	out, err := h.Run(ctx, harness.Turn{
//		Agent:  harness.Agent{Name: "hello", Workspace: dir, AllowedTools: []string{"Read"}},
//		Prompt: "What is this project?",
//		Store:  db, Project: "demo",
//	})
//
// Usual mistakes: a program of an untried version (an event says so; Config.Version
// pins one); expecting a guard to rewrite the result of a call that failed (the
// program takes rewritten results of calls that succeeded alone); a budget without
// Config.Info (no price is known then, which is an error before anything is spent).
package claudecode

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// DefaultModel is the model of an agent that names none, where Config names none
// either. The program's own default differs between a new and a resumed process.
const DefaultModel = "claude-sonnet-5-5"

// DefaultBaseURL is the provider where Config names none.
const DefaultBaseURL = "https://api.anthropic.com"

// Tried is the version of the program that this package was tried on.
const Tried = "2.1.197"

// tried is the range of versions that are taken without a word.
var tried = []string{"2.1."}

// ErrNoProgram: the program is not installed; the error says how to.
var ErrNoProgram = errors.New("claude code is not installed")

// Config sets a Harness up; it is not changed afterwards. The zero Config asks the
// provider without a key, which it refuses.
type Config struct {
	// Command is the program; empty: claude in the PATH.
	Command string
	// Version pins the program to a version: another one is an error before
	// anything is spent. Empty: any, and an event says when it is an untried one.
	Version string

	// BaseURL is the provider's, without /v1; empty: DefaultBaseURL. Key is sent
	// as x-api-key, else Token as a bearer token. Neither reaches the program.
	BaseURL string
	Key     string
	Token   string
	// Model answers instead of the provider: a rehearsal. Requests to it carry
	// step, role, session and agent, as the native harness's do.
	Model model.Model
	// Info tells windows and prices of models, as model.Model.Info does. nil: those
	// of Model where that is set, else no price is known.
	Info func(ctx context.Context, name string) (model.Info, error)

	DefaultModel  string            // empty: the constant DefaultModel
	Aliases       map[string]string // short name → model name; opus, sonnet, haiku
	SubagentModel string            // of workers that name none; empty: their dispatcher's
	// Effort is how hard agents think that do not say so themselves: low, medium,
	// high, xhigh, max, none, or a number of tokens; empty: the program's default.
	Effort string
	// Retries is how often the program sends one request again; 0 means 2, negative
	// none. A wrong key is never tried twice.
	Retries int

	// SettingSources are the sources of settings the program reads beside ours:
	// "project" is the workspace's CLAUDE.md and .claude, hooks included. nil is
	// portable: none. Settings of the host's user are never read.
	SettingSources []string
	// Home is the HOME of commands that the agent runs; empty: the host's. The
	// program itself gets a fresh one.
	Home string
	// Ephemeral reports whether a command changes nothing; permission mode plan
	// asks it. nil: no command is.
	Ephemeral func(command string) bool
	// SecretEnv are variables that neither the program nor commands must see, beside
	// those that look like a provider's key.
	SecretEnv []string
	// TempDir takes the folders of running turns; empty: the system's.
	TempDir string

	Now   func() time.Time // nil means time.Now
	NewID func() string    // of sessions and entries, UUIDs; nil means random ones
}

// Harness drives the program. See harness.Harness.
type Harness struct {
	config Config

	mu   sync.Mutex
	warm []*run // started ahead, oldest first
}

// New makes a harness. It starts nothing.
func New(c Config) *Harness {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.DefaultModel == "" {
		c.DefaultModel = DefaultModel
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	if c.Info == nil && c.Model != nil {
		c.Info = c.Model.Info
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
	_ harness.Harness   = (*Harness)(nil)
	_ harness.Windower  = (*Harness)(nil)
	_ harness.Compactor = (*Harness)(nil)
	_ harness.Checker   = (*Harness)(nil)
)

// Name is "claude".
func (h *Harness) Name() string { return "claude" }

// Compacts is true: the program summarises long conversations, if it may.
func (h *Harness) Compacts() bool { return true }

// Prices reports whether the price of the named model, an alias or empty for the
// default one, is known.
func (h *Harness) Prices(ctx context.Context, name string) bool {
	return h.info(ctx, h.resolve(name)).Price != nil
}

// Window is the context of the named model in tokens; 0 where it is not known.
func (h *Harness) Window(ctx context.Context, name string) int64 {
	return h.info(ctx, h.resolve(name)).Window
}

// Run runs one turn in a process of its own; see harness.Harness.
func (h *Harness) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	r, err := h.order(ctx, t)
	if err != nil {
		return harness.Outcome{Stop: harness.Failed}, &harness.OrderError{Err: err}
	}
	if w := h.adopt(r); w != nil {
		r = w
	}
	return r.run(ctx)
}

// Warm starts the program ahead, for the next Run of a new session with the same
// agent, host tools, limits and model as t; its prompt, guards and sink do not
// matter. It returns when the program is ready, which takes it a second or more
// that the Run then saves. A few are kept, each until a Run takes it or Close.
func (h *Harness) Warm(ctx context.Context, t harness.Turn) error {
	t.Session = harness.Session{}
	t.Prompt = "-" // none is sent
	r, err := h.order(ctx, t)
	if err != nil {
		return &harness.OrderError{Err: err}
	}
	return h.keepWarm(ctx, r)
}

// Close ends what Warm has started and no Run has taken. Only who calls Warm needs
// it; the harness can be used afterwards.
func (h *Harness) Close() error {
	h.mu.Lock()
	warm := h.warm
	h.warm = nil
	h.mu.Unlock()
	var err error
	for _, r := range warm {
		err = errors.Join(err, r.discard())
	}
	return err
}

// order makes a run of a turn that can be carried out.
func (h *Harness) order(ctx context.Context, t harness.Turn) (*run, error) {
	if err := h.check(ctx, t); err != nil {
		return nil, err
	}
	path, err := h.program(ctx)
	if err != nil {
		return nil, err
	}
	return h.newRun(ctx, t, path)
}

// check reports what makes a turn impossible before anything is read or spent.
func (h *Harness) check(ctx context.Context, t harness.Turn) error {
	switch {
	case t.Store == nil:
		return errors.New("claude code harness: the turn has no store")
	case t.Agent.Workspace == "":
		return fmt.Errorf("agent %s: the workspace is not set; it is an absolute path", t.Agent.Name)
	case strings.TrimSpace(t.Prompt) == "":
		return fmt.Errorf("agent %s: the prompt is empty", t.Agent.Name)
	}
	for name, server := range t.Agent.MCPServers {
		if field, err := server.Check(name); err != nil {
			return fmt.Errorf("agent %s: MCP server %s: %s: %w", t.Agent.Name, name, field, err)
		}
	}
	for name, w := range t.Agent.Workers {
		if w.Effort != "" && !slices.Contains(efforts, w.Effort) {
			return fmt.Errorf("agent %s: worker %s: effort is %q; claude code takes one of %s for a subagent", t.Agent.Name, name, w.Effort, strings.Join(efforts, ", "))
		}
	}
	if t.Limits.USD > 0 {
		for _, name := range h.models(t.Agent) {
			if !h.Prices(ctx, name) {
				return fmt.Errorf("agent %s: a budget is set, but the price of model %q is not known, so the budget cannot be held: name a model with a known price, or remove the budget",
					t.Agent.Name, name)
			}
		}
	}
	return t.Session.Check()
}

// models are all the models that a turn may use.
func (h *Harness) models(a harness.Agent) []string {
	names := []string{h.resolve(a.Model)}
	for _, w := range a.Workers {
		names = append(names, h.workerModel(a, w))
	}
	return names
}

// workerModel is the model of a worker: its own, else the one set for all, else
// its dispatcher's.
func (h *Harness) workerModel(a harness.Agent, w harness.Worker) string {
	for _, name := range []string{w.Model, h.config.SubagentModel, a.Model} {
		if name != "" && name != "inherit" {
			return h.resolve(name)
		}
	}
	return h.resolve("")
}

// info is what is known of a model; nothing where nobody knows it.
func (h *Harness) info(ctx context.Context, name string) model.Info {
	if h.config.Info != nil {
		if info, err := h.config.Info(ctx, name); err == nil {
			return info
		}
	}
	return model.Info{Name: name}
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

// program finds the program and holds it to a pinned version.
func (h *Harness) program(ctx context.Context) (string, error) {
	name := h.config.Command
	if name == "" {
		name = "claude"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s was not found. Install it with: npm install -g @anthropic-ai/claude-code@%s (or set its path)", ErrNoProgram, name, Tried)
	}
	if h.config.Version == "" {
		return path, nil
	}
	found, err := version(ctx, path, h.environ(nil))
	if err != nil {
		return "", err
	}
	if found != h.config.Version {
		return "", fmt.Errorf("claude code at %s has version %s, and %s is asked for: npm install -g @anthropic-ai/claude-code@%s", path, found, h.config.Version, h.config.Version)
	}
	return path, nil
}

// untried is what to say of a version that this package was not tried on.
func untried(version string) string {
	if version == "" || slices.ContainsFunc(tried, func(prefix string) bool { return strings.HasPrefix(version, prefix) }) {
		return ""
	}
	return fmt.Sprintf("claude code %s has not been tried with this harness; %s has. Should anything fail, install that one: npm install -g @anthropic-ai/claude-code@%s",
		version, Tried, Tried)
}
