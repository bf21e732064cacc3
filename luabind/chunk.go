package luabind

import (
	"fmt"
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
	tables map[int][]*ast.TableExpr // by the line of the call they are an argument of
	lines  map[int]*onLine          // for the names of values that cannot be used
	// returns is the line of the return of the script itself; 0 when there is none,
	// or several.
	returns int
}

func compile(name, source string) (c *chunk, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser's and the compiler's own faults
			c, err = nil, &Error{File: name, Code: CodeSyntax, Message: fmt.Sprintf("cannot be compiled: %v", p)}
		}
	}()
	tree, err := parseSource(name, source)
	if err != nil {
		return nil, err
	}
	c = &chunk{name: name, tables: map[int][]*ast.TableExpr{}, lines: map[int]*onLine{}}
	w := &rewriter{c: c, constants: map[string]struct{}{}}
	w.walk(reflect.ValueOf(tree))
	if w.err != nil {
		return nil, w.err
	}
	if len(w.returns) == 1 {
		c.returns = w.returns[0]
	}
	if c.proto, err = lua.Compile(tree, name); err != nil {
		return nil, fromCompiler(err, name)
	}
	return c, nil
}

// parseSource is the tree of a source; a first line for the shell is no part of it.
func parseSource(name, source string) ([]ast.Stmt, error) {
	source = parsedSource(source)
	tree, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, fromParser(err, name, source)
	}
	return tree, nil
}

// parsedSource is what the parser gets to see of a source.
func parsedSource(source string) string {
	source = strings.TrimPrefix(source, "\ufeff")
	if strings.HasPrefix(source, "#") { // #!/usr/bin/env flower
		source = "--" + source
	}
	return source
}

// tooLong is the error for a source that is data rather than a script.
func tooLong(name string, n int64) error {
	return fmt.Errorf("%s has %d bytes; a script may have %d: put data into files of its own", name, n, maxSource)
}

func (c *chunk) at(line int) *onLine {
	if c.lines[line] == nil {
		c.lines[line] = &onLine{}
	}
	return c.lines[line]
}

// note remembers a call, and the tables that it is given, for the lines of their
// fields.
func (c *chunk) note(call *ast.FuncCallExpr) {
	at := c.at(call.Line())
	at.calls = append(at.calls, call)
	for _, arg := range call.Args {
		if t, ok := arg.(*ast.TableExpr); ok {
			c.tables[call.Line()] = append(c.tables[call.Line()], t)
		}
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
