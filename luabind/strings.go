package luabind

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openStrings replaces what of the string library can take time or memory without
// bounds, or does otherwise than Lua 5.1: lower and upper, which would change the
// length of a text that is not ASCII, and format.
func (s *state) openStrings() {
	lib := s.L.GetGlobal(lua.StringLibName).(*lua.LTable)
	for name, fn := range map[string]lua.LGFunction{
		"find":     func(L *lua.LState) int { return s.find(L, true) },
		"match":    func(L *lua.LState) int { return s.find(L, false) },
		"gmatch":   s.gmatch,
		"gsub":     s.gsub,
		"rep":      stringRep,
		"lower":    func(L *lua.LState) int { return mapASCII(L, 'A', 'Z') },
		"upper":    func(L *lua.LState) int { return mapASCII(L, 'a', 'z') },
		"format":   stringFormat,
		concatName: concat,
	} {
		lib.RawSetString(name, s.L.NewFunction(fn))
	}
	lib.RawSetString("gfind", lib.RawGetString("gmatch"))
	lib.RawSetString("dump", lua.LNil)
}

// stopped reports whether the script must stop.
func (s *state) stopped() bool {
	select {
	case <-s.clock.done:
		return true
	default:
		return false
	}
}

// matcher makes a matcher, or takes the one that is at rest: release gives it
// back.
func (s *state) matcher(text, pattern string) *matcher {
	m := s.resting
	if s.resting = nil; m == nil {
		m = &matcher{stopped: s.stopped}
	}
	m.begin(text, pattern)
	return m
}

func (s *state) release(m *matcher) {
	m.text, m.pattern = "", ""
	s.resting = m
}

// matchAt is a match at one place; a pattern that cannot be used is an error of
// the script.
func (s *state) matchAt(L *lua.LState, m *matcher, at, p int) int {
	end, err := m.at(at, p)
	if err != nil {
		L.RaiseError("%s", err.Error())
	}
	return end
}

// find is string.find, or string.match.
func (s *state) find(L *lua.LState, places bool) int {
	text, pattern := L.CheckString(1), L.CheckString(2)
	from := startOf(L.OptInt(3, 1), len(text))
	if places && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		i := strings.Index(text[from:], pattern)
		if i < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(from + i + 1))
		L.Push(lua.LNumber(from + i + len(pattern)))
		return 2
	}
	m, first := s.matcher(text, pattern), 0
	if strings.HasPrefix(pattern, "^") {
		first = 1
	}
	defer s.release(m)
	for ; from <= len(text); from++ {
		if end := s.matchAt(L, m, from, first); end >= 0 {
			if !places {
				return pushCaptures(L, m, from, end)
			}
			L.Push(lua.LNumber(from + 1))
			L.Push(lua.LNumber(end))
			if m.level == 0 {
				return 2
			}
			return 2 + pushCaptures(L, m, from, end)
		}
		if first == 1 {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

// startOf is an offset into a text of n bytes; negative ones count from the end.
func startOf(i, n int) int {
	if i < 0 {
		i = max(n+i+1, 0)
	}
	return min(max(i-1, 0), n)
}

// pushCaptures pushes what the pattern captured, or the whole match when it
// captures nothing.
func pushCaptures(L *lua.LState, m *matcher, from, end int) int {
	n := max(m.level, 1)
	for i := range n {
		L.Push(capture(L, m, i, from, end))
	}
	return n
}

func capture(L *lua.LState, m *matcher, i, from, end int) lua.LValue {
	if i >= m.level {
		if i > 0 {
			L.RaiseError("invalid capture index")
		}
		return lua.LString(m.text[from:end])
	}
	c := m.captures[i]
	switch c.length {
	case unfinished:
		L.RaiseError("unfinished capture")
	case placeOnly:
		return lua.LNumber(c.from + 1)
	}
	return lua.LString(m.text[c.from : c.from+c.length])
}

func (s *state) gmatch(L *lua.LState) int {
	text, pattern := L.CheckString(1), L.CheckString(2)
	from := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := s.matcher(text, pattern)
		defer s.release(m)
		for ; from <= len(text); from++ {
			end := s.matchAt(L, m, from, 0)
			if end < 0 {
				continue
			}
			start := from
			if from = end; end == start {
				from++ // an empty match: go on behind the next character
			}
			return pushCaptures(L, m, start, end)
		}
		return 0
	}))
	return 1
}

func (s *state) gsub(L *lua.LState) int {
	text, pattern := L.CheckString(1), L.CheckString(2)
	L.CheckTypes(3, lua.LTNumber, lua.LTString, lua.LTTable, lua.LTFunction)
	most := L.OptInt(4, len(text)+1)
	m, first := s.matcher(text, pattern), 0
	if strings.HasPrefix(pattern, "^") {
		first = 1
	}
	var b strings.Builder
	n, from := 0, 0
	for n < most {
		end := s.matchAt(L, m, from, first)
		if end >= 0 {
			n++
			s.replacement(L, &b, m, from, end)
			bound(L, "string.gsub", b.Len())
		}
		switch {
		case end > from:
			from = end
		case from < len(text):
			b.WriteByte(text[from])
			from++
		default:
			most = n
		}
		if first == 1 {
			break
		}
	}
	s.release(m)
	bound(L, "string.gsub", b.Len()+len(text)-from)
	b.WriteString(text[from:])
	L.Push(lua.LString(b.String()))
	L.Push(lua.LNumber(n))
	return 2
}

// bound raises when a text would be longer than a script may make it.
func bound(L *lua.LState, function string, n int) {
	if n > maxString {
		L.RaiseError("%s: the result would have more than %d MiB", function, maxString>>20)
	}
}

// replacement appends what stands in for one match.
func (s *state) replacement(L *lua.LState, b *strings.Builder, m *matcher, from, end int) {
	var v lua.LValue
	switch with := L.Get(3).(type) {
	case *lua.LTable:
		v = L.GetTable(with, capture(L, m, 0, from, end))
	case *lua.LFunction:
		L.Push(with)
		n := pushCaptures(L, m, from, end)
		L.Call(n, 1)
		v = L.Get(-1)
		L.Pop(1)
	default:
		expand(L, b, lua.LVAsString(with), m, from, end)
		return
	}
	switch {
	case lua.LVIsFalse(v):
		b.WriteString(m.text[from:end])
	case lua.LVCanConvToString(v):
		b.WriteString(lua.LVAsString(v))
	default:
		L.RaiseError("invalid replacement value (a %s)", v.Type())
	}
}

// expand appends a replacement text with its %0 to %9 filled in.
func expand(L *lua.LState, b *strings.Builder, with string, m *matcher, from, end int) {
	for i := 0; i < len(with); i++ {
		c := with[i]
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		i++
		switch {
		case i == len(with):
			L.RaiseError("%s", `invalid use of '%' in replacement string`)
		case with[i] == '0':
			b.WriteString(m.text[from:end])
		case isDigit(with[i]):
			b.WriteString(lua.LVAsString(capture(L, m, int(with[i]-'1'), from, end)))
		default:
			b.WriteByte(with[i])
		}
		bound(L, "string.gsub", b.Len())
	}
}

func stringRep(L *lua.LState) int {
	text, n := L.CheckString(1), L.CheckNumber(2)
	if n < 1 || text == "" {
		L.Push(lua.LString(""))
		return 1
	}
	if float64(n)*float64(len(text)) > maxString {
		bound(L, "string.rep", maxString+1)
	}
	L.Push(lua.LString(strings.Repeat(text, int(n))))
	return 1
}

// mapASCII changes the case of the letters from first to last.
func mapASCII(L *lua.LState, first, last byte) int {
	out := []byte(L.CheckString(1))
	for i, c := range out {
		if first <= c && c <= last {
			out[i] = c ^ 0x20
		}
	}
	L.Push(lua.LString(out))
	return 1
}

// concatName is what the compiled form of a..b calls, see rewrite.go. It lies in
// the table that the text metatable's __index names, which scripts cannot reach.
const concatName = "(concat)"

// concat is a..b..c: from the right, as Lua does it, with a bound on the result.
func concat(L *lua.LState) int {
	n := L.GetTop()
	right := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := L.Get(i)
		if !lua.LVCanConvToString(left) || !lua.LVCanConvToString(right) {
			right = concatMeta(L, left, right)
			continue
		}
		first := i
		for first > 1 && lua.LVCanConvToString(L.Get(first-1)) {
			first--
		}
		parts, size := make([]string, 0, i-first+2), 0
		for ; first <= i; first++ {
			parts = append(parts, lua.LVAsString(L.Get(first)))
		}
		parts = append(parts, lua.LVAsString(right))
		for _, part := range parts {
			size += len(part)
		}
		bound(L, "..", size)
		right = lua.LString(strings.Join(parts, ""))
		i -= len(parts) - 2
	}
	L.Push(right)
	return 1
}

func concatMeta(L *lua.LState, left, right lua.LValue) lua.LValue {
	op := L.GetMetaField(left, "__concat")
	if op == lua.LNil {
		op = L.GetMetaField(right, "__concat")
	}
	if op.Type() != lua.LTFunction {
		wrong := left
		if lua.LVCanConvToString(left) {
			wrong = right
		}
		L.RaiseError("attempt to concatenate a %s value", wrong.Type())
	}
	L.Push(op)
	L.Push(left)
	L.Push(right)
	L.Call(2, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}
