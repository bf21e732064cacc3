package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/engine/workbench"
	"github.com/flowerlua/flower/internal/spell"
)

// defaultTools is what a spec may call that names nothing.
var defaultTools = []string{"Read", "Glob", "Grep"}

// permissionModes are the modes a spec may name.
var permissionModes = []harness.PermissionMode{"", harness.Default, harness.AcceptEdits, harness.Plan, harness.BypassPermissions}

// Check reports the first thing in a spec that cannot work.
func (s Spec) Check() error {
	switch {
	case strings.TrimSpace(s.Name) == "":
		return fmt.Errorf("spec without a name")
	case !slices.Contains(permissionModes, s.PermissionMode):
		return fmt.Errorf("spec %s: permission_mode is %q; it is one of default, acceptEdits, plan, bypassPermissions", s.Name, s.PermissionMode)
	case s.MaxTurns < 0:
		return fmt.Errorf("spec %s: max_turns is %d; it must not be negative (0 means no limit)", s.Name, s.MaxTurns)
	case s.MaxBudgetUSD < 0:
		return fmt.Errorf("spec %s: max_budget_usd is %v; it must not be negative (0 means no limit)", s.Name, s.MaxBudgetUSD)
	case math.IsNaN(s.MaxBudgetUSD) || math.IsInf(s.MaxBudgetUSD, 0):
		return fmt.Errorf("spec %s: max_budget_usd is %v, which no sum reaches; 0 means no limit", s.Name, s.MaxBudgetUSD)
	}
	if err := checkTools("tools", s.Tools); err != nil {
		return fmt.Errorf("spec %s: %w", s.Name, err)
	}
	if err := checkGuards(s.Guards); err != nil {
		return fmt.Errorf("spec %s: %w", s.Name, err)
	}
	if field, err := CheckCompact(s.Compact); err != nil {
		return fmt.Errorf("spec %s: compact.%s %w", s.Name, field, err)
	}
	if err := CheckEffort(s.Effort); err != nil {
		return fmt.Errorf("spec %s: effort %w", s.Name, err)
	}
	if err := checkEnv(s.Env); err != nil {
		return fmt.Errorf("spec %s: %w", s.Name, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workers)) {
		if field, err := checkWorker(s.Workers[name]); err != nil {
			return fmt.Errorf("spec %s: workers.%s.%s %w", s.Name, name, field, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.MCPServers)) {
		if _, err := s.MCPServers[name].Check(name); err != nil {
			return fmt.Errorf("spec %s: mcp_servers.%s: %w", s.Name, name, err)
		}
	}
	return nil
}

// efforts are the words for how hard to think.
var efforts = []string{"none", "low", "medium", "high", "xhigh", "max"}

// CheckEffort reports an effort that is neither one of the levels nor a number of
// tokens.
func CheckEffort(effort string) error {
	if tokens, err := strconv.Atoi(effort); effort == "" || slices.Contains(efforts, effort) || err == nil && tokens > 0 {
		return nil
	}
	return fmt.Errorf("is %q; it is one of %s, or a number of tokens%s", effort, strings.Join(efforts, ", "), spell.Hint(effort, efforts))
}

// checkEnv reports a variable that commands of agents would not get.
func checkEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00"):
			return &harness.FieldError{Field: "env", Err: fmt.Errorf("holds %q, which is no name of a variable, or has a value that none can have", name)}
		case strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || name == "CLAUDECODE":
			return &harness.FieldError{Field: "env", Err: fmt.Errorf("holds %s, and agents' programs never get variables that begin with ANTHROPIC_ or CLAUDE_: they are the harness's own", name)}
		}
	}
	return nil
}

// checkWorker reports the first field of a worker that cannot work.
func checkWorker(w harness.Worker) (field string, err error) {
	switch {
	case w.MaxTurns < 0:
		return "max_turns", fmt.Errorf("is %d; it must not be negative (0 means no limit)", w.MaxTurns)
	case !slices.Contains(permissionModes, w.PermissionMode):
		return "permission_mode", fmt.Errorf("is %q; it is one of default, acceptEdits, plan, bypassPermissions", w.PermissionMode)
	}
	return "effort", CheckEffort(w.Effort)
}

// checkSpec reports what cannot work in this workspace with this harness.
func (rt *Runtime) checkSpec(s Spec) error {
	_, err := rt.checkAndBring(s)
	return err
}

func (rt *Runtime) checkIn(w *Workflow, s Spec) error {
	if s.Plugins == nil {
		s.Plugins = w.Plugins
	}
	if w.Channel != nil {
		s.Tools = slices.Concat(s.Tools, tool.HumanTools(w.Channel))
	}
	return rt.checkSpec(s)
}

var errNoCompaction = errors.New("is auto, but this harness has no compaction; handoff does its work: leave compact out, or use the claude harness")

// checkAndBring gives what plugins bring to the agent of a spec that can work.
func (rt *Runtime) checkAndBring(s Spec) (*brought, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := rt.checkFolders(s.AddDirs); err != nil {
		return nil, fmt.Errorf("spec %s: %w", s.Name, err)
	}
	if c, ok := rt.config.Harness.(harness.Compactor); rt.config.Harness != nil && s.Compact.Mode == harness.CompactAuto && (!ok || !c.Compacts()) {
		return nil, fmt.Errorf("spec %s: %w", s.Name, &harness.FieldError{Field: "compact", Err: errNoCompaction})
	}
	b, err := rt.bring(s)
	if err != nil {
		return nil, fmt.Errorf("spec %s: %w", s.Name, err)
	}
	if c, ok := rt.config.Harness.(harness.Checker); ok {
		if err := c.Check(rt.agentOf(s, b), rt.hostTools(&s)); err != nil {
			return nil, fmt.Errorf("spec %s: %w", s.Name, err)
		}
	}
	return b, nil
}

// Compile makes a spec the agent of a harness turn, as Run does it; for programs
// that drive a harness themselves.
func (rt *Runtime) Compile(s Spec) (harness.Agent, error) {
	a, _, err := rt.compile(s)
	return a, err
}

func (rt *Runtime) compile(s Spec) (harness.Agent, *brought, error) {
	b, err := rt.checkAndBring(s)
	if err != nil {
		return harness.Agent{}, nil, err
	}
	a := rt.agentOf(s, b)
	return a, b, rt.addBench(&a, s)
}

// agentOf is the agent of a spec, without the workbench.
func (rt *Runtime) agentOf(s Spec, b *brought) harness.Agent {
	a := harness.Agent{
		Name:            s.Name,
		Instructions:    s.Instructions,
		Workspace:       rt.workspace,
		AllowedTools:    slices.Clone(s.AllowedTools),
		DisallowedTools: slices.Clone(s.DisallowedTools),
		Model:           s.Model,
		Effort:          s.Effort,
		PermissionMode:  s.PermissionMode,
		Env:             s.Env,
		Workers:         b.workers,
		MCPServers:      b.servers,
		Skills:          b.skills,
		Compact:         s.Compact,
	}
	if s.DelegateOnly {
		a.PageChars = rt.pageChars()
	}
	if s.AllowedTools == nil {
		a.AllowedTools = slices.Clone(defaultTools)
	}
	if a.Model == "" {
		a.Model = rt.config.Model
	}
	if a.PermissionMode == "" {
		a.PermissionMode = harness.Default
	}
	for _, dir := range s.AddDirs {
		a.AddDirs = append(a.AddDirs, rt.inWorkspace(dir))
	}
	return a
}

// defaultSpill is the number of characters from which results are moved to files,
// where Config does not say.
const defaultSpill = 4000

// pageChars is a page of a file for an agent whose context is to stay small: what
// other tools' results may have before they are moved to a file.
func (rt *Runtime) pageChars() int {
	if rt.config.SpillThreshold == 0 {
		return defaultSpill
	}
	return max(rt.config.SpillThreshold, 0)
}

// benchFor is the workbench that an agent is told of.
func (rt *Runtime) benchFor(s Spec) *workbench.Bench {
	if s.NoWorkbench {
		return nil
	}
	return rt.bench
}

// addBench gives the agent the workbench's block, and the folder where it lies
// outside the workspace.
func (rt *Runtime) addBench(a *harness.Agent, s Spec) error {
	bench := rt.benchFor(s)
	if bench == nil {
		return nil
	}
	for name, w := range s.Workers {
		if w.Isolate && !bench.Outside() {
			return fmt.Errorf("worker %s is isolated, but the workbench %s lies in the workspace, where an isolated worker cannot write: put it outside (workbench.Home)", name, bench.Root())
		}
	}
	if err := bench.Refresh(); err != nil {
		return err
	}
	a.Index = bench.Prompt()
	if bench.Outside() {
		a.AddDirs = append(a.AddDirs, bench.Root())
	}
	return nil
}

// guards are those that hold for the agent of a spec, built-in ones first; tell is told
// of what they did and what went wrong with them.
func (rt *Runtime) guards(s Spec, agent harness.Agent, tell func(event.Event)) guard.Chain {
	var isolated []string
	for name, w := range s.Workers {
		if w.Isolate {
			isolated = append(isolated, name)
		}
	}
	slices.Sort(isolated)
	about := guard.Agent{Name: agent.Name, AllowedTools: agent.AllowedTools, DisallowedTools: agent.DisallowedTools,
		DelegateOnly: s.DelegateOnly, Glance: s.Glance, Isolated: isolated}
	standard := guard.Standard(about, rt.bench, guard.Options{
		Lang: rt.lang(), SpillThreshold: rt.config.SpillThreshold, SpillDir: filepath.Join(rt.runDir, "spill"),
		SpillMainOnly: rt.config.SpillMainOnly, DelegateTools: rt.config.DelegateTools,
		OnTask: func(c guard.Call, text string) {
			tell(event.Event{Kind: event.Task, Tool: c.Tool, Subagent: c.Agent, Text: text})
		},
	})
	return guard.Chain{Guards: append(standard, s.Guards...), OnError: func(name string, c guard.Call, err error) {
		tell(event.Event{Kind: event.Error, Tool: c.Tool, Subagent: c.Agent, Text: fmt.Sprintf("guard %s: %v", name, err)})
	}}
}

// DefaultView is what a Runtime feeds back to the model when Config.View is nil: stale
// ephemeral results expire, the newest denial stays, broken pairs are mended.
func DefaultView() transcript.Policy {
	return transcript.Policy{
		Expire: transcript.ExpirePolicy{
			Enabled: true, KeepRecent: 6, MaxChars: 2000,
			Text: "[The output of {cmd} was removed: it is {age} results old and no longer current. Run it again if you need it.]",
		},
		Prune: transcript.PrunePolicy{
			DropAPIErrors: true, NeutralizeInterrupts: true, HealOrphans: true, KeepDenials: 1,
			InterruptText: "[A person interrupted this call; nothing is wrong with the environment.]",
			OrphanText:    "[No result of this call was recorded. Look at the present state before you rely on it.]",
		},
	}
}
