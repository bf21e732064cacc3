package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/engine/workbench"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/scripts"
)

// goCommand is the starter: what to make, and how.
type goCommand struct {
	Ask []string `arg:"" optional:"" help:"What is to be made; in a workspace that has a brief, one more thing."`

	Asks        *int     `placeholder:"N" help:"How many questions may be asked; any number by default."`
	Rounds      int      `placeholder:"N" default:"3" help:"How often the work may be judged (3)."`
	NoGoal      bool     `help:"Set no goal; nobody judges."`
	JudgeCanRun bool     `help:"Let the judges run commands, in a throw-away copy."`
	Timeout     *float64 `placeholder:"SECONDS" help:"How long a question waits for an answer (1800); 0 asks nobody."`
	Isolate     bool     `help:"Give each dispatch of the worker a git worktree of its own."`
	New         bool     `help:"Archive brief, goal and lineage, and begin anew."`
	ClarifyOnly bool     `help:"Stop when the requirement is clear."`

	Window         int64 `placeholder:"TOKENS" help:"The model's context; found out by default."`
	NoHandoff      bool  `help:"Let a full context end the step."`
	PauseOnHandoff bool  `help:"Wait for Enter before a successor reads the handoff document."`
	NoTrim         bool  `help:"Feed old large results back to the model as they are."`
}

// maxTimeout bounds how long a question waits, in seconds: ten years.
const maxTimeout = 10 * 365 * 24 * 3600

func (g *goCommand) check() error {
	switch {
	case g.Rounds < 1:
		return wrongUse("--rounds is %d; there is at least one", g.Rounds)
	case g.Timeout != nil && !(*g.Timeout >= 0 && *g.Timeout <= maxTimeout):
		return wrongUse("--timeout is %v; it is a number of seconds from 0 to %v", *g.Timeout, maxTimeout)
	case len(g.Ask) > 0 && strings.TrimSpace(strings.Join(g.Ask, "")) == "":
		return wrongUse("what is to be made is empty; leave it out, or say it: flower %q", "a tool that counts words")
	case g.Asks != nil && *g.Asks < 0:
		return wrongUse("--asks is %d; it must not be negative", *g.Asks)
	case g.Window < 0:
		return wrongUse("--window is %d; it must not be negative", g.Window)
	case g.NoHandoff && g.Window > 0:
		return wrongUse("--window says when a context is handed over, and --no-handoff never does: leave one of them out")
	case g.NoHandoff && g.PauseOnHandoff:
		return wrongUse("--pause-on-handoff waits at a handoff, and --no-handoff has none: leave one of them out")
	case g.NoGoal && g.JudgeCanRun:
		return wrongUse("--judge-can-run needs a judge, and --no-goal leaves it out")
	}
	return nil
}

// values are the options of the starter script.
func (g *goCommand) values(ask string) map[string]any {
	v := map[string]any{
		"ask": ask, "rounds": g.Rounds, "goal": !g.NoGoal, "judge_can_run": g.JudgeCanRun,
		"isolate": g.Isolate, "new": g.New, "clarify_only": g.ClarifyOnly,
	}
	if g.Asks != nil {
		v["max_asks"] = *g.Asks
	}
	if g.Timeout != nil {
		v["timeout_s"] = *g.Timeout
	}
	return v
}

// runStarter runs the embedded starter script.
func (a *app) runStarter(ctx context.Context, c *cli) error {
	if err := c.Go.check(); err != nil {
		return err
	}
	ask, err := a.readAsk(ctx, c)
	if err != nil {
		return err
	}
	program, err := luabind.Load("starter.lua", scripts.Starter, c.luaOptions(c.Go.values(ask)))
	if err != nil {
		return err
	}
	return a.runProgram(ctx, c, "go", program, nil, func(b *bed, config *engine.Config) {
		config.Handoff = &engine.HandoffPolicy{Off: c.Go.NoHandoff, Window: c.Go.Window}
		if c.Go.PauseOnHandoff {
			config.Handoff.Pause = a.pauseFor(b)
		}
		config.View = c.Go.view()
	})
}

// view is what of a session is fed back to the model when it is opened.
func (g *goCommand) view() *transcript.Policy {
	view := engine.DefaultView()
	if !g.NoTrim {
		view.Trim = transcript.TrimPolicy{Enabled: true, KeepRecent: 20, MinChars: 2000, SpillDir: ".flower/spill"}
	}
	return &view
}

// begun: earlier runs of the starter left notes in the workspace, and this one keeps
// them.
func (c *cli) begun() bool {
	workspace, err := filepath.Abs(c.Workspace)
	notes, _ := os.ReadDir(filepath.Join(workbench.Home(workspace, c.Go.Isolate), "notes"))
	return err == nil && len(notes) > 0 && !c.Go.New
}

// maxAsk bounds an ask from standard input, in bytes.
const maxAsk = 1 << 20

// readAsk is what was typed behind the command, else what is piped in, else what a
// person types at a prompt. In a workspace with a brief it may be empty.
func (a *app) readAsk(ctx context.Context, c *cli) (string, error) {
	if len(c.Go.Ask) > 0 {
		return strings.Join(c.Go.Ask, " "), nil
	}
	if a.interactive() {
		question := "What is to be made?"
		if c.begun() {
			question += " (Enter alone goes on with what is there)"
		}
		_ = a.openConsole(c).say("", question) // see guarded
		return a.readLine(ctx)
	}
	raw, err := io.ReadAll(io.LimitReader(a.in, maxAsk+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(raw) > maxAsk {
		return "", wrongUse("standard input has more than %d bytes; an ask is a text, put data into a file", maxAsk)
	}
	a.drained = true
	return strings.TrimSpace(string(raw)), nil
}
