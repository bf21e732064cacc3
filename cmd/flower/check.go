package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// checkCommand looks at scripts without running them.
type checkCommand struct {
	Scripts []string `arg:"" name:"script.lua" help:"The scripts, and rehearsals."`
}

// checkedScripts is what check --json prints.
type checkedScripts struct {
	Scripts  []checkedScript `json:"scripts"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
}

type checkedScript struct {
	File     string    `json:"file"`
	Kind     string    `json:"kind"`     // script or rehearsal
	Findings []finding `json:"findings"` // by file and line
	// Unchecked says what could not be looked at.
	Unchecked []string `json:"unchecked"`
}

// finding is one mistake or warning; 0 stands for a line or column that is not known.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Level   string `json:"level"` // error or warning
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// check prints everything that cannot work in the scripts, a line for each finding.
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
	rt, done, err := idleRuntime(engine.Config{Workspace: workspace, Lang: c.Lang, Harness: c.idle()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	all := checkedScripts{Scripts: []checkedScript{}}
	for _, script := range c.Check.Scripts {
		report, err := luabind.CheckFile(ctx, rt, script, c.luaOptions(nil))
		if err != nil {
			return err
		}
		all.add(script, report)
	}
	if err := a.printChecked(all, c.JSON); err != nil {
		return err
	}
	if all.Errors > 0 {
		return fmt.Errorf("found %s", all.counts())
	}
	return nil
}

func (all *checkedScripts) add(script string, r luabind.Report) {
	s := checkedScript{File: script, Kind: "script", Findings: []finding{}, Unchecked: r.Unchecked}
	if r.Rehearsal {
		s.Kind = "rehearsal"
	}
	if s.Unchecked == nil {
		s.Unchecked = []string{}
	}
	for _, m := range r.Mistakes {
		s.Findings = append(s.Findings, finding{m.File, m.Line, m.Column, "error", m.Path, m.Text})
	}
	for _, m := range r.Warnings {
		s.Findings = append(s.Findings, finding{m.File, m.Line, m.Column, "warning", m.Path, m.Text})
	}
	slices.SortStableFunc(s.Findings, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	all.Scripts = append(all.Scripts, s)
	all.Errors += len(r.Mistakes)
	all.Warnings += len(r.Warnings)
}

func (all checkedScripts) counts() string {
	if all.Warnings == 0 {
		return counted(all.Errors, "error")
	}
	return counted(all.Errors, "error") + " and " + counted(all.Warnings, "warning")
}

func (a *app) printChecked(all checkedScripts, asJSON bool) error {
	if asJSON {
		return writeJSON(a, all)
	}
	for _, s := range all.Scripts {
		for _, f := range s.Findings {
			fmt.Fprintln(a, clean(f.String()))
		}
		for _, text := range s.Unchecked {
			fmt.Fprintln(a, clean("not checked further: "+text))
		}
		fmt.Fprint(a, clean(s.verdict()))
	}
	return nil
}

// String is file:line:column: message.
func (f finding) String() string {
	m := luabind.Mistake{File: f.File, Line: f.Line, Column: f.Column, Path: f.Field, Text: f.Message}
	if f.Level == "warning" {
		m.Text, m.Path = "warning: "+m.Text, ""
	}
	return m.String()
}

// verdict is the line that closes what was said of a script without errors.
func (s checkedScript) verdict() string {
	if slices.ContainsFunc(s.Findings, func(f finding) bool { return f.Level == "error" }) {
		return ""
	}
	text := s.File + ": "
	if s.Kind == "rehearsal" {
		text += "rehearsal, "
	}
	text += "ok"
	if n := len(s.Findings); n > 0 {
		text += ", " + counted(n, "warning")
	}
	return text + "\n"
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
		return nil, nil, fmt.Errorf("a folder for what is thrown away cannot be made: %w (TMPDIR names another place)", err)
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

// idle is a harness for commands that run no agents. It knows what the one could
// not do that would run them.
type idle struct{ harness.Checker }

func (c *cli) idle() idle {
	if c.Harness == "claude" {
		return idle{claudecode.New(claudecode.Config{})}
	}
	return idle{native.New(native.Config{})}
}

// Compacts reports whether the one would.
func (i idle) Compacts() bool {
	c, ok := i.Checker.(harness.Compactor)
	return ok && c.Compacts()
}

// Name is idle.
func (idle) Name() string { return "idle" }

// Run refuses.
func (idle) Run(context.Context, harness.Turn) (harness.Outcome, error) {
	return harness.Outcome{}, errors.New("this command runs no agents")
}

// Prices knows that nothing costs nothing.
func (idle) Prices(context.Context, string) bool { return true }
