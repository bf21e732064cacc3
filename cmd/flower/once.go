package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// onceCommand is one agent, one step.
type onceCommand struct {
	Prompt       []string `arg:"" help:"What the agent is asked."`
	Instructions string   `short:"i" help:"Who the agent is and how it works."`
	Tools        []string `short:"t" placeholder:"TOOL,…" help:"What it may call (Read,Glob,Grep)."`
	Permission   string   `short:"p" enum:"default,acceptEdits,plan,bypassPermissions" default:"default" help:"Permission mode: default, acceptEdits, plan or bypassPermissions."`
	Budget       float64  `short:"b" placeholder:"USD" help:"The most it may cost."`
	Resume       string   `placeholder:"SESSION" help:"Continue a session."`
	Fork         bool     `help:"Continue it in a copy."`
}

func (a *app) runOnce(ctx context.Context, c *cli) (err error) {
	o := c.Once
	switch {
	case o.Budget < 0:
		return wrongUse("--budget is %v; it must not be negative", o.Budget)
	case o.Fork && o.Resume == "":
		return wrongUse("--fork needs --resume: there is no session to copy")
	}
	b, err := a.open(c, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if o.Resume != "" {
		folder := (&runFolder{workspace: b.rt.Workspace(), dir: b.rt.RunDir(), db: b.db}).read()
		s, err := folder.find(ctx, o.Resume)
		if err != nil {
			return err
		}
		o.Resume = s.id()
	}
	spec := engine.Spec{Name: "once", Instructions: o.Instructions, AllowedTools: o.Tools,
		PermissionMode: harness.PermissionMode(o.Permission), MaxBudgetUSD: o.Budget}
	r, err := b.rt.Run(ctx, spec, strings.Join(o.Prompt, " "), engine.RunOptions{Resume: o.Resume, Fork: o.Fork})
	b.rt.Close()
	if err != nil {
		return err
	}
	ending := engine.Ending{Run: r.Run, OK: r.OK, FailedAt: r.Step, Reason: r.Error, Interrupted: ctx.Err() != nil, Results: []engine.Result{r}, CostUSD: r.CostUSD}
	err = b.sinks.screen.closing(ctx, b.rt, ending, b.src.note, time.Since(b.start))
	fmt.Fprintf(a.out, "session %s\n", r.SessionID)
	return err
}
