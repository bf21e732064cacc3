package luabind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// rewriter walks the tree of a chunk, whatever nodes it has, before it is
// compiled. It notes where constructors are called, refuses what the compiler
// would break on, and replaces two things:
//
//   - a..b becomes a call of a function that bounds the result; the instruction
//     would make a text of any size
//   - assignments that the compiler gets wrong, a, b = b, a among them: see
//     assignable
type rewriter struct {
	c         *chunk
	depth     int
	functions int                 // we are in
	returns   []int               // lines of those outside functions
	constants map[string]struct{} // texts, numbers and names, each once
	err       *Error
}

// groupSize is how many operands of .. one call takes: each needs a register, of
// which a function has 200.
const groupSize = 50

func (w *rewriter) walk(v reflect.Value) {
	if w.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if e, ok := v.Interface().(*ast.StringConcatOpExpr); ok {
			v.Set(reflect.ValueOf(concatenation(operands(e), e.Line())))
		}
		w.walk(v.Elem())
		if st, ok := v.Interface().(*ast.AssignStmt); ok && !assignable(st) {
			v.Set(reflect.ValueOf(assignment(st)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.node(v)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !f.Anonymous {
				w.walk(v.Field(i))
			}
		}
	}
}

// node is one node of the tree, behind its pointer.
func (w *rewriter) node(v reflect.Value) {
	w.depth++
	defer func() { w.depth-- }()
	at, _ := v.Interface().(ast.PositionHolder)
	if w.depth > maxSyntax {
		w.refuse(at, "expressions or blocks are nested too deep")
		return
	}
	switch e := v.Interface().(type) {
	case *ast.FuncCallExpr:
		w.c.note(e)
	case *ast.AttrGetExpr:
		at := w.c.at(e.Line())
		at.fields = append(at.fields, e)
	case *ast.GenericForStmt:
		w.c.at(e.Line()).loop = true
	case *ast.TableExpr:
		if len(e.Fields) > maxListed {
			w.refuse(at, "a table with that many values written out cannot be compiled: put them into a file and read it")
		}
	case *ast.FunctionExpr:
		w.functions++
		defer func() { w.functions-- }()
	case *ast.ReturnStmt:
		if w.functions == 0 {
			w.returns = append(w.returns, e.Line())
		}
	case *ast.StringExpr:
		w.constant(e, e.Value)
	case *ast.NumberExpr:
		e.Value = decimal(e.Value)
		w.constant(e, e.Value)
	case *ast.IdentExpr:
		w.constant(e, e.Value)
	}
	if w.err == nil {
		w.walk(v.Elem())
	}
}

func (w *rewriter) constant(at ast.PositionHolder, value string) {
	w.constants[value] = struct{}{}
	if len(w.constants) > maxConstants {
		w.refuse(at, "there are too many different constants and names: put data into a file and read it")
	}
}

// decimal is a number without the zeros in front, which would make it octal.
func decimal(number string) string {
	short := strings.TrimLeft(number, "0")
	if short == "" || !isDigit(short[0]) {
		return number
	}
	return short
}

func (w *rewriter) refuse(at ast.PositionHolder, message string) {
	w.err = &Error{File: w.c.name, Code: CodeSyntax, Message: message}
	if at != nil {
		w.err.Line = at.Line()
	}
}

// operands are those of a..b..c, which is a tree that leans to the right.
func operands(e *ast.StringConcatOpExpr) (list []ast.Expr) {
	for {
		list = append(list, e.Lhs)
		next, ok := e.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			return append(list, e.Rhs)
		}
		e = next
	}
}

// concatenation calls the function that concat is, as a method of texts that
// scripts can neither name nor change. A long list is grouped from the left, which
// makes no difference to texts.
func concatenation(list []ast.Expr, line int) ast.Expr {
	if len(list) > groupSize {
		last := len(list) - (groupSize - 1)
		list = append([]ast.Expr{concatenation(list[:last], line)}, list[last:]...)
	}
	// As an operand a call has one value, as the last argument it would have all.
	switch last := list[len(list)-1].(type) {
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	empty, name := &ast.StringExpr{}, &ast.StringExpr{Value: concatName}
	fn := &ast.AttrGetExpr{Object: empty, Key: name}
	call := &ast.FuncCallExpr{Func: fn, Args: list}
	placeAt(line, empty, name, fn, call)
	return call
}

func placeAt(line int, nodes ...ast.PositionHolder) {
	for _, node := range nodes {
		node.SetLine(line)
		node.SetLastLine(line)
	}
}

// assignable: the compiler gets it right. It does not where a variable that is
// assigned is also read: each value goes straight to its variable, before the
// next is looked at, so that a, b = b, a makes both the same; and a call in
// parentheses, whose result goes to the last parameter of a function, overwrites
// that before it reads its arguments.
func assignable(st *ast.AssignStmt) bool {
	named := slices.ContainsFunc(st.Lhs, func(e ast.Expr) bool {
		_, ok := e.(*ast.IdentExpr)
		return ok
	})
	if !named {
		return true
	}
	if len(st.Lhs) > 1 || len(st.Rhs) > 1 {
		return false
	}
	call, isCall := st.Rhs[0].(*ast.FuncCallExpr)
	return !isCall || !call.AdjustRet
}

// assignment is an assignment by way of variables that scripts cannot name: first
// the tables and keys on the left, then the values, then one assignment after the
// other, from the right.
func assignment(st *ast.AssignStmt) *ast.DoBlockStmt {
	h := &hidden{line: st.Line()}
	block := &ast.DoBlockStmt{}
	places := &ast.LocalAssignStmt{}
	left := make([]ast.Expr, len(st.Lhs))
	for i, e := range st.Lhs {
		if field, ok := e.(*ast.AttrGetExpr); ok {
			moved := &ast.AttrGetExpr{Object: h.move(places, field.Object), Key: h.move(places, field.Key)}
			placeAt(h.line, moved)
			e = moved
		}
		left[i] = e
	}
	if len(places.Names) > 0 {
		block.Stmts = append(block.Stmts, places)
	}
	values := &ast.LocalAssignStmt{Exprs: st.Rhs}
	block.Stmts = append(block.Stmts, values)
	for i := range left {
		values.Names = append(values.Names, h.name())
		one := &ast.AssignStmt{Lhs: left[i : i+1], Rhs: []ast.Expr{h.ident(values.Names[i])}}
		placeAt(h.line, one)
		block.Stmts = append(block.Stmts, one)
	}
	slices.Reverse(block.Stmts[len(block.Stmts)-len(left):])
	placeAt(h.line, places, values, block)
	return block
}

// hidden makes variables that scripts cannot name.
type hidden struct{ line, used int }

func (h *hidden) name() string {
	h.used++
	return fmt.Sprintf("(value %d)", h.used)
}

func (h *hidden) ident(name string) ast.Expr {
	e := &ast.IdentExpr{Value: name}
	placeAt(h.line, e)
	return e
}

// move evaluates an expression into a variable beforehand; a constant stays.
func (h *hidden) move(to *ast.LocalAssignStmt, e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.NumberExpr:
		return e
	}
	name := h.name()
	to.Names, to.Exprs = append(to.Names, name), append(to.Exprs, e)
	return h.ident(name)
}
