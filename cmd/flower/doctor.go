package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/flowerlua/flower/engine/shell"
	"github.com/flowerlua/flower/settings"
	"github.com/flowerlua/flower/store"
)

type doctorCommand struct {
	Topic []string `arg:"" optional:"" help:"command LINE: may the line be run at a glance, and why (not)."`
}

// doctor shows every setting with its origin, and what would stop a run.
func (a *app) doctor(ctx context.Context, c *cli) error {
	if len(c.Doctor.Topic) > 0 {
		return a.doctorCommand(c.Doctor.Topic)
	}
	workspace, runDir, err := c.places()
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, versionText())
	problems := a.doctorSettings(workspace)
	fmt.Fprintf(a.out, "\nplaces\n  workspace      %s\n  run directory  %s\n", workspace, runDir)
	problems += a.doctorStore(ctx, runDir)
	fmt.Fprintln(a.out, "\nprograms")
	for name, need := range map[string]string{"git": "workers in worktrees need it", "rg": "searches are slower without it"} {
		if path, err := exec.LookPath(name); err == nil {
			fmt.Fprintf(a.out, "  %-4s %s\n", name, path)
		} else {
			fmt.Fprintf(a.out, "  %-4s not found (%s)\n", name, need)
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d thing(s) would stop a run", problems)
	}
	fmt.Fprintln(a.out, "\nnothing is wrong")
	return nil
}

func (a *app) doctorSettings(workspace string) (problems int) {
	fmt.Fprintln(a.out, "\nsettings")
	s, err := settings.Load(settings.Options{Workspace: workspace})
	if err != nil {
		fmt.Fprintf(a.out, "  ! %v\n", err)
		return 1
	}
	for _, key := range settings.Keys {
		v := s.Lookup(key)
		if v.Text == "" {
			fmt.Fprintf(a.out, "  %-30s not set\n", key)
			continue
		}
		fmt.Fprintf(a.out, "  %-30s %s  from %s\n", key, clean(v.Shown()), v.Origin)
	}
	for _, src := range s.Sources() {
		if src.Problem != nil {
			fmt.Fprintf(a.out, "  ! %v\n", src.Problem)
		}
	}
	credential, err := s.Credential()
	if err != nil {
		fmt.Fprintf(a.out, "  ! %v\n", err)
		return 1
	}
	if credential.Ignored != "" {
		fmt.Fprintf(a.out, "  * %s of %s is not used: the key comes from %s\n", settings.BaseURL, credential.Ignored, credential.Origin)
	}
	return 0
}

// doctorStore opens the store of an existing run directory, and makes nothing.
func (a *app) doctorStore(ctx context.Context, runDir string) (problems int) {
	dir := runDir + "/sessions"
	if _, err := os.Stat(dir); err != nil {
		fmt.Fprintln(a.out, "  store          not made yet")
		return 0
	}
	db, err := store.Open(dir, nil)
	if err != nil {
		fmt.Fprintf(a.out, "  store          ! %v\n", err)
		return 1
	}
	defer db.Close()
	if err := db.Sync(ctx); err != nil {
		fmt.Fprintf(a.out, "  store          ! %v\n", err)
		return 1
	}
	fmt.Fprintf(a.out, "  store          %s opens\n", dir)
	return 0
}

// doctorCommand explains whether a command line is ephemeral.
func (a *app) doctorCommand(topic []string) error {
	if topic[0] != "command" || len(topic) != 2 {
		return wrongUse(`flower doctor takes nothing, or: command "LINE"`)
	}
	fmt.Fprintln(a.out, strings.TrimSpace(clean(shell.Explain(topic[1]).String())))
	return nil
}
