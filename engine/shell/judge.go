package shell

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxDepth bounds how deep brackets, and then commands, may nest. Nobody
// glances through more, and parser and judge both recurse.
const maxDepth = 64

// judge walks the tree of one line and stops at the first part that does not
// only read. It is reused: parser and buffers are most of the cost of a line.
type judge struct {
	parser *syntax.Parser
	reader strings.Reader
	table  *table

	src   string
	depth int
	vars  variables
	words []word // the arguments being judged; a stack, as commands nest

	// A write to /dev/stdout reopens whatever the descriptor holds, which
	// another redirection of the same line may have pointed at a file.
	reopens, rewires bool

	no refusal
}

// refusal is the first part that decided against the line. The sentence is
// formatted only when somebody asks for it.
type refusal struct {
	from, to  int // bytes of the line
	line, col int
	why       string // a format for args
	args      []any
}

var judges = sync.Pool{New: func() any {
	return &judge{parser: syntax.NewParser(syntax.Variant(syntax.LangBash))}
}}

func newJudge(src string) *judge {
	j := judges.Get().(*judge)
	j.src = src
	j.table = tables()
	return j
}

func (j *judge) free() {
	clear(j.words[:cap(j.words)])
	*j = judge{parser: j.parser, words: j.words[:0]}
	judges.Put(j)
}

// refuse keeps the first refusal and returns false, to be returned on.
func (j *judge) refuse(at syntax.Node, why string, args ...any) bool {
	if j.no.why == "" {
		pos := at.Pos()
		j.no = refusal{int(pos.Offset()), int(at.End().Offset()), int(pos.Line()), int(pos.Col()), why, args}
	}
	return false
}

func (j *judge) explanation() Explanation {
	r := j.no
	to := min(max(r.to, 0), len(j.src))
	from := min(max(r.from, 0), to)
	return Explanation{
		Part: strings.TrimSpace(j.src[from:to]), Line: r.line, Col: r.col,
		Reason: fmt.Sprintf(r.why, r.args...),
	}
}

// line judges the whole of it.
func (j *judge) line() bool {
	if !j.bounded() {
		return false
	}
	file, err := j.parse()
	if err != nil {
		return j.broken(err)
	}
	if len(file.Stmts) == 0 {
		return j.whole("there is no command in it")
	}
	j.vars = loopVariables(j, file)
	if !j.stmts(file.Stmts) {
		return false
	}
	if j.reopens && j.rewires {
		return j.whole("/dev/stdout or /dev/stderr is opened while another redirection moves descriptors: it could write to a file")
	}
	return true
}

// whole refuses the line as such.
func (j *judge) whole(why string, args ...any) bool {
	j.no = refusal{0, len(j.src), 1, 1, why, args}
	return false
}

// bounded keeps long and deeply nested input from the parser. Counting
// brackets without regard to quotes overstates the nesting, never the reverse.
func (j *judge) bounded() bool {
	if len(j.src) > MaxLen {
		return j.whole("it is longer than %d bytes: put it into a script", MaxLen)
	}
	if !utf8.ValidString(j.src) || strings.IndexByte(j.src, 0) >= 0 {
		return j.whole("it is not valid UTF-8 text")
	}
	if !j.carriageReturns() {
		return j.whole("it has carriage returns, which belong to the words for the shell: end lines with a newline alone")
	}
	if j.continuedComment() {
		return j.whole("a line with a comment ends in a backslash, which readers of it take differently: leave one of them out")
	}
	depth := 0
	for i := range len(j.src) {
		switch j.src[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
		if depth > maxDepth {
			return j.whole("it nests deeper than %d brackets", maxDepth)
		}
	}
	return true
}

// carriageReturns allows those that end the last word of a line. The parser
// takes them for space, the shell for a part of a word: where they stand alone
// or behind a backslash, the two see different commands.
func (j *judge) carriageReturns() bool {
	if strings.IndexByte(j.src, '\r') < 0 {
		return true
	}
	if strings.ContainsAny(j.src, "<>") {
		return false
	}
	for i := range len(j.src) {
		if j.src[i] != '\r' {
			continue
		}
		if i == 0 || !alnum(j.src[i-1]) || i+1 < len(j.src) && j.src[i+1] != '\n' {
			return false
		}
	}
	return true
}

// continuedComment looks for a line that ends in a backslash and has something
// in it that may be a comment. To the shell the comment ends there all the
// same; the parser joins what follows to the command in front of the comment.
func (j *judge) continuedComment() bool {
	for rest := j.src; ; {
		end := strings.Index(rest, "\\\n")
		if end < 0 {
			return false
		}
		line := rest[strings.LastIndexByte(rest[:end], '\n')+1 : end]
		for i := range len(line) {
			if line[i] == '#' && !withinWord(line[:i]) {
				return true
			}
		}
		rest = rest[end+2:]
	}
}

// withinWord reports whether what follows this text is certain to continue a
// word or an expansion, where # begins no comment.
func withinWord(before string) bool {
	if before == "" {
		return false
	}
	c := before[len(before)-1]
	return alnum(c) || strings.IndexByte("_'\"\\$/-.,:@%+^", c) >= 0 || strings.HasSuffix(before, "${")
}

// parse turns a panic of the parser, which is fed with whatever a model
// writes, into an error.
func (j *judge) parse() (file *syntax.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
			j.parser = syntax.NewParser(syntax.Variant(syntax.LangBash))
		}
	}()
	j.reader.Reset(j.src)
	return j.parser.Parse(&j.reader, "")
}

// broken refuses a line that does not parse, at the place where it stops to.
func (j *judge) broken(err error) bool {
	text, pos := err.Error(), syntax.NewPos(0, 1, 1)
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		text, pos = parse.Text, parse.Pos
	case errors.As(err, &lang):
		text, pos = "it uses "+lang.Feature, lang.Pos
	}
	from := min(int(pos.Offset()), len(j.src))
	to := len(j.src)
	if nl := strings.IndexByte(j.src[from:], '\n'); nl > 0 {
		to = from + nl
	}
	j.no = refusal{from, to, int(pos.Line()), int(pos.Col()), "it does not parse as bash: %s", []any{text}}
	return false
}

func (j *judge) stmts(list []*syntax.Stmt) bool {
	if j.depth++; j.depth > maxDepth {
		return j.refuse(list[0], "commands nest deeper than %d", maxDepth)
	}
	for _, s := range list {
		if !j.stmt(s) {
			return false
		}
	}
	j.depth--
	return true
}

func (j *judge) stmt(s *syntax.Stmt) bool {
	if s.Background || s.Coprocess || s.Disown {
		return j.refuse(s, "it runs in the background and outlives the line: drop the &")
	}
	if s.Cmd == nil {
		return j.refuse(s, "there is a redirection without a command")
	}
	if !j.command(s.Cmd) {
		return false
	}
	for _, r := range s.Redirs {
		if !j.redirect(r) {
			return false
		}
	}
	return true
}

func (j *judge) command(c syntax.Command) bool {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		return j.stmt(c.X) && j.stmt(c.Y)
	case *syntax.Subshell:
		return j.stmts(c.Stmts)
	case *syntax.Block:
		return j.stmts(c.Stmts)
	case *syntax.TimeClause:
		return c.Stmt == nil || j.stmt(c.Stmt)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if !j.stmts(c.Cond) || !j.stmts(c.Then) {
				return false
			}
		}
		return true
	case *syntax.WhileClause:
		return j.while(c)
	case *syntax.ForClause:
		return j.loop(c)
	case *syntax.CaseClause:
		return j.choice(c)
	case *syntax.TestClause:
		return j.test(c.X)
	case *syntax.ArithmCmd:
		return j.arithm(c.X, false)
	case *syntax.DeclClause:
		return j.declare(c)
	case *syntax.FuncDecl:
		return j.refuse(c, "it defines a function: write the commands out")
	case *syntax.LetClause:
		return j.refuse(c, "let assigns variables of the shell")
	case *syntax.CoprocClause:
		return j.refuse(c, "a coprocess runs in the background and outlives the line")
	}
	return j.refuse(c, "this kind of command is not known to only read")
}

// while allows read as the condition: it is how a loop gets its variable.
// Anywhere else it assigns a variable of the shell.
func (j *judge) while(c *syntax.WhileClause) bool {
	for _, s := range c.Cond {
		call, ok := s.Cmd.(*syntax.CallExpr)
		if ok && len(call.Args) > 0 && call.Args[0].Lit() == "read" && len(s.Redirs) == 0 && !s.Background {
			if !j.readLoop(call) {
				return false
			}
			continue
		}
		if !j.stmt(s) {
			return false
		}
	}
	return j.stmts(c.Do)
}

func (j *judge) loop(c *syntax.ForClause) bool {
	if c.Select {
		return j.refuse(c, "select asks and waits for an answer")
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		if !j.variable(l.Name, l.Name.Value) || !j.expansions(l.Items) {
			return false
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil && !j.arithm(x, true) {
				return false
			}
		}
	}
	return j.stmts(c.Do)
}

func (j *judge) choice(c *syntax.CaseClause) bool {
	if !j.expand(c.Word) {
		return false
	}
	for _, item := range c.Items {
		if !j.expansions(item.Patterns) || !j.stmts(item.Stmts) {
			return false
		}
	}
	return true
}

// declare allows the forms of export, declare and their kin that print.
func (j *judge) declare(c *syntax.DeclClause) bool {
	prints := false
	for _, a := range c.Args {
		switch {
		case !a.Naked:
			return j.refuse(a, "%s assigns a variable of the shell", c.Variant.Value)
		case a.Name != nil:
			// declare -p NAME prints it; declare NAME makes it.
			if !prints || c.Variant.Value != "declare" && c.Variant.Value != "typeset" {
				return j.refuse(a, "%s changes a variable of the shell", c.Variant.Value)
			}
		case a.Value == nil || a.Value.Lit() != "-p":
			return j.refuse(a, "of %s only -p is known to just print", c.Variant.Value)
		default:
			prints = true
		}
	}
	if c.Variant.Value == "local" || c.Variant.Value == "nameref" {
		return j.refuse(c, "%s changes a variable of the shell", c.Variant.Value)
	}
	return true
}
