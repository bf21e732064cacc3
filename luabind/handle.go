package luabind

import (
	"context"
	"errors"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/spell"
)

func sortStrings(s []string) { slices.Sort(s) }

// warn reports what went wrong where nothing hangs on it.
func (s *state) warn(what string, err error) {
	s.rt.Emit(event.Event{Kind: event.Error, Text: what + ": " + err.Error()})
}

// runtimeHandle is the userdata by which scripts use a Runtime: ctx._runtime and
// flower.runtime. Unknown names raise, nothing can be set.
func (s *state) runtimeHandle(rt *engine.Runtime) lua.LValue {
	u := s.L.NewUserData()
	u.Value = rt
	s.L.SetMetatable(u, s.handle)
	return u
}

// openHandles makes the metatable of runtimes.
func (s *state) openHandles() {
	methods := map[string]lua.LGFunction{"run": s.runtimeRun, "interrupt": s.runtimeInterrupt}
	fields := map[string]func(*engine.Runtime) lua.LValue{
		"id":        func(rt *engine.Runtime) lua.LValue { return lua.LString(rt.ID()) },
		"workspace": func(rt *engine.Runtime) lua.LValue { return lua.LString(rt.Workspace()) },
		"run_dir":   func(rt *engine.Runtime) lua.LValue { return lua.LString(rt.RunDir()) },
		"manifest":  func(rt *engine.Runtime) lua.LValue { return lua.LString(rt.ManifestPath()) },
	}
	var names []string
	bound := map[string]*lua.LFunction{}
	for name, method := range methods {
		bound[name] = s.L.NewFunction(method)
		names = append(names, name)
	}
	for name := range fields {
		names = append(names, name)
	}
	s.handle = s.L.CreateTable(0, 4)
	s.handle.RawSetString("__metatable", lua.LString("runtime"))
	s.handle.RawSetString("__tostring", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LString("runtime " + s.checkRuntime(L).ID()))
		return 1
	}))
	s.handle.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
		rt, name := s.checkRuntime(L), L.ToStringMeta(L.Get(2)).String()
		switch {
		case bound[name] != nil:
			L.Push(bound[name])
		case fields[name] != nil:
			L.Push(fields[name](rt))
		default:
			s.misuse(L, "a runtime has no %q%s", name, spell.Hint(name, names))
		}
		return 1
	}))
	s.handle.RawSetString("__newindex", s.L.NewFunction(func(L *lua.LState) int {
		s.misuse(L, "a runtime is read-only: %s cannot be set", L.ToStringMeta(L.Get(2)))
		return 0
	}))
}

func (s *state) checkRuntime(L *lua.LState) *engine.Runtime {
	if u, ok := L.Get(1).(*lua.LUserData); ok {
		if rt, ok := u.Value.(*engine.Runtime); ok {
			return rt
		}
	}
	s.misuse(L, "call methods of a runtime with a colon: runtime:run(…)")
	return nil
}

// runtimeRun is runtime:run(spec, prompt [, options]): one agent, one prompt.
func (s *state) runtimeRun(L *lua.LState) int {
	rt := s.checkRuntime(L)
	t, ok := L.Get(2).(*lua.LTable)
	if !ok || !s.isMade(t, "agent") {
		s.misuse(L, "runtime:run: the first argument must be a flower.agent{…}, is a %s", s.describe(L.Get(2)))
	}
	prompt, ok := L.Get(3).(lua.LString)
	if !ok {
		s.misuse(L, "runtime:run: the second argument must be the prompt, a string, is a %s", s.describe(L.Get(3)))
	}
	var found []Mistake
	spec := s.readSpec(t, "", &found)
	opts := s.readRunOptions(L, &found)
	if len(found) > 0 {
		s.raise(L, CodeMisuse, newMistakes(found))
	}
	var result engine.Result
	var err error
	deeper := s.deeper(L, "runtime:run")
	s.block(func(ctx context.Context) { result, err = rt.Run(deeper(ctx), spec, string(prompt), opts) })
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	L.Push(s.resultTable(result))
	return 1
}

func (s *state) readRunOptions(L *lua.LState, found *[]Mistake) engine.RunOptions {
	t := s.optionTable(L, 4, "runtime:run")
	r := s.reader(L, t, "", found)
	o := engine.RunOptions{StepName: r.text("step_name"), Resume: r.text("resume"), Fork: r.boolean("fork"), ResumeAt: r.text("resume_at")}
	if fn := r.function("on_event"); fn != nil {
		o.OnEvent = s.onEvent(fn)
	}
	r.finish()
	return o
}

// optionTable is the optional table at an argument's place.
func (s *state) optionTable(L *lua.LState, at int, function string) *lua.LTable {
	switch v := L.Get(at).(type) {
	case *lua.LTable:
		return v
	case *lua.LNilType:
		return L.NewTable()
	default:
		s.misuse(L, "%s: the options must be a table, are a %s", function, s.describe(v))
		return nil
	}
}

// runtimeInterrupt is runtime:interrupt([words]).
func (s *state) runtimeInterrupt(L *lua.LState) int {
	L.Push(lua.LBool(s.checkRuntime(L).Interrupt(L.OptString(2, ""))))
	return 1
}

// emitFunction is ctx._on_event: it sends an event {kind, text, payload} to the
// run's sinks.
func (s *state) emitFunction(emit func(event.Event)) lua.LValue {
	return s.L.NewFunction(func(L *lua.LState) int {
		t, ok := L.Get(1).(*lua.LTable)
		if !ok {
			s.misuse(L, "an event is a table {kind, text, payload}, not a %s", s.describe(L.Get(1)))
		}
		var found []Mistake
		r := s.reader(L, t, "", &found)
		e := event.Event{Kind: event.Kind(r.text("kind")), Text: r.text("text"), Step: r.text("step")}
		e.Payload = r.data("payload")
		r.finish()
		if len(found) > 0 {
			s.raise(L, CodeMisuse, newMistakes(found))
		}
		if e.Kind == "" {
			e.Kind = event.Task
		}
		emit(e)
		return 0
	})
}

// luaRun is flower.run(workflow): runs it now and returns how it ended.
func (s *state) luaRun(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || !s.isMade(t, "workflow") {
		s.misuse(L, "flower.run takes a flower.workflow{…}, not a %s", s.describe(L.Get(1)))
	}
	flow, err := s.toWorkflow(t)
	if err != nil {
		s.raise(L, CodeMisuse, err)
	}
	var ending engine.Ending
	deeper := s.deeper(L, "flower.run")
	s.block(func(ctx context.Context) {
		ending, err = s.rt.RunWorkflow(deeper(ctx), flow, s.workflowOptions())
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	})
	s.ending = &ending
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	L.Push(s.endingTable(ending))
	return 1
}

// endingTable is how a workflow ended.
func (s *state) endingTable(ending engine.Ending) *lua.LTable {
	out := s.L.NewTable()
	out.RawSetString("ok", lua.LBool(ending.OK))
	out.RawSetString("failed_at", lua.LString(ending.FailedAt))
	out.RawSetString("reason", lua.LString(ending.Reason))
	out.RawSetString("aborted", lua.LString(ending.Aborted))
	out.RawSetString("context", s.contextValue(ending.Context))
	if ending.CostUSD != nil {
		out.RawSetString("cost_usd", lua.LNumber(*ending.CostUSD))
	}
	return out
}

// luaAbort is flower.abort(reason).
func (s *state) luaAbort(L *lua.LState) int {
	reason, ok := L.Get(1).(lua.LString)
	if !ok {
		s.misuse(L, "flower.abort takes the reason, a string, not a %s", s.describe(L.Get(1)))
	}
	s.raise(L, CodeAbort, errors.New(string(reason)))
	return 0
}
