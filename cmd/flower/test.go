package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/shell"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// testCommand runs tests of scripts.
type testCommand struct {
	Paths   []string      `arg:"" optional:"" name:"test.lua" help:"Test files, or folders with files whose names end in .test.lua (the workspace)."`
	Filter  string        `placeholder:"TEXT" help:"Run the tests alone whose names hold the text."`
	Timeout time.Duration `placeholder:"TIME" default:"60s" help:"How long one test may take (60s)."`
	Watch   bool          `help:"Run again when a file changes that the tests read."`
}

// tests runs test files and shows how it went.
type tests struct {
	a     *app
	c     *cli
	db    *store.Store
	page  *page
	begun time.Time

	files   []string
	file    string   // that the last line was of
	open    []string // the groups it was in
	failed  []luabind.Tested
	counts  map[luabind.TestState]int
	reading *readings
}

// test runs the tests once, or again and again until somebody stops it, which is then
// no failure.
func (a *app) test(ctx context.Context, c *cli) (err error) {
	if c.Test.Timeout <= 0 {
		return wrongUse("--timeout is %v; it must be more than nothing", c.Test.Timeout)
	}
	if err := checkWorkspace(c.Workspace); err != nil {
		return err
	}
	if err := checkTestPaths(c.Test.Paths); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flower-tests-*")
	if err != nil {
		return fmt.Errorf("a folder for what the tests' agents say: %w (TMPDIR names another place)", err)
	}
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(dir)) }()
	defer keepPipes()() // the folder is removed also when nobody reads on
	if c.Test.Watch {
		return a.testWatch(ctx, c, db)
	}
	_, err = a.testOnce(ctx, c, db)
	return err
}

// testOnce runs all test files; the error counts what failed.
func (a *app) testOnce(ctx context.Context, c *cli, db *store.Store) (*readings, error) {
	t := &tests{a: a, c: c, db: db, page: newPage(a.out), begun: time.Now(), counts: map[luabind.TestState]int{}, reading: newReadings()}
	t.page.Writer = bufio.NewWriter(guarded{a.out, a.signals})
	var err error
	if t.files, err = findTests(c); err != nil {
		return t.reading, err
	}
	for _, file := range t.files {
		t.reading.note(file)
		if err := t.run(ctx, file); err != nil {
			if errors.Is(context.Cause(ctx), errInterrupted) {
				err = errLeft
			}
			return t.reading, errors.Join(err, t.page.Flush())
		}
	}
	return t.reading, t.end()
}

func (t *tests) run(ctx context.Context, file string) error {
	t.open = nil
	_, err := luabind.Test(ctx, file, luabind.TestOptions{
		Options: *t.c.luaOptions(nil),
		// What fails is repeated as in a run, without the time it takes there.
		Config: engine.Config{Store: t.db, Lang: t.c.Lang, Resilience: &failure.Policy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}},
		Harness: func(m model.Model, runDir string) harness.Harness {
			return native.New(native.Config{Model: m, Ephemeral: shell.Ephemeral, OutputDir: filepath.Join(runDir, "output"), RetryDelay: time.Millisecond})
		},
		Wanted:  func(name string) bool { return strings.Contains(name, t.c.Test.Filter) },
		Timeout: t.c.Test.Timeout,
		OnTest:  t.show,
		OnRead:  t.reading.note,
	})
	return errors.Join(err, t.page.Flush())
}

// show prints a test at its end.
func (t *tests) show(r luabind.Tested) {
	t.counts[r.State]++
	if r.State == luabind.TestFailed {
		t.failed = append(t.failed, r)
	}
	if t.c.JSON {
		t.showJSON(r)
	} else {
		t.line(r)
	}
	_ = t.page.Flush() // the last Flush reports what is wrong with the output
}

// testMarks are the words for how a test ended, with their colours.
var testMarks = map[luabind.TestState]struct{ word, colour string }{
	luabind.TestPassed:  {"ok  ", "\x1b[32m"},
	luabind.TestFailed:  {"FAIL", "\x1b[31m"},
	luabind.TestSkipped: {"skip", "\x1b[33m"},
}

func (t *tests) mark(s luabind.TestState) string {
	m := testMarks[s]
	if t.page.colour {
		return m.colour + m.word + "\x1b[0m"
	}
	return m.word
}

// slow is from when on the time of a test is shown.
const slow = 100 * time.Millisecond

// line is one line a test, below the groups it is in.
func (t *tests) line(r luabind.Tested) {
	name, groups := "the file cannot be run", []string(nil)
	if n := len(r.Names); n > 0 {
		name, groups = r.Names[n-1], r.Names[:n-1]
	}
	if r.File != t.file {
		t.file = r.File
		fmt.Fprintln(t.page, oneLine(r.File))
	}
	shared := 0
	for shared < min(len(groups), len(t.open)) && groups[shared] == t.open[shared] {
		shared++
	}
	for i := shared; i < len(groups); i++ {
		fmt.Fprintf(t.page, "%s%s\n", indentOf(i+1), oneLine(groups[i]))
	}
	t.open = groups
	if r.Duration >= slow {
		name += " (" + elapsed(r.Duration) + ")"
	}
	indent := indentOf(len(groups) + 1)
	fmt.Fprintf(t.page, "%s%s  %s\n", indent, t.mark(r.State), oneLine(name))
	if t.c.Verbose && r.State == luabind.TestPassed {
		t.printed(indent+"      ", r)
	}
}

func indentOf(depth int) string { return strings.Repeat("  ", depth) }

func (t *tests) printed(indent string, r luabind.Tested) {
	if len(r.Printed) > 0 {
		t.block(indent+"| ", strings.Join(r.Printed, "\n"))
	}
}

// block prints a text, each line behind the indent.
func (t *tests) block(indent, text string) {
	if text == "" {
		return
	}
	for _, line := range t.bounded(strings.Split(strings.TrimRight(clean(text), "\n"), "\n")) {
		fmt.Fprintln(t.page, strings.TrimRight(indent+line, " "))
	}
}

// end prints what failed, and counts.
func (t *tests) end() error {
	ran := t.counts[luabind.TestPassed] + t.counts[luabind.TestFailed] + t.counts[luabind.TestSkipped]
	if ran == 0 {
		return errors.Join(t.page.Flush(), wrongUse("no test's name holds %q (--filter)", t.c.Test.Filter))
	}
	if !t.c.JSON {
		for _, r := range t.failed {
			t.failure(r)
		}
		fmt.Fprintf(t.page, "\n%s in %s\n", t.sum(), elapsed(time.Since(t.begun)))
	}
	if err := t.page.Flush(); err != nil {
		return err
	}
	if n := len(t.failed); n > 0 {
		return fmt.Errorf("%s failed", counted(n, "test"))
	}
	return nil
}

// sum is 3 passed, 1 failed, 1 skipped.
func (t *tests) sum() string {
	text := fmt.Sprintf("%d passed", t.counts[luabind.TestPassed])
	for _, s := range []luabind.TestState{luabind.TestFailed, luabind.TestSkipped} {
		if n := t.counts[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return text
}

// testJSON is a line of --json.
type testJSON struct {
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Names     []string          `json:"names"`
	State     luabind.TestState `json:"state"`
	DurationS float64           `json:"duration_s"`
	Printed   []string          `json:"printed"`
	Failure   *testFailureJSON  `json:"failure,omitempty"`
}

type testFailureJSON struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Message  string `json:"message"`
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	Caller   int    `json:"caller,omitempty"`
}

func (t *tests) showJSON(r luabind.Tested) {
	out := testJSON{File: r.File, Line: r.Line, Names: append([]string{}, r.Names...), State: r.State,
		DurationS: r.Duration.Seconds(), Printed: append([]string{}, r.Printed...)}
	if f := r.Failure; f != nil {
		out.Failure = &testFailureJSON{f.File, f.Line, f.Message, f.Want, f.Got, f.Caller}
	}
	enc := json.NewEncoder(t.page)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(out) // into a buffer, whose Flush reports it
}
