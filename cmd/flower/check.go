package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// checkCommand looks at scripts without running them.
type checkCommand struct {
	Scripts []string `arg:"" name:"script.lua" help:"The scripts."`
}

// check prints everything that cannot work in the scripts, a line for each mistake.
func (a *app) check(ctx context.Context, c *cli) (err error) {
	workspace, _, err := c.places()
	if err != nil {
		return err
	}
	if err := checkWorkspace(workspace); err != nil {
		return err
	}
	for _, script := range c.Check.Scripts {
		if err := checkScript(script); err != nil {
			return err
		}
	}
	rt, done, err := idleRuntime(engine.Config{Workspace: workspace, Lang: c.Lang, Harness: idle{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	mistakes := 0
	for _, script := range c.Check.Scripts {
		report, err := luabind.CheckFile(ctx, rt, script, c.luaOptions(nil))
		if err != nil {
			return err
		}
		mistakes += len(report.Mistakes)
		a.printReport(script, report)
	}
	if mistakes > 0 {
		return fmt.Errorf("found %s", counted(mistakes, "mistake"))
	}
	return nil
}

func (a *app) printReport(script string, r luabind.Report) {
	for _, m := range r.Mistakes {
		fmt.Fprintln(a.out, clean(m.String()))
	}
	for _, text := range r.Unchecked {
		fmt.Fprintf(a.out, "%s\n", clean("not checked further: "+text))
	}
	if len(r.Mistakes) == 0 {
		fmt.Fprintf(a.out, "%s: ok\n", clean(script))
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// idleRuntime makes a Runtime whose accounts are thrown away, so that looking at a
// script leaves nothing in the workspace.
func idleRuntime(config engine.Config) (rt *engine.Runtime, done func() error, err error) {
	dir, err := os.MkdirTemp("", "flower-idle-")
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	config.RunDir, config.Store, config.NoRetry = dir, db, true
	if rt, err = engine.New(config); err != nil {
		return nil, nil, errors.Join(err, db.Close(), os.RemoveAll(dir))
	}
	return rt, func() error {
		rt.Close()
		return errors.Join(db.Close(), os.RemoveAll(dir))
	}, nil
}

// idle is a harness for commands that run no agents.
type idle struct{}

// Name is idle.
func (idle) Name() string { return "idle" }

// Run refuses.
func (idle) Run(context.Context, harness.Turn) (harness.Outcome, error) {
	return harness.Outcome{}, errors.New("this command runs no agents")
}

// Prices knows that nothing costs nothing.
func (idle) Prices(context.Context, string) bool { return true }
