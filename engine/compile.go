package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
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
	}
	return nil
}

// Compile makes a spec the agent of a harness turn, as Run does it; for programs
// that drive a harness themselves.
func (rt *Runtime) Compile(s Spec) (harness.Agent, error) {
	if err := s.Check(); err != nil {
		return harness.Agent{}, err
	}
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
		Workers:         s.Workers,
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
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(rt.workspace, dir)
		}
		a.AddDirs = append(a.AddDirs, filepath.Clean(dir))
	}
	return a, nil
}

// guards are those that hold for the agent, built-in ones first.
func (rt *Runtime) guards(a harness.Agent, s Spec) []guard.Guard {
	standard := guard.Standard(guard.Agent{Name: a.Name, AllowedTools: a.AllowedTools, DisallowedTools: a.DisallowedTools,
		DelegateOnly: s.DelegateOnly, Glance: s.Glance}, nil, guard.Options{SpillDir: filepath.Join(rt.runDir, "spill")})
	return append(standard, s.Guards...)
}

// DefaultView is what a Runtime feeds back to the model when Config.View is nil
// (SPEC 10): stale ephemeral results expire, the newest denial stays, broken
// pairs are mended.
func DefaultView() transcript.Policy {
	return transcript.Policy{
		Expire: transcript.ExpirePolicy{
			Enabled: true, KeepRecent: 6, MaxChars: 2000,
			Text: "[The output of `{cmd}` was removed: it is {age} results old and no longer current. Run it again if you need it.]",
		},
		Prune: transcript.PrunePolicy{
			DropAPIErrors: true, NeutralizeInterrupts: true, HealOrphans: true, KeepDenials: 1,
			InterruptText: "[A person interrupted this call; nothing is wrong with the environment.]",
			OrphanText:    "[No result of this call was recorded. Look at the present state before you rely on it.]",
		},
	}
}
