package luabind

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// sandbox is a state without a runtime, as a rehearsal has.
func sandbox(tb testing.TB, o *Options) *state {
	tb.Helper()
	p, err := Load("sandbox.lua", "", o)
	if err != nil {
		tb.Fatal(err)
	}
	s := p.newBare()
	tb.Cleanup(s.close)
	return s
}

// eval runs a chunk in a state and gives what it returned.
func (s *state) eval(tb testing.TB, source string, returns int, args ...lua.LValue) ([]lua.LValue, error) {
	tb.Helper()
	c, err := compile("eval.lua", source)
	if err != nil {
		return nil, err
	}
	s.chunks[c.name] = c
	return s.call(tb.Context(), s.L.NewFunctionFromProto(c.proto), returns, args...)
}

// TestPatterns_match_as_Lua_does compares with what Lua 5.1.5 answered. A line
// is [function, text, pattern, third argument, results], or "error" for those.
func TestPatterns_match_as_Lua_does(t *testing.T) {
	f, err := os.Open("testdata/patterns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := sandbox(t, nil)
	run, err := s.eval(t, `
		local function collect(op, text, pattern, third)
			if op == "gmatch" then
				local out = {}
				for a, b in string.gmatch(text, pattern) do
					out[#out + 1] = tostring(a) .. "/" .. tostring(b)
					if #out > 40 then break end
				end
				return table.concat(out, ";")
			end
			return string[op](text, pattern, third)
		end
		return function(...)
			local function pack(ok, ...) return ok, { n = select("#", ...), ... } end
			return pack(pcall(collect, ...))
		end`, 1)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); cases++ {
		var c [5]any
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		args := make([]lua.LValue, 4)
		for i := range args {
			args[i] = s.toLua(c[i])
		}
		out, err := s.call(t.Context(), run[0].(*lua.LFunction), 2, args...)
		if err != nil {
			t.Fatal(err)
		}
		var got any = "error"
		if out[0] == lua.LTrue {
			got = packed(s, out[1].(*lua.LTable))
		}
		if !reflect.DeepEqual(got, c[4]) {
			t.Errorf("%s: got %#v", lines.Text(), got)
		}
	}
	if cases < 1000 {
		t.Errorf("only %d cases", cases)
	}
}

func packed(s *state, t *lua.LTable) []any {
	n, _ := integer(t.RawGetString("n"))
	list := make([]any, n)
	for i := range list {
		list[i], _ = s.fromValue(t.RawGetInt(i + 1))
	}
	return list
}

// TestPatterns_match_as_gopherlua_does compares with the matcher that ours
// replaces, on patterns and functions where that one keeps to the manual.
func TestPatterns_match_as_gopherlua_does(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	theirs := lua.NewState()
	defer theirs.Close()
	ours := sandbox(t, nil)
	for range 4000 {
		text, pattern := randomText(random, "ab1 -.", 12), randomPattern(random)
		source := fmt.Sprintf("return string.match(%q, %q)", text, pattern)
		want := evalTheirs(theirs, source)
		got := "error"
		if out, err := ours.eval(t, source, 1); err == nil {
			got = out[0].String()
		}
		if got != want {
			t.Errorf("%s: %q, theirs %q", source, got, want)
		}
	}
}

func evalTheirs(L *lua.LState, source string) string {
	defer L.SetTop(0)
	if err := L.DoString(source); err != nil {
		return "error"
	}
	return L.Get(1).String()
}

func randomText(r *rand.Rand, of string, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteByte(of[r.IntN(len(of))])
	}
	return b.String()
}

func randomPattern(r *rand.Rand) string {
	classes := []string{"a", "b", "1", ".", "%a", "%d", "%s", "%w", "%p", "%A", "[ab]", "[^ab]", "[a1-3]", "%-", "%."}
	var b strings.Builder
	if r.IntN(6) == 0 {
		b.WriteByte('^')
	}
	for range 1 + r.IntN(4) {
		class := classes[r.IntN(len(classes))] + []string{"", "", "*", "+", "-", "?"}[r.IntN(6)]
		if r.IntN(4) == 0 {
			class = "(" + class + ")"
		}
		b.WriteString(class)
	}
	if r.IntN(6) == 0 {
		b.WriteByte('$')
	}
	return b.String()
}

func TestPatterns_that_would_take_for_ever_stop(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: 500 * time.Millisecond})
	for name, source := range map[string]string{
		"nested stars":      "return ('a'):rep(200):find(('.*'):rep(12) .. 'b')",
		"optional":          "return ('a'):rep(40):match(('a?'):rep(40) .. ('a'):rep(41))",
		"gsub":              "return ('a'):rep(300):gsub(('a*'):rep(9) .. 'b', '')",
		"gmatch":            "for x in ('a'):rep(300):gmatch(('a-'):rep(9) .. 'b') do end",
		"quadratic":         "return ('a'):rep(100000):find('.-b')",
		"balance":           "return ('('):rep(100000):find('%b()')",
		"many items":        "return ('a'):rep(300):find(('a?'):rep(100000))",
		"many captures":     "return ('a'):find(('('):rep(100000))",
		"huge pattern":      "return ('a'):find(('a'):rep(1e6) .. '-')",
		"endless callback":  "return ('a'):rep(100):gsub('.', function() while true do end end)",
		"replaces to much":  "return ('a'):rep(1e6):gsub('.', ('b'):rep(1e4))",
		"replaces by %0":    "return ('a'):rep(1e6):gsub('.*', ('%0'):rep(1e4))",
		"catches and loops": "while true do pcall(string.find, ('a'):rep(200), ('.*'):rep(12) .. 'b') end",
	} {
		_, err := s.eval(t, "\n"+source, 1)
		if name == "huge pattern" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Line != 2 {
			t.Errorf("%s: %v, want an error in line 2", name, err)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("key = value", "^(%w+)%s*=%s*(%w+)$", "%2=%1")
	f.Add("((a))", "%b()", "%0%0")
	f.Add("aaa", "[]-a]-%f[%z]()", "%1")
	s := sandbox(f, nil)
	find := s.L.NewFunction(func(L *lua.LState) int { return s.find(L, true) })
	gsub := s.L.NewFunction(s.gsub)
	f.Fuzz(func(t *testing.T, text, pattern, with string) {
		for _, fn := range []*lua.LFunction{find, gsub} {
			out, err := s.call(t.Context(), fn, 2, lua.LString(text), lua.LString(pattern), lua.LString(with))
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%T %v", err, err)
			}
			if err != nil && strings.Contains(err.Error(), "runtime error") {
				t.Fatal(err)
			}
			if from, ok := integer(first(out)); fn == find && ok && (from < 1 || from > len(text)+1) {
				t.Fatalf("found at %d of %d", from, len(text))
			}
		}
	})
}

func first(values []lua.LValue) lua.LValue {
	if len(values) == 0 {
		return lua.LNil
	}
	return values[0]
}
