package luabind

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/flowerlua/flower/engine"
)

// Error is one thing that went wrong in a script.
type Error struct {
	File    string
	Line    int // 0 where it is not known
	Code    string
	Message string

	trace string
	cause error
	at    ast.Position // of a syntax error, where it is known
}

// Error is file:line: message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Unwrap is the Go error behind it, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Backtrace lists the script's calls that led there, for -v; may be empty.
func (e *Error) Backtrace() string { return e.trace }

// The codes of errors that flower raises in a script.
const (
	CodeMisuse = "misuse" // a wrong argument
	CodeEngine = "engine" // the engine could not do it
	CodeAbort  = "abort"  // flower.abort
	CodeLimit  = "limit"  // the script computed for too long
	CodeSyntax = "syntax"
	// CodeUsage is for scripts to raise: they were called wrongly. The message is for
	// the person who typed, who need not know the place.
	CodeUsage = "usage"
)

// Mistake is one wrong field of a table given to a constructor, or another place of
// a script that cannot work.
type Mistake struct {
	File   string
	Line   int    // 0 where it is not known
	Column int    // in characters from 1; 0 where it is not known
	Path   string // steps[2].retries
	Text   string

	word string // what stands at the column, where Path does not say it
}

// String is file:line:column: path: text.
func (m Mistake) String() string {
	place := m.File
	if m.Line > 0 {
		place = fmt.Sprintf("%s:%d", m.File, m.Line)
	}
	if m.Line > 0 && m.Column > 0 {
		place = fmt.Sprintf("%s:%d", place, m.Column)
	}
	if m.Path == "" {
		return fmt.Sprintf("%s: %s", place, m.Text)
	}
	return fmt.Sprintf("%s: %s: %s", place, m.Path, m.Text)
}

// Mistakes are all that is wrong with a table, in the order of the lines.
type Mistakes struct{ List []Mistake }

// Error is one line a mistake.
func (e *Mistakes) Error() string {
	lines := make([]string, len(e.List))
	for i, m := range e.List {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

func newMistakes(list []Mistake) *Mistakes {
	slices.SortStableFunc(list, func(a, b Mistake) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Mistakes{List: list}
}

// positioned splits "fix.lua:12: message" as Lua writes it.
var positioned = regexp.MustCompile(`(?s)^(.+?):(\d+): (.*)$`)

// fromLua makes a Go error of what a protected call of a script returned.
func (s *state) fromLua(err error) error {
	file := s.program.main.name
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return &Error{File: file, Message: clip(err.Error()), cause: err}
	}
	e := &Error{File: file, trace: api.StackTrace, cause: api.Cause}
	switch v := api.Object.(type) {
	case *lua.LTable:
		if u, ok := v.RawGetString("_cause").(*lua.LUserData); ok {
			switch inner := u.Value.(type) {
			case *Mistakes:
				return inner
			case *Error: // of a module
				return inner
			}
			e.cause, _ = u.Value.(error)
		}
		e.Code = lua.LVAsString(v.RawGetString("code"))
		s.locate(e, lua.LVAsString(v.RawGetString("where"))+": "+tableMessage(v))
	default:
		s.locate(e, lua.LVAsString(v))
		if e.Message == "" {
			e.Message = fmt.Sprintf("an error that is a %s was raised", v.Type())
		}
	}
	s.locateByTrace(e)
	s.tableCalled(e)
	if strings.Contains(e.Message, overflow) {
		e.Code, e.Message = CodeLimit, fmt.Sprintf("calls are nested more than %d deep: does a function call itself without an end?", callDepth)
	}
	if e.Code == CodeAbort {
		e.cause = engine.Abort(e.Message)
	}
	return e
}

// overflow is what gopher-lua panics with when the call stack is full.
const overflow = "lua callstack overflow"

// locate reads the position off a message: one in a file of the script, not what
// else looks like a position.
func (s *state) locate(e *Error, message string) {
	message = clip(message)
	if file, line, rest, ok := s.position(message); ok {
		e.File, e.Line, e.Message = file, line, rest
		return
	}
	e.Message = strings.TrimPrefix(message, ": ")
}

func (s *state) position(text string) (file string, line int, rest string, ok bool) {
	m := positioned.FindStringSubmatch(text)
	if m == nil || s.chunks[m[1]] == nil {
		return "", 0, "", false
	}
	line, err := strconv.Atoi(m[2])
	return m[1], line, m[3], err == nil
}

// locateByTrace takes the innermost place of the backtrace where the message has
// none: error({…}) and faults inside Lua name no line.
func (s *state) locateByTrace(e *Error) {
	if e.Line != 0 {
		return
	}
	for text := range strings.Lines(e.trace) {
		place, _, inside := strings.Cut(strings.TrimSpace(text), ": in ")
		if file, line, _, ok := s.position(place + ": "); inside && ok {
			e.File, e.Line = file, line
			return
		}
	}
}

func tableMessage(t *lua.LTable) string {
	if s, ok := t.RawGetString("message").(lua.LString); ok {
		return string(s)
	}
	return "an error that is a table without a message was raised"
}

// fromParser makes an *Error of what the parser said.
func fromParser(err error, file, source string) error {
	var p *parse.Error
	if !errors.As(err, &p) {
		return &Error{File: file, Code: CodeSyntax, Message: err.Error(), cause: err}
	}
	line := p.Pos.Line
	last := strings.Count(strings.TrimRight(source, "\n"), "\n") + 1
	text := "syntax error"
	switch token := clip(p.Token); {
	case line == parse.EOF || token == "" && line >= last:
		line = last
		text = "the script ends in the middle of something: an end, a bracket or a quote is missing"
	case strings.Contains(p.Message, "unterminated"):
		text = strings.TrimSpace(p.Message)
		// A line end inside quotes is noticed on the next line.
		if lines := strings.Split(source, "\n"); line >= 2 && line <= len(lines) && strings.Contains(lines[line-2], p.Token) {
			line--
		}
	case token == "": // which the parser says of a dot
		text += ` near "."`
	default:
		text += fmt.Sprintf(" near %q", token)
	}
	e := &Error{File: file, Line: line, Code: CodeSyntax, Message: text, cause: err}
	if line == p.Pos.Line {
		e.at = p.Pos
	}
	return e
}

// atLine is how the compiler names another line than that of the function's end.
var atLine = regexp.MustCompile(`at line (\d+)$`)

// fromCompiler makes an *Error of what the compiler said, which names the line in
// words of its own.
func fromCompiler(err error, name string) error {
	e := &Error{File: name, Code: CodeSyntax, Message: err.Error(), cause: err}
	var c *lua.CompileError
	if errors.As(err, &c) {
		e.Line, e.Message = c.Line, c.Message
	}
	if m := atLine.FindStringSubmatch(e.Message); m != nil {
		e.Line, _ = strconv.Atoi(m[1]) // digits
	}
	return e
}

// cause is the system's word for what is wrong with a path, without the path
// that the message names already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// raise stops the script with an error value {code, message, where}; it does not
// return. L is the thread that is running, which may be a coroutine.
func (s *state) raise(L *lua.LState, code string, err error) {
	t := L.NewTable()
	t.RawSetString("code", lua.LString(code))
	t.RawSetString("message", lua.LString(err.Error()))
	t.RawSetString("where", lua.LString(s.where(L)))
	u := L.NewUserData()
	u.Value = err
	t.RawSetString("_cause", u)
	L.SetMetatable(t, s.errorMeta)
	L.Error(t, 0)
}

// misuse raises a wrong argument.
func (s *state) misuse(L *lua.LState, format string, args ...any) {
	s.raise(L, CodeMisuse, fmt.Errorf(format, args...))
}

// where is the place in a script of the innermost call.
func (s *state) where(L *lua.LState) string {
	file, line := s.caller(L)
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// caller is file and line of the innermost script function on the stack.
func (s *state) caller(L *lua.LState) (string, int) { return s.callerAt(L, 0) }

// callerAt skips so many script functions; where there are no more it is the last.
func (s *state) callerAt(L *lua.LState, skip int) (file string, line int) {
	file = s.program.main.name
	for level := 0; ; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			return file, line
		}
		if _, err := L.GetInfo("Sl", frame, lua.LNil); err == nil && frame.What != "G" && frame.CurrentLine > 0 {
			file, line = frame.Source, frame.CurrentLine
			if skip--; skip < 0 {
				return file, line
			}
		}
	}
}
