package main

// What is named on the command line and is not there, or is of another kind, is
// wrong usage (2). What is there and has an error in it is not (1).

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flowerlua/flower/internal/spell"
)

// harmless are the global flags that a person may have in an alias: where they mean
// nothing they are passed over.
var harmless = []string{"help", "workspace", "run-dir", "verbose", "lang"}

// checkUse reports global flags that would do nothing for the command.
func checkUse(command string, parsed *kong.Context) error {
	for _, step := range parsed.Path {
		f := step.Flag
		if f == nil || !slices.Contains(parsed.Model.Flags, f) || slices.Contains(harmless, f.Name) || means(command, f.Name) {
			continue
		}
		return wrongUse("--%s does nothing for flower %s (see flower %s --help)", f.Name, command, command)
	}
	return nil
}

// checkGiven looks at the files and folders that flags before the first word name.
func (c *cli) checkGiven() error {
	if c.Fresh && c.From != "" {
		return wrongUse("--fresh and --from exclude each other: fresh runs every step, from begins at one")
	}
	if err := c.checkPlayback(); err != nil {
		return err
	}
	if c.ComputeLimit <= 0 {
		return wrongUse("--compute-limit is %v; it must be more than nothing", c.ComputeLimit)
	}
	if c.RunDir != "" {
		if info, err := os.Stat(c.RunDir); err == nil && !info.IsDir() {
			return wrongUse("run directory %s is not a folder (-r)", c.RunDir)
		}
	}
	if c.Rehearse != "" {
		if err := checkInput("--rehearse", c.Rehearse, ".lua"); err != nil {
			return err
		}
	}
	if c.Events != "" && c.Events != "-" {
		return checkOutput("--events", c.Events)
	}
	return nil
}

// checkInput reports a file to be read that is not there, with the near match among
// those beside it that have the suffix, and a folder.
func checkInput(what, path, suffix string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return wrongUse("%s: there is no file %s%s", what, path, spell.Hint(path, filesBeside(path, suffix)))
	case err == nil && info.IsDir():
		return wrongUse("%s: %s is a folder, not a file", what, path)
	}
	return nil // what else may be wrong is said when it is read
}

// checkOutput reports a file to be written that is a folder, or is in none.
func checkOutput(what, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return wrongUse("%s: %s is a folder: name a file in it", what, path)
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if os.IsNotExist(err) || err == nil && !info.IsDir() {
		return wrongUse("%s: there is no folder %s", what, dir)
	}
	return nil
}

// filesBeside are the files in the folder of path, as they would be typed.
func filesBeside(path, suffix string) []string {
	dir := filepath.Dir(path)
	var names []string
	entries, _ := os.ReadDir(dir) // without a list there is no near match
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

// checkWorkspace reports a workspace that is not there to a command that makes none.
func checkWorkspace(path string) error {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return wrongUse("there is no workspace %s%s (-w)", shownPath(path), spell.Hint(filepath.Base(path), foldersBeside(path)))
	}
	return nil
}

// existing are the places for a command that only looks: what was named must be
// there. That nothing has run in the usual place yet is no wrong usage.
func (c *cli) existing() (workspace, runDir string, err error) {
	if workspace, runDir, err = c.places(); err != nil {
		return "", "", err
	}
	if err := checkWorkspace(workspace); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(runDir); c.RunDir != "" && os.IsNotExist(err) {
		return "", "", wrongUse("there is no run directory %s%s (-r)", shownPath(runDir), spell.Hint(filepath.Base(runDir), foldersBeside(runDir)))
	}
	return workspace, runDir, nil
}

// makeWorkspace makes a workspace that is not there, and says so: unless it nearly is
// one that is, for then it was mistyped and the agents would work in nothing.
func (a *app) makeWorkspace(c *cli, path string) error {
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return nil
	}
	if match, ok := mistyped(filepath.Base(path), foldersBeside(path)); ok {
		return wrongUse("there is no workspace %s — did you mean %q? To work in a new one: mkdir -p %s", shownPath(path), match, shellWord(c.Workspace))
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("workspace %s: %w (-w names another)", shownPath(path), errors.Unwrap(err))
	}
	text := "made the workspace " + shownPath(path)
	if a.console != nil {
		return a.console.say("", text)
	}
	a.complain(text)
	return nil
}

// mistyped is the name that was meant, perhaps. Short names, and those that differ in
// their numbers alone (try1, try2), are near each other on purpose.
func mistyped(name string, there []string) (match string, ok bool) {
	letters := func(text string) string { return strings.Map(notDigit, text) }
	there = slices.DeleteFunc(there, func(n string) bool { return letters(n) == letters(name) })
	if len([]rune(letters(name))) < 4 {
		return "", false
	}
	return spell.Near(name, there)
}

func notDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// foldersBeside are the names of the folders in the folder of path.
func foldersBeside(path string) []string {
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path)) // without a list there is no near match
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
