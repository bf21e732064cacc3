package luabind

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// TestBombs_are_errors: what would take the machine, or send Go into a recursion
// that no recover ends, is an error with a place; a pcall around it catches what
// may be caught.
func TestBombs_are_errors(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 20 * time.Second})
	for name, source := range map[string]string{
		"deep calls":            "local function f(n) return 1 + f(n + 1) end f(1)",
		"deep pcalls":           "local function f() local ok, e = pcall(f) error(e, 0) end f()",
		"deep tostring":         "local t t = setmetatable({}, { __tostring = function() return tostring(t) end }) tostring(t)",
		"deep index":            "local t t = setmetatable({}, { __index = function(_, k) return t[k] end }) return t.x",
		"index loop":            "local a, b = {}, {} setmetatable(a, { __index = b }) setmetatable(b, { __index = a }) return a.x",
		"deep gsub":             "local function f() return (string.gsub('a', 'a', f)) end f()",
		"deep sort":             "local function f() table.sort({ 1, 2, 3 }, f) end f()",
		"deep coroutines":       "local function f() return coroutine.wrap(f)() end f()",
		"many values":           "local t = {} for i = 1, 5e5 do t[i] = i end return (function(...) return ... end)(unpack(t))",
		"many arguments":        "return string.char(unpack({ 1 }, 1, 3e5))",
		"bytes as values":       "return string.byte(('x'):rep(1e6), 1, -1)",
		"concat doubles":        "local s = 'x' while true do s = s .. s end",
		"concat of many":        "local s = ('x'):rep(2^25) return s" + strings.Repeat(" .. s", 40),
		"table.concat":          "local t, s = {}, ('x'):rep(2^20) for i = 1, 100 do t[i] = s end return table.concat(t)",
		"table.concat between":  "return table.concat({ 1, 2, 3, 4 }, ('x'):rep(2^25))",
		"format":                "local s = ('x'):rep(2^25) return string.format(('%s'):rep(50), unpack({ s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s }))",
		"gsub table":            "return ('a'):rep(1e6):gsub('a', { a = ('b'):rep(1e4) })",
		"date":                  "return os.date(('%'):rep(6e7))",
		"load":                  "local s = ('-'):rep(2^20) assert(load(function() return s end))",
		"source nests unary":    "assert(loadstring('return ' .. ('- '):rep(1e5) .. '1'))",
		"source nests tables":   "assert(loadstring('return ' .. ('{'):rep(1e5) .. ('}'):rep(1e5)))",
		"source nests blocks":   "assert(loadstring(('do '):rep(5e4) .. ('end '):rep(5e4)))",
		"source nests function": "assert(loadstring(('return function() '):rep(1e4) .. ('end '):rep(1e4)))",
		"source nests else":     "assert(loadstring('if x then ' .. ('elseif x then '):rep(1e4) .. 'end'))",
		"source nests index":    "assert(loadstring('return x' .. ('[x'):rep(5e4) .. (']'):rep(5e4)))",
		"source nests sums":     "assert(loadstring('return 1' .. (' + x'):rep(5e4)))",
		"source lists":          "assert(loadstring('return {' .. ('1,'):rep(1e5) .. '}'))",
		"source constants":      "local t = {} for i = 1, 25000 do t[i] = 'x = ' .. i end assert(loadstring(table.concat(t, ' ')))",
		"source locals":         "assert(loadstring(('local a '):rep(300)))",
		"json nests":            "assert(flower_json.decode(('['):rep(1e6)))",
		"json holds much":       "assert(flower_json.decode('[' .. ('[],'):rep(2e6) .. '1]'))",
		"json is long":          "assert(flower_json.decode('\"' .. ('x'):rep(2e7) .. '\"'))",
		"json of shared parts":  "local t = {} for i = 1, 60 do t = { t, t } end assert(flower_json.encode(t))",
		"json of shared texts":  "local t, s = {}, ('x'):rep(2^20) for i = 1, 100 do t[i] = s end assert(flower_json.encode(t))",
		"json of itself":        "local t = {} t.t = t assert(flower_json.encode(t))",
		"json of nan":           "assert(flower_json.encode({ 0/0 }))",
	} {
		t.Run(name, func(t *testing.T) {
			s.L.SetGlobal("flower_json", s.jsonTable())
			start := time.Now()
			_, err := s.eval(t, "\n"+source, 0)
			var e *Error
			if !errors.As(err, &e) || e.Line != 2 && !strings.HasPrefix(name, "deep") {
				t.Errorf("%v, want an error in line 2", err)
			} else if strings.Contains(e.Message, "runtime error") {
				t.Errorf("a fault of Go: %v", err)
			}
			t.Logf("%v: %.100s", time.Since(start), fmt.Sprint(err))
		})
	}
}

func TestVarargs_that_grow_end_by_a_limit(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 100 * time.Millisecond})
	if _, err := s.eval(t, "local function f(...) return f(1, ...) end f()", 0); err == nil {
		t.Error("no error")
	}
}

func TestHuge_numbers_as_arguments_do_no_harm(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 20 * time.Second})
	s.L.SetGlobal("flower_json", s.jsonTable())
	for _, n := range []string{"2^31", "2^53", "2^63", "-2^63", "2^64", "1e308", "-1e308", "1/0", "-1/0", "0/0"} {
		for _, call := range []string{
			"('abc'):sub(N)", "('abc'):sub(1, N)", "('abc'):byte(N)", "('abc'):byte(1, N)", "('abc'):byte(N, N)", "('abc'):find('b', N)",
			"('abc'):match('b', N)", "('abc'):gsub('b', 'x', N)", "('abc'):rep(N)", "string.char(N)", "string.format('%d', N)", "string.format('%c', N)",
			"string.format('%x', N)", "string.format('%g', N)", "table.concat({}, '', N)", "table.concat({}, '', 1, N)", "table.insert({}, N, 1)",
			"table.remove({ 1, 2 }, N)", "unpack({}, N)", "unpack({}, 1, N)", "unpack({}, N, N)", "select(N, 1, 2)", "math.random(N)",
			"math.random(1, N)", "math.random(N, 1)", "math.randomseed(N)", "math.ldexp(1, N)", "math.fmod(1, N)", "os.date('%c', N)",
			"os.date('*t', N)", "os.time({ year = N, month = N, day = N })", "os.difftime(N, 1)", "tonumber('1', N)", "tostring(N)",
			"rawget({}, N)", "rawset({}, N, 1)", "next({}, N)", "getfenv(N)", "error('x', N)", "flower_json.encode(N)", "setfenv(N, {})",
			"(function() local t = {} t[N] = 1 return #t end)()", "loadstring('return 1', N)", "collect and collect(N)",
		} {
			source := strings.ReplaceAll("return "+call, "N", "("+n+")")
			_, err := s.eval(t, source, 1)
			var e *Error
			if err != nil && !errors.As(err, &e) || err != nil && strings.Contains(err.Error(), "runtime error") {
				t.Errorf("%s: %v", source, err)
			}
		}
	}
}

func TestMemory_that_grows_is_stopped(t *testing.T) {
	for name, source := range map[string]string{
		"tables":     "local t = {} while true do t = { t } end",
		"caught":     "local t = {} while true do pcall(function() while true do t = { t } end end) end",
		"coroutines": "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
		"in a sort":  "local t = {} table.sort({ 1, 2 }, function() while true do t = { t } end end)",
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			s := sandbox(t, &Options{MemoryLimit: 16 << 20, ComputeLimit: time.Minute})
			_, err := s.eval(t, "\n"+source, 0)
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeLimit || !strings.Contains(e.Message, "16 MiB") || e.Line != 2 {
				t.Errorf("err = %#v, want the memory limit in line 2", err)
			}
		})
	}
}

func TestMemory_is_not_watched_when_it_is_off_and_garbage_does_not_count(t *testing.T) {
	grow := "local t = {} for i = 1, 40 do t[i] = ('x'):rep(2^20) .. i end for i = 1, 1e6 do end return #t"
	off := sandbox(t, &Options{MemoryLimit: -1})
	if _, err := off.eval(t, grow, 1); err != nil {
		t.Errorf("off: %v", err)
	}
	garbage := "for i = 1, 100 do local s = ('x'):rep(2^20) .. i end return 1"
	on := sandbox(t, &Options{MemoryLimit: 16 << 20})
	if _, err := on.eval(t, garbage, 1); err != nil {
		t.Errorf("garbage: %v", err)
	}
}

func TestCompute_limit_starts_anew_when_Lua_comes_back_from_Go(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 200 * time.Millisecond})
	s.L.SetGlobal("wait", s.L.NewFunction(func(*lua.LState) int {
		s.block(func(context.Context) { time.Sleep(150 * time.Millisecond) })
		return 0
	}))
	if _, err := s.eval(t, "for i = 1, 4 do wait() end", 0); err != nil {
		t.Error(err)
	}
	_, err := s.eval(t, "wait() while true do end", 0)
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeLimit {
		t.Errorf("err = %v, want the limit", err)
	}
}

// TestStop_wins_over_a_script_that_returns_quietly: the last thing a script does
// is a pcall in tail position, after which Lua asks no more whether to stop.
func TestStop_wins_over_a_script_that_returns_quietly(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 30 * time.Millisecond})
	out, err := s.eval(t, "return pcall(function() while true do end end)", 2)
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeLimit {
		t.Errorf("returned %v, %v, want the limit", out, err)
	}
}

func TestState_works_on_after_every_stop(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 20 * time.Millisecond})
	for range 3 {
		for _, source := range []string{"while true do end", "local function f() return 1 + f() end f()", "error('x')", "coroutine.wrap(function() while true do end end)()"} {
			if _, err := s.eval(t, source, 0); err == nil {
				t.Errorf("%s: no error", source)
			}
			if out, err := s.eval(t, "return coroutine.wrap(function(a) return a + coroutine.yield(1) end)(1)", 1); err != nil || out[0] != lua.LNumber(1) {
				t.Fatalf("after %s: %v, %v", source, out, err)
			}
			if top := s.L.GetTop(); top != 0 {
				t.Fatalf("after %s: %d values are left on the stack", source, top)
			}
		}
	}
}

func TestCall_that_finds_no_room_for_its_arguments_is_an_error(t *testing.T) {
	s := sandbox(t, nil)
	args := make([]lua.LValue, registryMost+10)
	for i := range args {
		args[i] = lua.LTrue
	}
	if _, err := s.eval(t, "return 1", 1, args...); err == nil || !strings.Contains(err.Error(), "registry overflow") {
		t.Errorf("err = %v", err)
	}
	if out, err := s.eval(t, "return 1", 1); err != nil || out[0] != lua.LNumber(1) {
		t.Errorf("afterwards: %v, %v", out, err)
	}
}

func TestOptions_that_make_no_sense_are_refused(t *testing.T) {
	for _, o := range []*Options{
		{ComputeLimit: -1}, {CommandLimit: -1},
		{Modules: []Module{{Name: "a/b"}}}, {Modules: []Module{{Name: "flower"}}}, {Modules: []Module{{Name: "flower.x"}}},
		{Modules: []Module{{Name: "a"}, {Name: "a"}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": 1}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": nil}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": (func())(nil)}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": func(...string) {}}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": func() (int, int) { return 0, 0 }}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": func(chan int) {}}}}},
		{Modules: []Module{{Name: "a", Functions: map[string]any{"f": func(string, context.Context) {}}}}},
	} {
		if _, err := Load("x.lua", "", o); err == nil || !strings.HasPrefix(err.Error(), "luabind: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestClip_cuts_between_characters(t *testing.T) {
	long := strings.Repeat("ä", maxShown)
	if got := clip(long); !strings.HasPrefix(got, "ää") || strings.ContainsRune(got, '\uFFFD') || len(got) > maxShown+40 || !strings.HasSuffix(got, "bytes more)") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-30:])
	}
	if got := clip("short"); got != "short" {
		t.Errorf("%q", got)
	}
	if got := clip(strings.Repeat("\x80", maxShown+5)); len(got) > maxShown+40 {
		t.Errorf("%d bytes", len(got))
	}
}
