package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Agent is what Standard needs to know of an agent.
type Agent struct {
	Name            string
	AllowedTools    []string
	DisallowedTools []string
}

// Standard are the guards every agent gets, in order (SPEC 8.1). They are built
// on every path, the main thread's and the subagents'.
func Standard(a Agent) []Guard {
	return []Guard{Whitelist(a)}
}

// Whitelist denies the main thread every tool that is not in AllowedTools, and
// everyone those in DisallowedTools.
func Whitelist(a Agent) Guard { return whitelist{a} }

type whitelist struct{ agent Agent }

func (whitelist) Name() string { return "whitelist" }

func (w whitelist) Before(_ context.Context, c Call) (Decision, error) {
	barred := slices.Contains(w.agent.DisallowedTools, c.Tool)
	missing := c.MainThread() && !slices.Contains(w.agent.AllowedTools, c.Tool)
	if !barred && !missing {
		return Decision{}, nil
	}
	return Decision{Action: Deny, Reason: fmt.Sprintf(
		"%s is not available to %s, and that is intended: do not look for a way round. Work with %s, and put what you conclude into your reply.",
		c.Tool, w.agent.Name, w.offered())}, nil
}

func (w whitelist) offered() string {
	if len(w.agent.AllowedTools) == 0 {
		return "no tools"
	}
	return strings.Join(w.agent.AllowedTools, ", ")
}

func (whitelist) After(_ context.Context, _ Call, r Reply) (Reply, error) { return r, nil }
