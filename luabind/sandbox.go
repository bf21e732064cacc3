package luabind

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/event"
)

// openSandbox opens what of Lua's own library a script gets: nothing that
// reaches files, commands or the state's insides.
func (s *state) openSandbox() {
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
		lua.MathLibName: lua.OpenMath, lua.CoroutineLibName: lua.OpenCoroutine, lua.OsLibName: lua.OpenOs,
	} {
		s.L.Push(s.L.NewFunction(open))
		s.L.Push(lua.LString(name))
		s.L.Call(1, 0)
	}
	if s.program.options.Trust {
		s.L.Push(s.L.NewFunction(lua.OpenIo))
		s.L.Push(lua.LString(lua.IoLibName))
		s.L.Call(1, 0)
	} else {
		s.keepOnly(lua.OsLibName, "time", "clock", "date", "difftime")
		for _, name := range []string{"dofile", "loadfile"} {
			s.L.SetGlobal(name, lua.LNil)
		}
	}
	for _, name := range []string{"module", "newproxy", "_printregs", "collectgarbage"} {
		s.L.SetGlobal(name, lua.LNil)
	}
	s.L.SetGlobal("print", s.L.NewFunction(s.luaPrint))
	s.L.SetGlobal("require", s.L.NewFunction(s.luaRequire))
	s.wrapStrings()
	s.wrapCoroutines()
	for _, name := range []string{lua.TabLibName, lua.StringLibName, lua.MathLibName, lua.CoroutineLibName, lua.OsLibName} {
		s.L.SetGlobal(name, s.readOnly(name, s.L.GetGlobal(name).(*lua.LTable)))
	}
	s.protectStringMeta()
	s.wrapRawset()
	s.errorMeta = s.L.NewTable()
	s.errorMeta.RawSetString("__tostring", s.L.NewFunction(errorToString))
	s.arrayMeta = s.L.NewTable()
	s.arrayMeta.RawSetString("__metatable", lua.LString("array"))
}

func (s *state) keepOnly(library string, names ...string) {
	full := s.L.GetGlobal(library).(*lua.LTable)
	small := s.L.NewTable()
	for _, name := range names {
		small.RawSetString(name, full.RawGetString(name))
	}
	s.L.SetGlobal(library, small)
}

// readOnly is a table through which another can be read and not written.
func (s *state) readOnly(name string, t *lua.LTable) *lua.LTable {
	meta := s.L.NewTable()
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LString("read-only"))
	meta.RawSetString("__newindex", s.L.NewFunction(func(L *lua.LState) int {
		s.misuse(L, "%s is read-only: %s.%s cannot be set", name, name, L.ToStringMeta(L.Get(2)))
		return 0
	}))
	proxy := s.L.NewTable()
	s.L.SetMetatable(proxy, meta)
	return proxy
}

func (s *state) protectStringMeta() {
	meta, ok := s.L.GetMetatable(lua.LString("")).(*lua.LTable)
	if !ok {
		return
	}
	meta.RawSetString("__index", s.L.GetGlobal(lua.StringLibName))
	meta.RawSetString("__metatable", lua.LString("read-only"))
}

// wrapRawset keeps rawset from writing through the protection of our tables.
func (s *state) wrapRawset() {
	s.L.SetGlobal("rawset", s.L.NewFunction(func(L *lua.LState) int {
		t := L.CheckTable(1)
		if meta, ok := t.Metatable.(*lua.LTable); ok && meta.RawGetString("__metatable") == lua.LString("read-only") {
			s.misuse(L, "rawset: this table is read-only")
		}
		L.RawSet(t, L.CheckAny(2), L.CheckAny(3))
		L.Push(t)
		return 1
	}))
}

// wrapStrings caps what string.rep makes.
func (s *state) wrapStrings() {
	lib := s.L.GetGlobal(lua.StringLibName).(*lua.LTable)
	lib.RawSetString("rep", s.L.NewFunction(func(L *lua.LState) int {
		text, n := L.CheckString(1), L.CheckInt(2)
		if n > 0 && len(text) > 0 && n > maxString/len(text) {
			s.misuse(L, "string.rep: the result would have more than %d bytes", maxString)
		}
		L.Push(lua.LString(strings.Repeat(text, max(n, 0))))
		return 1
	}))
	lib.RawSetString("dump", lua.LNil)
}

// wrapCoroutines makes coroutines run under the state's one clock. gopher-lua
// would derive a context of its own for each, which ends with the call that made
// the coroutine.
func (s *state) wrapCoroutines() {
	lib := s.L.GetGlobal(lua.CoroutineLibName).(*lua.LTable)
	create := lib.RawGetString("create")
	wrap := lib.RawGetString("wrap")
	lib.RawSetString("create", s.L.NewFunction(func(L *lua.LState) int {
		v := s.withoutContext(L, create)
		if thread, ok := v.(*lua.LState); ok {
			thread.SetContext(s.clock)
		}
		L.Push(v)
		return 1
	}))
	lib.RawSetString("wrap", s.L.NewFunction(func(L *lua.LState) int {
		v := s.withoutContext(L, wrap)
		if fn, ok := v.(*lua.LFunction); ok && len(fn.Upvalues) > 0 {
			if thread, ok := fn.Upvalues[0].Value().(*lua.LState); ok {
				thread.SetContext(s.clock)
			}
		}
		L.Push(v)
		return 1
	}))
}

// withoutContext calls a library function on the function at 1 while L has no
// context to derive one from.
func (s *state) withoutContext(L *lua.LState, library lua.LValue) lua.LValue {
	fn := L.CheckFunction(1)
	L.RemoveContext()
	defer L.SetContext(s.clock)
	L.Push(library)
	L.Push(fn)
	L.Call(1, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

// luaPrint shows its arguments as an event: what a script prints must not get
// between the lines of a run.
func (s *state) luaPrint(L *lua.LState) int {
	parts := make([]string, L.GetTop())
	for i := range parts {
		parts[i] = L.ToStringMeta(L.Get(i + 1)).String()
	}
	if s.rt != nil {
		s.rt.Emit(event.Event{Kind: event.Task, Text: strings.Join(parts, "\t")})
	}
	return 0
}

func errorToString(L *lua.LState) int {
	t := L.CheckTable(1)
	text := tableMessage(t)
	if where := lua.LVAsString(t.RawGetString("where")); where != "" {
		text = fmt.Sprintf("%s: %s", where, text)
	}
	L.Push(lua.LString(text))
	return 1
}
