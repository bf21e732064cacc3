package guard

import (
	"slices"

	"github.com/flowerlua/flower/engine/workbench"
)

// Agent is what Standard needs to know of an agent.
type Agent struct {
	Name            string
	AllowedTools    []string
	DisallowedTools []string
	// DelegateOnly: it dispatches and does not act. Glance: it may run ephemeral
	// commands itself.
	DelegateOnly bool
	Glance       bool
	// Isolated are the names of the workers that get a worktree a dispatch.
	Isolated []string
}

// Options set up the standard guards. The zero value is ready for use.
type Options struct {
	// Lang is the language of what guards tell the model: "en" or "zh"; "" is en.
	Lang string
	// SpillThreshold is the number of characters from which a result is moved to a
	// file; 0 means 4000, negative never.
	SpillThreshold int
	// SpillDir takes spilled results where there is no workbench; empty: none are
	// spilled then.
	SpillDir string
	// SpillMainOnly leaves the results of subagents as they are.
	SpillMainOnly bool
	// DelegateTools are what a DelegateOnly agent must not call; nil means Bash,
	// Write, Edit, NotebookEdit.
	DelegateTools []string
	// OnTask is told of what a guard did that a person should see; nil tells
	// nobody. It may be called from several goroutines at once.
	OnTask func(c Call, text string)
}

// Standard are the guards an agent gets, in order. bench is nil where
// there is no workbench; the walls stand without one.
func Standard(a Agent, bench *workbench.Bench, o Options) []Guard {
	var gs []Guard
	if a.DelegateOnly {
		tools := o.delegateTools()
		gs = append(gs, Whitelist(a, o.Lang, tools...), Delegate(a, bench, o))
	} else {
		gs = append(gs, Whitelist(a, o.Lang))
	}
	if len(a.Isolated) > 0 {
		gs = append(gs, Isolate(a.Isolated, o.OnTask))
	}
	if bench != nil {
		gs = append(gs, Index(bench))
	}
	if s := Spill(bench, o); s != nil {
		gs = append(gs, s)
	}
	return gs
}

func (o Options) delegateTools() []string {
	if o.DelegateTools == nil {
		return []string{"Bash", "Write", "Edit", "NotebookEdit"}
	}
	return slices.Clone(o.DelegateTools)
}

// note tells OnTask.
func note(onTask func(Call, string), c Call, text string) {
	if onTask != nil {
		onTask(c, text)
	}
}
