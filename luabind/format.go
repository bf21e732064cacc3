package luabind

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// directive is one %… of string.format.
type directive struct {
	flags            string // of "-+ #0", each once
	width, precision int    // -1: not given
	verb             byte
}

// stringFormat is string.format as Lua 5.1 has it, and %s of any value, as
// tostring writes it. gopher-lua hands the format to Go, which knows other
// directives, widths of a million and arguments that are used again and again.
func stringFormat(L *lua.LState) int {
	format := L.CheckString(1)
	var b strings.Builder
	arg := 1
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(format) && format[i+1] == '%' {
			b.WriteByte('%')
			i++
			continue
		}
		d, n := readDirective(L, format[i+1:])
		i += n
		arg++
		text := d.write(L, arg)
		bound(L, "string.format", b.Len()+len(text))
		b.WriteString(text)
	}
	bound(L, "string.format", b.Len())
	L.Push(lua.LString(b.String()))
	return 1
}

// readDirective reads what stands behind a % and how many bytes that is.
func readDirective(L *lua.LState, text string) (d directive, n int) {
	for n < len(text) && strings.IndexByte("-+ #0", text[n]) >= 0 {
		if strings.IndexByte(d.flags, text[n]) < 0 {
			d.flags += text[n : n+1]
		}
		if n++; n > len("-+ #0") {
			L.RaiseError("invalid format (repeated flags)")
		}
	}
	number := func() int {
		start := n
		for n < len(text) && isDigit(text[n]) {
			n++
		}
		if n-start > 2 {
			L.RaiseError("invalid format (width or precision too long)")
		}
		value, _ := strconv.Atoi(text[start:n]) // none counts as 0
		return value
	}
	d.width, d.precision = number(), -1
	if n < len(text) && text[n] == '.' {
		n++
		d.precision = number()
	}
	if n >= len(text) || strings.IndexByte("cdiouxXeEfgGqs", text[n]) < 0 {
		L.RaiseError("invalid option '%%%s' to 'format'", text[:min(n+1, len(text))])
	}
	d.verb = text[n]
	return d, n + 1
}

// write formats an argument.
func (d directive) write(L *lua.LState, arg int) string {
	if arg > L.GetTop() {
		L.ArgError(arg, "no value")
	}
	switch d.verb {
	case 's':
		return d.text(L.ToStringMeta(L.Get(arg)).String())
	case 'q':
		return luaQuoted(L.CheckString(arg))
	}
	n := float64(L.CheckNumber(arg))
	switch d.verb {
	case 'c':
		return d.pad(string([]byte{byte(int64(n))}))
	case 'd', 'i':
		return d.integer(L, arg, n)
	case 'o', 'u', 'x', 'X':
		return d.unsigned(L, arg, n)
	}
	return d.float(n)
}

func (d directive) text(s string) string {
	if d.precision >= 0 && d.precision < len(s) {
		s = s[:d.precision]
	}
	return d.pad(s)
}

// pad fills up to the width with blanks.
func (d directive) pad(s string) string {
	if len(s) >= d.width {
		return s
	}
	if strings.Contains(d.flags, "-") {
		return s + strings.Repeat(" ", d.width-len(s))
	}
	return strings.Repeat(" ", d.width-len(s)) + s
}

func (d directive) integer(L *lua.LState, arg int, n float64) string {
	n = whole(L, arg, n)
	if n == 0 && d.precision == 0 { // C writes no digits, and yet a sign
		sign := ""
		for _, flag := range []string{" ", "+"} {
			if strings.Contains(d.flags, flag) {
				sign = flag
			}
		}
		return d.pad(sign)
	}
	return fmt.Sprintf(d.goFormat('d'), int64(n))
}

func (d directive) unsigned(L *lua.LState, arg int, n float64) string {
	n = whole(L, arg, n)
	d.flags = strings.NewReplacer("+", "", " ", "").Replace(d.flags)
	verb := d.verb
	switch {
	case verb == 'u':
		verb = 'd'
	case n == 0 && verb != 'o':
		d.flags = strings.ReplaceAll(d.flags, "#", "")
	}
	return fmt.Sprintf(d.goFormat(verb), uint64(int64(n)))
}

// whole cuts off a fraction; a number that no integer holds is an error.
func whole(L *lua.LState, arg int, n float64) float64 {
	if math.IsNaN(n) || math.Abs(n) >= 1<<63 {
		L.ArgError(arg, "number has no integer representation")
	}
	return math.Trunc(n)
}

func (d directive) float(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		d.flags = strings.ReplaceAll(d.flags, "0", "")
		text := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%"+d.flags+"f", n), "+"))
		if strings.Contains(d.flags, "+") && n > 0 {
			text = "+" + text
		}
		return d.pad(text)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	if d.precision == 0 && (d.verb == 'g' || d.verb == 'G') {
		d.precision = 1
	}
	return fmt.Sprintf(d.goFormat(d.verb), n)
}

// goFormat is the directive for fmt, whose numbers are C's but for these cases.
func (d directive) goFormat(verb byte) string {
	flags, precision := d.flags, ""
	if d.precision >= 0 {
		precision = "." + strconv.Itoa(d.precision)
		if verb == 'd' || verb == 'o' || verb == 'x' || verb == 'X' {
			flags = strings.ReplaceAll(flags, "0", "") // a precision stands for it
		}
	}
	width := ""
	if d.width > 0 {
		width = strconv.Itoa(d.width)
	}
	return "%" + flags + width + precision + string(verb)
}

// luaQuoted is a text as Lua would read it back.
func luaQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
