package engine

import (
	"cmp"
	"embed"
	"fmt"
	"slices"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
)

// Role is one of the five ways an agent works.
type Role string

// The roles.
const (
	RoleCoordinator Role = "coordinator"
	RoleWorker      Role = "worker"
	RoleClarifier   Role = "clarifier"
	RoleJudge       Role = "judge"
	RoleOracle      Role = "oracle"
)

//go:embed rules/*.md
var ruleFiles embed.FS

// Rules is the text that makes an agent a role, in en (any other word) or zh. It
// can be replaced by RoleOptions.Rules.
func Rules(role Role, lang string) string {
	if lang != "zh" {
		lang = "en"
	}
	raw, err := ruleFiles.ReadFile(fmt.Sprintf("rules/%s.%s.md", role, lang))
	if err != nil {
		return "" // a role there is not
	}
	return string(raw)
}

// The tools by which an agent reaches a person.
const (
	ToolAsk   = "mcp__human__ask"
	ToolInbox = "mcp__human__inbox"
)

// RoleOptions are what a role's factory takes beside its name. Zero fields are the
// role's defaults.
type RoleOptions struct {
	// Instructions come behind the rules.
	Instructions string
	// Rules replaces the role's text.
	Rules        string
	Lang         string // of the rules: en (empty) or zh
	Model        string
	Effort       string
	MaxTurns     int     // not of a clarifier, which has no limit of turns; 0 of an oracle: 12
	MaxBudgetUSD float64 // 0 of an oracle: 0.50
	Compact      harness.Compaction
	Guards       []guard.Guard
	Env          map[string]string
	// PermissionMode is a coordinator's; empty means AcceptEdits.
	PermissionMode harness.PermissionMode
	// Human gives the role the tools that reach a person. They must be among
	// Config.Tools.
	Human bool
	// NoRead takes the reading tools from a coordinator or clarifier.
	NoRead bool
	// NoGlance takes the shell from a coordinator.
	NoGlance bool
	// CanRun gives a judge a shell, in a throw-away copy of the workspace.
	CanRun bool
}

func (o RoleOptions) spec(role Role, name string) Spec {
	rules := o.Rules
	if rules == "" {
		rules = Rules(role, o.Lang)
	}
	if o.Instructions != "" {
		rules += "\n" + o.Instructions
	}
	return Spec{Name: name, Instructions: rules, Model: o.Model, Effort: o.Effort, MaxTurns: o.MaxTurns,
		MaxBudgetUSD: o.MaxBudgetUSD, Compact: o.Compact, Guards: o.Guards, Env: o.Env, PermissionMode: harness.Default}
}

// Coordinator dispatches workers and does nothing itself: no Write, Edit or Bash
// of a worker ever becomes its own.
func Coordinator(name string, workers map[string]harness.Worker, o RoleOptions) Spec {
	s := o.spec(RoleCoordinator, name)
	s.DelegateOnly, s.Glance, s.Workers = true, !o.NoGlance, workers
	s.PermissionMode = cmp.Or(o.PermissionMode, harness.AcceptEdits)
	s.AllowedTools = []string{"Agent", "TodoWrite"}
	if !o.NoRead {
		s.AllowedTools = append(s.AllowedTools, "Read")
	}
	if s.Glance {
		s.AllowedTools = append(s.AllowedTools, "Bash")
	}
	if o.Human {
		s.AllowedTools = append(s.AllowedTools, ToolAsk, ToolInbox)
	}
	for _, web := range []string{"WebFetch", "WebSearch"} {
		for _, w := range workers {
			if slices.Contains(w.Tools, web) {
				s.AllowedTools = append(s.AllowedTools, web)
				break
			}
		}
	}
	return s
}

// WorkerOptions are what NewWorker takes beside description and prompt.
type WorkerOptions struct {
	// NoDiscipline leaves the reporting rules out.
	NoDiscipline bool
	Rules        string // replaces the reporting rules
	Lang         string
	Tools        []string // nil means Read, Write, Edit, Bash, Glob, Grep, WebFetch, WebSearch
	Model        string   // empty: its dispatcher's
	Effort       string   // empty: its dispatcher's
	MaxTurns     int      // of one dispatch; 0 means no limit
	// PermissionMode is empty for its dispatcher's.
	PermissionMode harness.PermissionMode
	// Isolate gives each dispatch a git worktree of its own.
	Isolate bool
	// Skills are names of skills of plugins, which it may then read and no others.
	Skills []string
}

// workerTools is what a worker may call that names nothing.
var workerTools = []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch"}

// NewWorker is a subagent that a coordinator dispatches.
func NewWorker(description, prompt string, o WorkerOptions) harness.Worker {
	rules := o.Rules
	if rules == "" {
		rules = Rules(RoleWorker, o.Lang)
	}
	if !o.NoDiscipline {
		prompt += "\n\n" + rules
	}
	tools := o.Tools
	if tools == nil {
		tools = slices.Clone(workerTools)
	}
	return harness.Worker{Description: description, Prompt: prompt, Tools: tools, Model: o.Model, Effort: o.Effort, MaxTurns: o.MaxTurns,
		PermissionMode: o.PermissionMode, Isolate: o.Isolate, Skills: o.Skills}
}

// Clarifier asks a person until the requirement is clear. It cannot write, run or
// dispatch.
func Clarifier(name string, o RoleOptions) Spec {
	s := o.spec(RoleClarifier, name)
	s.NoWorkbench = true
	s.MaxTurns = 0
	s.AllowedTools = []string{}
	if o.Human {
		s.AllowedTools = append(s.AllowedTools, ToolAsk)
	}
	if !o.NoRead {
		s.AllowedTools = append(s.AllowedTools, "Read", "Glob", "Grep", "WebFetch", "WebSearch")
	}
	return s
}

// Judge sets a goal or rules on a round. It cannot write or dispatch.
func Judge(name string, o RoleOptions) Spec {
	s := o.spec(RoleJudge, name)
	s.NoWorkbench = true
	s.AllowedTools = []string{"Read", "Glob", "Grep"}
	if o.Human {
		s.AllowedTools = append([]string{ToolAsk}, s.AllowedTools...)
	}
	if o.CanRun {
		s.AllowedTools = append(s.AllowedTools, "Bash")
		s.InCopy = true
	}
	return s
}

// Limits of an oracle where none are given: its answers are asides, and cost like
// asides.
const (
	oracleTurns  = 12
	oracleBudget = 0.50
)

// Oracle answers questions about a run from the side. Its name is aside, in
// Chinese 旁路问答.
func Oracle(o RoleOptions) Spec {
	name := "aside"
	if o.Lang == "zh" {
		name = "旁路问答"
	}
	s := o.spec(RoleOracle, name)
	s.AllowedTools = []string{"Read", "Glob", "Grep"}
	s.MaxTurns, s.MaxBudgetUSD = cmp.Or(o.MaxTurns, oracleTurns), cmp.Or(o.MaxBudgetUSD, oracleBudget)
	return s
}
