package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

// onceCommand is one agent, one step.
type onceCommand struct {
	Prompt       []string `arg:"" help:"What the agent is asked."`
	Instructions string   `short:"i" placeholder:"TEXT" help:"Who the agent is and how it works."`
	Tools        []string `short:"t" placeholder:"TOOL" help:"What it may call, parted by commas (Read,Glob,Grep)."`
	Permission   string   `short:"p" placeholder:"MODE" enum:"default,acceptEdits,plan,bypassPermissions" default:"default" help:"Permission mode: default, acceptEdits, plan or bypassPermissions."`
	Budget       *float64 `short:"b" placeholder:"USD" help:"The most it may cost; no limit by default."`
	Resume       string   `placeholder:"SESSION" help:"Continue a session."`
	Fork         bool     `help:"Continue it in a copy."`
}

// maxBudget bounds what a person can mean, in dollars.
const maxBudget = 1e6

func (o *onceCommand) check() error {
	switch {
	case strings.TrimSpace(strings.Join(o.Prompt, "")) == "":
		return wrongUse("the prompt is empty: say what the agent is to do")
	case o.Budget != nil && !(*o.Budget > 0 && *o.Budget <= maxBudget):
		return wrongUse("--budget is %v; it is an amount in dollars, more than 0 and at most %.0f", *o.Budget, maxBudget)
	case o.Fork && o.Resume == "":
		return wrongUse("--fork needs --resume: there is no session to copy")
	}
	return nil
}

// runOnce runs one agent. What cannot be carried out as it was typed, a tool that is
// none, is wrong usage; nothing ran then.
func (a *app) runOnce(ctx context.Context, c *cli) (err error) {
	o := c.Once
	if err := o.check(); err != nil {
		return err
	}
	var refused *refusals
	b, err := a.open(c, "once", func(b *bed, config *engine.Config) {
		refused = &refusals{Harness: config.Harness}
		config.Harness = refused
		b.sinks.hide = func(e event.Event) bool { return e.Kind == event.Error && refused.err.Load() != nil }
	})
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
	spec := engine.Spec{Name: "once", Instructions: o.Instructions, AllowedTools: o.Tools, PermissionMode: harness.PermissionMode(o.Permission)}
	if o.Budget != nil {
		spec.MaxBudgetUSD = *o.Budget
	}
	r, err := b.rt.Run(ctx, spec, strings.Join(o.Prompt, " "), engine.RunOptions{Resume: o.Resume, Fork: o.Fork})
	b.settle()
	if err != nil {
		a.end.fill(b.rt, engine.Ending{}, time.Since(b.start))
		return err
	}
	if order := refused.err.Load(); order != nil {
		b.sinks.screen.stop()
		return o.explain(order)
	}
	ending := engine.Ending{Run: r.Run, OK: r.OK, FailedAt: r.Step, Reason: r.Error, Interrupted: ctx.Err() != nil, Results: []engine.Result{r}, CostUSD: r.CostUSD}
	a.end.fill(b.rt, ending, time.Since(b.start))
	err = b.ended(ctx, r.OK, b.sinks.screen.closing(ctx, b.rt, ending, b.src.note, time.Since(b.start)))
	if r.SessionID != "" && !c.JSON {
		b.sinks.screen.last("session " + r.SessionID)
	}
	return err
}

// explain names the flag where the order is about what was typed.
func (o *onceCommand) explain(order *harness.OrderError) error {
	if _, about, typed := strings.Cut(order.Error(), "allowed_tools "); typed && len(o.Tools) > 0 {
		return wrongUse("--tools %s", about)
	}
	return order
}

// refusals is a harness that remembers the order it did not take.
type refusals struct {
	harness.Harness
	err atomic.Pointer[harness.OrderError]
}

// Run is the harness's own.
func (h *refusals) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	out, err := h.Harness.Run(ctx, t)
	var order *harness.OrderError
	if errors.As(err, &order) {
		h.err.Store(order)
	}
	return out, err
}

// Window is the harness's own; 0 where it does not know.
func (h *refusals) Window(ctx context.Context, model string) int64 {
	if w, ok := h.Harness.(harness.Windower); ok {
		return w.Window(ctx, model)
	}
	return 0
}
