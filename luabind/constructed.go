package luabind

import (
	"errors"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

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
	switch kind {
	case "step":
		n.callbacks(expr)
	case "agent", "worker":
		n.toolNames(role, expr)
	}
}

// toolNames looks at the names of tools that are written out. Those of servers, and of
// tools of the script's own, are for the whole agent to know.
func (n *names) toolNames(role string, expr *ast.TableExpr) {
	own := slices.ContainsFunc(expr.Fields, func(f *ast.Field) bool {
		key, _ := f.Key.(*ast.StringExpr)
		return key != nil && key.Value == "own_tools"
	})
	for _, f := range expr.Fields {
		key, _ := f.Key.(*ast.StringExpr)
		list, ok := f.Value.(*ast.TableExpr)
		if key == nil || !ok || !slices.Contains([]string{"allowed_tools", "disallowed_tools", "tools"}, key.Value) {
			continue
		}
		for _, item := range list.Fields {
			name, ok := item.Value.(*ast.StringExpr)
			if !ok || strings.HasPrefix(name.Value, "mcp__") || name.Value == tool.SkillTool {
				continue
			}
			if _, slip := spell.Near(name.Value, tool.Builtin); !slip && (own || role == "worker") {
				continue
			}
			err := n.s.rt.Check(engine.Spec{Name: role, AllowedTools: []string{name.Value}, Plugins: []string{}})
			var wrong *harness.FieldError
			if errors.As(err, &wrong) {
				n.found = append(n.found, Mistake{File: n.file, Line: name.Line(), Path: role + "." + key.Value, Text: wrong.Err.Error(), word: name.Value})
			}
		}
	}
}

// callbacks looks at what the functions of a step return.
func (n *names) callbacks(expr *ast.TableExpr) {
	for _, f := range expr.Fields {
		key, ok := f.Key.(*ast.StringExpr)
		if !ok {
			continue
		}
		fn, written := f.Value.(*ast.FunctionExpr)
		if id, ok := f.Value.(*ast.IdentExpr); ok {
			if sc := n.lookup(id.Value); sc != nil {
				fn = sc.local[id.Value].fn
			}
		}
		callback, known := callbacks[key.Value]
		if !known || fn == nil || !written && n.looked[fn] {
			continue
		}
		n.looked[fn] = true
		n.returning(key.Value, key.Value, callback.want, callback.can, fn)
	}
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
	"worker": "worker", "guard": "guard", "tool": "tool", "step": "step", "workflow": "workflow",
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
