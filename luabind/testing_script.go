package luabind

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/internal/spell"
)

// openModule adds flower.test, and puts stubs in the place of what reaches outside.
func (b *bed) openModule() {
	s := b.s
	s.moduleDirs = map[string]moduleDir{}
	t := s.L.CreateTable(0, 6)
	for name, fn := range map[string]lua.LGFunction{
		"load": b.load, "rehearsal": b.rehearsal, "recorded": b.readRecorded, "files": b.files, "copy": b.copyIn, "stub": b.stub,
	} {
		t.RawSetString(name, s.L.NewFunction(fn))
	}
	s.refuseUnknown("flower.test", t)
	module := s.readOnly("flower.test", t)
	s.loaded["flower.test"] = module
	flower := behind(s.loaded["flower"])
	flower.RawSetString("test", module)
	flower.RawSetString("sh", s.L.NewFunction(b.luaSh))
	flower.RawSetString("channel", s.L.NewFunction(b.luaChannel))

	// Each file finds its own folder.
	flower.RawSetString("script_dir", lua.LNil)
	meta := flower.Metatable.(*lua.LTable)
	refuse := meta.RawGetString("__index").(*lua.LFunction).GFunction
	meta.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
		if L.Get(2) == lua.LString("script_dir") {
			L.Push(lua.LString(s.modulesOf(L).dir))
			return 1
		}
		return refuse(L)
	}))
}

// beside is the argument as a path: relative ones begin in the folder of the test
// file. name is what messages call it.
func (b *bed) beside(L *lua.LState, function, what string) (path, name string) {
	text, ok := L.Get(1).(lua.LString)
	if !ok || text == "" {
		b.s.misuse(L, "%s takes %s, a string, not %s", function, what, shown(b.s, L.Get(1)))
	}
	path = filepath.FromSlash(string(text))
	if filepath.IsAbs(path) {
		return path, path
	}
	return filepath.Join(b.s.program.dir, path), filepath.Join(filepath.Dir(b.file.path), path)
}

// compile reads a script that belongs to another folder than the test may.
func (b *bed) compile(L *lua.LState, path, shown string) *lua.LFunction {
	b.file.read(path)
	source, err := readScript(path)
	if err == nil {
		var c *chunk
		if c, err = compile(shown, source); err == nil {
			b.s.chunks[shown] = c
			if dir := folderOf(path); dir != b.s.program.dir {
				b.s.moduleDirs[shown] = moduleDir{dir, filepath.Dir(shown)}
			}
			return L.NewFunctionFromProto(c.proto)
		}
	}
	b.s.raise(L, CodeMisuse, err)
	return nil
}

// load is flower.test.load(path [, arguments]): executes a script and gives what can
// be tried of it.
func (b *bed) load(L *lua.LState) int {
	path, shown := b.beside(L, "flower.test.load", "the path of a script")
	arguments := b.arguments(L)
	fn := b.compile(L, path, shown)
	argTable := L.NewTable()
	argTable.RawSetInt(0, lua.LString(shown))
	L.Push(fn)
	b.s.args = nil
	for _, a := range arguments {
		argTable.Append(lua.LString(a))
		L.Push(lua.LString(a))
		b.s.args = append(b.s.args, a)
	}
	L.SetGlobal("arg", argTable)
	L.Call(len(arguments), 1)
	returned := L.Get(-1)
	L.Pop(1)
	t, isTable := returned.(*lua.LTable)
	if isFlow := isTable && b.s.isMade(t, "workflow"); !isFlow && returned != lua.LNil {
		b.s.raise(L, CodeMisuse, &Error{File: shown, Line: b.s.chunks[shown].returns, Code: CodeMisuse,
			Message: fmt.Sprintf("the script returned a %s; flower.test.load is for scripts that return what flower.workflow{…} gives, or nothing (require modules)",
				b.s.describe(returned))})
	}
	L.Push(b.scriptTable(shown, t))
	return 1
}

// arguments are those of the script, a list of texts.
func (b *bed) arguments(L *lua.LState) []string {
	if L.Get(2) == lua.LNil {
		return nil
	}
	value, err := b.s.argument(L.Get(2), stringsType)
	if err != nil {
		b.s.misuse(L, "flower.test.load: the arguments of the script, a list of strings: %v", err)
	}
	return value.Interface().([]string)
}

// scriptTable is what load gives; flow is nil where the script returned nothing.
func (b *bed) scriptTable(name string, flow *lua.LTable) *lua.LTable {
	s := b.s
	t := s.L.CreateTable(0, 4)
	if flow == nil {
		meta := s.L.CreateTable(0, 1)
		meta.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
			s.misuse(L, "%s returned no workflow: there is nothing of it to try", name)
			return 0
		}))
		s.L.SetMetatable(t, meta)
		return t
	}
	title := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	t.RawSetString("workflow", flow)
	t.RawSetString("steps", b.stepsTable(flow))
	t.RawSetString("run", s.L.NewFunction(b.runFlow(flow, title)))
	t.RawSetString("replay", s.L.NewFunction(b.replayFlow(flow, title)))
	s.refuseUnknown("a loaded script", t)
	return t
}

// stepsTable holds the steps of a workflow by their names, those side by side too.
func (b *bed) stepsTable(flow *lua.LTable) *lua.LTable {
	out := b.s.L.NewTable()
	var add func(list *lua.LTable)
	add = func(list *lua.LTable) {
		for i := 1; i <= list.Len(); i++ {
			t, ok := list.RawGetInt(i).(*lua.LTable)
			switch {
			case ok && b.s.isMade(t, "parallel"):
				add(t)
			case ok:
				out.RawSet(t.RawGetString("name"), b.stepTable(t))
			}
		}
	}
	if list, ok := flow.RawGetString("steps").(*lua.LTable); ok {
		add(list)
	}
	b.s.refuseUnknown("the workflow", out)
	return out
}

// plainFields are what a step has beside its callbacks.
var plainFields = []string{"name", "spec", "resume_from", "fork", "retries", "on_fail"}

// stepTable shows a step: its callbacks can be called as the engine calls them, its
// other fields are there as they were written.
func (b *bed) stepTable(t *lua.LTable) *lua.LTable {
	callbacks := map[string]func(*lua.LState, lua.LValue) int{
		"gate": b.callGate, "on_reject": b.callOnReject, "when": b.callWhen, "reduce": b.callReduce,
		"prompt": b.callPrompt, "resume_prompt": b.callPrompt,
	}
	step := b.s.L.NewTable()
	meta := b.s.L.CreateTable(0, 2)
	meta.RawSetString("__metatable", lua.LString("step"))
	meta.RawSetString("__index", b.s.L.NewFunction(func(L *lua.LState) int {
		field := L.ToStringMeta(L.Get(2)).String()
		v := t.RawGetString(field)
		call := callbacks[field]
		switch {
		case call != nil && v != lua.LNil:
			L.Push(L.NewFunction(func(L *lua.LState) int { return call(L, v) }))
		case call != nil:
			b.s.misuse(L, "step %s has no %s", t.RawGetString("name"), field)
		case slices.Contains(plainFields, field):
			L.Push(v)
		default:
			b.s.misuse(L, "a step has no %q%s", clip(field), spell.Hint(field, append(sortedNames(callbacks), plainFields...)))
		}
		return 1
	}))
	b.s.L.SetMetatable(step, meta)
	return step
}

// callGate is gate(result [, ctx]): true, or false and the reason.
func (b *bed) callGate(L *lua.LState, v lua.LValue) int {
	result, ctx := b.okResult(L, "gate"), b.contextAt(L, 2, "gate")
	gate := b.s.gate(v.(*lua.LFunction))
	var pass bool
	var reason string
	b.directly(L, ctx, func(c context.Context) (err error) {
		pass, reason, err = gate(c, result, ctx)
		return err
	})
	L.Push(lua.LBool(pass))
	if pass || reason == "" {
		return 1
	}
	L.Push(lua.LString(reason))
	return 2
}

// callReduce is reduce(result [, ctx]).
func (b *bed) callReduce(L *lua.LState, v lua.LValue) int {
	result, ctx := b.okResult(L, "reduce"), b.contextAt(L, 2, "reduce")
	reduce := b.s.reduce(v.(*lua.LFunction))
	return b.textOf(L, ctx, func(c context.Context) (string, error) { return reduce(c, result, ctx) })
}

// callOnReject is on_reject(result [, ctx [, reason]]).
func (b *bed) callOnReject(L *lua.LState, v lua.LValue) int {
	result, ctx := b.resultAt(L, 1, "on_reject"), b.contextAt(L, 2, "on_reject")
	reason := L.OptString(3, "")
	onReject := b.s.onReject(v.(*lua.LFunction))
	return b.textOf(L, ctx, func(c context.Context) (string, error) { return onReject(c, result, ctx, reason) })
}

// callPrompt is prompt([ctx]) or resume_prompt([ctx]), also of a text.
func (b *bed) callPrompt(L *lua.LState, v lua.LValue) int {
	ctx := b.contextAt(L, 1, "prompt")
	fn, ok := v.(*lua.LFunction)
	if !ok {
		L.Push(v)
		return 1
	}
	prompt := b.s.prompt("prompt", fn)
	return b.textOf(L, ctx, func(c context.Context) (string, error) { return prompt(c, ctx) })
}

// callWhen is when([ctx]).
func (b *bed) callWhen(L *lua.LState, v lua.LValue) int {
	ctx := b.contextAt(L, 1, "when")
	when := b.s.when(v.(*lua.LFunction))
	var run bool
	b.directly(L, ctx, func(c context.Context) (err error) {
		run, err = when(c, ctx)
		return err
	})
	L.Push(lua.LBool(run))
	return 1
}

func (b *bed) textOf(L *lua.LState, ctx *tableContext, call func(context.Context) (string, error)) int {
	var text string
	b.directly(L, ctx, func(c context.Context) (err error) {
		text, err = call(c)
		return err
	})
	L.Push(lua.LString(text))
	return 1
}

// directly calls a callback for the test, which can catch its errors. What the engine
// puts into a context is lent to it.
func (b *bed) directly(L *lua.LState, ctx *tableContext, call func(context.Context) error) {
	giveBack := b.lend(ctx.t)
	b.countDirect(1)
	var err error
	b.s.block(func(c context.Context) { err = call(c) })
	b.countDirect(-1)
	giveBack()
	if err != nil {
		b.raise(L, err)
	}
}

func (b *bed) countDirect(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.direct += n
}

// lend puts into a context what the engine would, where the test has not.
func (b *bed) lend(t *lua.LTable) (giveBack func()) {
	s := b.s
	var lent []string
	for key, v := range map[string]lua.LValue{
		engine.KeyRuntime: s.runtimeHandle(b.rt), engine.KeyOnEvent: s.emitFunction(b.rt.Emit), engine.KeyWoke: lua.LNumber(1),
		engine.KeyResults: s.L.NewTable(), engine.KeySessions: s.L.NewTable(), engine.KeyLineage: s.L.NewTable(),
	} {
		if t.RawGetString(key) == lua.LNil {
			t.RawSetString(key, v)
			lent = append(lent, key)
		}
	}
	return func() {
		for _, key := range lent {
			t.RawSetString(key, lua.LNil)
		}
	}
}

// raise raises an error of the engine or of a callback with its own place, and the
// way from the test to it.
func (b *bed) raise(L *lua.LState, err error) {
	e := *asPlaced(err)
	e.trace = strings.TrimRight(e.trace, "\n") + "\n" + b.s.trace(L)
	if e.Line == 0 {
		e.File, e.Line = b.s.caller(L)
	}
	b.mu.Lock()
	if b.broken == err {
		b.broken = &e // now it is known where it came from
	}
	b.mu.Unlock()
	b.s.raise(L, cmp.Or(e.Code, CodeEngine), &e)
}

// contextAt is the argument that is ctx, an empty one where there is none.
func (b *bed) contextAt(L *lua.LState, at int, function string) *tableContext {
	switch v := L.Get(at).(type) {
	case *lua.LTable:
		return &tableContext{s: b.s, t: v}
	case *lua.LNilType:
		return &tableContext{s: b.s, t: L.NewTable()}
	default:
		b.s.misuse(L, "%s: ctx must be a table, is a %s", function, b.s.describe(v))
		return nil
	}
}

// okResult is a result for callbacks that are asked of no other ones.
func (b *bed) okResult(L *lua.LState, function string) engine.Result {
	r := b.resultAt(L, 1, function)
	if !r.OK {
		b.s.misuse(L, "%s: flower does not ask it about a result that is not ok", function)
	}
	return r
}

// resultAt is the argument that is a result.
func (b *bed) resultAt(L *lua.LState, at int, function string) engine.Result {
	r, err := b.toResult(L.Get(at))
	if err != nil {
		b.s.misuse(L, "%s: the result: %v", function, err)
	}
	return r
}

// toResult makes a result of a table. What it does not say is as of an agent that
// ended its turn.
func (b *bed) toResult(v lua.LValue) (engine.Result, error) {
	t, ok := v.(*lua.LTable)
	if v != lua.LNil && !ok {
		return engine.Result{}, fmt.Errorf("must be a table such as { text = \"…\" }, is a %s", b.s.describe(v))
	}
	if !ok {
		return engine.Result{OK: true, Stop: "end_turn", SessionID: madeSession, Attempts: 1}, nil
	}
	value, err := b.s.argument(t, resultType)
	if err != nil {
		return engine.Result{}, err
	}
	r := value.Interface().(engine.Result)
	if t.RawGetString("ok") == lua.LNil {
		r.OK = r.Error == ""
	}
	if r.LastMessage == "" {
		r.LastMessage = r.Text
	}
	if t.RawGetString("session_id") == lua.LNil {
		r.SessionID = madeSession
	}
	if r.OK && r.Stop == "" {
		r.Stop = "end_turn"
	}
	return r, nil
}

// madeSession is the session of a result that a test made up: with one, work that is
// rejected goes on in it.
const madeSession = "made-up"
