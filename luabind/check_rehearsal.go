package luabind

import (
	"context"
	"slices"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// returnsFunction: the source returns a function that is written in it, so it is a
// rehearsal.
func returnsFunction(name, source string) bool {
	tree, err := parseSource(name, source)
	return err == nil && functionOf(tree) != nil
}

// functionOf is the function that a source returns at its end, where that is
// written out.
func functionOf(tree []ast.Stmt) *ast.FunctionExpr {
	if len(tree) == 0 {
		return nil
	}
	last, ok := tree[len(tree)-1].(*ast.ReturnStmt)
	if !ok || len(last.Exprs) != 1 {
		return nil
	}
	switch e := last.Exprs[0].(type) {
	case *ast.FunctionExpr:
		return e
	case *ast.IdentExpr:
		return localFunction(tree, e.Value)
	}
	return nil
}

// localFunction is the function that a block calls name, where it is defined once.
func localFunction(stmts []ast.Stmt, name string) (fn *ast.FunctionExpr) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *ast.LocalAssignStmt:
			if i := slices.Index(st.Names, name); i >= 0 {
				fn = nil
				if i < len(st.Exprs) {
					fn, _ = st.Exprs[i].(*ast.FunctionExpr)
				}
			}
		case *ast.FuncDefStmt:
			if id, ok := st.Name.Func.(*ast.IdentExpr); ok && id.Value == name {
				fn = st.Func
			}
		}
	}
	return fn
}

// checkRehearsal looks at a source that plays the model. It is executed as it would
// be, up to the function it returns: it has nothing with an effect.
func (p *Program) checkRehearsal(ctx context.Context, source string) (Report, error) {
	s := p.newBare()
	defer s.close()
	s.loaded["flower.json"] = s.readOnly("flower.json", s.jsonTable())
	n, err := newNames(s, false)
	if err != nil {
		return Report{}, err
	}
	n.rehearsal = true
	delete(n.defined, "arg")
	n.script(p.main.name, source)
	n.answers()
	c := &checker{s: s}
	if len(n.found) == 0 {
		out, err := s.call(ctx, s.L.NewFunctionFromProto(p.main.proto), 1)
		if ctx.Err() != nil {
			return Report{}, context.Cause(ctx)
		}
		if err != nil {
			c.judge(lua.LNil, err)
		} else if _, ok := out[0].(*lua.LFunction); !ok {
			c.wrongReturn(out[0], "the function that plays the model")
		}
	}
	r := c.report(n)
	r.Rehearsal = true
	return n.placed(r), nil
}

// answers looks at what the function of a rehearsal returns, as far as that is
// written out.
func (n *names) answers() {
	n.file = n.s.program.main.name
	if n.model == nil {
		return
	}
	n.returning("a rehearsal", "function", "a string or a table", canBe[*ast.StringExpr, *ast.TableExpr], n.model)
	for _, r := range returnsOf(n.model.Stmts) {
		if len(r.Exprs) == 0 {
			continue
		}
		if t, ok := r.Exprs[0].(*ast.TableExpr); ok {
			n.table(t, "flower.Answer", "answer", true)
		}
	}
}
