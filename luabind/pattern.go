package luabind

import (
	"fmt"
	"strings"
)

// Lua's patterns, matched as Lua 5.1 does it (lstrlib.c), but for two bounds: how
// deep the matcher recurses and how many steps it takes. gopher-lua's own matcher
// has neither in effect: a pattern of thirty characters keeps it busy for hours, and
// one of a million ends the process.

const (
	maxCaptures   = 32
	matchDepth    = 200       // nested items of a pattern, as in Lua 5.2
	matchSteps    = 5_000_000 // of one match, a tenth of a second or so
	matchPerByte  = 64        // steps more for each byte of the text
	stepsPerCheck = 1 << 16   // after so many the script's own limits are looked at
)

const (
	unfinished = -1 // length of a capture that is not closed
	placeOnly  = -2 // of a capture that is a place
)

// patternError is a pattern that cannot be used on a text.
type patternError string

func (e patternError) Error() string { return string(e) }

// matcher matches one pattern against one text, from any place of it.
type matcher struct {
	text, pattern string

	captures [maxCaptures]struct{ from, length int }
	level    int // captures in use

	depth   int
	steps   int         // left until the budget is looked at
	budget  int         // left behind them
	stopped func() bool // may be nil
}

// begin makes the matcher ready for a text and a pattern.
func (m *matcher) begin(text, pattern string) {
	m.text, m.pattern = text, pattern
	m.steps, m.budget = stepsPerCheck, matchSteps+matchPerByte*len(text)
}

// at matches the pattern, from its item p on, at place s of the text. It returns
// where the match ends, or -1.
func (m *matcher) at(s, p int) (end int, err error) {
	defer func() {
		if r := recover(); r != nil {
			broken, ok := r.(patternError)
			if !ok {
				panic(r)
			}
			end, err = -1, broken
		}
	}()
	m.level, m.depth = 0, 0
	return m.match(s, p), nil
}

// fail ends the match; at makes an error of it.
func (m *matcher) fail(format string, args ...any) {
	panic(patternError(fmt.Sprintf(format, args...)))
}

func (m *matcher) step() {
	m.steps--
	if m.steps < 0 {
		m.spend()
	}
}

// spend takes further steps from the budget.
func (m *matcher) spend() {
	m.budget -= stepsPerCheck
	if m.budget < 0 {
		m.fail("the pattern %q takes too long on a text of %d bytes: anchor it, or match less at a time", clip(m.pattern), len(m.text))
	}
	if m.stopped != nil && m.stopped() {
		m.fail("stopped")
	}
	m.steps = stepsPerCheck
}

// byteAt is a byte of the pattern, 0 behind its end.
func (m *matcher) byteAt(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

func (m *matcher) match(s, p int) int {
	m.depth++
	if m.depth > matchDepth {
		m.fail("pattern too complex: more than %d items", matchDepth)
	}
	end := m.items(s, p)
	m.depth--
	return end
}

// items matches item after item; whatever may be undone recurses by match.
func (m *matcher) items(s, p int) int {
	for p < len(m.pattern) {
		m.step()
		switch c := m.pattern[p]; {
		case c == '(' && m.byteAt(p+1) == ')':
			return m.open(s, p+2, placeOnly)
		case c == '(':
			return m.open(s, p+1, unfinished)
		case c == ')':
			return m.close(s, p+1)
		case c == '$' && p+1 == len(m.pattern):
			if s == len(m.text) {
				return s
			}
			return -1
		case c == '%' && special(m.byteAt(p+1)):
			if s, p = m.special(s, p+1); s < 0 {
				return -1
			}
		default:
			next := m.classEnd(p)
			switch m.byteAt(next) {
			case '?':
				if s < len(m.text) && m.single(s, p, next) {
					if end := m.match(s+1, next+1); end >= 0 {
						return end
					}
				}
				p = next + 1
			case '*':
				return m.longest(s, p, next, 0)
			case '+':
				return m.longest(s, p, next, 1)
			case '-':
				return m.shortest(s, p, next)
			default:
				if s >= len(m.text) || !m.single(s, p, next) {
					return -1
				}
				s, p = s+1, next
			}
		}
	}
	return s
}

func special(c byte) bool { return c == 'b' || c == 'f' || '0' <= c && c <= '9' }

// special matches %b, %f or a capture again; p is behind the %. It returns
// the places behind both, or -1.
func (m *matcher) special(s, p int) (int, int) {
	switch c := m.pattern[p]; c {
	case 'b':
		return m.balance(s, p+1), p + 3
	case 'f':
		p++
		if m.byteAt(p) != '[' {
			m.fail("missing '[' after '%%f' in pattern")
		}
		next := m.classEnd(p)
		var before, here byte
		if s > 0 {
			before = m.text[s-1]
		}
		if s < len(m.text) {
			here = m.text[s]
		}
		if m.inSet(before, p, next-1) || !m.inSet(here, p, next-1) {
			return -1, p
		}
		return s, next
	default:
		return m.again(s, c), p + 1
	}
}

// classEnd is the place behind the single-character class at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			m.fail("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if m.byteAt(p) == '^' {
			p++
		}
		for first := true; first || m.byteAt(p) != ']'; first = false {
			if p >= len(m.pattern) {
				m.fail("malformed pattern (missing ']')")
			}
			p++
			if m.pattern[p-1] == '%' && p < len(m.pattern) {
				p++
			}
			if p >= len(m.pattern) {
				m.fail("malformed pattern (missing ']')")
			}
		}
		return p + 1
	}
	return p
}

// single reports whether the byte at s is of the class at p, which ends at next.
func (m *matcher) single(s, p, next int) bool {
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, next-1)
	}
	return m.pattern[p] == c
}

// inSet is about the set that begins with [ at p and ends with ] at last.
func (m *matcher) inSet(c byte, p, last int) bool {
	found := true
	if m.byteAt(p+1) == '^' {
		found = false
		p++
	}
	for p++; p < last; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return found
			}
		case m.byteAt(p+1) == '-' && p+2 < last:
			p += 2
			if m.pattern[p-2] <= c && c <= m.pattern[p] {
				return found
			}
		case m.pattern[p] == c:
			return found
		}
	}
	return !found
}

// inClass is about %a and its like; another character stands for itself.
func inClass(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'c':
		in = c < 0x20 || c == 0x7F
	case 'd':
		in = isDigit(c)
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 'p':
		in = 0x20 < c && c < 0x7F && !isLetter(c) && !isDigit(c)
	case 's':
		in = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = isLetter(c) || isDigit(c)
	case 'x':
		in = isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if 'A' <= class && class <= 'Z' {
		return !in
	}
	return in
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// longest takes as many of a class as there are, then gives back.
func (m *matcher) longest(s, p, next, least int) int {
	n := 0
	for s+n < len(m.text) && m.single(s+n, p, next) {
		m.step()
		n++
	}
	for ; n >= least; n-- {
		m.step()
		if end := m.match(s+n, next+1); end >= 0 {
			return end
		}
	}
	return -1
}

// shortest takes as few as possible.
func (m *matcher) shortest(s, p, next int) int {
	for {
		m.step()
		if end := m.match(s, next+1); end >= 0 {
			return end
		}
		if s >= len(m.text) || !m.single(s, p, next) {
			return -1
		}
		s++
	}
}

// balance matches %bxy; p is at x.
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.fail("unbalanced pattern")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	first, last := m.pattern[p], m.pattern[p+1]
	depth := 1
	for s++; s < len(m.text); s++ {
		m.step()
		switch m.text[s] {
		case last:
			depth--
			if depth == 0 {
				return s + 1
			}
		case first:
			depth++
		}
	}
	return -1
}

func (m *matcher) open(s, p, length int) int {
	if m.level >= maxCaptures {
		m.fail("too many captures")
	}
	m.captures[m.level].from, m.captures[m.level].length = s, length
	m.level++
	end := m.match(s, p)
	if end < 0 {
		m.level--
	}
	return end
}

func (m *matcher) close(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].length != unfinished {
		i--
	}
	if i < 0 {
		m.fail("invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].from
	end := m.match(s, p)
	if end < 0 {
		m.captures[i].length = unfinished
	}
	return end
}

// again matches what a capture holds.
func (m *matcher) again(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].length == unfinished {
		m.fail("invalid capture index")
	}
	c := m.captures[i]
	if c.length == placeOnly || !strings.HasPrefix(m.text[s:], m.text[c.from:c.from+c.length]) {
		return -1
	}
	return s + c.length
}
