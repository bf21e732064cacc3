package luabind

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// How values are compared by what is in them, and shown to the author of a test.

// equal compares two values by what is in them: keys and values of tables, without
// their metatables. Where they differ, at is the path of the first difference, ""
// for the values themselves.
func (s *state) equal(L *lua.LState, a, b lua.LValue) (equal bool, at string) {
	c := &comparison{s: s, L: L, seen: map[[2]*lua.LTable]bool{}}
	equal = c.equal(a, b, 0)
	slices.Reverse(c.path)
	return equal, strings.TrimPrefix(strings.Join(c.path, ""), ".")
}

type comparison struct {
	s    *state
	L    *lua.LState
	seen map[[2]*lua.LTable]bool // pairs that are equal, or being compared: tables may contain themselves
	path []string                // to the difference, innermost first
}

// maxCompared bounds how deep tables are compared.
const maxCompared = 10_000

func (c *comparison) equal(a, b lua.LValue, depth int) bool {
	x, ok := a.(*lua.LTable)
	y, both := b.(*lua.LTable)
	if !ok || !both {
		return identical(a, b)
	}
	pair := [2]*lua.LTable{x, y}
	if x == y || c.seen[pair] {
		return true
	}
	if depth > maxCompared {
		c.s.misuse(c.L, "to_equal: tables are nested more than %d deep", maxCompared)
	}
	if c.s.stopped() {
		c.L.RaiseError("stopped")
	}
	c.seen[pair] = true
	c.s.fill(x)
	c.s.fill(y)
	return c.within(x, y, depth) && c.noMore(x, y)
}

// within: all that is in x is in y too.
func (c *comparison) within(x, y *lua.LTable, depth int) bool {
	for k, v := x.Next(lua.LNil); k != lua.LNil; k, v = x.Next(k) {
		if !c.equal(v, y.RawGet(k), depth+1) {
			c.path = append(c.path, c.s.showKey(k))
			return false
		}
	}
	return true
}

// noMore: y has no keys that x has not.
func (c *comparison) noMore(x, y *lua.LTable) bool {
	for k, _ := y.Next(lua.LNil); k != lua.LNil; k, _ = y.Next(k) {
		if x.RawGet(k) == lua.LNil {
			c.path = append(c.path, c.s.showKey(k))
			return false
		}
	}
	return true
}

// plainName is a key that Lua takes without brackets.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// showKey is a key as it stands behind a table: .name, [1].
func (s *state) showKey(k lua.LValue) string {
	if name, ok := k.(lua.LString); ok && plainName().MatchString(string(name)) {
		return "." + string(name)
	}
	return "[" + s.showPlain(k) + "]"
}

// Limits of what is shown of a value.
const (
	maxInline    = 64   // characters of a table in one line
	maxShownDeep = 20   // nested tables
	maxShownKeys = 1000 // keys and values
)

// show is a value as Lua would write it: a text in quotes, unless it has several
// lines.
func (s *state) show(v lua.LValue) string {
	p := &printer{s: s, left: maxShownKeys, inline: true}
	return p.value(v)
}

// showPair shows two values the same way, so that their lines can be compared.
func (s *state) showPair(a, b lua.LValue) (string, string) {
	x, y := s.show(a), s.show(b)
	_, ok := a.(*lua.LTable)
	_, both := b.(*lua.LTable)
	if ok && both && (strings.Contains(x, "\n") || strings.Contains(y, "\n")) {
		x = (&printer{s: s, left: maxShownKeys}).value(a)
		y = (&printer{s: s, left: maxShownKeys}).value(b)
	}
	text, isText := a.(lua.LString)
	other, areText := b.(lua.LString)
	if isText && areText && (severalLines(string(text)) || severalLines(string(other))) {
		return fromDifference(string(text), string(other))
	}
	return x, y
}

// linesBefore are shown before the first difference of long texts.
const linesBefore = 3

// fromDifference leaves out the lines that two texts begin with alike, where the
// texts are longer than what is shown of them.
func fromDifference(a, b string) (string, string) {
	if len(a) <= maxShown && len(b) <= maxShown {
		return a, b
	}
	var starts []int // of the lines that are alike
	for at := 0; ; {
		end := strings.IndexByte(a[at:], '\n') + 1
		if end == 0 || !strings.HasPrefix(b[at:], a[at:at+end]) {
			break
		}
		starts = append(starts, at)
		at += end
	}
	alike := len(starts) - linesBefore
	if alike <= 0 {
		return a, b
	}
	note := fmt.Sprintf("... %d lines alike\n", alike)
	return note + a[starts[alike]:], note + b[starts[alike]:]
}

func severalLines(text string) bool { return strings.Contains(strings.TrimRight(text, "\n"), "\n") }

// printer writes a value down. Tables that fit stand in one line where inline is
// set.
type printer struct {
	s      *state
	left   int // keys and values
	inline bool
	open   []*lua.LTable
}

func (p *printer) value(v lua.LValue) string {
	if text, ok := v.(lua.LString); ok && severalLines(string(text)) {
		return string(text)
	}
	return p.nested(v, "")
}

func (p *printer) nested(v lua.LValue, indent string) string {
	t, ok := v.(*lua.LTable)
	if !ok {
		return p.s.showPlain(v)
	}
	if slices.Contains(p.open, t) {
		return "<a table around it>"
	}
	if len(p.open) >= maxShownDeep {
		return "{ ... }"
	}
	p.open = append(p.open, t)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	entries := p.entries(t, indent+"  ")
	if len(entries) == 0 {
		return "{}"
	}
	line := "{ " + strings.Join(entries, ", ") + " }"
	if p.inline && len(line) <= maxInline && !strings.Contains(line, "\n") {
		return line
	}
	return "{\n" + indent + "  " + strings.Join(entries, ",\n"+indent+"  ") + ",\n" + indent + "}"
}

// entries are those of a table: its list, then the rest by its keys.
func (p *printer) entries(t *lua.LTable, indent string) (entries []string) {
	p.s.fill(t)
	n := t.Len()
	var keys []lua.LValue
	t.ForEach(func(k, _ lua.LValue) {
		if i, ok := integer(k); !ok || i < 1 || i > n {
			keys = append(keys, k)
		}
	})
	slices.SortFunc(keys, compareKeys)
	for i := 1; i <= n+len(keys); i++ {
		if p.left--; p.left < 0 {
			return append(entries, fmt.Sprintf("... %d more", n+len(keys)-i+1))
		}
		if i <= n {
			entries = append(entries, p.nested(t.RawGetInt(i), indent))
			continue
		}
		k := keys[i-n-1]
		name := p.s.showKey(k)
		entries = append(entries, strings.TrimPrefix(name, ".")+" = "+p.nested(t.RawGet(k), indent))
	}
	return entries
}

// compareKeys orders keys: numbers, texts, then the rest by how they are written.
func compareKeys(a, b lua.LValue) int {
	x, isNumber := a.(lua.LNumber)
	y, areNumbers := b.(lua.LNumber)
	if isNumber && areNumbers {
		return cmp.Compare(x, y)
	}
	rank := func(v lua.LValue) int {
		switch v.Type() {
		case lua.LTNumber:
			return 0
		case lua.LTString:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.String(), b.String()))
}

// showPlain shows a value that is no table in one line.
func (s *state) showPlain(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return quoted(string(v))
	case lua.LNumber:
		return showNumber(float64(v))
	case *lua.LFunction:
		if v.Proto != nil {
			return fmt.Sprintf("function of %s:%d", v.Proto.SourceName, v.Proto.LineDefined)
		}
		return "function"
	case *lua.LTable: // a key
		return "table"
	case *lua.LUserData:
		return s.describe(v)
	}
	return v.String()
}

// showNumber writes a number so that no other number is written the same.
func showNumber(n float64) string {
	switch {
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(n, 'f', -1, 64), "+"))
	case n == math.Trunc(n) && math.Abs(n) < 1<<53:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// quoted is a text in quotes, with what cannot be seen written out.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	text = clip(text)
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != '\xef':
			fmt.Fprintf(&out, `\%d`, text[i]) // a byte that is no UTF-8
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&out, `\%03d`, r)
		case !unicode.IsGraphic(r): // it would not be seen, or turn the text around
			fmt.Fprintf(&out, `\u{%x}`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
