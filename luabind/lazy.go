package luabind

import lua "github.com/yuin/gopher-lua"

// A lazy table is filled when somebody looks for what it does not hold: a result
// takes longer to write down than a gate to run, and few gates ask for all of it.
// Until then its filler lies at 1 and it has lazyMeta. What sees past a metatable
// (next, pairs, rawget, …) fills it first, and so does whatever makes Go data of
// tables, so that nobody can tell.

func (s *state) openLazy() {
	s.lazyMeta = s.L.CreateTable(0, 3)
	s.lazyMeta.RawSetString("__metatable", lua.LString("result"))
	s.lazyMeta.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
		t := L.CheckTable(1)
		s.fill(t)
		L.Push(L.RawGet(t, L.Get(2)))
		return 1
	}))
	s.lazyMeta.RawSetString("__newindex", s.L.NewFunction(func(L *lua.LState) int {
		t := L.CheckTable(1)
		s.fill(t)
		L.RawSet(t, L.CheckAny(2), L.CheckAny(3))
		return 0
	}))
	for _, name := range []string{"next", "rawget", "rawset", "getmetatable", "setmetatable"} {
		s.filling(name)
	}
	next := s.L.GetGlobal("next")
	s.L.SetGlobal("pairs", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(next)
		L.Push(L.CheckTable(1))
		L.Push(lua.LNil)
		return 3
	}))
}

// filling has a function of the base library fill the table it is given.
func (s *state) filling(name string) {
	fn := s.L.GetGlobal(name).(*lua.LFunction).GFunction
	s.L.SetGlobal(name, s.L.NewFunction(func(L *lua.LState) int {
		if t, ok := L.Get(1).(*lua.LTable); ok {
			s.fill(t)
		}
		return fn(L)
	}))
}

// lazy makes a table with room for n fields, and more that write adds.
func (s *state) lazy(n int, write func(t *lua.LTable)) *lua.LTable {
	t := s.L.CreateTable(1, n)
	t.Append(&lua.LUserData{Value: write, Metatable: lua.LNil})
	t.Metatable = s.lazyMeta
	return t
}

// fill fills a table that is lazy, and leaves others alone.
func (s *state) fill(t *lua.LTable) {
	if t.Metatable != lua.LValue(s.lazyMeta) {
		return
	}
	t.Metatable = lua.LNil
	if u, ok := t.Remove(1).(*lua.LUserData); ok {
		if write, ok := u.Value.(func(*lua.LTable)); ok {
			write(t)
		}
	}
}
