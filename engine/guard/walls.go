package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/shell"
	"github.com/flowerlua/flower/engine/workbench"
)

// The walls: what an agent must not call at all.

// before is a Guard that only looks at calls.
type before struct {
	name  string
	check func(ctx context.Context, c Call) (Decision, error)
}

func (g before) Name() string { return g.name }

func (g before) Before(ctx context.Context, c Call) (Decision, error) { return g.check(ctx, c) }

func (g before) After(_ context.Context, _ Call, r Reply) (Reply, error) { return r, nil }

// Before makes a function a Guard that looks at calls before they run.
func Before(name string, check func(ctx context.Context, c Call) (Decision, error)) Guard {
	return before{name, check}
}

// Whitelist denies the main thread every tool that is not in AllowedTools, and
// everyone those in DisallowedTools. The tools in except are left to another
// guard.
func Whitelist(a Agent, lang string, except ...string) Guard {
	return Before("whitelist", func(_ context.Context, c Call) (Decision, error) {
		barred := slices.Contains(a.DisallowedTools, c.Tool)
		missing := c.MainThread() && !slices.Contains(a.AllowedTools, c.Tool) && !slices.Contains(except, c.Tool)
		if !barred && !missing {
			return Decision{}, nil
		}
		return deny(lang, denyWhitelist, c.Tool, a.Name, offered(a.AllowedTools, lang)), nil
	})
}

func offered(tools []string, lang string) string {
	if len(tools) == 0 {
		return say(lang, noTools)
	}
	return strings.Join(tools, ", ")
}

// Delegate keeps an agent that only delegates from acting itself. With Glance an
// ephemeral command passes.
func Delegate(a Agent, bench *workbench.Bench, o Options) Guard {
	tools := o.delegateTools()
	where := say(o.Lang, artifactsSomewhere)
	if bench != nil {
		where = bench.Shown(bench.Artifacts())
	}
	return Before("delegate", func(_ context.Context, c Call) (Decision, error) {
		if !c.MainThread() || !slices.Contains(tools, c.Tool) {
			return Decision{}, nil
		}
		if c.Tool != "Bash" || !a.Glance {
			return deny(o.Lang, denyDelegate, c.Tool, where), nil
		}
		command, err := commandOf(c)
		if err != nil {
			return Decision{}, err
		}
		if shell.Ephemeral(command) {
			return Decision{}, nil
		}
		return deny(o.Lang, denyGlance, shell.Explain(command).Reason, where), nil
	})
}

func commandOf(c Call) (string, error) {
	var in struct {
		Command    string `json:"command"`
		Background any    `json:"run_in_background"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return "", fmt.Errorf("the input of Bash cannot be read: %w", err)
	}
	if in.Background == true || in.Background == "true" {
		return in.Command + " &", nil // what goes on in the background is no glance
	}
	return in.Command, nil
}

// Isolate gives a dispatch of one of the roles a worktree of its own, where the
// model chose no place itself.
func Isolate(roles []string, onTask func(Call, string)) Guard {
	return Before("isolate", func(_ context.Context, c Call) (Decision, error) {
		if c.Tool != "Agent" {
			return Decision{}, nil
		}
		var in map[string]json.RawMessage
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return Decision{}, fmt.Errorf("the input of Agent cannot be read: %w", err)
		}
		role := textOf(in["subagent_type"])
		if !slices.Contains(roles, role) || chosen(in["cwd"]) || chosen(in["isolation"]) || chosen(in["resume"]) {
			return Decision{}, nil
		}
		in["isolation"] = json.RawMessage(`"worktree"`)
		raw, err := json.Marshal(in)
		if err != nil {
			return Decision{}, err
		}
		note(onTask, c, fmt.Sprintf("%s works in a git worktree of its own", role))
		return Decision{Action: Rewrite, Input: raw}, nil
	})
}

func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// chosen: the model gave the field a value.
func chosen(raw json.RawMessage) bool {
	text := string(raw)
	return text != "" && text != "null" && text != `""`
}
