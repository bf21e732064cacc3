package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/internal/spell"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// checkTestPaths reports a path that is not there. Words that are none may be an ask:
// test is an ordinary one.
func checkTestPaths(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			continue // what else may be wrong is said when it is read
		}
		hint := spell.Hint(path, filesBeside(path, ".lua"))
		if hint == "" && !strings.ContainsAny(path, "./") {
			hint = "; to have that made: flower go " + quote("test "+strings.Join(paths, " "))
		}
		return wrongUse("there is no test file and no folder %s%s", path, hint)
	}
	return nil
}

// maxTestEntries bounds how many files and folders are looked through.
const maxTestEntries = 200_000

// findTests are the test files that are named, and those in the folders that are;
// where nothing is named, those of the workspace.
func findTests(c *cli) (files []string, err error) {
	paths := c.Test.Paths
	if len(paths) == 0 {
		paths = []string{c.Workspace}
	}
	f := &testFinder{}
	if _, runDir, err := c.places(); err == nil {
		f.runDir = runDir
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, wrongUse("%v", err)
		}
		if !info.IsDir() {
			f.add(filepath.Clean(path))
			continue
		}
		if err := f.walk(filepath.Clean(path)); err != nil {
			return nil, err
		}
	}
	if len(f.files) == 0 {
		return nil, wrongUse("there is no test in %s: tests are in files whose names end in %s, such as fix%s (flower init makes one)",
			strings.Join(paths, ", "), luabind.TestSuffix, luabind.TestSuffix)
	}
	return f.files, nil
}

type testFinder struct {
	runDir string
	files  []string
	seen   int
}

func (f *testFinder) add(path string) {
	if !slices.Contains(f.files, path) {
		f.files = append(f.files, path)
	}
}

func (f *testFinder) walk(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if f.seen++; f.seen > maxTestEntries {
			return wrongUse("there are more than %d files in %s: name the test files, or their folders", maxTestEntries, root)
		}
		switch {
		case err != nil:
			return nil // a folder that cannot be read holds no tests for us
		case d.IsDir() && path != root && f.skips(path, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(d.Name(), luabind.TestSuffix):
			f.add(path)
		}
		return nil
	})
}

// skips: what lies in the folder is not the author's.
func (f *testFinder) skips(path, name string) bool {
	if strings.HasPrefix(name, ".") || name == "node_modules" {
		return true
	}
	full, err := filepath.Abs(path)
	return err == nil && full == f.runDir
}

// readings are the files that tests have read, as they were then.
type readings struct {
	mu    sync.Mutex
	state map[string]string
}

func newReadings() *readings { return &readings{state: map[string]string{}} }

// note keeps the state of a file the first time it is read.
func (r *readings) note(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.state[path]; !known && len(r.state) < maxWatched {
		r.state[path] = fileState(path)
	}
}

// changed reports whether one of the files is another one now.
func (r *readings) changed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, before := range r.state {
		if fileState(path) != before {
			return true
		}
	}
	return false
}

// fileState is "" for a file that is not there.
func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
}

// testWatch runs the tests again whenever a file changes that they read, or there is
// another test file.
func (a *app) testWatch(ctx context.Context, c *cli, db *store.Store) error {
	for first := true; ; first = false {
		read, err := a.testOnce(ctx, c, db)
		if ctx.Err() != nil {
			return a.watchEnd(ctx)
		}
		var usage *usageError
		if first && errors.As(err, &usage) {
			return err
		}
		if err != nil {
			a.report(err)
		}
		said := a.out
		if c.JSON {
			said = a.err
		}
		fmt.Fprintln(said, "-- waiting for a change (Ctrl-C ends)")
		if err := waitForTests(ctx, c, read); err != nil {
			return a.watchEnd(ctx)
		}
		fmt.Fprintln(said)
	}
}

// watchEnd: that somebody ends it is no failure.
func (a *app) watchEnd(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errInterrupted) {
		return cause
	}
	return nil
}

// findEvery is after how many looks at the files it is looked for new ones.
const findEvery = 10

func waitForTests(ctx context.Context, c *cli, read *readings) error {
	files, _ := findTests(c) // none is a state too
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if read.changed() {
			return nil
		}
		if n%findEvery == 0 {
			if now, _ := findTests(c); !slices.Equal(now, files) {
				return nil
			}
		}
	}
}
