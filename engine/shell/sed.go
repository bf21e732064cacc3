package shell

import "strings"

// sed judges the script of a sed call: sed can write files (w, s///w) and run
// commands (e, s///e) from inside of it.
func (j *judge) sed(p *parsed) bool {
	scripts := p.scripts
	if len(scripts) == 0 {
		if len(p.operands) == 0 {
			return true // sed --version, or a complaint
		}
		scripts = p.operands[:1]
	}
	text := ""
	for i, w := range scripts {
		if !w.exact {
			return j.refuse(w.node, "the script of sed is only known once expanded, and a script can write files and run commands")
		}
		if i > 0 {
			text += "\n"
		}
		text += w.text
	}
	s := sedScript{rest: text}
	if why := s.judge(); why != "" {
		return j.refuse(scripts[0].node, "%s", why)
	}
	return true
}

// sedScript reads a script command by command. Where implementations disagree
// on where a command ends, it refuses: what one takes for a label or a text,
// another may take for the next command.
type sedScript struct{ rest string }

const (
	sedUnclear = "this sed script is not clear enough to be known to only read: write it as simple commands"
	sedWrites  = "w in a sed script writes a file"
	sedRuns    = "e in a sed script runs a command"
)

func (s *sedScript) judge() (why string) {
	for {
		s.skip(" \t\n;")
		if s.rest == "" {
			return ""
		}
		if !s.addresses() {
			return sedUnclear
		}
		if why := s.command(); why != "" {
			return why
		}
	}
}

func (s *sedScript) skip(set string) {
	s.rest = strings.TrimLeft(s.rest, set)
}

func (s *sedScript) peek() byte {
	if s.rest == "" {
		return 0
	}
	return s.rest[0]
}

func (s *sedScript) next() byte {
	c := s.peek()
	if c != 0 {
		s.rest = s.rest[1:]
	}
	return c
}

// addresses skips ADDR, ADDR,ADDR, the ! behind them and the space between.
func (s *sedScript) addresses() bool {
	if !s.address() {
		return false
	}
	s.skip(" \t")
	if s.peek() == ',' {
		s.next()
		s.skip(" \t")
		if c := s.peek(); c == '+' || c == '~' {
			s.next()
		}
		if !s.address() {
			return false
		}
	}
	s.skip(" \t!")
	return true
}

func (s *sedScript) address() bool {
	switch c := s.peek(); {
	case c >= '0' && c <= '9' || c == '$':
		s.skip("0123456789$~")
	case c == '/':
		s.next()
		if !s.pattern('/') {
			return false
		}
		s.skip("IM")
	case c == '\\':
		s.next()
		d := s.next()
		if d == 0 || d == '\\' || d == '\n' || d >= 128 || !s.pattern(d) {
			return false
		}
		s.skip("IM")
	}
	return true
}

// pattern skips a regular expression and the delimiter behind it. A delimiter
// inside of brackets ends it for some implementations only.
func (s *sedScript) pattern(delim byte) bool {
	inside := false
	for {
		switch c := s.next(); {
		case c == 0 || c == '\n':
			return false
		case c == '\\':
			if n := s.next(); n == 0 || inside && (n == ']' || n == '[' || n == '\n') {
				return false
			}
		case c == delim:
			return !inside
		case c == '[' && !inside:
			inside = true
			if s.peek() == '^' {
				s.next()
			}
			if s.peek() == ']' {
				s.next()
			}
		case c == '[' && (s.peek() == ':' || s.peek() == '.' || s.peek() == '='):
			class, rest, ok := strings.Cut(s.rest[1:], s.rest[:1]+"]")
			if !ok || strings.ContainsAny(class, "[]/\\\n") {
				return false
			}
			s.rest = rest
		case c == ']':
			inside = false
		}
	}
}

// literal skips the text up to an unescaped delimiter.
func (s *sedScript) literal(delim byte) bool {
	for {
		switch c := s.next(); c {
		case 0:
			return false
		case '\\':
			s.next()
		case delim:
			return true
		}
	}
}

func (s *sedScript) command() (why string) {
	switch c := s.next(); c {
	case '{', '}':
		return ""
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return s.end()
	case 'q', 'Q', 'l', 'L':
		s.skip(" \t")
		s.skip("0123456789")
		return s.end()
	case ':', 'b', 't', 'T':
		return s.label()
	case 'a', 'i', 'c':
		return s.insert()
	case 'r', 'R':
		s.line()
		return ""
	case '#':
		s.line()
		return ""
	case 's':
		return s.substitute()
	case 'y':
		d := s.next()
		if d == '\\' || d == '\n' || d >= 128 || !s.literal(d) || !s.literal(d) {
			return sedUnclear
		}
		return s.end()
	case 'w', 'W':
		return sedWrites
	case 'e':
		return sedRuns
	}
	return sedUnclear
}

// end wants the end of a command.
func (s *sedScript) end() string {
	s.skip(" \t")
	switch s.peek() {
	case 0, '\n', ';', '}', '#':
		return ""
	}
	return sedUnclear
}

// label skips one made of letters and digits. A space or anything else in it
// belongs to the label in one sed and begins a command in another.
func (s *sedScript) label() string {
	s.skip(" \t")
	i := 0
	for i < len(s.rest) && (alnum(s.rest[i]) || s.rest[i] == '_') {
		i++
	}
	s.rest = s.rest[i:]
	if c := s.peek(); c == '}' || c == '#' {
		return sedUnclear
	}
	return s.end()
}

// insert skips the text of a, i and c: up to the end of a line that does not
// end in a backslash.
func (s *sedScript) insert() string {
	for {
		line, more := s.line()
		if trailing(line)%2 == 0 {
			return ""
		}
		if !more {
			return sedUnclear
		}
	}
}

func (s *sedScript) line() (line string, more bool) {
	line, s.rest, more = strings.Cut(s.rest, "\n")
	return line, more
}

func trailing(line string) int {
	return len(line) - len(strings.TrimRight(line, `\`))
}

func (s *sedScript) substitute() (why string) {
	d := s.next()
	if d == 0 || d == '\\' || d == '\n' || d >= 128 || !s.pattern(d) || !s.literal(d) {
		return sedUnclear
	}
	for {
		switch c := s.peek(); {
		case c >= '0' && c <= '9' || strings.IndexByte("gpiImM", c) >= 0 && c != 0:
			s.next()
		case c == 'w':
			return sedWrites
		case c == 'e':
			return sedRuns
		default:
			return s.end()
		}
	}
}
