package luabind

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// callbacks are the fields of steps whose functions must return something: what, and
// whether a value that is written out can be that.
var callbacks = map[string]struct {
	want string
	can  func(ast.Expr) bool
}{
	"gate":          {"true, or false and a reason", canBe[*ast.TrueExpr, *ast.FalseExpr]},
	"when":          {"true or false", canBe[*ast.TrueExpr, *ast.FalseExpr]},
	"prompt":        {"a string", canBe[*ast.StringExpr, *ast.NumberExpr]},
	"resume_prompt": {"a string", canBe[*ast.StringExpr, *ast.NumberExpr]},
	"on_reject":     {"a string", canBe[*ast.StringExpr, *ast.NumberExpr]},
	"reduce":        {"a string", canBe[*ast.StringExpr, *ast.NumberExpr]},
}

// canBe: an expression is one of two kinds, or one whose value is not known.
func canBe[A, B ast.Expr](e ast.Expr) bool {
	if _, ok := e.(*ast.StringConcatOpExpr); ok {
		e = &ast.StringExpr{}
	}
	switch e.(type) {
	case A, B:
		return true
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.TableExpr, *ast.FunctionExpr:
		return false
	}
	return true
}

// returning looks at what a function that is called name returns: at each return,
// and whether its end is reached without one. word stands where it begins.
func (n *names) returning(name, word, want string, can func(ast.Expr) bool, fn *ast.FunctionExpr) {
	given := false
	for _, r := range returnsOf(fn.Stmts) {
		switch {
		case len(r.Exprs) == 0:
			n.wrong(r, "return", name+" returns nothing here; it must return "+want)
		case !can(r.Exprs[0]):
			n.wrong(r, "return", name+" returns "+kindOf(r.Exprs[0])+" here; it must return "+want)
		}
		given = given || len(r.Exprs) > 0
	}
	switch {
	case !n.falls(fn.Stmts):
	case !given:
		n.found = append(n.found, Mistake{File: n.file, Line: fn.Line(), Text: name + " returns nothing; it must return " + want, word: word})
	default:
		n.warn(fn.LastLine(), "end", "the end of "+name+" may be reached, where it returns nothing; it must return "+want)
	}
}

// kindOf names a value that is written out.
func kindOf(e ast.Expr) string {
	switch e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr:
		return "a boolean"
	case *ast.NilExpr:
		return "nil"
	case *ast.NumberExpr:
		return "a number"
	case *ast.TableExpr:
		return "a table"
	case *ast.FunctionExpr:
		return "a function"
	}
	return "a string"
}

// returnsOf are the returns of a function, without those of functions in it.
func returnsOf(stmts []ast.Stmt) (list []*ast.ReturnStmt) {
	for _, st := range stmts {
		if r, ok := st.(*ast.ReturnStmt); ok {
			list = append(list, r)
		}
		for _, block := range blocksOf(st) {
			list = append(list, returnsOf(block)...)
		}
	}
	return list
}

// blocksOf are the blocks within a statement.
func blocksOf(st ast.Stmt) [][]ast.Stmt {
	switch st := st.(type) {
	case *ast.DoBlockStmt:
		return [][]ast.Stmt{st.Stmts}
	case *ast.WhileStmt:
		return [][]ast.Stmt{st.Stmts}
	case *ast.RepeatStmt:
		return [][]ast.Stmt{st.Stmts}
	case *ast.IfStmt:
		return [][]ast.Stmt{st.Then, st.Else}
	case *ast.NumberForStmt:
		return [][]ast.Stmt{st.Stmts}
	case *ast.GenericForStmt:
		return [][]ast.Stmt{st.Stmts}
	}
	return nil
}

// falls reports whether the end of a block may be reached.
func (n *names) falls(stmts []ast.Stmt) bool {
	return !slices.ContainsFunc(stmts, n.stops)
}

// stops: what stands behind the statement is not reached. Where a goto leads is not
// followed, so nothing is said of it.
func (n *names) stops(st ast.Stmt) bool {
	switch st := st.(type) {
	case *ast.ReturnStmt, *ast.BreakStmt, *ast.GotoStmt:
		return true
	case *ast.DoBlockStmt:
		return !n.falls(st.Stmts)
	case *ast.IfStmt:
		return !n.falls(st.Then) && !n.falls(st.Else)
	case *ast.WhileStmt:
		_, forever := st.Condition.(*ast.TrueExpr)
		return forever && !breaks(st.Stmts)
	case *ast.RepeatStmt:
		_, forever := st.Condition.(*ast.FalseExpr)
		return (forever || !n.falls(st.Stmts)) && !breaks(st.Stmts)
	case *ast.FuncCallStmt:
		call, ok := st.Expr.(*ast.FuncCallExpr)
		return ok && n.raises(call)
	}
	return false
}

// raises: the call does not come back.
func (n *names) raises(call *ast.FuncCallExpr) bool {
	if call.Func == nil {
		return false
	}
	fn, _ := n.resolve(call.Func)
	return fn.path == "flower.abort" || n.isGlobal(call.Func, "error")
}

// breaks: a break leaves the loop whose block it is.
func breaks(stmts []ast.Stmt) bool {
	for _, st := range stmts {
		switch st := st.(type) {
		case *ast.BreakStmt:
			return true
		case *ast.DoBlockStmt:
			if breaks(st.Stmts) {
				return true
			}
		case *ast.IfStmt:
			if breaks(st.Then) || breaks(st.Else) {
				return true
			}
		}
	}
	return false
}
