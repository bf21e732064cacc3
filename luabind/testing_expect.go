package luabind

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/internal/spell"
)

// CodeExpect is the code of an expectation that is not met.
const CodeExpect = "expect"

// unmet is an expectation that is not met, with its two sides as text.
type unmet struct{ text, want, got string }

// Error is the text alone, where there is nothing to compare, or all of it.
func (e *unmet) Error() string {
	text := e.text
	if e.want != "" {
		text += "\nexpected: " + e.want
	}
	if e.got != "" {
		text += "\ngot: " + e.got
	}
	return text
}

// expectation is what expect(value [, message]) gives.
type expectation struct {
	value   lua.LValue
	message string
	never   bool
}

// valueCheck is a matcher: it looks at the value of an expectation, beside so many arguments. It reports
// whether the value matches, and what is said when the expectation is not met.
type valueCheck struct {
	least, most int
	takes       string
	check       func(b *bed, L *lua.LState, e *expectation) (matches bool, says unmet)
}

var matchers = sync.OnceValue(func() map[string]valueCheck {
	return map[string]valueCheck{
		"to_be":        {1, 1, "one value", (*bed).toBe},
		"to_equal":     {1, 1, "one value", (*bed).toEqual},
		"to_contain":   {1, 1, "one value", (*bed).toContain},
		"to_match":     {1, 1, "one pattern", (*bed).toMatch},
		"to_be_nil":    {0, 0, "nothing", (*bed).toBeNil},
		"to_be_truthy": {0, 0, "nothing", (*bed).toBeTruthy},
		"to_be_falsy":  {0, 0, "nothing", (*bed).toBeFalsy},
		"to_raise":     {0, 1, "nothing, or a part of the message", (*bed).toRaise},
	}
})

// expect is expect(value [, message]). What a function returns behind its value is
// the message where it is a text: a gate's reason, what is wrong with a file.
func (b *bed) expect(L *lua.LState) int {
	e := &expectation{value: L.Get(1)}
	if text, ok := L.Get(2).(lua.LString); ok {
		e.message = string(text)
	}
	u := b.expectation(L, e)
	file, line := b.s.caller(L)
	b.suite.expected[u] = &Error{File: file, Line: line, Code: CodeExpect,
		Message: "this expect is followed by no matcher, such as .to_be(…)"}
	L.Push(u)
	return 1
}

func (b *bed) expectation(L *lua.LState, e *expectation) *lua.LUserData {
	u := L.NewUserData()
	u.Value = e
	meta := L.CreateTable(0, 3)
	meta.RawSetString("__metatable", lua.LString("expectation"))
	meta.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
		b.index(L, u, e)
		return 1
	}))
	L.SetMetatable(u, meta)
	return u
}

// index pushes a matcher, or the opposite of an expectation.
func (b *bed) index(L *lua.LState, u *lua.LUserData, e *expectation) {
	all := matchers()
	name := L.ToStringMeta(L.Get(2)).String()
	m, ok := all[name]
	switch {
	case ok:
		delete(b.suite.expected, u)
		L.Push(L.NewFunction(func(L *lua.LState) int { return b.match(L, e, name, m) }))
	case name == "never" && !e.never:
		opposite := b.expectation(L, &expectation{value: e.value, message: e.message, never: true})
		b.suite.expected[opposite] = b.suite.expected[u]
		delete(b.suite.expected, u)
		L.Push(opposite)
	default:
		names := append(sortedNames(all), "never")
		hint := cmp.Or(spell.Hint(name, names), "; there are "+quoteAll(names))
		b.s.misuse(L, "expect has no %q%s", clip(name), hint)
	}
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sortStrings(names)
	return names
}

func (b *bed) match(L *lua.LState, e *expectation, name string, m valueCheck) int {
	if u, ok := L.Get(1).(*lua.LUserData); ok {
		if _, ok := u.Value.(*expectation); ok {
			b.s.misuse(L, "call matchers with a dot: expect(value).%s(…)", name)
		}
	}
	if n := L.GetTop(); n < m.least || n > m.most {
		b.s.misuse(L, "%s takes %s; it was given %s", name, m.takes, b.s.describeArgs(L))
	}
	matches, says := m.check(b, L, e)
	if matches == e.never {
		b.fail(L, e, says)
	}
	if name == "to_raise" && !e.never {
		return 1 // what was raised, for a closer look
	}
	return 0
}

// fail raises an expectation that is not met. It fails the test also when somebody
// catches it: a callback's errors are the engine's to catch.
func (b *bed) fail(L *lua.LState, e *expectation, says unmet) {
	if e.message != "" {
		says.text += ": " + e.message
	}
	says.text, says.want, says.got = clip(says.text), clip(says.want), clip(says.got)
	file, line := b.s.caller(L)
	err := &Error{File: file, Line: line, Code: CodeExpect, Message: says.text, trace: b.s.trace(L), cause: &says}
	b.note(err)
	b.s.raise(L, CodeExpect, &says)
}

// wrongType fails an expectation of a value that a matcher cannot look at, and its
// opposite too.
func (b *bed) wrongType(L *lua.LState, e *expectation, want string) {
	b.fail(L, e, unmet{text: "expected " + want, got: b.s.show(e.value)})
}

// either chooses the words of an expectation or of its opposite.
func (e *expectation) either(text, opposite string) string {
	if e.never {
		return opposite
	}
	return text
}

func (b *bed) toBe(L *lua.LState, e *expectation) (bool, unmet) {
	want := L.Get(1)
	if identical(e.value, want) {
		return true, unmet{text: "expected another value", got: b.s.show(e.value)}
	}
	says := unmet{text: "expected the same value"}
	if equal, _ := b.s.equal(L, e.value, want); equal {
		says.text = "expected the very same table; to_equal compares what is in it"
	}
	says.want, says.got = b.s.showPair(want, e.value)
	return false, says
}

// identical: NaN is the same as NaN here.
func identical(a, b lua.LValue) bool {
	x, isNumber := a.(lua.LNumber)
	y, both := b.(lua.LNumber)
	if isNumber && both && math.IsNaN(float64(x)) && math.IsNaN(float64(y)) {
		return true
	}
	return a == b
}

func (b *bed) toEqual(L *lua.LState, e *expectation) (bool, unmet) {
	want := L.Get(1)
	equal, at := b.s.equal(L, e.value, want)
	if equal {
		return true, unmet{text: "expected a value that is not equal", got: b.s.show(e.value)}
	}
	says := unmet{text: "expected an equal value"}
	if at != "" {
		says.text += "; they differ at " + at
	}
	says.want, says.got = b.s.showPair(want, e.value)
	return false, says
}

func (b *bed) toContain(L *lua.LState, e *expectation) (bool, unmet) {
	want := L.Get(1)
	says := unmet{want: b.s.show(want), got: b.s.show(e.value)}
	switch v := e.value.(type) {
	case lua.LString:
		part, ok := want.(lua.LString)
		if !ok {
			b.s.misuse(L, "to_contain looks for a text in a text, not for a %s", b.s.describe(want))
		}
		says.text = e.either("expected a text that contains another", "expected a text that does not contain another")
		return strings.Contains(string(v), string(part)), says
	case *lua.LTable:
		says.text = e.either("expected a list that contains a value", "expected a list that does not contain a value")
		b.s.fill(v)
		for i := 1; i <= v.Len(); i++ {
			if equal, _ := b.s.equal(L, v.RawGetInt(i), want); equal {
				return true, says
			}
		}
		return false, says
	}
	b.wrongType(L, e, "a text or a list to look into")
	return false, says
}

func (b *bed) toMatch(L *lua.LState, e *expectation) (bool, unmet) {
	pattern, ok := L.Get(1).(lua.LString)
	if !ok {
		b.s.misuse(L, "to_match takes a pattern, a string, not a %s", b.s.describe(L.Get(1)))
	}
	text, ok := e.value.(lua.LString)
	if !ok {
		b.wrongType(L, e, "a text to match")
	}
	L.Push(b.stringMatch)
	L.Push(text)
	L.Push(pattern)
	L.Call(2, 1)
	found := L.Get(-1) != lua.LNil
	L.Pop(1)
	return found, unmet{text: e.either("expected a text that matches a pattern", "expected a text that does not match a pattern"),
		want: b.s.show(pattern), got: b.s.show(text)}
}

func (b *bed) toBeNil(_ *lua.LState, e *expectation) (bool, unmet) {
	return e.value == lua.LNil, unmet{text: e.either("expected nil", "expected a value, not nil"), got: b.s.show(e.value)}
}

func (b *bed) toBeTruthy(_ *lua.LState, e *expectation) (bool, unmet) {
	return lua.LVAsBool(e.value), unmet{text: e.either("expected neither nil nor false", "expected nil or false"), got: b.s.show(e.value)}
}

func (b *bed) toBeFalsy(_ *lua.LState, e *expectation) (bool, unmet) {
	return !lua.LVAsBool(e.value), unmet{text: e.either("expected nil or false", "expected neither nil nor false"), got: b.s.show(e.value)}
}

// toRaise calls the value, and leaves what it raised on the stack.
func (b *bed) toRaise(L *lua.LState, e *expectation) (bool, unmet) {
	part, isText := L.Get(1).(lua.LString)
	if !isText && L.GetTop() > 0 {
		b.s.misuse(L, "to_raise takes a part of the message, a string, not a %s", b.s.describe(L.Get(1)))
	}
	fn, ok := e.value.(*lua.LFunction)
	if !ok {
		b.wrongType(L, e, "a function to call")
	}
	raised, ok := b.s.raises(L, fn)
	L.Push(raised)
	if !ok {
		return false, unmet{text: e.either("expected an error", "expected no error"), want: wanted(isText, part), got: "no error"}
	}
	message := L.ToStringMeta(raised).String()
	if !isText {
		return true, unmet{text: "expected no error", got: message}
	}
	return strings.Contains(message, string(part)), unmet{
		text: e.either("expected an error that contains a text", "expected no error that contains a text"), want: wanted(isText, part), got: message}
}

func wanted(isText bool, part lua.LString) string {
	if isText {
		return quoted(string(part))
	}
	return ""
}

// raises calls a function and gives what it raised. A stop of the test is not caught.
func (s *state) raises(L *lua.LState, fn *lua.LFunction) (raised lua.LValue, ok bool) {
	top := L.GetTop()
	L.Push(fn)
	err := L.PCall(0, 0, nil)
	L.SetTop(top)
	if err == nil {
		return lua.LNil, false
	}
	if s.stopped() {
		L.RaiseError("stopped")
	}
	var api *lua.ApiError
	if errors.As(err, &api) && api.Object != nil {
		return api.Object, true
	}
	return lua.LString(err.Error()), true
}

// maxTrace bounds a backtrace, in calls.
const maxTrace = 40

// trace lists the calls that led to a place, as a backtrace of Lua does.
func (s *state) trace(L *lua.LState) string {
	var out strings.Builder
	for level := range maxTrace {
		frame, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("nSl", frame, lua.LNil); err == nil && frame.What != "G" && frame.CurrentLine > 0 {
			fmt.Fprintf(&out, "\t%s:%d: in %s\n", frame.Source, frame.CurrentLine, cmp.Or(frame.Name, "a function"))
		}
	}
	return out.String()
}

// untold is an expectation whose matcher was forgotten, the first in the file.
func (b *bed) untold() error {
	var first *Error
	for _, e := range b.suite.expected {
		if first == nil || e.File < first.File || e.File == first.File && e.Line < first.Line {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	return first
}
