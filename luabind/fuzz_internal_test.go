package luabind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// grower makes something of the bytes of a fuzzer: each decides once.
type grower struct {
	data  []byte
	depth int
}

func (g *grower) pick(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *grower) oneOf(list ...string) string { return list[g.pick(len(list))] }

func (g *grower) name() string { return g.oneOf("a", "b", "c", "d", "f", "t") }

var functions = strings.Fields(`
	assert error getfenv getmetatable ipairs load loadstring next pairs pcall rawequal rawget rawset select setfenv setmetatable
	tonumber tostring type unpack xpcall print require
	string.byte string.char string.find string.format string.gmatch string.gsub string.len string.lower string.match string.rep
	string.reverse string.sub string.upper table.concat table.insert table.maxn table.remove table.sort table.getn
	math.abs math.ceil math.floor math.fmod math.frexp math.ldexp math.max math.min math.modf math.pow math.random math.randomseed
	coroutine.create coroutine.resume coroutine.running coroutine.status coroutine.wrap coroutine.yield
	os.time os.date os.clock os.difftime json.encode json.decode json.array`)

// value is an expression without operators.
func (g *grower) value() string {
	g.depth++
	defer func() { g.depth-- }()
	kinds := 10
	if g.depth > 4 {
		kinds = 4
	}
	switch g.pick(kinds) {
	case 0:
		return g.oneOf("0", "1", "-1", "3", "2^31", "-2^63", "1e308", "0/0", "1/0", "0.5", "nil", "true", "false")
	case 1:
		return g.oneOf(`""`, `"x"`, `"abc"`, `"%d %s"`, `"(.)%1"`, `".-"`, `"%b()"`, `"[%a"`, `"%f[%w]"`, `"*t"`, `"[[1],{}]"`, `"return 1"`, `("x"):rep(300)`)
	case 2, 3:
		return g.name()
	case 4:
		return "{" + g.list(3) + "}"
	case 5:
		return "{ x = " + g.value() + ", [" + g.value() + "] = " + g.value() + " }"
	case 6:
		return "function(a, b, ...) " + g.block(2) + " return " + g.oneOf("...", "a", "b, a", "f(a)") + " end"
	case 7:
		return g.name() + "." + g.oneOf("x", "y", "n")
	case 8:
		return g.call()
	default:
		return "coroutine.wrap(function(a) " + g.block(2) + " return coroutine.yield(a) end)"
	}
}

func (g *grower) list(most int) string {
	var out []string
	for range g.pick(most + 1) {
		out = append(out, g.value())
	}
	return strings.Join(out, ", ")
}

func (g *grower) call() string {
	switch g.pick(8) {
	case 0:
		return g.name() + "(" + g.list(2) + ")"
	case 1:
		return "(" + g.value() + "):" + g.oneOf("rep", "sub", "find", "x") + "(" + g.list(2) + ")"
	default:
		return functions[g.pick(len(functions))] + "(" + g.list(4) + ")"
	}
}

func (g *grower) expression() string {
	if g.depth > 4 {
		return g.value()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.pick(5) {
	case 0:
		return g.value() + " " + g.oneOf("..", "+", "-", "*", "/", "%", "^", "==", "<", "<=", "and", "or", "~=") + " " + g.expression()
	case 1:
		return g.oneOf("not ", "-", "#") + g.value()
	}
	return g.value()
}

func (g *grower) block(most int) string {
	var out []string
	for range g.pick(most + 1) {
		out = append(out, g.statement())
	}
	return strings.Join(out, " ")
}

func (g *grower) statement() string {
	if g.depth > 5 {
		return g.name() + " = " + g.value()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.pick(12) {
	case 0:
		return "local " + g.name() + ", " + g.name() + " = " + g.expression()
	case 1:
		return g.name() + ", " + g.name() + ".x = " + g.expression() + ", " + g.expression()
	case 2:
		return "if " + g.expression() + " then " + g.block(3) + " else " + g.block(2) + " end"
	case 3:
		return "for i = " + g.value() + ", " + g.value() + " do " + g.block(3) + " if i then break end end"
	case 4:
		return "for k, v in " + g.oneOf("pairs", "ipairs", "next,", "string.gmatch", "") + "(" + g.value() + ") do " + g.block(2) + " end"
	case 5:
		return "pcall(function(...) " + g.block(4) + " end, " + g.value() + ")"
	case 6:
		return "xpcall(function() " + g.block(3) + " end, function(e) " + g.block(1) + " return e end)"
	case 7:
		return "while " + g.expression() + " do " + g.block(3) + " end"
	case 8:
		return "local function f(a, ...) " + g.block(3) + " return f and " + g.expression() + " end"
	case 9:
		return g.name() + " = setmetatable({}, { " + g.oneOf("__index", "__newindex", "__call", "__tostring", "__concat", "__eq", "__len", "__add") +
			" = " + g.oneOf("t", "function(...) "+g.block(2)+" return ... end", "f") + " })"
	case 10:
		return "repeat " + g.block(2) + " until " + g.expression()
	}
	return "local _ = " + g.call()
}

func FuzzScript(f *testing.F) {
	for seed := range 60 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte((i*i*(seed+3) + 7*i*seed + seed*seed) >> 2)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return
		}
		source := growScript(data)
		s := sandbox(t, &Options{ComputeLimit: 30 * time.Millisecond, MemoryLimit: 256 << 20})
		s.L.SetGlobal("json", s.jsonTable())
		pcall := s.L.GetGlobal("pcall").(*lua.LFunction).GFunction
		s.L.SetGlobal("pcall", s.L.NewFunction(func(L *lua.LState) int {
			n := pcall(L)
			if n == 2 && L.Get(-2) == lua.LFalse {
				checkScriptError(t, source, &Error{Message: L.Get(-1).String()})
			}
			return n
		}))
		start := time.Now()
		_, err := s.eval(t, source, 1)
		checkScriptError(t, source, err)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v:\n%s", took, source)
		}
		if out, err := s.eval(t, "return 1", 1); err != nil || out[0] != lua.LNumber(1) {
			t.Errorf("the state is broken: %v, %v\n%s", out, err, source)
		}
	})
}

// growScript makes a script whose parts do not stop each other.
func growScript(data []byte) string {
	g := &grower{data: data}
	var source strings.Builder
	source.WriteString(`t, f, a, b, c, d = { 1, 2, x = "y" }, function(...) return ... end, "abc", { 3, 1, 2 }, 2, coroutine.create(function(...) while true do coroutine.yield(...) end end)` + "\n")
	for len(g.data) > 0 {
		source.WriteString("pcall(function(...) " + g.statement() + " end, a, b)\n")
	}
	return source.String()
}

// checkScriptError: an error of a script is of our types, and no fault of Go.
func checkScriptError(t *testing.T, source string, err error) {
	t.Helper()
	var one *Error
	var many *Mistakes
	if err == nil {
		return
	}
	if !errors.As(err, &one) && !errors.As(err, &many) {
		t.Errorf("%T: %v\n%s", err, err, source)
	}
	for _, fault := range []string{"runtime error", "goroutine", "reflect:", "should not reach here", "interface conversion"} {
		if strings.Contains(err.Error(), fault) {
			t.Errorf("a fault of Go: %v\n%s", err, source)
		}
	}
}

func FuzzSource(f *testing.F) {
	for _, seed := range []string{"return 1", gated, "local a <const> = 1", "x = [==[ ]==] --[[ ", "goto a ::a:: ::b::", "a.b:c{1;2,}[3]'x'\"y\"", "return ...", "f'\\065\\x'",
		"for a,b in c do repeat local x until x end", "#!x\nreturn 0x1p4, 1e400, .5, 3..2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > maxSource {
			return
		}
		c, err := compile("fuzz.lua", source)
		checkScriptError(t, source, err)
		if err != nil {
			return
		}
		s := sandbox(t, &Options{ComputeLimit: 20 * time.Millisecond})
		s.chunks[c.name] = c
		_, err = s.call(t.Context(), s.L.NewFunctionFromProto(c.proto), 1)
		checkScriptError(t, source, err)
	})
}

// luaValue makes a value of a fuzzer's bytes.
func (g *grower) luaValue(s *state, tables []*lua.LTable) lua.LValue {
	switch g.pick(10) {
	case 0:
		return lua.LNil
	case 1:
		return lua.LBool(g.pick(2) == 1)
	case 2, 3:
		return lua.LNumber([]float64{0, 1, -1, 0.5, 1e15, -1e300, math.Inf(1), math.NaN(), 1 << 53}[g.pick(9)])
	case 4, 5:
		return lua.LString(g.oneOf("", "a", "ä", "\xff", "\x00", strings.Repeat("x", 100)))
	case 6:
		if len(tables) > 0 {
			return tables[g.pick(len(tables))] // shared, or itself
		}
		return s.L.NewFunction(func(*lua.LState) int { return 0 })
	}
	t := s.L.NewTable()
	if len(tables) < 12 {
		tables = append(tables, t)
		for range g.pick(5) {
			v := g.luaValue(s, tables)
			switch g.pick(3) {
			case 0:
				t.Append(v)
			case 1:
				t.RawSetString(g.oneOf("a", "b", "c"), v)
			default:
				t.RawSetInt(g.pick(7), v)
			}
		}
	}
	return t
}

// FuzzFromLua: what becomes Go data comes back the same.
func FuzzFromLua(f *testing.F) {
	f.Add([]byte{9, 3, 1, 1, 0, 9, 2, 4, 1, 1})
	f.Add([]byte{9, 4, 6, 0, 0, 9, 1, 7, 0})
	f.Add([]byte("a list of things that decide what is made, one after the other"))
	s := sandbox(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		g := &grower{data: data}
		v := g.luaValue(s, nil)
		plain, err := s.fromValue(v)
		if err != nil {
			return
		}
		back, err := s.fromValue(s.toLua(plain))
		if err != nil {
			t.Fatalf("%v came back as what is no data: %v", plain, err)
		}
		if one, two := fmt.Sprintf("%#v", emptied(plain)), fmt.Sprintf("%#v", emptied(back)); one != two {
			t.Errorf("%s came back as %s", one, two)
		}
		text, err := s.encodeJSON(v, false)
		if err != nil || strings.Contains(text, `\ufffd`) { // which stands for what is no UTF-8
			return
		}
		if decoded, err := decodeJSON(text); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if again, err := s.encodeJSON(s.toLua(decoded), false); err != nil || again != text {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	})
}

// emptied leaves out what a table cannot hold: fields that are nil.
func emptied(v any) any {
	if m, ok := v.(map[string]any); ok {
		for key, value := range m {
			if value == nil {
				delete(m, key)
			} else {
				m[key] = emptied(value)
			}
		}
	}
	return v
}

// FuzzWorkflowTable: whatever a script gives a constructor is a workflow that can
// start, or mistakes with a place.
func FuzzWorkflowTable(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add(bytes.Repeat([]byte{7, 1, 0, 3}, 20))
	f.Add([]byte("whatever a script gives a constructor is a workflow or mistakes, with a place"))
	rt := benchRuntime(f)
	p, err := Load("fuzz.lua", "", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := p.newState(rt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		g := &grower{data: data}
		source := "\nreturn flower.workflow{ " + g.fields() + " steps = { " + g.steps() + " } }"
		c, err := compile("fuzz.lua", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		s.chunks[c.name] = c
		out, err := s.call(context.Background(), s.L.NewFunctionFromProto(c.proto), 1)
		checkScriptError(t, source, err)
		var many *Mistakes
		switch {
		case errors.As(err, &many):
			for _, m := range many.List {
				if m.Line < 2 || m.File != "fuzz.lua" || m.Text == "" {
					t.Errorf("%+v\n%s", m, source)
				}
			}
		case err == nil:
			flow, err := s.toWorkflow(out[0].(*lua.LTable))
			if err != nil {
				t.Fatalf("%v\n%s", err, source)
			}
			if err := flow.Check(); err != nil {
				t.Errorf("%v\n%s", err, source)
			}
		}
	})
}

func (g *grower) fields() string {
	names := strings.Fields(`name spec prompt retries gate on_fail when on_reject reduce resume_prompt resume_from fork context continuous
		on_step steps instructions allowed_tools effort max_turns max_budget_usd permission_mode env hooks channel workbench nme promt`)
	values := []string{`"x"`, `"one"`, "1", "-1", "1.5", "0/0", "true", "{}", `{ "a", "b" }`, "{ a = 1 }", "function() end", "nil", `"skip"`, `"plan"`, "flower.agent{ name = 'a' }"}
	var out strings.Builder
	for range g.pick(5) {
		fmt.Fprintf(&out, "%s = %s, ", names[g.pick(len(names))], values[g.pick(len(values))])
	}
	return out.String()
}

func (g *grower) steps() string {
	var out strings.Builder
	for range g.pick(5) {
		switch g.pick(6) {
		case 0:
			out.WriteString(g.oneOf("1", `"x"`, "{}", "nil", "flower.agent{ name = 'a' }") + ", ")
		case 1:
			out.WriteString("flower.parallel{ " + g.oneOf("", "flower.step{ name = 'p', spec = flower.agent{ name = 'a' }, prompt = 'p' }, ", "x = 1, ") + "},\n")
		default:
			out.WriteString("flower.step{\nname = 'one', spec = flower.agent{ name = 'a', " + g.fields() + "}, prompt = 'p',\n" + g.fields() + "},\n")
		}
	}
	return out.String()
}

// FuzzCheck: whatever a source is, it is looked at, and every finding has its place
// in it.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{gated, "x = 1", "return function(turn) return { tol = turn.x } end", "local f = flower.fs f.raed()", "flower.step{ gate = function() end }",
		"for _, q in ipairs(flower.channel{}:pending()) do print(q.txt) end", "local function g() if g then return end end flower.step{ when = g, name = 3 }",
		"repeat break until flower.abort", "goto a ::a:: return require('json')(...)", "_G[x], a.b[1].c = nil", "flower.agent{ allowed_tools = { 'Raed', {}, [3] = 'x' }, mcp_servers = { a = { x = 1 } } }",
		"flower.runtime:run(1, 2, { x = function(...) return ... end })", "é = 1", "local a\r\nb = 1\n\rc = 2"} {
		f.Add(seed)
	}
	rt := benchRuntime(f)
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > maxSource {
			return
		}
		p, err := Load("fuzz.lua", source, nil)
		if err != nil {
			return
		}
		s, err := p.newState(rt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		n, err := newNames(s, false)
		if err != nil {
			t.Fatal(err)
		}
		n.rehearsal = returnsFunction("fuzz.lua", source)
		n.script("fuzz.lua", source)
		n.answers()
		lines := len(splitLines(parsedSource(source)))
		r := n.placed(Report{Mistakes: n.found, Warnings: n.warned})
		for _, m := range append(r.Mistakes, r.Warnings...) {
			if m.Text == "" || m.Line < 0 || m.Line > lines || m.Column < 0 || m.Column > len(source)+3 {
				t.Errorf("%+v in %d lines\n%s", m, lines, source)
			}
		}
	})
}
