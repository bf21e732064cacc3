package luabind

import (
	"path/filepath"
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// chunk is one compiled file: its code, and where in it the tables given to
// constructors stand, so that a wrong field can be named by its line.
type chunk struct {
	name   string
	proto  *lua.FunctionProto
	tables map[int][]*ast.TableExpr // by the line of the call they are the argument of
}

func compile(name, source string) (*chunk, error) {
	source = strings.TrimPrefix(source, "\ufeff")
	if strings.HasPrefix(source, "#") { // #!/usr/bin/env flower
		source = "--" + source
	}
	tree, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, fromParser(err, name, source)
	}
	proto, err := lua.Compile(tree, name)
	if err != nil {
		return nil, &Error{File: name, Code: CodeSyntax, Message: err.Error(), cause: err}
	}
	c := &chunk{name: name, proto: proto, tables: map[int][]*ast.TableExpr{}}
	c.collect(reflect.ValueOf(tree))
	return c, nil
}

// collect walks the tree, whatever nodes it has, and notes every call with one
// table as its argument.
func (c *chunk) collect(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			c.collect(v.Index(i))
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if call, ok := v.Interface().(*ast.FuncCallExpr); ok {
			c.note(call)
		}
		c.collect(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.collect(v.Field(i))
			}
		}
	}
}

func (c *chunk) note(call *ast.FuncCallExpr) {
	if len(call.Args) != 1 {
		return
	}
	if t, ok := call.Args[0].(*ast.TableExpr); ok {
		c.tables[call.Line()] = append(c.tables[call.Line()], t)
	}
}

// position is where a table was written.
type position struct {
	file   string
	line   int            // of the call
	fields map[string]int // line of each named field
}

// line is where a field stands, or the call when it is not there.
func (p *position) lineOf(field string) int {
	if line, ok := p.fields[field]; ok {
		return line
	}
	return p.line
}

// locate finds the table expression of a call by its line; of several on one
// line, the first with the same named fields.
func (c *chunk) locate(line int, t *lua.LTable) *position {
	p := &position{file: c.name, line: line, fields: map[string]int{}}
	for _, expr := range c.tables[line] {
		fields := fieldLines(expr)
		if sameFields(fields, t) {
			p.fields = fields
			break
		}
	}
	return p
}

func fieldLines(expr *ast.TableExpr) map[string]int {
	fields := map[string]int{}
	for _, f := range expr.Fields {
		if key, ok := f.Key.(*ast.StringExpr); ok {
			fields[key.Value] = key.Line()
		}
	}
	return fields
}

// sameFields: every named field of t was written in the expression. Fields whose
// value is nil are written and not there.
func sameFields(fields map[string]int, t *lua.LTable) bool {
	same := true
	t.ForEach(func(k, _ lua.LValue) {
		if key, ok := k.(lua.LString); ok && fields[string(key)] == 0 {
			same = false
		}
	})
	return same
}

func folderOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Dir(path)
	}
	return filepath.Dir(abs)
}
