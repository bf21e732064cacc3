package luabind

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/workbench"
)

// state is one run of a script. Lua is touched by one goroutine only, the one
// that called Program.Run; it owns every field but jobs and closed.
//
// Whatever blocks runs on a goroutine of its own while the owner serves jobs:
// callbacks that the engine, on other goroutines, wants called. So a guard in Lua
// works while a gate in Lua runs a judge.
type state struct {
	program *Program
	rt      *engine.Runtime // nil in a rehearsal
	L       *lua.LState
	root    *os.Root // the workspace: what flower.fs can reach
	// commands runs flower.sh, from the first command on; what one leaves behind ends
	// with the state.
	commands *tool.Set
	clock    *clock

	jobs   chan job
	closed chan struct{}

	chunks      map[string]*chunk // by name, for positions
	loading     map[string]bool   // modules being required
	loaded      map[string]lua.LValue
	kinds       map[*lua.LTable]*made // tables that constructors returned
	errorMeta   *lua.LTable
	arrayMeta   *lua.LTable
	lazyMeta    *lua.LTable
	args        []string  // of the script
	unused      *position // of a workflow that was made; nil: none was
	channelMeta *lua.LTable
	benches     map[*lua.LTable]*workbench.Bench // by the table a script has
	handle      *lua.LTable                      // metatable of runtimes
	ending      *engine.Ending

	// run is the context of Program.Run, for callbacks that are given none.
	run context.Context
	// resumed are the coroutines that are running or wait for one they resumed.
	resumed map[*lua.LState]bool
	random  *rand.Rand
	resting *matcher

	// onRead is told of each module before it is read, onBroken of each callback that
	// did not work; nil: nobody. Tests have them.
	onRead   func(path string)
	onBroken func(context.Context, error)
	// moduleDirs are where files look for modules that belong to another script than the
	// one that is run, by name.
	moduleDirs map[string]moduleDir
}

// made is what a constructor knows of a table it returned.
type made struct {
	kind string // agent, worker, guard, step, parallel, workflow
	role string // the constructor's name: of an agent its role
	at   *position
}

// job is a call that another goroutine wants done on the owner's.
type job struct {
	do   func()
	done chan struct{}
}

// newBare makes a state with the sandbox alone.
func (p *Program) newBare() *state {
	s := &state{
		program: p, clock: newClock(p.options.computeLimit(), p.options.memoryLimit()),
		jobs: make(chan job), closed: make(chan struct{}),
		chunks:  map[string]*chunk{p.main.name: p.main},
		loading: map[string]bool{}, loaded: map[string]lua.LValue{}, kinds: map[*lua.LTable]*made{},
		resumed: map[*lua.LState]bool{}, run: context.Background(),
	}
	s.L = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: callDepth, MinimizeStackMemory: true,
		RegistrySize: registryInit, RegistryGrowStep: registryStep, RegistryMaxSize: registryMost,
	})
	s.L.Options.CallStackSize, s.L.Options.RegistrySize = coroutineRun, registryCo // of those it creates
	s.L.SetContext(s.clock)
	s.openSandbox()
	return s
}

// newState makes a state for a script that works with rt.
func (p *Program) newState(rt *engine.Runtime) (*state, error) {
	root, err := os.OpenRoot(rt.Workspace())
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	s := p.newBare()
	s.rt, s.root = rt, root
	s.openFlower()
	return s, nil
}

// commandSet is made for the first command: its end looks through all processes.
func (s *state) commandSet() *tool.Set {
	if s.commands == nil {
		s.commands = tool.NewSet(tool.Options{Workspace: s.rt.Workspace(), SecretEnv: s.program.options.SecretEnv,
			OutputDir: filepath.Join(s.rt.RunDir(), "output")})
	}
	return s.commands
}

func (s *state) close() {
	close(s.closed)
	s.clock.stop()
	if s.commands != nil {
		s.commands.Close()
	}
	s.L.Close()
	if s.root != nil {
		_ = s.root.Close() // nothing is pending in it
	}
}

func (p *Program) run(ctx context.Context, rt *engine.Runtime, args []string) (engine.Ending, error) {
	ending, err := p.runScript(ctx, rt, args)
	ending.OK = ending.OK && err == nil // a workflow that came to its end does not make up for the script
	return ending, err
}

func (p *Program) runScript(ctx context.Context, rt *engine.Runtime, args []string) (engine.Ending, error) {
	s, err := p.newState(rt)
	if err != nil {
		return engine.Ending{}, err
	}
	defer s.close()
	returned, err := s.execute(ctx, args)
	if err != nil {
		return s.lastEnding(), err
	}
	switch t, ok := returned.(*lua.LTable); {
	case ok && s.isMade(t, "workflow"):
		return s.runReturned(ctx, t)
	case returned == lua.LNil && s.unused != nil && s.ending == nil:
		return engine.Ending{}, &Error{File: s.unused.file, Line: s.unused.line, Code: CodeMisuse,
			Message: "this workflow was made and never run: return it from the script, or give it to flower.run"}
	case returned == lua.LNil:
		return s.lastEnding(), nil
	default:
		return engine.Ending{}, &Error{File: p.main.name, Line: p.main.returns, Code: CodeMisuse,
			Message: fmt.Sprintf("the script returned a %s; return what flower.workflow{…} gives, or nothing", s.describe(returned))}
	}
}

// execute runs the script itself and gives what it returned.
func (s *state) execute(ctx context.Context, args []string) (lua.LValue, error) {
	s.run, s.args = ctx, args
	argTable := s.L.NewTable()
	values := make([]lua.LValue, len(args))
	for i, a := range args {
		values[i] = lua.LString(a)
		argTable.Append(lua.LString(a))
	}
	argTable.RawSetInt(0, lua.LString(s.program.main.name))
	s.L.SetGlobal("arg", argTable)
	out, err := s.call(ctx, s.L.NewFunctionFromProto(s.program.main.proto), 1, values...)
	if err != nil {
		return lua.LNil, err
	}
	return out[0], nil
}

// runReturned runs the workflow that the script returned, on a goroutine of its
// own while this one serves its callbacks.
func (s *state) runReturned(ctx context.Context, t *lua.LTable) (ending engine.Ending, err error) {
	flow, mistakes := s.toWorkflow(t)
	if mistakes != nil {
		return engine.Ending{}, mistakes
	}
	s.serve(func() { ending, err = s.rt.RunWorkflow(ctx, flow, s.workflowOptions()) })
	return ending, err
}

// workflowOptions: runs with other arguments do not continue each other.
func (s *state) workflowOptions() engine.WorkflowOptions {
	o := s.program.options
	return engine.WorkflowOptions{Fresh: o.Fresh, From: o.From, Origin: strings.Join(s.args, "\x00")}
}

// lastEnding is how a script ended that ran its workflows itself.
func (s *state) lastEnding() engine.Ending {
	if s.ending != nil {
		return *s.ending
	}
	e := engine.Ending{Run: s.rt.ID(), OK: true, Results: s.rt.Results()}
	if usd, ok := s.rt.TotalCost(); ok {
		e.CostUSD = &usd
	}
	return e
}

// call calls a Lua function on the owner's goroutine, bounded by ctx and by the
// limits. When one of them stopped it, that is the error, whatever the script
// caught.
func (s *state) call(ctx context.Context, fn *lua.LFunction, returns int, args ...lua.LValue) ([]lua.LValue, error) {
	top, thread := s.L.GetTop(), s.L.G.CurrentThread
	leave := s.clock.enter(ctx)
	s.L.G.CurrentThread = s.L
	err := s.protected(fn, returns, args)
	s.L.G.CurrentThread = thread
	stopped := leave()
	if err != nil || stopped != nil {
		s.L.SetTop(top)
		return nil, s.explain(err, stopped)
	}
	out := make([]lua.LValue, returns)
	for i := range out {
		out[i] = s.L.Get(top + 1 + i)
	}
	s.L.SetTop(top)
	return out, nil
}

// protected is a call that turns every panic into an error, also one that comes
// before Lua's own protection: the arguments may not find room.
func (s *state) protected(fn *lua.LFunction, returns int, args []lua.LValue) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
			if raised, ok := p.(*lua.ApiError); ok {
				err = raised
			}
		}
	}()
	return s.L.CallByParam(lua.P{Fn: fn, NRet: returns, Protect: true}, args...)
}

// explain makes a Go error of a call that failed or was stopped. A stop from
// outside wins over whatever the script made of it.
func (s *state) explain(err error, stopped error) error {
	if stopped == nil {
		return s.fromLua(err)
	}
	at := &Error{File: s.program.main.name, cause: stopped, Message: stopped.Error()}
	var placed *Error
	if err != nil && errors.As(s.fromLua(err), &placed) {
		at.File, at.Line, at.trace = placed.File, placed.Line, placed.trace
	}
	switch {
	case errors.Is(stopped, errCompute):
		at.Code = CodeLimit
		at.Message = fmt.Sprintf("the script computed for %v without a call into the engine and was stopped: is there a loop without an end?", s.clock.limit)
	case errors.Is(stopped, errMemory):
		at.Code = CodeLimit
		at.Message = fmt.Sprintf("the script took more than %d MiB of memory and was stopped: does something grow without an end?", s.clock.memory>>20)
	}
	return at
}

// serve runs work on a goroutine of its own and, until it is done, the jobs that
// others send.
func (s *state) serve(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		select {
		case j := <-s.jobs:
			s.work(j)
		case <-done:
			return
		}
	}
}

// work does a job. Whoever waits for it goes on also when it panics.
func (s *state) work(j job) {
	defer close(j.done)
	j.do()
}

// block is serve for a Go function that a script called: the compute limit
// stands still meanwhile. work gets the context of the calling callback.
func (s *state) block(work func(ctx context.Context)) {
	ctx := s.clock.context()
	resume := s.clock.pause()
	s.serve(func() { work(ctx) })
	resume()
}

// errGone is what a callback gets that comes after the script's end.
var errGone = errors.New("the script has ended")

// do runs f on the owner's goroutine and waits for it; called from others.
func (s *state) do(ctx context.Context, f func()) error {
	j := job{do: f, done: make(chan struct{})}
	select {
	case s.jobs <- j:
		<-j.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closed:
		return errGone
	}
}

// callback calls a Lua function from another goroutine. prepare makes the
// arguments, and take reads the results, both on the owner's.
func (s *state) callback(ctx context.Context, fn *lua.LFunction, returns int, prepare func() []lua.LValue, take func([]lua.LValue) error) error {
	var err error
	sent := s.do(ctx, func() {
		var out []lua.LValue
		if out, err = s.call(ctx, fn, returns, prepare()...); err == nil {
			err = take(out)
		}
	})
	if sent != nil {
		return sent
	}
	if err != nil && s.onBroken != nil {
		s.onBroken(ctx, err)
	}
	return err
}
