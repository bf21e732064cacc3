package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// luaFields is flower.fields(what, options, required [, optional]): raises when the
// table lacks a required field or has one that is in neither list, at the place where
// the function that asks was called; else it gives the table.
func (s *state) luaFields(L *lua.LState) int {
	what := L.CheckString(1)
	t, ok := L.Get(2).(*lua.LTable)
	file, line := s.callerOf(L)
	at := &position{file: file, line: line}
	if !ok {
		s.raise(L, CodeMisuse, newMistakes([]Mistake{{File: file, Line: line, Text: fmt.Sprintf("%s takes a table of options, not a %s", what, s.describe(L.Get(2)))}}))
	}
	if c := s.chunks[file]; c != nil {
		at = c.locate(line, t)
	}
	var found []Mistake
	r := &reader{s: s, t: t, path: what, at: at, found: &found}
	for _, name := range s.nameList(L, 3) {
		if r.asked = append(r.asked, name); !r.has(name) {
			r.wrong(name, "is missing")
		}
	}
	r.asked = append(r.asked, s.nameList(L, 4)...)
	r.finish()
	if len(found) > 0 {
		s.raise(L, CodeMisuse, newMistakes(found))
	}
	L.Push(t)
	return 1
}

// callerOf is where the function was called that calls flower.fields; where that is
// one of our own modules, where the module was called.
func (s *state) callerOf(L *lua.LState) (file string, line int) {
	for skip := 1; skip < callDepth; skip++ {
		if file, line = s.callerAt(L, skip); !isOurs(file) {
			break
		}
	}
	return file, line
}

// nameList is an argument that lists names; nil is none.
func (s *state) nameList(L *lua.LState, at int) (names []string) {
	if L.Get(at) == lua.LNil && at > 3 {
		return nil
	}
	t, ok := L.Get(at).(*lua.LTable)
	if !ok {
		s.misuse(L, "flower.fields: argument %d must be a list of names, is a %s", at, s.describe(L.Get(at)))
	}
	for i := 1; i <= t.Len(); i++ {
		name, ok := t.RawGetInt(i).(lua.LString)
		if !ok {
			s.misuse(L, "flower.fields: argument %d must be a list of names; item %d is a %s", at, i, s.describe(t.RawGetInt(i)))
		}
		names = append(names, string(name))
	}
	return names
}
