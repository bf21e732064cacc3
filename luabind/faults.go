package luabind

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/flowerlua/flower/internal/spell"
)

// Faults are values that are called or indexed and cannot be. gopher-lua says no
// more than that; here such values get a metatable whose functions say which value it
// was, as Lua does: by what stands at that line of the script.

// openFaults gives the types that have no metatable one.
func (s *state) openFaults() {
	index, call, length := s.L.NewFunction(s.indexed), s.L.NewFunction(s.called), s.L.NewFunction(measured)
	for _, v := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), call} {
		meta := s.L.CreateTable(0, 4)
		meta.RawSetString("__index", index)
		meta.RawSetString("__newindex", index)
		meta.RawSetString("__call", call)
		meta.RawSetString("__len", length)
		s.L.SetMetatable(v, meta)
	}
	get := s.L.GetGlobal("getmetatable").(*lua.LFunction).GFunction
	s.L.SetGlobal("getmetatable", s.L.NewFunction(func(L *lua.LState) int {
		switch L.CheckAny(1).Type() {
		case lua.LTTable, lua.LTUserData, lua.LTString:
			return get(L)
		}
		L.Push(lua.LNil)
		return 1
	}))
}

func measured(L *lua.LState) int {
	L.RaiseError("attempt to get length of a %s value", L.Get(1).Type())
	return 0
}

// called raises that a value is no function.
func (s *state) called(L *lua.LState) int {
	v := L.Get(1)
	p := s.faultPlace(L, v)
	name := ""
	if own, ok := L.GetStack(0); ok {
		if _, err := L.GetInfo("n", own, lua.LNil); err == nil && own.Name != "?" {
			name = own.Name
		}
	}
	for _, call := range p.onLine.calls {
		switch {
		case calledName(call) != name:
		case call.Func == nil:
			p.add(strings.TrimPrefix(pathOf(call.Receiver)+":"+name, ":"), "method")
		default:
			p.expr(call.Func)
		}
	}
	if text := p.text(); text != "" || !p.onLine.loop {
		L.RaiseError("attempt to call a %s value%s", v.Type(), text)
	}
	L.RaiseError("attempt to call a %s value%s", v.Type(), loopHint)
	return 0
}

// loopHint is behind the words for a value that a for with in may have called.
const loopHint = "; for … in takes a function: ipairs(list) or pairs(table)"

// tableCalled is what gopher-lua says of a table that is called, in better words:
// tables have metatables of their own.
func (s *state) tableCalled(e *Error) {
	if !strings.Contains(e.Message, noFunction) {
		return
	}
	words := "attempt to call a table value"
	if c := s.chunks[e.File]; c != nil && c.lines[e.Line] != nil && c.lines[e.Line].loop {
		words += loopHint
	}
	e.Message = strings.Replace(e.Message, noFunction, words, 1)
}

// noFunction is said of tables, and of handles; of other values see called.
const noFunction = "attempt to call a non-function object"

// indexed raises that a value has no fields.
func (s *state) indexed(L *lua.LState) int {
	v, key := L.Get(1), clip(L.Get(2).String())
	p := s.faultPlace(L, v)
	for _, field := range p.onLine.fields {
		if mayBe(field.Key, key) {
			p.expr(field.Object)
		}
	}
	for _, call := range p.onLine.calls {
		if call.Func == nil && call.Method == key {
			p.expr(call.Receiver)
		}
	}
	text := p.text()
	hint := ""
	if i := strings.Index(text, "; "); i >= 0 {
		text, hint = text[:i], text[i:]
	}
	L.RaiseError("attempt to index a %s value%s with key '%s'%s", v.Type(), text, key, hint)
	return 0
}

// mayBe: the expression of a key may have been that key.
func mayBe(e ast.Expr, key string) bool {
	switch e := e.(type) {
	case *ast.StringExpr:
		return e.Value == key
	case *ast.NumberExpr:
		return e.Value == key
	}
	return true
}

// onLine are the calls and the fields that are written on a line; loop: a for with
// in begins there.
type onLine struct {
	loop   bool
	calls  []*ast.FuncCallExpr
	fields []*ast.AttrGetExpr
}

// faultPlace is where a value is that cannot be used, and what it may have been.
type faultPlace struct {
	L       *lua.LState
	v       lua.LValue
	frame   *lua.Debug
	fn      *lua.LFunction
	onLine  onLine
	names   []string
	paths   []string // without the kind
	unnamed bool     // something else may have been it
}

// faultPlace is that of the script function which used v.
func (s *state) faultPlace(L *lua.LState, v lua.LValue) *faultPlace {
	p := &faultPlace{L: L, v: v}
	frame, ok := L.GetStack(1)
	if !ok {
		return p
	}
	fn, err := L.GetInfo("Slf", frame, lua.LNil)
	script, ok := fn.(*lua.LFunction)
	if err != nil || !ok || script.IsG {
		return p
	}
	p.frame, p.fn = frame, script
	if c := s.chunks[frame.Source]; c != nil && c.lines[frame.CurrentLine] != nil {
		p.onLine = *c.lines[frame.CurrentLine]
	}
	return p
}

func (p *faultPlace) add(path, kind string) {
	name := fmt.Sprintf("%s '%s'", kind, path)
	if !slices.Contains(p.names, name) {
		p.names, p.paths = append(p.names, name), append(p.paths, path)
	}
}

// expr adds what an expression is called, unless its value is another one.
func (p *faultPlace) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		kind, v := p.variable(e.Value)
		if v == p.v {
			p.add(e.Value, kind)
		}
		return
	case *ast.AttrGetExpr:
		if path := pathOf(e); path != "" {
			p.add(path, "field")
			return
		}
	case *ast.FuncCallExpr:
		if path := pathOf(e.Func); path != "" {
			p.add(path+"(…)", "result of")
			return
		}
	}
	p.unnamed = true
}

// variable finds a name as the function that is running sees it.
func (p *faultPlace) variable(name string) (kind string, v lua.LValue) {
	known := 0
	for ; ; known++ { // the innermost is the last
		local, value := p.L.GetLocal(p.frame, known+1)
		if local == "" || local == "(*temporary)" {
			break
		}
		if local == name {
			kind, v = "local", value
		}
	}
	if value, ok := p.begun(name, known); ok {
		return "local", value
	}
	if kind != "" {
		return kind, v
	}
	for i := range p.fn.Upvalues {
		if up, value := p.L.GetUpvalue(p.fn, i+1); up == name {
			return "upvalue", value
		}
	}
	return "global", p.fn.Env.RawGetString(name)
}

// begun finds a local in the first instruction behind its declaration, where
// gopher-lua does not know it yet: it lies behind those that are known.
func (p *faultPlace) begun(name string, known int) (lua.LValue, bool) {
	proto, nth, start := p.fn.Proto, 0, -1
	for _, local := range proto.DbgLocals {
		if nth++; local.StartPc != start {
			nth, start = 1, local.StartPc
		}
		if local.Name != name || start >= len(proto.DbgSourcePositions) || proto.DbgSourcePositions[start] != p.frame.CurrentLine {
			continue
		}
		if temporary, v := p.L.GetLocal(p.frame, known+nth); temporary == "(*temporary)" && v == p.v {
			return v, true
		}
	}
	return nil, false
}

// pathOf is a.b.c; "" where that is not what is written.
func pathOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.AttrGetExpr:
		key, ok := e.Key.(*ast.StringExpr)
		if object := pathOf(e.Object); ok && object != "" {
			return object + "." + key.Value
		}
	}
	return ""
}

// maxNamed is how many names are given where one of them is meant.
const maxNamed = 3

// text is behind the words for the fault: who it was, and what to use where it is
// something of Lua that the sandbox has not.
func (p *faultPlace) text() string {
	switch {
	case p.unnamed || len(p.names) == 0 || len(p.names) > maxNamed:
		return ""
	case len(p.names) > 1:
		return " (one of " + strings.Join(p.names, ", ") + ")"
	}
	return " (" + p.names[0] + ")" + instead(p.paths[0])
}

// insteadOf says what to use for what a script looks for in Lua and does not find.
var insteadOf = map[string]string{
	"io":           "files are read and written with flower.fs; --trust gives the script io",
	"os.exit":      "a script ends by returning, or with flower.abort(reason)",
	"os.execute":   "commands are run with flower.sh",
	"io.popen":     "commands are run with flower.sh",
	"os.remove":    "files are removed with flower.fs.remove",
	"os.rename":    "files are read and written with flower.fs; --trust gives the script the whole of os",
	"os.tmpname":   "files are read and written with flower.fs; --trust gives the script the whole of os",
	"os.getenv":    "--trust gives the script the whole of os",
	"os.setenv":    "--trust gives the script the whole of os",
	"os.setlocale": "--trust gives the script the whole of os",
	"dofile":       "files of Lua are read with require; --trust gives the script dofile",
	"loadfile":     "files of Lua are read with require; --trust gives the script loadfile",
}

// hintFor is what to use for a name that is not there.
func hintFor(path, name string, have []string) string {
	if use := insteadOf[path]; use != "" {
		return ": " + use
	}
	return spell.Hint(name, have)
}

// instead is the same behind a semicolon, without a guess.
func instead(path string) string {
	if use := hintFor(path, "", nil); use != "" {
		return "; it is not there" + use
	}
	return ""
}
