package luabind

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openArithmetic makes texts that are numbers calculate as in Lua: gopher-lua's own
// way takes "010" for 8 and "nan" for a number. It asks the metatable first, which
// is only done for what is no number.
func (s *state) openArithmetic(meta *lua.LTable) {
	for event, calculate := range map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__mod": modulo,
		"__pow": math.Pow,
	} {
		meta.RawSetString(event, s.L.NewFunction(func(L *lua.LState) int {
			left, right := L.Get(1), L.Get(2)
			// What stands on the right may have a way of its own.
			if op, ok := L.GetMetaField(right, event).(*lua.LFunction); ok && right.Type() != lua.LTString {
				L.Push(op)
				L.Push(left)
				L.Push(right)
				L.Call(2, 1)
				return 1
			}
			L.Push(lua.LNumber(calculate(operand(L, left), operand(L, right))))
			return 1
		}))
	}
	meta.RawSetString("__unm", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LNumber(-operand(L, L.Get(1))))
		return 1
	}))
}

func operand(L *lua.LState, v lua.LValue) float64 {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		if n, ok := parseNumber(strings.Trim(string(v), " \t\n\v\f\r"), 10); ok {
			return n
		}
	}
	L.RaiseError("attempt to perform arithmetic on a %s value", v.Type())
	return 0
}

// modulo is % of Lua, whose result has the sign of the divisor.
func modulo(a, b float64) float64 {
	m := math.Mod(a, b)
	if m*b < 0 {
		m += b
	}
	return m
}
