package luabind

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/gopher-lua/ast"

	"github.com/flowerlua/flower/internal/spell"
)

// What a script gets from flower has a class in the annotations, and so has what
// its callbacks are given: by these the fields that are read are looked at.

// classOf is the class of an expression; "" where it is not known. A list of a class
// ends in [], a table of it in {}.
func (n *names) classOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if sc := n.lookup(e.Value); sc != nil {
			return sc.local[e.Value].class
		}
		return n.says.known(e.Value, "") // the global flower
	case *ast.AttrGetExpr:
		object := n.classOf(e.Object)
		if class, ok := strings.CutSuffix(object, "{}"); ok {
			return class
		}
		key, isText := e.Key.(*ast.StringExpr)
		if class, ok := strings.CutSuffix(object, "[]"); ok && !isText {
			return class
		}
		if !isText || object == "" {
			return ""
		}
		return n.says.classOf(n.says.of(object)[key.Value].kind)
	case *ast.FuncCallExpr:
		return n.returnedClass(e)
	}
	return ""
}

// returnedClass is the class of the first value that a call gives.
func (n *names) returnedClass(e *ast.FuncCallExpr) string {
	if name, ok := n.required(e); ok {
		return n.says.known(name, "")
	}
	if n.isGlobal(e.Func, "assert") && len(e.Args) > 0 {
		return n.classOf(e.Args[0])
	}
	called := n.signature(e)
	if len(e.Args) > 0 {
		if first, ok := e.Args[0].(*ast.StringExpr); ok && called.overloads[first.Value] != "" {
			return n.says.classOf(called.overloads[first.Value])
		}
	}
	return n.says.classOf(called.returns)
}

// signature is that of the function a call names; the zero one where it is not known.
func (n *names) signature(e *ast.FuncCallExpr) signature {
	if e.Func == nil {
		return n.says.calls[n.classOf(e.Receiver)+":"+e.Method]
	}
	if fn, ok := e.Func.(*ast.AttrGetExpr); ok {
		if key, ok := fn.Key.(*ast.StringExpr); ok {
			if called, ok := n.says.calls[n.classOf(fn.Object)+"."+key.Value]; ok {
				return called
			}
		}
	}
	fn, _ := n.resolve(e.Func) // a local name for it
	return n.says.calls[fn.path]
}

// forEach reads a loop; of one over a list it knows what the items are.
func (n *names) forEach(st *ast.GenericForStmt) {
	item := ""
	if call, ok := st.Exprs[0].(*ast.FuncCallExpr); ok && n.isGlobal(call.Func, "ipairs") && len(call.Args) == 1 {
		item, ok = strings.CutSuffix(n.classOf(call.Args[0]), "[]")
		if !ok {
			item = ""
		}
	}
	n.scope = &scope{outer: n.scope, local: map[string]named{}}
	for i, name := range st.Names {
		n.scope.local[name] = named{}
		if i == 1 {
			n.scope.local[name] = named{class: item}
		}
	}
	n.block(st.Stmts, nil)
	n.scope = n.scope.outer
}

// record looks at a field that is read of a value of a class.
func (n *names) record(key *ast.StringExpr, class string) {
	members := n.says.members(class)
	if slices.Contains(members, key.Value) || n.extra[class+"."+key.Value] {
		return
	}
	hint := spell.Hint(key.Value, members)
	switch {
	case n.says.closed(class) && len(n.says.functionsOf(class)) > 0:
		n.wrong(key, key.Value, wordsFor(class)+" has no "+inQuotes(key.Value)+hint)
	case n.says.closed(class), n.says.open[class] && hint != "" && strings.HasPrefix(key.Value, "_"):
		n.warn(key.Line(), key.Value, wordsFor(class)+" has no field "+inQuotes(key.Value)+hint)
	}
}

// method looks at a method that is called.
func (n *names) method(e *ast.FuncCallExpr) {
	class := n.classOf(e.Receiver)
	if members := n.says.members(class); n.says.closed(class) && !slices.Contains(members, e.Method) && !n.extra[class+"."+e.Method] {
		n.wrong(e, e.Method, wordsFor(class)+" has no "+inQuotes(e.Method)+spell.Hint(e.Method, members))
	}
}

// wordsFor is what messages call a value of a class.
func wordsFor(class string) string {
	name := strings.TrimPrefix(class, "flower.")
	if first := rune(name[0]); !unicode.IsUpper(first) {
		return class // a module
	}
	var words strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) && words.Len() > 0 {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	switch {
	case strings.HasSuffix(name, "s"):
		return words.String()
	case strings.ContainsRune("AEIOU", rune(name[0])):
		return "an " + words.String()
	}
	return "a " + words.String()
}

// tables looks at the tables that a call is given: at their fields, save those of
// constructors, which are looked at more closely, and at what their functions are
// called with.
func (n *names) tables(e *ast.FuncCallExpr) {
	called := n.signature(e)
	fn, _ := n.resolve(e.Func)
	_, constructor := constructors[strings.TrimPrefix(fn.path, "flower.")]
	for i, arg := range e.Args {
		if t, ok := arg.(*ast.TableExpr); ok && i < len(called.params) {
			n.table(t, n.says.classOf(called.params[i]), calledName(e), !constructor)
		}
	}
}

// calledName is the last name of what a call names.
func calledName(e *ast.FuncCallExpr) string {
	switch fn := e.Func.(type) {
	case *ast.IdentExpr:
		return fn.Value
	case *ast.AttrGetExpr:
		if key, ok := fn.Key.(*ast.StringExpr); ok {
			return key.Value
		}
	}
	return e.Method
}

// table looks at a table that stands for a value of a class, and is called path; look:
// at the names of its fields too.
func (n *names) table(t *ast.TableExpr, class, path string, look bool) {
	items, isList := strings.CutSuffix(class, "[]")
	items, isMap := strings.CutSuffix(items, "{}")
	fields := n.says.of(class)
	for i, f := range t.Fields {
		key, named := f.Key.(*ast.StringExpr)
		switch {
		case isList && f.Key == nil:
			n.field(f.Value, items, fmt.Sprintf("%s[%d]", path, i+1))
		case isMap && named:
			n.field(f.Value, items, path+"."+key.Value)
		case !named || !n.says.closed(class):
		case fields[key.Value].kind != "":
			n.field(f.Value, fields[key.Value].kind, path+"."+key.Value)
		case look:
			n.found = append(n.found, Mistake{File: n.file, Line: key.Line(), Path: path + "." + key.Value,
				Text: "is not a field" + n.hint(key.Value, class)})
		}
	}
}

// hint is the near match among the fields of a class, or all of them.
func (n *names) hint(name, class string) string {
	members := n.says.members(class)
	if hint := spell.Hint(name, members); hint != "" {
		return hint
	}
	return "; it has " + quoteAll(members)
}

// field looks at a value that is written out for a field of a type.
func (n *names) field(e ast.Expr, kind, path string) {
	switch e := e.(type) {
	case *ast.FunctionExpr:
		n.given[e] = n.says.parameters(n.says.alias(kind))
	case *ast.TableExpr:
		n.table(e, n.says.classOf(kind), path, true)
	}
}
