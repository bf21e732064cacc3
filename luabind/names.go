package luabind

import (
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/flowerlua/flower/internal/spell"
)

// names reads the trees of a script and its modules, without executing anything, and
// notes names that nobody defines and fields that constructors do not have.
type names struct {
	s    *state
	file string
	// defined are the globals of the sandbox, and those that any file assigns.
	defined map[string]bool
	reads   []globalRead
	// open: a script may define globals in ways that cannot be seen.
	open      bool
	arguments bool // the script looks at its arguments
	modules   map[string]bool
	scope     *scope
	found     []Mistake
}

type globalRead struct {
	name, file string
	line       int
}

// scope is a block; its names may stand for a library, or a function of one.
type scope struct {
	outer *scope
	local map[string]named
}

// named is a value of the sandbox that an expression stands for; a nil value is any
// other.
type named struct {
	value lua.LValue
	path  string
}

func newNames(s *state, trusted bool) *names {
	n := &names{s: s, defined: map[string]bool{"arg": true}, modules: map[string]bool{}}
	s.L.G.Global.ForEach(func(k, _ lua.LValue) { n.defined[k.String()] = true })
	if trusted {
		for _, name := range []string{lua.IoLibName, "dofile", "loadfile"} {
			n.defined[name] = true
		}
	}
	return n
}

// script reads the main file and all it requires, then looks who reads what nobody
// defines.
func (n *names) script(file, source string) {
	n.read(file, source)
	if n.open {
		return
	}
	candidates := slices.Sorted(maps.Keys(n.defined))
	for _, r := range n.reads {
		if !n.defined[r.name] {
			n.found = append(n.found, Mistake{File: r.file, Line: r.line,
				Text: "nothing is called " + inQuotes(r.name) + spell.Hint(r.name, candidates)})
		}
	}
}

func inQuotes(name string) string { return `"` + clip(name) + `"` }

// read reads one file. Its syntax is known to be right.
func (n *names) read(file, source string) {
	tree, err := parseSource(file, source)
	if err != nil {
		return
	}
	fileBefore, scopeBefore := n.file, n.scope
	n.file, n.scope = file, nil
	n.block(tree, nil)
	n.file, n.scope = fileBefore, scopeBefore
}

func (n *names) wrong(at ast.PositionHolder, text string) {
	n.found = append(n.found, Mistake{File: n.file, Line: at.Line(), Text: text})
}

// block reads statements in a scope of their own; then is read at its end.
func (n *names) block(stmts []ast.Stmt, then func(), local ...string) {
	n.scope = &scope{outer: n.scope, local: map[string]named{}}
	for _, name := range local {
		n.scope.local[name] = named{}
	}
	for _, st := range stmts {
		n.statement(st)
	}
	if then != nil {
		then()
	}
	n.scope = n.scope.outer
}

func (n *names) statement(st ast.Stmt) {
	switch st := st.(type) {
	case *ast.LocalAssignStmt:
		n.localAssign(st)
	case *ast.AssignStmt:
		n.exprs(st.Rhs)
		for _, e := range st.Lhs {
			n.assigned(e)
		}
	case *ast.FuncCallStmt:
		n.expr(st.Expr, false)
	case *ast.DoBlockStmt:
		n.block(st.Stmts, nil)
	case *ast.WhileStmt:
		n.expr(st.Condition, true)
		n.block(st.Stmts, nil)
	case *ast.RepeatStmt:
		n.block(st.Stmts, func() { n.expr(st.Condition, true) })
	case *ast.IfStmt:
		n.expr(st.Condition, true)
		n.block(st.Then, nil)
		n.block(st.Else, nil)
	case *ast.NumberForStmt:
		n.exprs([]ast.Expr{st.Init, st.Limit, st.Step})
		n.block(st.Stmts, nil, st.Name)
	case *ast.GenericForStmt:
		n.exprs(st.Exprs)
		n.block(st.Stmts, nil, st.Names...)
	case *ast.FuncDefStmt:
		n.functionDef(st)
	case *ast.ReturnStmt:
		n.exprs(st.Exprs)
	}
}

func (n *names) localAssign(st *ast.LocalAssignStmt) {
	if len(st.Names) == 1 && len(st.Exprs) == 1 {
		if _, ok := st.Exprs[0].(*ast.FunctionExpr); ok { // it can call itself
			n.scope.local[st.Names[0]] = named{}
		}
	}
	n.exprs(st.Exprs)
	for i, name := range st.Names {
		n.scope.local[name] = named{}
		if i < len(st.Exprs) {
			if v, ok := n.resolve(st.Exprs[i]); ok {
				n.scope.local[name] = v
			}
		}
	}
}

// assigned notes what an assignment defines.
func (n *names) assigned(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if sc := n.lookup(e.Value); sc != nil {
			sc.local[e.Value] = named{}
		} else {
			n.defined[e.Value] = true
		}
	case *ast.AttrGetExpr:
		if key, ok := e.Key.(*ast.StringExpr); ok && n.isGlobal(e.Object, "_G") {
			n.defined[key.Value] = true
			return
		}
		n.open = n.open || n.isGlobal(e.Object, "_G")
		n.expr(e.Object, false)
		n.expr(e.Key, false)
	}
}

func (n *names) functionDef(st *ast.FuncDefStmt) {
	var self []string
	if st.Name.Func != nil {
		n.assigned(st.Name.Func)
	} else {
		n.expr(st.Name.Receiver, false)
		self = append(self, "self")
	}
	n.function(st.Func, self...)
}

func (n *names) function(f *ast.FunctionExpr, self ...string) {
	local := slices.Clone(self)
	if f.ParList != nil {
		local = append(local, f.ParList.Names...)
	}
	n.block(f.Stmts, nil, local...)
}

func (n *names) lookup(name string) *scope {
	for sc := n.scope; sc != nil; sc = sc.outer {
		if _, ok := sc.local[name]; ok {
			return sc
		}
	}
	return nil
}

func (n *names) isGlobal(e ast.Expr, name string) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && id.Value == name && n.lookup(name) == nil
}

func (n *names) exprs(list []ast.Expr) {
	for _, e := range list {
		n.expr(e, false)
	}
}

// expr reads an expression; tested: only whether it is there is asked, so a name
// that nobody defines is meant.
func (n *names) expr(e ast.Expr, tested bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if n.lookup(e.Value) == nil && !tested {
			n.reads = append(n.reads, globalRead{e.Value, n.file, e.Line()})
		}
		n.arguments = n.arguments || n.isGlobal(e, "arg")
	case *ast.Comma3Expr:
		n.arguments = true
	case *ast.AttrGetExpr:
		n.member(e, tested)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				n.expr(f.Key, false)
			}
			n.expr(f.Value, false)
		}
	case *ast.FuncCallExpr:
		n.call(e)
	case *ast.FunctionExpr:
		n.function(e)
	case *ast.LogicalOpExpr:
		n.expr(e.Lhs, true)
		n.expr(e.Rhs, tested)
	case *ast.RelationalOpExpr:
		n.comparison(e)
	case *ast.StringConcatOpExpr:
		n.exprs([]ast.Expr{e.Lhs, e.Rhs})
	case *ast.ArithmeticOpExpr:
		n.exprs([]ast.Expr{e.Lhs, e.Rhs})
	case *ast.UnaryMinusOpExpr:
		n.expr(e.Expr, false)
	case *ast.UnaryNotOpExpr:
		n.expr(e.Expr, true)
	case *ast.UnaryLenOpExpr:
		n.expr(e.Expr, false)
	}
}

// comparison with nil asks only whether something is there.
func (n *names) comparison(e *ast.RelationalOpExpr) {
	_, left := e.Lhs.(*ast.NilExpr)
	_, right := e.Rhs.(*ast.NilExpr)
	n.expr(e.Lhs, right)
	n.expr(e.Rhs, left)
}

// member is a.b: of a library, a name it has.
func (n *names) member(e *ast.AttrGetExpr, tested bool) {
	n.expr(e.Object, false)
	key, ok := e.Key.(*ast.StringExpr)
	if !ok {
		n.expr(e.Key, false)
		return
	}
	lib, ok := n.resolve(e.Object)
	members := behind(lib.value)
	if !ok || members == nil {
		n.arguments = n.arguments || lib.path == "flower.options"
		return
	}
	if lib.path == "flower" && key.Value == "options" {
		n.arguments = true
	}
	if members.RawGetString(key.Value) != lua.LNil || tested {
		return
	}
	var have []string
	members.ForEach(func(k, _ lua.LValue) { have = append(have, k.String()) })
	n.wrong(key, lib.path+" has no "+inQuotes(key.Value)+spell.Hint(key.Value, have))
}

// resolve finds the value of the sandbox that an expression stands for.
func (n *names) resolve(e ast.Expr) (named, bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if sc := n.lookup(e.Value); sc != nil {
			v := sc.local[e.Value]
			return v, v.value != nil
		}
		v := n.s.L.GetGlobal(e.Value)
		return named{v, e.Value}, behind(v) != nil
	case *ast.AttrGetExpr:
		lib, ok := n.resolve(e.Object)
		key, isText := e.Key.(*ast.StringExpr)
		members := behind(lib.value)
		if !ok || !isText || members == nil {
			return named{}, false
		}
		v := members.RawGetString(key.Value)
		return named{v, lib.path + "." + key.Value}, v != lua.LNil
	case *ast.FuncCallExpr:
		if name, ok := n.required(e); ok {
			v := n.s.loaded[name]
			return named{v, name}, behind(v) != nil
		}
	}
	return named{}, false
}

// required is the module's name in require("name").
func (n *names) required(e *ast.FuncCallExpr) (string, bool) {
	if len(e.Args) != 1 || !n.isGlobal(e.Func, "require") {
		return "", false
	}
	name, ok := e.Args[0].(*ast.StringExpr)
	if !ok {
		return "", false
	}
	return name.Value, true
}

func (n *names) call(e *ast.FuncCallExpr) {
	if e.Func != nil {
		n.expr(e.Func, false)
	} else {
		n.expr(e.Receiver, false)
	}
	n.exprs(e.Args)
	if name, ok := n.required(e); ok {
		n.module(e, name)
	}
	if n.isGlobal(e.Func, "setfenv") || n.isGlobal(e.Func, "setmetatable") && len(e.Args) > 0 && n.isGlobal(e.Args[0], "_G") {
		n.open = true
	}
	if len(e.Args) != 1 || e.Func == nil {
		return
	}
	table, isTable := e.Args[0].(*ast.TableExpr)
	fn, ok := n.resolve(e.Func)
	role, inFlower := strings.CutPrefix(fn.path, "flower.")
	if ok && isTable && inFlower {
		n.constructed(role, e, table)
	}
}

// module reads a required file; the compiler's word for what is wrong with it is
// a mistake of that file.
func (n *names) module(at *ast.FuncCallExpr, name string) {
	if n.modules[name] || n.s.loaded[name] != nil || isOurs(name) {
		return
	}
	for _, m := range n.s.program.options.Modules {
		if m.Name == name {
			return
		}
	}
	n.modules[name] = true
	if !moduleName.MatchString(name) {
		n.wrong(at, "require takes a module's name, words joined by dots, not "+inQuotes(name))
		return
	}
	file, source, err := n.s.findModule(name)
	if err != nil {
		n.wrong(at, err.Error())
		return
	}
	if _, err := compile(file, source); err != nil {
		if syntax, ok := err.(*Error); ok {
			n.found = append(n.found, syntax.mistake())
		}
		return
	}
	n.read(file, source)
}

// constructed reads the table of flower.step{…} and the others as far as it is
// written out: names of fields, and values that are constants.
func (n *names) constructed(role string, call *ast.FuncCallExpr, expr *ast.TableExpr) {
	kind, ok := constructors[role]
	if !ok {
		return
	}
	t, unknown := n.s.L.NewTable(), map[string]bool{}
	for _, f := range expr.Fields {
		value := constant(f.Value)
		key, isText := f.Key.(*ast.StringExpr)
		switch {
		case f.Key == nil:
			t.Append(&lua.LUserData{})
		case isText && value == nil:
			unknown[key.Value] = true
			t.RawSetString(key.Value, &lua.LUserData{})
		case isText:
			t.RawSetString(key.Value, value)
		}
	}
	m := &made{kind: kind, role: role, at: &position{file: n.file, line: call.Line(), fields: fieldLines(expr)}}
	n.s.kinds[t] = m
	defer delete(n.s.kinds, t)
	var found []Mistake
	if kind == "workflow" {
		var list *Mistakes
		if _, err := n.s.toWorkflow(t); err != nil {
			list, _ = err.(*Mistakes)
		}
		if list != nil {
			found = list.List
		}
	} else {
		n.s.readMade(t, m, &found)
	}
	n.keep(role, unknown, found)
}

// keep takes over the mistakes that hold whatever is not known: a field may still be
// set, and a value that is no constant may be right.
func (n *names) keep(role string, unknown map[string]bool, found []Mistake) {
	for _, m := range found {
		field := m.Path[strings.LastIndex(m.Path, ".")+1:]
		sure := strings.HasPrefix(m.Text, "is not a field") || strings.HasPrefix(m.Text, holdsValue) ||
			field != "" && field != role && !unknown[field] && !strings.HasPrefix(m.Text, "is missing")
		if !sure {
			continue
		}
		if !strings.HasPrefix(m.Path, role) {
			m.Path = strings.TrimSuffix(role+"."+m.Path, ".")
		}
		n.found = append(n.found, m)
	}
}

// holdsValue begins the reader's word for a list in the place of named fields.
const holdsValue = "holds a value under"

// constructors are the functions that take a table of known fields, and what they
// make.
var constructors = map[string]string{
	"agent": "agent", "coordinator": "agent", "clarifier": "agent", "judge": "agent", "oracle": "agent",
	"worker": "worker", "guard": "guard", "step": "step", "workflow": "workflow",
}

// constant is the value of an expression that is written out; nil for any other.
func constant(e ast.Expr) lua.LValue {
	switch e := e.(type) {
	case *ast.StringExpr:
		return lua.LString(e.Value)
	case *ast.TrueExpr:
		return lua.LTrue
	case *ast.FalseExpr:
		return lua.LFalse
	}
	return nil
}
