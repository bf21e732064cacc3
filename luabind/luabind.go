// Package luabind lets a Lua script describe and run a workflow.
//
// A Program is a compiled script: immutable, shareable, run as often as wanted.
// Each run has a Lua state of its own, sandboxed: the script reaches files,
// commands and agents through the global flower alone. Callbacks of the script
// (prompts, gates, on_reject, …) are called on the goroutine of Program.Run, one
// at a time, whoever asks.
//
//	program, err := luabind.LoadFile("fix.lua", nil)
//	ending, err := program.Run(ctx, rt, os.Args[1:])
//
// A Rehearsal (rehearsal.go) is a script that plays the model. Test runs files of
// tests for scripts, without a model.
//
// Errors of a script are *Error (one place) or *Mistakes (all that is wrong with
// its tables, at once); both name file and line.
package luabind

import (
	"context"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// Options say what a script may do. The zero value is a sandboxed script with the
// default limits.
type Options struct {
	// Modules are Go functions that scripts get by require.
	Modules []Module
	// Fresh and From start the script's workflows, see engine.WorkflowOptions.
	Fresh bool
	From  string
	// Values are plain data that the script finds in flower.options.
	Values map[string]any
	// Trust adds Lua's io and the whole of os to the sandbox.
	Trust bool
	// ComputeLimit is how long Lua may compute between two calls into the engine;
	// 0 means 60 seconds. Waiting for commands and agents does not count.
	ComputeLimit time.Duration
	// MemoryLimit is how much memory, in bytes, may be added while Lua computes
	// between two calls into the engine; 0 means 512 MiB, negative: not watched. It
	// is a net, not a measure: the heap of the whole process is looked at, now and
	// then.
	MemoryLimit int64
	// CommandLimit is flower.sh's time-out where the script names none; 0 means
	// two minutes.
	CommandLimit time.Duration
	// SecretEnv names environment variables that commands of the script never see,
	// on top of the providers' own.
	SecretEnv []string
}

// Module is a set of Go functions for scripts: require(Name) returns a table of
// them.
type Module struct {
	Name string
	// Functions by their Lua name. A function may take a context.Context first,
	// then strings, booleans, numbers, slices, maps and structs (filled from
	// tables by their json tags); it returns at most one value of these kinds, and
	// at most one error behind it. An error comes back to the script as nil and its
	// text. Functions run off the script's goroutine, so they may block.
	Functions map[string]any
}

// Program is a compiled script. It is immutable and safe for concurrent use.
type Program struct {
	options Options
	main    *chunk
	dir     string // of the script, where require looks; empty: nowhere
}

// LoadFile compiles the script at path; nil options are the defaults. Errors of
// syntax are *Error.
func LoadFile(path string, o *Options) (*Program, error) {
	source, err := readScript(path)
	if err != nil {
		return nil, err
	}
	p, err := Load(path, source, o)
	if err != nil {
		return nil, err
	}
	p.dir = folderOf(path)
	return p, nil
}

// Load compiles source under a name for messages. Its require finds embedded
// and Go modules only.
func Load(name, source string, o *Options) (*Program, error) {
	p := &Program{}
	if o != nil {
		p.options = *o
	}
	if len(source) > maxSource {
		return nil, tooLong("script "+name, int64(len(source)))
	}
	if err := p.options.check(); err != nil {
		return nil, err
	}
	main, err := compile(name, source)
	if err != nil {
		return nil, err
	}
	p.main = main
	return p, nil
}

// Run makes a state, executes the script with args and, when it returns a
// workflow, runs that on rt. It returns how the workflow ended; a script that ran
// workflows itself ends with the last of them, one that ran none with an OK
// Ending. When ctx ends, so does the script, whatever it catches.
func (p *Program) Run(ctx context.Context, rt *engine.Runtime, args []string) (engine.Ending, error) {
	return p.run(ctx, rt, args)
}

// TestSuffix is how the names of test files end.
const TestSuffix = ".test.lua"

// TestOptions say how a test file is run. Config.Store and Harness are needed, the
// zero value of every other field is its default.
type TestOptions struct {
	// Options hold for the file and for the scripts it loads.
	Options Options
	// Config is what the runtime of each test is made of. Every test has a workspace
	// and a run directory of its own, removed at its end; these, Harness, Realm and
	// Sink are set by Test. NoRetry, or a Resilience of short delays, keeps a request
	// that fails from taking its time.
	Config engine.Config
	// Harness makes the harness of one test. It asks m, which asks the test, and no
	// other model; runDir is the test's run directory.
	Harness func(m model.Model, runDir string) harness.Harness
	// Wanted chooses tests by Tested.Name; nil takes all.
	Wanted func(name string) bool
	// Timeout is how long a test may take with its hooks, and the file without its
	// tests; 0 means a minute.
	Timeout time.Duration
	// OnTest is told of each test at its end, on the goroutine of Test; nil tells
	// nobody.
	OnTest func(Tested)
	// OnRead is told the path of each file before it is read, or found to be missing:
	// tests, modules, scripts, what is copied. It is called from any goroutine, one
	// call at a time; nil tells nobody.
	OnRead func(path string)
}

// TestState is how a test ended.
type TestState string

// The states.
const (
	TestPassed  TestState = "passed"
	TestFailed  TestState = "failed"
	TestSkipped TestState = "skipped"
)

// Tested is one test and how it went. A file that cannot be executed, or holds no
// tests, is one that failed and has no Names.
type Tested struct {
	File     string        // as it was given
	Line     int           // of the test in it; 0 for a file
	Names    []string      // of the groups around it, the outermost first, and its own
	State    TestState     //
	Failure  *TestFailure  // nil unless it failed
	Printed  []string      // what a person would have seen, a text for each event
	Duration time.Duration // hooks included
}

// Name is the names joined by " > ".
func (t Tested) Name() string { return strings.Join(t.Names, " > ") }

// TestFailure is why a test failed.
type TestFailure struct {
	File    string // where: of the test, or of a script or module it called
	Line    int    // 0 where it is not known
	Message string
	// Want and Got are the two sides of an expectation as text, of one line or
	// several; empty where there is nothing to compare.
	Want, Got string
	// Caller is the line of the test file from which it came, where File is another
	// one; 0 where it is not known.
	Caller int
	Trace  string // the script's calls that led there; may be empty
}

// Test runs the tests in the file at path (see docs/lua.md: describe, it, expect), one
// after the other, and gives them in their order. A test that fails, or a file that
// cannot be executed, is in what is returned; the error is for what keeps tests from
// being run at all, and comes with those that were. When ctx ends, so does the test
// that is running, and the error is ctx's cause.
func Test(ctx context.Context, path string, o TestOptions) ([]Tested, error) {
	return runTests(ctx, path, o)
}
