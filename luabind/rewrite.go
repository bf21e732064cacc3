package luabind

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// rewriter walks the tree of a chunk, whatever nodes it has, before it is
// compiled. It notes where constructors are called, refuses what the compiler
// would break on, and replaces two things:
//
//   - a..b becomes a call of a function that bounds the result; the instruction
//     would make a text of any size
//   - assignments of calls that the compiler gets wrong, see assignment
type rewriter struct {
	c     *chunk
	depth int
	err   *Error
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
	at, placed := v.Interface().(ast.PositionHolder)
	line := 0
	if placed {
		line = at.Line()
	}
	if w.depth > maxSyntax {
		w.err = &Error{File: w.c.name, Line: line, Code: CodeSyntax, Message: "expressions or blocks are nested too deep"}
		return
	}
	switch e := v.Interface().(type) {
	case *ast.FuncCallExpr:
		w.c.note(e)
	case *ast.TableExpr:
		if len(e.Fields) > maxListed {
			w.err = &Error{File: w.c.name, Line: line, Code: CodeSyntax,
				Message: "a table with that many values written out cannot be compiled: put them into a file and read it"}
			return
		}
	}
	w.walk(v.Elem())
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
// scripts can neither name nor change.
func concatenation(list []ast.Expr, line int) ast.Expr {
	if len(list) > groupSize {
		rest := concatenation(list[groupSize-1:], line)
		list = append(list[:groupSize-1:groupSize-1], rest)
	}
	empty, name := &ast.StringExpr{}, &ast.StringExpr{Value: concatName}
	fn := &ast.AttrGetExpr{Object: empty, Key: name}
	call := &ast.FuncCallExpr{Func: fn, Args: list}
	for _, node := range []ast.PositionHolder{empty, name, fn, call} {
		node.SetLine(line)
		node.SetLastLine(line)
	}
	return call
}

// assignable: the compiler gets it right. A call whose result goes straight to
// the last parameter of the function overwrites that parameter before it reads
// its arguments; only the last call of an assignment is safe, when it is not in
// parentheses.
func assignable(st *ast.AssignStmt) bool {
	for i, value := range st.Rhs {
		call, isCall := value.(*ast.FuncCallExpr)
		if !isCall || i >= len(st.Lhs) {
			continue
		}
		if _, named := st.Lhs[i].(*ast.IdentExpr); !named {
			continue
		}
		if i < len(st.Rhs)-1 || call.AdjustRet {
			return false
		}
	}
	return true
}

// assignment is a, b = f(a), g(b) by way of variables that scripts cannot name.
func assignment(st *ast.AssignStmt) *ast.DoBlockStmt {
	local := &ast.LocalAssignStmt{Exprs: st.Rhs}
	moved := &ast.AssignStmt{Lhs: st.Lhs}
	block := &ast.DoBlockStmt{Stmts: []ast.Stmt{local, moved}}
	for i := range st.Lhs {
		name := "(value " + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ")"
		local.Names = append(local.Names, name)
		from := &ast.IdentExpr{Value: name}
		from.SetLine(st.Line())
		from.SetLastLine(st.LastLine())
		moved.Rhs = append(moved.Rhs, from)
	}
	for _, node := range []ast.PositionHolder{local, moved, block} {
		node.SetLine(st.Line())
		node.SetLastLine(st.LastLine())
	}
	return block
}
