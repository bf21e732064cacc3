package luabind

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// cases reads a file of JSON lists.
func cases(t *testing.T, path string) (list [][]any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c []any
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFormat_writes_as_Lua_does compares with what Lua 5.1.5 wrote: [format,
// argument, result], or null for an error.
func TestFormat_writes_as_Lua_does(t *testing.T) {
	s := sandbox(t, nil)
	fn := s.L.NewFunction(stringFormat)
	for _, c := range cases(t, "testdata/formats.jsonl") {
		out, err := s.call(t.Context(), fn, 1, s.toLua(c[0]), s.toLua(c[1]))
		var got any
		if err == nil {
			got = out[0].String()
		}
		if got != c[2] {
			t.Errorf("format(%q, %v) = %q, want %q (%v)", c[0], c[1], got, c[2], err)
		}
	}
}

func TestFormat_takes_any_value_for_s_and_refuses_what_is_missing(t *testing.T) {
	s := sandbox(t, nil)
	checkChunks(t, s, map[string]string{
		`return string.format("%s %s %s", nil, true, {} and 1)`:                                    "nil true 1",
		`return string.format("%s", setmetatable({}, { __tostring = function() return "x" end }))`: "x",
		`return string.format("%d", "10")`:                                                         "10",
		`return string.format("%5.2s|", "abc")`:                                                    "   ab|",
		`return string.format("%s")`:                                                               "!no value",
		`return string.format("%d", {})`:                                                           "!number expected",
		`return string.format("%d", 0/0)`:                                                          "!no integer",
		`return string.format("%d", 2^80)`:                                                         "!no integer",
		`return string.format("%x", -1)`:                                                           "ffffffffffffffff",
		`return string.format("%.3f", 1/0)`:                                                        "inf",
		`return string.format("%5g|%-5g|%+g", 1/0, -1/0, 1/0)`:                                     "  inf|-inf |+inf",
		`return string.format("%*d", 5, 1)`:                                                        "!invalid option",
		`return string.format("%[1]d", 1)`:                                                         "!invalid option",
		`return string.format("%c%c", 0, 255) == "\0\255"`:                                         "true",
	})
}

// checkChunks runs chunks and compares what they return; a want that begins with
// ! is part of the error.
func checkChunks(t *testing.T, s *state, chunks map[string]string) {
	t.Helper()
	for source, want := range chunks {
		out, err := s.eval(t, source, 1)
		part, fails := strings.CutPrefix(want, "!")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%s: %v, %v, want an error with %q", source, out, err, part)
		case !fails && err != nil:
			t.Errorf("%s: %v", source, err)
		case !fails && out[0].String() != want:
			t.Errorf("%s = %s, want %s", source, out[0], want)
		}
	}
}

// TestToNumber_reads_as_Lua_does compares with Lua 5.1.5: [text, base, number].
func TestToNumber_reads_as_Lua_does(t *testing.T) {
	s := sandbox(t, nil)
	fn := s.L.NewFunction(toNumber)
	for _, c := range cases(t, "testdata/numbers.jsonl") {
		out, err := s.call(t.Context(), fn, 1, s.toLua(c[0]), s.toLua(c[1]))
		if err != nil {
			t.Errorf("%q: %v", c[0], err)
			continue
		}
		got, _ := s.fromValue(out[0])
		if f, ok := got.(float64); ok && math.IsInf(f, 0) {
			got = strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
		}
		if got != c[2] {
			t.Errorf("tonumber(%q, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

func TestLibraries_do_what_the_manual_says(t *testing.T) {
	s := sandbox(t, nil)
	checkChunks(t, s, map[string]string{
		`return table.concat({1, 2, 3}, ", ")`:                                                      "1, 2, 3",
		`return table.concat({1, 2, 3}, ", ", 2)`:                                                   "2, 3",
		`return table.concat({1, 2, 3}, ", ", 2, 2)`:                                                "2",
		`return table.concat({})`:                                                                   "",
		`return table.concat({1}, ",", 5)`:                                                          "",
		`return table.concat({1, {}}, ",")`:                                                         "!invalid value (a table) at index 2",
		`return table.concat({1}, ",", 1, 3)`:                                                       "!invalid value (a nil) at index 2",
		`return table.concat({}, ",", 2^53, 2^53)`:                                                  "!invalid value",
		`local t = {} for i = 1, 3e5 do t[i] = "ab" end return #table.concat(t)`:                    "600000",
		`local t = {3, 1, 2} table.sort(t) return table.concat(t)`:                                  "123",
		`local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t)`: "321",
		`local t = {3, "a"} table.sort(t)`:                                                          "!compare",
		`table.sort({3, 1, 2}, function() error("no") end)`:                                         "!no",
		`table.sort({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, function() return true end)`:   "nil",
		`return ("ÄbC"):lower() .. ("äbC"):upper()`:                                                 "ÄbcäBC",
		`return #("\255\254"):lower()`:                                                              "2",
		`return ("x"):rep(3) .. ("x"):rep(0) .. ("x"):rep(-1) .. (""):rep(1e9)`:                     "xxx",
		`return ("x"):rep(1e12)`:                                                                    "!more than 64 MiB",
		`return ("x"):rep(1/0)`:                                                                     "!more than 64 MiB",
		`return string.gsub("abc", "b", "%")`:                                                       "!invalid use of '%'",
		`return string.gsub("abc", "%w", { a = "1", b = true })`:                                    "!invalid replacement value",
		`return (string.gsub("abc", "%w", { a = "1", b = false }))`:                                 "1bc",
		`return (string.gsub("hello", "(l)(l)", "%2%1"))`:                                           "hello",
		`return (string.gsub("abc", "", "-"))`:                                                      "-a-b-c-",
		`return select("#", string.find("abc", "b()"))`:                                             "3",
		`return tostring(math.huge)`:                                                                "+Inf",
		`return math.random(3, 2)`:                                                                  "!interval is empty",
		`return math.random(0)`:                                                                     "!interval is empty",
		`return math.random(1, 2^60)`:                                                               "!interval is too large",
		`return math.random(0/0)`:                                                                   "!interval is empty",
		`for i = 1, 100 do local n = math.random(2, 4) assert(n >= 2 and n <= 4 and n % 1 == 0) end return math.random() < 1`: "true",
		`math.randomseed(7) local a = math.random(1e9) math.randomseed(7) return a == math.random(1e9)`:                       "true",
		`return select("#", unpack({}, 1, 3))`:               "3",
		`return unpack({}, 1, 1e9)`:                          "!too many results",
		`return unpack({}, -2^62, 2^62)`:                     "!too many results",
		`return select("#", unpack({}, 2^62, -2^62))`:        "0",
		`return assert(1, 2)`:                                "1",
		`assert(false)`:                                      "!assertion failed",
		`assert(nil, "why")`:                                 "!why",
		`assert(false, { message = "table" })`:               "!table",
		`assert()`:                                           "!value expected",
		`return setmetatable(1, {})`:                         "!table expected",
		`return loadstring("return 1 + 1")()`:                "2",
		`return select(2, loadstring("return return", "x"))`: "x:1: syntax error near \"return\"",
		`return select(2, loadstring(("x"):rep(1e6)))`:       "<string> has 1000000 bytes; a script may have 262144: put data into files of its own",
		`local parts, i = { "return ", "4", "2" }, 0 return load(function() i = i + 1 return parts[i] end)()`: "42",
		`return select(2, load(function() return 1 end))`:                                                     "reader function must return a string",
		`return (load(function() return ("-"):rep(1e6) end))`:                                                 "nil",
		`return select(2, load(function() return ("- "):rep(1e5) end)):sub(-30)`:                              "put data into files of its own",
		`return setfenv(loadstring("return x"), { x = 5 })()`:                                                 "5",
		`return os.date(("%"):rep(1e6))`:                                                                      "!more than 1000 bytes",
		`return os.date("!%Y-%m-%d", 0)`:                                                                      "1970-01-01",
		`return type(os.time()) .. type(os.clock()) .. os.difftime(5, 3)`:                                     "numbernumber2",
		`return _VERSION`: "Lua 5.1",
	})
}

// TestAssignments_take_all_values_first guards what the rewriter goes around.
func TestAssignments_take_all_values_first(t *testing.T) {
	s := sandbox(t, nil)
	checkChunks(t, s, map[string]string{
		`local function f(a) a = (string.rep(a, 2)) return a end return f("x")`:                                                             "xx",
		`local function f(a) local b a, b = string.rep(a, 2), string.rep(a, 3) return a .. b end return f("x")`:                             "xxxxx",
		`local function f(a) a = a .. "y" return a end return f("x")`:                                                                       "xy",
		`local function f(a) local b a, b = a .. "1", a .. "2" return a .. b end return f("x")`:                                             "x1x2",
		`local function f(a) local b, c a, b, c = (string.find(a, "x")) return tostring(a) .. tostring(b) .. tostring(c) end return f("x")`: "1nilnil",
		`local t, i = {}, 1 i, t[i] = i + 1, 20 return t[1] .. i`:                                                                           "202",
		`local function f(...) local a = ... a = (select("#", ...)) .. a return a end return f("x", 1, 2)`:                                  "3x",
		`local a, b, c = 1, 2, 3 a, b, c = c, a, b return a .. b .. c`:                                                                      "312",
		`local function f(x, y) x, y = y, x return x - y end return f(1, 5)`:                                                                "4",
		`local p, c = nil, { v = 1, next = { v = 2 } } while c do p, c, c.next = c, c.next, p end return p.v .. p.next.v`:                   "21",
		`local t = { 1, 2 } t[1], t[2] = t[2], t[1] return t[1] .. t[2]`:                                                                    "21",
		`x, y = 1, 2 x, y = y, x return x .. y`:                                                                                             "21",
		`local a, b = 1 a, b = (function() return 5, 6 end)() return a + b`:                                                                 "11",
		`local a, b, c = 1 a, b, c = 2, (function() return 5, 6 end)() return a + b + c`:                                                    "13",
		`local a, b = 1 a, b = (math.max(1, 2)) return tostring(b)`:                                                                         "nil",
		`local a = 1 a = 2, 3 return a`:                                                                                                     "2",
		`local n, t = 0, {} local function k() n = n + 1 return n end t[k()], n, t[k()] = k(), 10, k() return t[1] .. t[2] .. n`:            "3410",
		`local a, b = 1, 2 a, b = b, a return a .. b`:                                                                                       "21",
	})
}

func TestConcatenation_is_that_of_Lua(t *testing.T) {
	s := sandbox(t, nil)
	many := "return " + strings.Repeat(`"a" .. `, 500) + `"b"`
	checkChunks(t, s, map[string]string{
		`local function two() return "a", "b" end return "x" .. two()`:            "xa",
		`local function two() return "a", "b" end return two() .. two() .. two()`: "aaa",
		`local function rest(...) return "x" .. ... end return rest("a", "b")`:    "xa",
		`return 1 .. 2 .. "x"`:                    "12x",
		`return #(` + many[len("return "):] + `)`: "501",
		`return "a" .. nil`:                       "!attempt to concatenate a nil value",
		`return {} .. "a"`:                        "!attempt to concatenate a table value",
		`local m = { __concat = function(a, b) return (type(a) == "table" and "T" or a) .. (type(b) == "table" and "T" or b) end }
		 local t = setmetatable({}, m) return "a" .. t .. "b" .. 1 .. t .. t`: "aTb1TT",
		`local order = "" local function f(x) order = order .. x return x end local _ = f(1) .. f(2) .. f(3) return order`: "123",
		`local s = "x" for i = 1, 40 do s = s .. s end`:                                                                    "!more than 64 MiB",
		`local s = ("x"):rep(2^25) return s .. s .. s`:                                                                     "!more than 64 MiB",
		`return ("")["(concat)"]()`:                                                                                        "nil",
		`string["(concat)"] = nil`:                                                                                         "!read-only",
		`local env = setfenv(function() return "a" .. "b" end, {}) return env()`:                                           "ab",
		`local co = coroutine.wrap(function() return "a" .. coroutine.yield() end) co() return co("b")`:                    "ab",
		`local ok, err = pcall(error, { code = "x" }) return err.code .. tostring(ok)`:                                     "xfalse",
	})
}

func TestResults_are_tables_like_others(t *testing.T) {
	s := sandbox(t, nil)
	r := sampleResult()
	fresh := func() lua.LValue { return s.resultTable(r) }
	for source, want := range map[string]string{
		`local r = ... return r.ok and r.text .. r.attempts`:                                         "text1",
		`local r, n = ..., 0 for _ in pairs(r) do n = n + 1 end return n`:                            "21",
		`local r = ... for k, v in next, r do if k == "usage" then return v.main.turns end end`:      "3",
		`return rawget(..., "num_turns")`:                                                            "3",
		`local r = ... r.text = nil return tostring(r.text) .. r.num_turns`:                          "nil3",
		`local r = ... r.note = "mine" return r.note .. r.stop`:                                      "mineend_turn",
		`local r = ... rawset(r, "note", 1) return r.note + r.num_turns`:                             "4",
		`return tostring(getmetatable(...))`:                                                         "nil",
		`local r = setmetatable(..., { __index = { extra = "yes" } }) return r.extra .. r.num_turns`: "yes3",
	} {
		out, err := s.eval(t, source, 1, fresh())
		if err != nil || out[0].String() != want {
			t.Errorf("%s = %v, %v, want %s", source, out, err, want)
		}
	}
	plain, err := s.fromValue(fresh())
	if err != nil {
		t.Fatal(err)
	}
	if fields := plain.(map[string]any); len(fields) != 21 || fields["usage"] == nil {
		t.Errorf("as data: %v", fields)
	}
}

func TestNumbers_in_texts_and_sources_are_decimal(t *testing.T) {
	s := sandbox(t, nil)
	checkChunks(t, s, map[string]string{
		`return "010" + 0`:                   "10",
		`return 010 + 0 + 00.5 + 0x10 + 0e0`: "26.5",
		`return 1 + "1e2"`:                   "101",
		`return " 0x10 " * 2`:                "32",
		`return -"7"`:                        "-7",
		`return "-7" % "3"`:                  "2",
		`return "2" ^ 3 - "1" / 2`:           "7.5",
		`return "nan" + 1`:                   "!attempt to perform arithmetic on a string value",
		`return "1_000" + 1`:                 "!attempt to perform arithmetic on a string value",
		`return "x" - 1`:                     "!attempt to perform arithmetic on a string value",
		`return "1" + {}`:                    "!attempt to perform arithmetic on a table value",
		`return -"x"`:                        "!attempt to perform arithmetic on a string value",
		`return "1" + setmetatable({}, { __add = function(a, b) return a .. type(b) end })`: "1table",
		`return setmetatable({}, { __sub = function(a, b) return type(a) .. b end }) - "1"`: "table1",
	})
}
