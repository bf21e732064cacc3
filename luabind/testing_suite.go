package luabind

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// suite is what describe, it and the hooks of a file have said.
type suite struct {
	at    *group // that is being described; nil: none
	top   group  // hooks outside of all groups
	cases []*testCase
	// expected are the expectations that no matcher was called on yet, with their
	// places.
	expected map[*lua.LUserData]*Error
}

// group is a describe.
type group struct {
	name          string
	outer         *group
	before, after []*lua.LFunction
}

// testCase is an it; fn is nil where it is skipped.
type testCase struct {
	group *group
	name  string
	line  int
	fn    *lua.LFunction
}

// names are those of the groups around the test, the outermost first, and its own.
func (c *testCase) names() []string {
	names := []string{c.name}
	for g := c.group; g != nil && g.outer != nil; g = g.outer {
		names = append(names, g.name)
	}
	slices.Reverse(names)
	return names
}

// openGlobals adds what test files have and scripts have not.
func (b *bed) openGlobals() {
	s := b.s
	b.suite.at = &b.suite.top
	b.stringMatch, _ = behind(s.L.GetGlobal(lua.StringLibName)).RawGetString("match").(*lua.LFunction) // it is there
	for name, fn := range map[string]lua.LGFunction{
		"describe":    b.describe,
		"before_each": b.hook("before_each", func(g *group, fn *lua.LFunction) { g.before = append(g.before, fn) }),
		"after_each":  b.hook("after_each", func(g *group, fn *lua.LFunction) { g.after = append(g.after, fn) }),
		"expect":      b.expect,
	} {
		s.L.SetGlobal(name, s.L.NewFunction(fn))
	}
	it := s.L.CreateTable(0, 1)
	it.RawSetString("skip", s.L.NewFunction(b.skip))
	s.refuseUnknown("it", it)
	meta := it.Metatable.(*lua.LTable)
	meta.RawSetString("__metatable", lua.LString("it"))
	meta.RawSetString("__call", s.L.NewFunction(func(L *lua.LState) int {
		L.Remove(1) // the table that is called
		return b.it(L)
	}))
	s.L.SetGlobal("it", it)
	b.openModule()
}

// describe is describe(name, function): a group of tests.
func (b *bed) describe(L *lua.LState) int {
	name := b.named(L, "describe", true)
	outer := b.suite.at
	b.suite.at = &group{name: name, outer: outer}
	defer func() { b.suite.at = outer }()
	L.Push(L.Get(2))
	L.Call(0, 0)
	return 0
}

// it is it(name, function): a test.
func (b *bed) it(L *lua.LState) int {
	name := b.named(L, "it", true)
	b.add(L, name, L.Get(2).(*lua.LFunction))
	return 0
}

// skip is it.skip(name [, function]): a test that is not run.
func (b *bed) skip(L *lua.LState) int {
	b.add(L, b.named(L, "it.skip", false), nil)
	return 0
}

func (b *bed) add(L *lua.LState, name string, fn *lua.LFunction) {
	if len(b.suite.cases) == maxTests {
		b.s.misuse(L, "it: a file may have %d tests", maxTests)
	}
	_, line := b.s.caller(L)
	b.suite.cases = append(b.suite.cases, &testCase{group: b.suite.at, name: name, line: line, fn: fn})
}

// named checks the arguments of describe and it, and gives the name.
func (b *bed) named(L *lua.LState, function string, needsFunction bool) string {
	b.outside(L, function)
	name, isText := L.Get(1).(lua.LString)
	_, isFunction := L.Get(2).(*lua.LFunction)
	if !isText || name == "" || L.GetTop() > 2 || !isFunction && (needsFunction || L.Get(2) != lua.LNil) {
		b.s.misuse(L, "%s takes a name and a function; it was given %s", function, b.s.describeArgs(L))
	}
	return clip(string(name))
}

// outside refuses what stands inside a test and can have no effect there.
func (b *bed) outside(L *lua.LState, function string) {
	if b.running {
		b.s.misuse(L, "%s cannot stand inside a test; put it beside it, or into a describe", function)
	}
}

// hook is before_each(function) or after_each(function): for all tests of the group
// it stands in, and of those inside.
func (b *bed) hook(name string, add func(*group, *lua.LFunction)) lua.LGFunction {
	return func(L *lua.LState) int {
		b.outside(L, name)
		fn, ok := L.Get(1).(*lua.LFunction)
		if !ok || L.GetTop() != 1 {
			b.s.misuse(L, "%s takes a function; it was given %s", name, b.s.describeArgs(L))
		}
		add(b.suite.at, fn)
		return 0
	}
}
