package shell

import "strings"

// awk judges the program of an awk call: awk can write files (print > f) and
// run commands (system, pipes) from inside of it.
func (j *judge) awk(p *parsed) bool {
	if len(p.operands) == 0 {
		return true // awk --version, or a complaint
	}
	w := p.operands[0]
	if !w.exact {
		return j.refuse(w.node, "the program of awk is only known once expanded, and a program can write files and run commands: put it in single quotes and pass values with -v")
	}
	a := awkProgram{text: w.text}
	if why := a.judge(); why != "" {
		return j.refuse(w.node, "%s", why)
	}
	j.reopens = j.reopens || strings.Contains(w.text, "/dev/std")
	return true
}

// awkProgram reads a program token by token. It need not know the grammar, but
// it must never lose track of what is a string or a pattern, where anything
// may stand; so where / could begin a pattern as well as divide, it refuses.
type awkProgram struct {
	text  string
	at    int
	last  awkToken
	depth int // of ( and [

	head  bool   // the last word was if, while, for or switch
	heads uint64 // a bit for each open (: it follows such a word

	printing bool // since a print at printDepth, with no end of the statement yet
	printAt  int
}

type awkToken uint8

const (
	awkStart   awkToken = iota // an operand may follow: / begins a pattern
	awkOperand                 // an operand has ended: / divides
	awkEither                  // implementations differ
)

const (
	awkUnclear = "this awk program is not clear enough to be known to only read: put / between spaces or in brackets"
	awkRuns    = "system in an awk program runs a command"
	awkPipes   = "| in an awk program runs a command"
	awkWrites  = "> in an awk program writes a file: put a comparison in parentheses"
	awkExtends = "@ in an awk program loads or calls what is not seen here"
	awkNetwork = "/inet in an awk program opens a network connection"
)

func (a *awkProgram) judge() (why string) {
	for a.at < len(a.text) {
		if why := a.token(); why != "" {
			return why
		}
	}
	return ""
}

func (a *awkProgram) token() (why string) {
	c := a.text[a.at]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		a.at++
	case c == '\\':
		return a.continuation()
	case c == '#':
		if a.at = a.find('\n'); a.at < 0 {
			a.at = len(a.text)
		}
	case c == '"':
		return a.str()
	case c == '/':
		return a.slash()
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return a.name()
	case c >= '0' && c <= '9' || c == '.':
		return a.number()
	default:
		return a.operator(c)
	}
	return ""
}

// find is the next place of c from here, or -1.
func (a *awkProgram) find(c byte) int {
	if i := strings.IndexByte(a.text[a.at:], c); i >= 0 {
		return a.at + i
	}
	return -1
}

func (a *awkProgram) rest() string { return a.text[a.at:] }

// continuation is a backslash outside of strings: before a newline it joins
// lines, anywhere else it is an error to awk.
func (a *awkProgram) continuation() string {
	for _, nl := range []string{"\\\n", "\\\r\n"} {
		if strings.HasPrefix(a.rest(), nl) {
			a.at += len(nl)
			return ""
		}
	}
	return awkUnclear
}

// str skips a string. A newline ends it with an error in every awk.
func (a *awkProgram) str() string {
	start := a.at
	for a.at++; a.at < len(a.text); a.at++ {
		switch a.text[a.at] {
		case '\\':
			a.at++
		case '\n':
			return awkUnclear
		case '"':
			a.at++
			a.last = awkOperand
			if strings.HasPrefix(a.text[start:], `"/inet`) {
				return awkNetwork
			}
			return ""
		}
	}
	return awkUnclear
}

// slash skips a pattern, or steps over a division. A slash in brackets ends a
// pattern for some implementations only.
func (a *awkProgram) slash() string {
	switch a.last {
	case awkOperand:
		a.at++
		a.last = awkStart
		return ""
	case awkEither:
		return awkUnclear
	}
	inside := false
	for a.at++; a.at < len(a.text); a.at++ {
		switch c := a.text[a.at]; {
		case c == '\\':
			a.at++
		case c == '\n':
			return awkUnclear
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == '/' && inside:
			return awkUnclear
		case c == '/':
			a.at++
			a.last = awkOperand
			return ""
		}
	}
	return awkUnclear
}

// number skips one. Where a name follows without a space, implementations
// differ on where it begins: 0x1system is one name, or a number and a call.
func (a *awkProgram) number() string {
	a.digits(".")
	if c := a.peek(); c == 'e' || c == 'E' {
		a.at++
		if c := a.peek(); c == '+' || c == '-' {
			a.at++
		}
		a.digits("")
	}
	if c := a.peek(); c == '_' || alnum(c) {
		return awkUnclear
	}
	a.last = awkOperand
	return ""
}

func (a *awkProgram) digits(more string) {
	a.at = len(a.text) - len(strings.TrimLeft(a.rest(), "0123456789"+more))
}

// peek is the next byte, or 0 at the end.
func (a *awkProgram) peek() byte {
	if a.at < len(a.text) {
		return a.text[a.at]
	}
	return 0
}

func (a *awkProgram) name() string {
	start := a.at
	for a.at < len(a.text) && (alnum(a.text[a.at]) || a.text[a.at] == '_') {
		a.at++
	}
	word := a.text[start:a.at]
	a.head = word == "if" || word == "while" || word == "for" || word == "switch"
	switch word {
	case "system":
		return awkRuns
	case "print", "printf":
		a.printing, a.printAt = true, a.depth
		a.last = awkStart
	case "getline", "length", "next", "nextfile", "exit", "break", "continue", "function", "func":
		a.last = awkEither
	case "return", "in", "else", "do", "case", "BEGIN", "END", "delete":
		a.last = awkStart
	default:
		a.last = awkOperand
	}
	return ""
}

func (a *awkProgram) operator(c byte) string {
	two := a.rest()[:min(2, len(a.rest()))]
	a.at++
	switch c {
	case '@':
		return awkExtends
	case '|':
		if two != "||" {
			return awkPipes
		}
		a.at++
		a.last = awkStart
	case '>':
		return a.greater(two)
	case '\n':
		// Behind a comma or an operator the statement goes on.
		a.printing = a.printing && a.last == awkStart
		a.last = awkStart
	case ';', '{', '}':
		a.printing = false
		a.last = awkStart
	case '(', '[':
		return a.open()
	case ')':
		a.depth--
		a.last = awkOperand
		if a.depth >= 0 && a.heads>>a.depth&1 == 1 {
			a.last = awkEither // a statement begins, or not yet
		}
	case ']':
		a.depth--
		a.last = awkOperand
	case '+', '-':
		a.last = awkStart
		if two == "++" || two == "--" {
			a.at++
			a.last = awkEither
		}
	default:
		if c >= 128 {
			return awkUnclear
		}
		a.last = awkStart
	}
	return ""
}

// open remembers whether a parenthesis holds the condition of a statement.
func (a *awkProgram) open() string {
	if a.depth < 0 || a.depth >= 64 {
		return awkUnclear
	}
	a.heads &^= 1 << a.depth
	if a.head {
		a.heads |= 1 << a.depth
	}
	a.head = false
	a.depth++
	a.last = awkStart
	return ""
}

// greater is a redirection when it stands in a print outside of parentheses.
func (a *awkProgram) greater(two string) string {
	a.last = awkStart
	if two == ">=" {
		a.at++
		return ""
	}
	if !a.printing || a.depth > a.printAt {
		if two == ">>" {
			return awkWrites
		}
		return ""
	}
	rest := strings.TrimLeft(a.rest(), " \t")
	for _, to := range []string{`"/dev/stderr"`, `"/dev/stdout"`, `"/dev/null"`} {
		if after, ok := strings.CutPrefix(rest, to); ok && two != ">>" {
			after = strings.TrimLeft(after, " \t")
			if after == "" || strings.IndexByte(";}\n", after[0]) >= 0 {
				return ""
			}
		}
	}
	return awkWrites
}
