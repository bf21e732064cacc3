package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansions judges what the shell does itself before a command sees the words:
// the commands in substitutions must only read, and nothing may be assigned.
func (j *judge) expansions(words []*syntax.Word) bool {
	for _, w := range words {
		if !j.expand(w) {
			return false
		}
	}
	return true
}

func (j *judge) expand(w *syntax.Word) bool {
	return w == nil || j.parts(w.Parts)
}

func (j *judge) parts(parts []syntax.WordPart) bool {
	for _, p := range parts {
		ok := true
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			ok = j.parts(p.Parts)
		case *syntax.ParamExp:
			ok = j.param(p)
		case *syntax.CmdSubst:
			ok = j.substitution(p)
		case *syntax.ArithmExp:
			ok = j.arithm(p.X, false)
		case *syntax.ProcSubst:
			ok = j.process(p)
		case *syntax.ExtGlob:
			ok = j.refuse(p, "a plain bash does not know this pattern, and other shells may run what is in it: use * and ?")
		default:
			ok = j.refuse(p, "this expansion is not known to only read")
		}
		if !ok {
			return false
		}
	}
	return true
}

// substitution knows $(<file), which has no command but only reads.
func (j *judge) substitution(p *syntax.CmdSubst) bool {
	if p.TempFile || p.ReplyVar {
		return j.refuse(p, "this substitution runs in the shell itself: use $(…)")
	}
	if len(p.Stmts) == 0 {
		return true
	}
	if s := p.Stmts[0]; len(p.Stmts) == 1 && s.Cmd == nil && !s.Background &&
		len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.RdrIn {
		return j.redirect(s.Redirs[0])
	}
	return j.stmts(p.Stmts)
}

func (j *judge) process(p *syntax.ProcSubst) bool {
	if p.Op != syntax.CmdIn {
		return j.refuse(p, ">(…) runs beside the line and may outlive it: use a pipe")
	}
	return len(p.Stmts) == 0 || j.stmts(p.Stmts)
}

func (j *judge) param(p *syntax.ParamExp) bool {
	switch {
	case p.Excl || p.Names != 0:
		return j.refuse(p, "${!…} takes its value as a name, and an index in that may run a command")
	case p.Flags != nil || p.NestedParam != nil || p.Width || p.IsSet || len(p.Modifiers) > 0:
		return j.refuse(p, "this expansion is not known to only read")
	}
	if p.Index != nil && !allOf(p.Index) && !j.arithm(p.Index, false) {
		return false
	}
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if x != nil && !j.arithm(x, false) {
				return false
			}
		}
	}
	if p.Repl != nil && !(j.expand(p.Repl.Orig) && j.expand(p.Repl.With)) {
		return false
	}
	if p.Exp == nil {
		return true
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return j.refuse(p, "${…=…} assigns a variable: use ${…:-…}")
	case syntax.OtherParamOps:
		return j.refuse(p, "${…@…} may run what is in the variable")
	}
	return j.expand(p.Exp.Word)
}

// allOf is the index of ${a[@]} and ${a[*]}.
func allOf(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// arithm judges an arithmetic expression. The shell evaluates the text of
// variables in it as an expression again, where an index such as a[$(rm x)]
// runs; so only numbers, and variables this line does not fill, may occur.
// In the head of a C-style for loop, assigns, its variable may be set.
func (j *judge) arithm(x syntax.ArithmExpr, assigns bool) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.ParenArithm:
		return j.arithm(x.X, assigns)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			return j.assigned(x, x.X, assigns)
		}
		return j.arithm(x.X, assigns)
	case *syntax.BinaryArithm:
		if strings.HasSuffix(x.Op.String(), "=") && !comparison(x.Op) {
			return j.assigned(x, x.X, assigns) && j.arithm(x.Y, assigns)
		}
		return j.arithm(x.X, assigns) && j.arithm(x.Y, assigns)
	case *syntax.Word:
		return j.operand(x)
	}
	return j.refuse(x, "this arithmetic is not known to only read")
}

func comparison(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Eql, syntax.Neq, syntax.Leq, syntax.Geq:
		return true
	}
	return false
}

func (j *judge) assigned(at syntax.Node, target syntax.ArithmExpr, assigns bool) bool {
	w, ok := target.(*syntax.Word)
	if !ok || !assigns || w.Lit() == "" {
		return j.refuse(at, "it assigns a variable of the shell")
	}
	return j.variable(w, w.Lit())
}

func (j *judge) operand(w *syntax.Word) bool {
	name := w.Lit()
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok && plain(p) {
			name = p.Param.Value
			if len(name) == 1 && strings.ContainsAny(name, "?#$!") {
				return true
			}
		}
	}
	for i := range len(name) {
		if c := name[i]; c != '_' && c != '#' && !alnum(c) {
			name = ""
			break
		}
	}
	if name == "" {
		return j.refuse(w, "arithmetic may run what is in this text: only numbers and variables are known not to")
	}
	if v, ok := j.vars[name]; ok && !v.number {
		return j.refuse(w, "arithmetic may run what is in %s, which this line fills", name)
	}
	return true
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// test judges the inside of [[ ]].
func (j *judge) test(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return j.expand(x)
	case *syntax.ParenTest:
		return j.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, ok := x.X.(*syntax.Word)
			if !ok || !identifier(w.Lit()) {
				return j.refuse(x, "%s may run what is in an index: only a plain name is known not to", x.Op)
			}
		}
		return j.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			return j.number(x.X) && j.number(x.Y)
		}
		return j.test(x.X) && j.test(x.Y)
	}
	return j.refuse(x, "this test is not known to only read")
}

// number is a side of -eq and its kin in [[ ]], which is arithmetic.
func (j *judge) number(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok {
		return j.refuse(x, "this test is not known to only read")
	}
	if !j.expand(w) {
		return false
	}
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.DblQuoted:
			w = &syntax.Word{Parts: p.Parts}
		case *syntax.ArithmExp:
			return true
		case *syntax.ParamExp:
			if p.Length {
				return true
			}
		}
	}
	if len(w.Parts) == 1 {
		if lit := strings.TrimPrefix(w.Lit(), "-"); digits(lit) {
			return true
		}
		if _, ok := w.Parts[0].(*syntax.ParamExp); ok {
			return j.operand(w)
		}
	}
	return j.refuse(x, "[[ ]] takes this as arithmetic, which may run what is in it: use [ ] with quotes")
}

func identifier(s string) bool {
	for i := range len(s) {
		if s[i] != '_' && !alnum(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}
