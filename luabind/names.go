package luabind

import (
	"fmt"
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
	// sources are the files that were read, by name.
	sources map[string]*columns
	// defined are the globals of the sandbox, and those that any file assigns.
	defined map[string]bool
	// assigns are those that a file assigns and warned of, by file and name.
	assigns map[[2]string]bool
	reads   []globalRead
	looked  map[*ast.FunctionExpr]bool // functions whose returns were looked at
	// says are the annotations; given the types of what functions are called with, and
	// extra the fields that the script itself gives to tables of a class.
	says  *annotations
	given map[*ast.FunctionExpr][]string
	extra map[string]bool
	// rehearsal: the main file plays the model, by this function where it is written
	// out, and has no flower.
	rehearsal bool
	model     *ast.FunctionExpr
	// open: a script may define globals in ways that cannot be seen.
	open      bool
	trusted   bool // the script has the whole of os
	arguments bool // the script looks at its arguments
	modules   map[string]bool
	scope     *scope
	found     []Mistake
	warned    []Mistake
}

type globalRead struct {
	name, file string
	line       int
	scope      *scope
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
	fn    *ast.FunctionExpr // it is a function of the script
	class string            // of the annotations
}

func newNames(s *state, trusted bool) (*names, error) {
	says, err := theAnnotations()
	if err != nil {
		return nil, err
	}
	n := &names{s: s, defined: map[string]bool{"arg": true}, modules: map[string]bool{}, sources: map[string]*columns{},
		looked: map[*ast.FunctionExpr]bool{}, assigns: map[[2]string]bool{},
		says: says, given: map[*ast.FunctionExpr][]string{}, extra: map[string]bool{}}
	s.L.G.Global.ForEach(func(k, _ lua.LValue) { n.defined[k.String()] = true })
	if trusted {
		for _, name := range []string{lua.IoLibName, "dofile", "loadfile"} {
			n.defined[name] = true
		}
	}
	n.trusted = trusted
	return n, nil
}

// script reads the main file and all it requires, then looks who reads what nobody
// defines.
func (n *names) script(file, source string) {
	n.read(file, source)
	if n.open {
		return
	}
	globals := slices.Sorted(maps.Keys(n.defined))
	said := map[globalRead]bool{}
	for _, r := range n.reads {
		once := globalRead{name: r.name, file: r.file, line: r.line}
		if n.defined[r.name] || said[once] || len(n.found) >= maxFindings {
			continue
		}
		said[once] = true
		near := append(r.scope.names(r.name), globals...)
		text := "nothing is called " + inQuotes(r.name) + hintFor(r.name, r.name, near)
		if n.rehearsal && r.name == "flower" {
			text = `a rehearsal has no flower; of its parts it can have require("flower.json")`
		}
		n.found = append(n.found, Mistake{File: r.file, Line: r.line, Text: text, Column: n.sources[r.file].last(r.line, r.name)})
	}
}

// names are the local variables of a scope and those around it, without one.
func (sc *scope) names(without string) (list []string) {
	for ; sc != nil; sc = sc.outer {
		for name := range sc.local {
			if name != without {
				list = append(list, name)
			}
		}
	}
	return list
}

func inQuotes(name string) string { return `"` + clip(name) + `"` }

// read reads one file. Its syntax is known to be right.
func (n *names) read(file, source string) {
	tree, err := parseSource(file, source)
	if err != nil {
		return
	}
	n.sources[file] = readColumns(source)
	fileBefore, scopeBefore := n.file, n.scope
	n.file, n.scope = file, nil
	if n.rehearsal && file == n.s.program.main.name {
		n.model = functionOf(tree)
		n.given[n.model] = []string{"flower.Turn"}
	}
	n.block(tree, nil)
	n.file, n.scope = fileBefore, scopeBefore
}

// wrong notes what cannot work; word is what it is about, as it is written.
func (n *names) wrong(at ast.PositionHolder, word, text string) {
	if len(n.found) >= maxFindings {
		return
	}
	n.found = append(n.found, Mistake{File: n.file, Line: at.Line(), Column: n.sources[n.file].last(at.Line(), word), Text: text})
}

// warn notes what works and is hardly meant.
func (n *names) warn(line int, word, text string) {
	if len(n.warned) >= maxFindings {
		return
	}
	n.warned = append(n.warned, Mistake{File: n.file, Line: line, Text: text, word: word})
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
		n.forEach(st)
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
		if i >= len(st.Exprs) {
			continue
		}
		v, _ := n.resolve(st.Exprs[i])
		v.fn, _ = st.Exprs[i].(*ast.FunctionExpr)
		v.class = n.classOf(st.Exprs[i])
		n.scope.local[name] = v
	}
}

// assigned notes what an assignment defines.
func (n *names) assigned(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if sc := n.lookup(e.Value); sc != nil {
			sc.local[e.Value] = named{}
		} else {
			n.global(e)
		}
	case *ast.AttrGetExpr:
		key, named := e.Key.(*ast.StringExpr)
		if named && n.isGlobal(e.Object, "_G") {
			n.defined[key.Value] = true
			return
		}
		n.open = n.open || n.isGlobal(e.Object, "_G")
		if class := n.classOf(e.Object); named && class != "" {
			n.extra[class+"."+key.Value] = true
		}
		n.expr(e.Object, false)
		n.expr(e.Key, false)
	}
}

// global is an assignment to a name that is not local.
func (n *names) global(e *ast.IdentExpr) {
	n.defined[e.Value] = true
	if key := [2]string{n.file, e.Value}; !n.assigns[key] {
		n.assigns[key] = true
		n.warn(e.Line(), e.Value, fmt.Sprintf("%s is a global here; write local in front of it, or _G.%s where a global is meant%s",
			inQuotes(e.Value), clip(e.Value), spell.Hint(e.Value, n.scope.names(e.Value))))
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
	n.scope = &scope{outer: n.scope, local: map[string]named{}}
	for _, name := range self {
		n.scope.local[name] = named{}
	}
	if f.ParList != nil {
		for i, name := range f.ParList.Names {
			n.scope.local[name] = named{}
			if types := n.given[f]; i < len(types) {
				n.scope.local[name] = named{class: n.says.classOf(types[i])}
			}
		}
	}
	n.block(f.Stmts, nil)
	n.scope = n.scope.outer
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
			n.reads = append(n.reads, globalRead{e.Value, n.file, e.Line(), n.scope})
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
		if !tested {
			n.record(key, n.classOf(e.Object))
		}
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
	n.wrong(key, key.Value, lib.path+" has no "+inQuotes(key.Value)+hintFor(lib.path+"."+key.Value, key.Value, have))
}

// resolve finds the value of the sandbox that an expression stands for.
func (n *names) resolve(e ast.Expr) (named, bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if sc := n.lookup(e.Value); sc != nil {
			v := sc.local[e.Value]
			return v, v.value != nil
		}
		if n.trusted && e.Value == lua.OsLibName {
			return named{}, false
		}
		v := n.s.L.GetGlobal(e.Value)
		return named{value: v, path: e.Value}, behind(v) != nil
	case *ast.AttrGetExpr:
		lib, ok := n.resolve(e.Object)
		key, isText := e.Key.(*ast.StringExpr)
		members := behind(lib.value)
		if !ok || !isText || members == nil {
			return named{}, false
		}
		v := members.RawGetString(key.Value)
		return named{value: v, path: lib.path + "." + key.Value}, v != lua.LNil
	case *ast.FuncCallExpr:
		if name, ok := n.required(e); ok {
			v := n.s.loaded[name]
			return named{value: v, path: name}, behind(v) != nil
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
		n.method(e)
	}
	n.tables(e)
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
	if n.modules[name] || n.s.loaded[name] != nil || isOurs(name) && !n.rehearsal {
		return
	}
	for _, m := range n.s.program.options.Modules {
		if m.Name == name {
			return
		}
	}
	n.modules[name] = true
	if n.rehearsal && isOurs(name) {
		n.wrong(at, name, "a rehearsal cannot require "+inQuotes(name)+`; of flower it has "flower.json" alone`)
		return
	}
	if !moduleName.MatchString(name) {
		n.wrong(at, name, "require takes a module's name, words joined by dots, not "+inQuotes(name))
		return
	}
	file, source, err := n.s.findModule(name)
	if err != nil {
		n.wrong(at, name, err.Error())
		return
	}
	if _, err := compile(file, source); err != nil {
		n.sources[file] = readColumns(source)
		if syntax, ok := err.(*Error); ok {
			n.found = append(n.found, syntax.mistake(n.sources[file]))
		}
		return
	}
	n.read(file, source)
}
