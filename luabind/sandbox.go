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
		s.openLibrary(name, open)
	}
	if s.program.options.Trust {
		s.openLibrary(lua.IoLibName, lua.OpenIo)
		s.L.GetGlobal(lua.OsLibName).(*lua.LTable).RawSetString("exit", s.L.NewFunction(s.osExit))
		s.L.SetGlobal("dofile", s.L.NewFunction(s.doFile))
		s.L.SetGlobal("loadfile", s.L.NewFunction(s.loadFile))
	} else {
		s.keepOnly(lua.OsLibName, "time", "clock", "date", "difftime")
		s.L.SetGlobal("dofile", lua.LNil)
		s.L.SetGlobal("loadfile", lua.LNil)
	}
	for _, name := range []string{"module", "newproxy", "_printregs", "collectgarbage"} {
		s.L.SetGlobal(name, lua.LNil)
	}
	s.openBase()
	s.openLazy()
	s.openStrings()
	s.openCoroutines()
	s.openTables()
	s.openMath()
	s.openTime()
	s.openFaults()
	s.protectStringMeta()
	for _, name := range []string{lua.TabLibName, lua.StringLibName, lua.MathLibName, lua.CoroutineLibName, lua.OsLibName} {
		s.L.SetGlobal(name, s.readOnly(name, s.L.GetGlobal(name).(*lua.LTable)))
	}
	s.errorMeta = s.L.CreateTable(0, 3)
	s.errorMeta.RawSetString("__metatable", lua.LString("error"))
	s.errorMeta.RawSetString("__tostring", s.L.NewFunction(errorToString))
	s.errorMeta.RawSetString("__concat", s.L.NewFunction(errorConcat))
	s.arrayMeta = s.L.CreateTable(0, 1)
	s.arrayMeta.RawSetString("__metatable", lua.LString("array"))
}

func (s *state) openLibrary(name string, open lua.LGFunction) {
	s.L.Push(s.L.NewFunction(open))
	s.L.Push(lua.LString(name))
	s.L.Call(1, 0)
}

// osExit stands in for os.exit, which would end the process with the store open
// and commands running.
func (s *state) osExit(L *lua.LState) int {
	s.misuse(L, "os.exit: a script ends by returning, or with flower.abort(reason)")
	return 0
}

func (s *state) keepOnly(library string, names ...string) {
	full := s.L.GetGlobal(library).(*lua.LTable)
	small := s.L.CreateTable(0, len(names))
	for _, name := range names {
		small.RawSetString(name, full.RawGetString(name))
	}
	s.L.SetGlobal(library, small)
}

// readOnly is a table through which another can be read and not written.
func (s *state) readOnly(name string, t *lua.LTable) *lua.LTable {
	meta := s.L.CreateTable(0, 3)
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LString("read-only"))
	meta.RawSetString("__newindex", s.L.NewFunction(func(L *lua.LState) int {
		s.misuse(L, "%s is read-only: %s.%s cannot be set", name, name, L.ToStringMeta(L.Get(2)))
		return 0
	}))
	proxy := s.L.CreateTable(0, 0)
	s.L.SetMetatable(proxy, meta)
	return proxy
}

// protectStringMeta gives texts a metatable that scripts cannot reach; their
// methods are those of the library itself.
func (s *state) protectStringMeta() {
	lib := s.L.GetGlobal(lua.StringLibName).(*lua.LTable)
	lib.RawSetString("__index", lua.LNil) // it was the metatable
	meta := s.L.CreateTable(0, 13)
	s.openArithmetic(meta)
	meta.RawSetString("__call", s.L.NewFunction(s.called))
	meta.RawSetString("__index", lib)
	meta.RawSetString("__metatable", lua.LString("read-only"))
	s.L.SetMetatable(lua.LString(""), meta)
}

// rawSet keeps rawset from writing through the protection of our tables.
func (s *state) rawSet(L *lua.LState) int {
	t := L.CheckTable(1)
	if isProtected(t) {
		s.misuse(L, "rawset: this table is read-only")
	}
	L.RawSet(t, L.CheckAny(2), L.CheckAny(3))
	L.Push(t)
	return 1
}

// isProtected is true of tables that readOnly made.
func isProtected(t *lua.LTable) bool {
	meta, ok := t.Metatable.(*lua.LTable)
	return ok && meta.RawGetString("__metatable") == lua.LString("read-only")
}

// luaPrint shows its arguments as an event: what a script prints must not get
// between the lines of a run.
func (s *state) luaPrint(L *lua.LState) int {
	parts := make([]string, L.GetTop())
	for i := range parts {
		parts[i] = clip(L.ToStringMeta(L.Get(i + 1)).String())
	}
	s.tell(strings.Join(parts, "\t"))
	return 0
}

// tell shows a text to whoever watches the run.
func (s *state) tell(text string) {
	if s.rt != nil {
		s.rt.Emit(event.Event{Kind: event.Task, Text: clip(text)})
	}
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

// errorConcat makes "it failed: " .. err work with our errors, which are tables.
func errorConcat(L *lua.LState) int {
	text := ""
	for i := 1; i <= 2; i++ {
		text += L.ToStringMeta(L.Get(i)).String()
		bound(L, "..", len(text))
	}
	L.Push(lua.LString(text))
	return 1
}
