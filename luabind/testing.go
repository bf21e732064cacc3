package luabind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// How a test file is run: it is executed once to see which tests it holds, and again
// in a state, a workspace and a run directory of its own for every test but the
// first. So nothing leaks from one test to the next, and what stands outside of the
// tests needs no hook.

// defaultTestTime is TestOptions.Timeout where it is 0.
const defaultTestTime = time.Minute

// maxTests bounds the tests of one file.
const maxTests = 10_000

// testFile is one file that is tested.
type testFile struct {
	o       TestOptions
	path    string
	program *Program
	tested  []Tested
}

func runTests(ctx context.Context, path string, o TestOptions) ([]Tested, error) {
	if o.Harness == nil || o.Config.Store == nil {
		return nil, errors.New("luabind: TestOptions needs Harness and Config.Store")
	}
	f := &testFile{o: o, path: path}
	f.read(path)
	begun := f.now()
	program, err := LoadFile(path, &o.Options)
	if err != nil {
		f.end(Tested{File: path, State: TestFailed, Failure: f.failure(err), Duration: f.now().Sub(begun)})
		return f.tested, nil
	}
	f.program = program
	b, err := f.open()
	if err != nil {
		return nil, err
	}
	err = b.execute(ctx)
	if err == nil && len(b.suite.cases) == 0 {
		err = &Error{File: path, Code: CodeMisuse, Message: `holds no tests; a test is it("what it shows", function() … end)`}
	}
	if err != nil {
		t := Tested{File: path, State: TestFailed, Failure: f.failure(err), Duration: f.now().Sub(begun)}
		if err := b.end(&t); err != nil {
			return f.tested, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.end(t)
		return f.tested, nil
	}
	return f.tested, f.all(ctx, b)
}

// all runs the tests that are wanted; first has executed the file and is used up by
// the first of them.
func (f *testFile) all(ctx context.Context, first *bed) (err error) {
	cases := first.suite.cases
	defer func() {
		if first != nil {
			err = errors.Join(err, first.close())
		}
	}()
	for i, c := range cases {
		t := Tested{File: f.path, Line: c.line, Names: c.names(), State: TestPassed}
		if f.o.Wanted != nil && !f.o.Wanted(t.Name()) {
			continue
		}
		if c.fn == nil {
			t.State = TestSkipped
			f.end(t)
			continue
		}
		b := first
		if first = nil; b == nil {
			if b, err = f.open(); err != nil {
				return err
			}
		}
		if err := f.one(ctx, b, i, &t); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f.end(t)
	}
	return nil
}

// one runs test i in a bed and closes that.
func (f *testFile) one(ctx context.Context, b *bed, i int, t *Tested) error {
	begun := f.now()
	err := b.test(ctx, i, t.Names)
	if err == nil {
		err = b.untold()
	}
	if noted := b.noted(); noted != nil {
		err = noted // it came first, whatever the script made of it
	}
	if err != nil {
		t.State, t.Failure = TestFailed, f.failure(err)
	}
	t.Duration = f.now().Sub(begun)
	return b.end(t)
}

func (f *testFile) end(t Tested) {
	f.tested = append(f.tested, t)
	if f.o.OnTest != nil {
		f.o.OnTest(t)
	}
}

func (f *testFile) read(path string) {
	if f.o.OnRead != nil {
		f.o.OnRead(path)
	}
}

func (f *testFile) now() time.Time {
	if f.o.Config.Now != nil {
		return f.o.Config.Now()
	}
	return time.Now()
}

// failure makes of an error what people are shown.
func (f *testFile) failure(err error) *TestFailure {
	e := asPlaced(err)
	out := &TestFailure{File: e.File, Line: e.Line, Message: e.Message, Trace: e.trace}
	var missed *unmet
	if errors.As(err, &missed) {
		out.Message, out.Want, out.Got = missed.text, missed.want, missed.got
	}
	if out.File != f.path {
		out.Caller = f.lineIn(out.Trace)
	}
	return out
}

// asPlaced makes one error of any, with a place where it has one.
func asPlaced(err error) *Error {
	var placed *Error
	var list *Mistakes
	switch {
	case errors.As(err, &placed):
		return placed
	case !errors.As(err, &list) || len(list.List) == 0:
		return &Error{Message: err.Error(), cause: err}
	}
	first := list.List[0]
	e := &Error{File: first.File, Line: first.Line, Code: CodeMisuse, Message: err.Error(), cause: err}
	if len(list.List) == 1 {
		e.Message = strings.TrimPrefix(first.Path+": "+first.Text, ": ")
	} else {
		e.Message = fmt.Sprintf("%d mistakes:\n%s", len(list.List), e.Message)
	}
	return e
}

// lineIn is the innermost line of the test file in a backtrace; 0 where it is not
// in it.
func (f *testFile) lineIn(trace string) int {
	for text := range strings.Lines(trace) {
		place, _, _ := strings.Cut(strings.TrimSpace(text), ": in ")
		if m := positioned.FindStringSubmatch(place + ": "); m != nil && m[1] == f.path {
			line := 0
			_, _ = fmt.Sscan(m[2], &line) // digits
			return line
		}
	}
	return 0
}

// bed is one state of a test file, with a workspace and a run directory of its own.
type bed struct {
	s      *state
	file   *testFile
	folder string // holds the two
	rt     *engine.Runtime
	suite  *suite
	stubs  stubs
	// stringMatch is the library's, whatever the test makes of string.
	stringMatch *lua.LFunction
	// running: a test is, so that no more are taken.
	running bool

	mu sync.Mutex
	// broken is the first thing that fails the test whatever the script makes of it:
	// a stub or a callback that does not work, an expectation that is not met.
	broken  error
	direct  int // calls of callbacks by the test itself, whose errors it can catch
	sent    []sentPrompt
	printed []string
}

func (f *testFile) open() (_ *bed, err error) {
	folder, err := os.MkdirTemp("", "flower-test-*")
	if err != nil {
		return nil, fmt.Errorf("a workspace for the test: %w", err)
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, fmt.Errorf("a workspace for the test: %w", err)
	}
	if err := makeRunDir(filepath.Join(folder, "runs"), filepath.Base(folder)); err != nil {
		return nil, errors.Join(err, removeAll(folder))
	}
	b := &bed{file: f, folder: folder, suite: &suite{expected: map[*lua.LUserData]*Error{}}}
	config := f.o.Config
	config.Workspace, config.RunDir = filepath.Join(folder, "work"), filepath.Join(folder, "runs")
	config.Realm, config.Sink = "test", event.SinkFunc(b.tell)
	config.Harness = &watched{bed: b, inner: f.o.Harness(&stubModel{b}, config.RunDir)}
	if b.rt, err = engine.New(config); err != nil {
		return nil, errors.Join(err, removeAll(folder))
	}
	if b.s, err = f.program.newState(b.rt); err != nil {
		b.rt.Close()
		return nil, errors.Join(err, removeAll(folder))
	}
	b.s.onRead, b.s.onBroken = f.read, b.callbackBroke
	b.openGlobals()
	return b, nil
}

// makeRunDir makes what a new run directory holds. The engine would write it to last,
// which takes longer than most tests.
func makeRunDir(dir, id string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("a run directory for the test: %w", err)
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "id"), []byte(id+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644))
}

// openTests gives a state that is to check a file of tests what such files have.
func (s *state) openTests() {
	f := &testFile{path: s.program.main.name, program: s.program}
	b := &bed{s: s, file: f, rt: s.rt, suite: &suite{expected: map[*lua.LUserData]*Error{}}}
	b.openGlobals()
}

// close ends the bed; its commands do not outlive it.
func (b *bed) close() error {
	b.s.close()
	b.rt.Close() // what was printed has been delivered
	return removeAll(b.folder)
}

// end closes the bed and takes what was printed in it.
func (b *bed) end(t *Tested) error {
	err := b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Printed = b.printed
	return err
}

// removeAll removes a folder, also one that holds folders nobody may write to.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // whether it helped is seen below
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// maxPrinted bounds what is kept of what one test prints, in texts.
const maxPrinted = 1000

// tell keeps what a person would see of a run.
func (b *bed) tell(e event.Event) {
	if e.Kind != event.Task || e.Text == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch n := len(b.printed); {
	case n < maxPrinted:
		b.printed = append(b.printed, e.Text)
	case n == maxPrinted:
		b.printed = append(b.printed, "... what was printed then is left out")
	}
}

// note keeps the first error that fails the test whatever the script makes of it.
func (b *bed) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = cmp.Or(b.broken, err)
}

func (b *bed) noted() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

// callbackBroke is told of every callback that did not work. One that aborts does
// work.
func (b *bed) callbackBroke(ctx context.Context, err error) {
	var abort *engine.AbortError
	if ctx.Err() != nil || errors.As(err, &abort) {
		return
	}
	b.mu.Lock()
	direct := b.direct > 0
	b.mu.Unlock()
	if !direct {
		b.note(err)
	}
}

// within is a context that ends when a test has taken too long.
func (b *bed) within(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(b.file.o.Timeout, defaultTestTime)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("the test took longer than %v and was stopped", limit))
}

// execute executes the file, and so collects its tests.
func (b *bed) execute(ctx context.Context) error {
	ctx, cancel := b.within(ctx)
	defer cancel()
	_, err := b.s.execute(ctx, nil)
	return cmp.Or(b.noted(), err)
}

// test runs test i with its hooks, and executes the file first where that is not
// done.
func (b *bed) test(ctx context.Context, i int, names []string) error {
	if len(b.suite.cases) == 0 {
		if err := b.execute(ctx); err != nil {
			return err
		}
	}
	if i >= len(b.suite.cases) || strings.Join(b.suite.cases[i].names(), "\n") != strings.Join(names, "\n") {
		return &Error{File: b.file.path, Code: CodeMisuse,
			Message: "the file has other tests when it is executed again: it is executed for each test, and must name the same ones each time"}
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	b.s.run, b.running = ctx, true
	c := b.suite.cases[i]
	err := b.before(ctx, c.group)
	if err == nil {
		_, err = b.s.call(ctx, c.fn, 0)
	}
	after, cancel := b.s.afterwards() // hooks tidy up also when the time is over
	defer cancel()
	return cmp.Or(err, b.after(after, c.group))
}

// before calls the hooks of a group, the outermost first.
func (b *bed) before(ctx context.Context, g *group) error {
	if g == nil {
		return nil
	}
	if err := b.before(ctx, g.outer); err != nil {
		return err
	}
	for _, fn := range g.before {
		if _, err := b.s.call(ctx, fn, 0); err != nil {
			return err
		}
	}
	return nil
}

// after calls all hooks in the opposite order and gives the first error.
func (b *bed) after(ctx context.Context, g *group) (first error) {
	for ; g != nil; g = g.outer {
		for i := len(g.after) - 1; i >= 0; i-- {
			_, err := b.s.call(ctx, g.after[i], 0)
			first = cmp.Or(first, err)
		}
	}
	return first
}
