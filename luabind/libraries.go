package luabind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// What of the other libraries needs a bound, or does otherwise than Lua.

func (s *state) openTables() {
	lib := s.L.GetGlobal(lua.TabLibName).(*lua.LTable)
	lib.RawSetString("concat", s.L.NewFunction(tableConcat))
	lib.RawSetString("sort", s.L.NewFunction(s.tableSort))
}

// tableConcat is table.concat; gopher-lua's puts everything on the stack first,
// which is full after some hundred thousand values.
func tableConcat(L *lua.LState) int {
	t, between := L.CheckTable(1), L.OptString(2, "")
	first, last := L.OptInt(3, 1), L.OptInt(4, t.Len())
	var b strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			L.RaiseError("invalid value (a %s) at index %d in table for 'concat'", v.Type(), i)
		}
		if i > first {
			b.WriteString(between)
		}
		b.WriteString(lua.LVAsString(v))
		bound(L, "table.concat", b.Len())
		if i == math.MaxInt {
			break
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}

// sorter sorts the values of a table; what it compares may be long, so it asks
// whether the script must stop.
type sorter struct {
	s      *state
	L      *lua.LState
	less   *lua.LFunction // nil: <
	values []lua.LValue
}

func (o *sorter) Len() int      { return len(o.values) }
func (o *sorter) Swap(i, j int) { o.values[i], o.values[j] = o.values[j], o.values[i] }

func (o *sorter) Less(i, j int) bool {
	if o.s.stopped() {
		o.L.RaiseError("stopped")
	}
	if o.less == nil {
		return o.L.LessThan(o.values[i], o.values[j])
	}
	o.L.Push(o.less)
	o.L.Push(o.values[i])
	o.L.Push(o.values[j])
	o.L.Call(2, 1)
	less := lua.LVAsBool(o.L.Get(-1))
	o.L.Pop(1)
	return less
}

func (s *state) tableSort(L *lua.LState) int {
	t := L.CheckTable(1)
	o := &sorter{s: s, L: L, less: L.OptFunction(2, nil), values: make([]lua.LValue, t.Len())}
	for i := range o.values {
		o.values[i] = t.RawGetInt(i + 1)
	}
	sort.Sort(o)
	for i, v := range o.values {
		t.RawSetInt(i+1, v)
	}
	return 0
}

// openMath gives a script random numbers of its own: gopher-lua's are the
// process's, its randomseed does nothing, and an empty range is a Go panic.
func (s *state) openMath() {
	lib := s.L.GetGlobal(lua.MathLibName).(*lua.LTable)
	s.random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	lib.RawSetString("huge", lua.LNumber(math.Inf(1)))
	lib.RawSetString("randomseed", s.L.NewFunction(func(L *lua.LState) int {
		s.random = rand.New(rand.NewPCG(math.Float64bits(float64(L.CheckNumber(1))), 0))
		return 0
	}))
	lib.RawSetString("random", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LNumber(s.randomNumber(L)))
		return 1
	}))
}

func (s *state) randomNumber(L *lua.LState) float64 {
	low, high := 1.0, 0.0
	switch L.GetTop() {
	case 0:
		return s.random.Float64()
	case 1:
		high = math.Floor(float64(L.CheckNumber(1)))
	case 2:
		low, high = math.Floor(float64(L.CheckNumber(1))), math.Floor(float64(L.CheckNumber(2)))
	default:
		L.RaiseError("wrong number of arguments")
	}
	if !(low <= high) {
		L.ArgError(L.GetTop(), "interval is empty")
	}
	if high-low >= 1<<53 {
		L.ArgError(L.GetTop(), "interval is too large")
	}
	return low + float64(s.random.Int64N(int64(high-low)+1))
}

// openTime bounds the format of os.date.
func (s *state) openTime() {
	lib := s.L.GetGlobal(lua.OsLibName).(*lua.LTable)
	date := goFunctionOf(lib, "date")
	lib.RawSetString("date", s.L.NewFunction(func(L *lua.LState) int {
		if len(L.OptString(1, "")) > maxFormat {
			L.ArgError(1, fmt.Sprintf("a format of more than %d bytes", maxFormat))
		}
		return date(L)
	}))
}

// openBase replaces functions of the base library.
func (s *state) openBase() {
	setMetatable := s.L.GetGlobal("setmetatable").(*lua.LFunction).GFunction
	unpack := s.L.GetGlobal("unpack").(*lua.LFunction).GFunction
	for name, fn := range map[string]lua.LGFunction{
		"assert":     assert,
		"error":      luaError,
		"tonumber":   toNumber,
		"load":       s.load,
		"loadstring": s.loadString,
		"print":      s.luaPrint,
		"require":    s.luaRequire,
		"rawset":     s.rawSet,
		// Of tables alone: gopher-lua would change what all numbers or functions do.
		"setmetatable": func(L *lua.LState) int {
			L.CheckTable(1)
			return setMetatable(L)
		},
		"unpack": func(L *lua.LState) int {
			if n := float64(L.OptNumber(3, 0)) - float64(L.OptNumber(2, 0)); math.IsNaN(n) || n > registryMost {
				L.RaiseError("too many results to unpack")
			}
			return unpack(L)
		},
	} {
		s.L.SetGlobal(name, s.L.NewFunction(fn))
	}
}

// luaError is error(value [, level]). gopher-lua's levels 1 and 2 are the same
// place; error(text, 2), which blames the caller, would blame the blamer.
func luaError(L *lua.LState) int {
	v, level := L.Get(1), L.OptInt(2, 1)
	if text, ok := v.(lua.LString); ok && level > 0 && level < callDepth {
		if frame, ok := L.GetStack(level); ok {
			if _, err := L.GetInfo("Sl", frame, lua.LNil); err == nil && frame.CurrentLine > 0 {
				v = lua.LString(fmt.Sprintf("%s:%d: %s", frame.Source, frame.CurrentLine, clip(string(text))))
			}
		}
	}
	if text, ok := v.(lua.LString); ok {
		v = lua.LString(clip(string(text)))
	}
	L.Error(v, 0)
	return 0
}

// assert passes an error on that is not a text: assert(pcall(f)) then raises what
// f raised.
func assert(L *lua.LState) int {
	if lua.LVAsBool(L.CheckAny(1)) {
		return L.GetTop()
	}
	switch v := L.Get(2).(type) {
	case *lua.LNilType:
		L.RaiseError("assertion failed!")
	case lua.LString, lua.LNumber:
		L.RaiseError("%s", v.String())
	default:
		L.Error(v, 0)
	}
	return 0
}

// toNumber is tonumber; gopher-lua's does not read "1e5".
func toNumber(L *lua.LState) int {
	v := L.CheckAny(1)
	base := L.OptInt(2, 10)
	if base < 2 || base > 36 {
		L.ArgError(2, "base out of range")
	}
	if n, ok := v.(lua.LNumber); ok && base == 10 {
		L.Push(n)
		return 1
	}
	if !lua.LVCanConvToString(v) {
		L.Push(lua.LNil)
		return 1
	}
	if n, ok := parseNumber(strings.Trim(lua.LVAsString(v), " \t\n\v\f\r"), base); ok {
		L.Push(lua.LNumber(n))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func parseNumber(text string, base int) (float64, bool) {
	unsigned := strings.TrimLeft(text, "+-")
	if strings.ContainsAny(text, "_pPnN") && base == 10 || len(text)-len(unsigned) > 1 {
		return 0, false // what Go reads and Lua does not: 1_000, 0x1p4, inf, nan
	}
	hex := len(unsigned) > 2 && unsigned[0] == '0' && unsigned[1]|0x20 == 'x'
	switch {
	case hex && (base == 10 || base == 16):
		n, err := strconv.ParseUint(unsigned[2:], 16, 64)
		if text[0] == '-' {
			return -float64(n), err == nil
		}
		return float64(n), err == nil
	case base == 10:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil || math.IsInf(n, 0) // 1e999
	}
	n, err := strconv.ParseInt(text, base, 64)
	return float64(n), err == nil
}
