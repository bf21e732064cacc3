package luabind

import (
	"fmt"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/internal/spell"
)

// reader reads the fields of one table and notes everything that is wrong with
// it, so that a person hears of all mistakes at once.
type reader struct {
	s     *state
	t     *lua.LTable
	path  string // of the table: steps[2]
	at    *position
	asked []string
	found *[]Mistake
}

// reader starts reading a table. Tables from constructors know their place;
// others are placed where they were handed over.
func (s *state) reader(L *lua.LState, t *lua.LTable, path string, found *[]Mistake) *reader {
	r := &reader{s: s, t: t, path: path, found: found}
	if m := s.kinds[t]; m != nil {
		r.at = m.at
		return r
	}
	file, line := s.caller(L)
	r.at = &position{file: file, line: line}
	if c := s.chunks[file]; c != nil {
		r.at = c.locate(line, t)
	}
	return r
}

// fieldPath is the field's name behind the table's.
func (r *reader) fieldPath(field string) string {
	if r.path == "" || field == "" {
		return r.path + field
	}
	return r.path + "." + field
}

func (r *reader) wrong(field, format string, args ...any) {
	if len(*r.found) >= maxMistakes {
		return
	}
	*r.found = append(*r.found, Mistake{File: r.at.file, Line: r.at.lineOf(field), Path: r.fieldPath(field), Text: fmt.Sprintf(format, args...)})
}

func (r *reader) get(field string) lua.LValue {
	r.asked = append(r.asked, field)
	return r.t.RawGetString(field)
}

// has reports whether a field is set, without asking for it.
func (r *reader) has(field string) bool { return r.t.RawGetString(field) != lua.LNil }

// required notes a field that is not there.
func (r *reader) required(field, what string) bool {
	if r.has(field) {
		return true
	}
	r.get(field)
	r.wrong(field, "is missing; it is %s", what)
	return false
}

// mustBe notes a field of the wrong type.
func (r *reader) mustBe(field, what string, v lua.LValue) {
	r.wrong(field, "must be %s, is a %s", what, r.s.describe(v))
}

func (r *reader) text(field string) string {
	v := r.get(field)
	if s, ok := v.(lua.LString); ok {
		return string(s)
	}
	if v != lua.LNil {
		r.mustBe(field, "a string", v)
	}
	return ""
}

// oneOf is a text that must be one of some words.
func (r *reader) oneOf(field string, words ...string) string {
	text := r.text(field)
	if text != "" && !slices.Contains(words, text) {
		text = clip(text)
		r.wrong(field, "is %q; it must be one of %s%s", text, quoteAll(words), spell.Hint(text, words))
	}
	return text
}

func (r *reader) boolean(field string) bool {
	v := r.get(field)
	if b, ok := v.(lua.LBool); ok {
		return bool(b)
	}
	if v != lua.LNil {
		r.mustBe(field, "true or false", v)
	}
	return false
}

// count is a whole number that is not negative.
func (r *reader) count(field string) int {
	v := r.get(field)
	if v == lua.LNil {
		return 0
	}
	n, ok := integer(v)
	switch {
	case !ok && v.Type() == lua.LTNumber:
		r.wrong(field, "must be a whole number, is %s", v)
	case !ok:
		r.mustBe(field, "a whole number", v)
	case n < 0:
		r.wrong(field, "is %d; it must not be negative", n)
	}
	return max(n, 0)
}

// amount is a number that is not negative.
func (r *reader) amount(field string) float64 {
	v := r.get(field)
	if v == lua.LNil {
		return 0
	}
	n, ok := v.(lua.LNumber)
	switch {
	case !ok:
		r.mustBe(field, "a number", v)
	case !(n >= 0):
		r.wrong(field, "is %s; it must not be negative", v)
	case n > maxAmount:
		r.wrong(field, "is %s; that is more than can be meant", v)
	}
	return float64(n)
}

// seconds is an amount of time.
func (r *reader) seconds(field string) time.Duration {
	n := r.amount(field)
	if n > 1e9 {
		if n <= maxAmount {
			r.wrong(field, "is %s seconds; that is more than can be meant", lua.LNumber(n))
		}
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (r *reader) function(field string) *lua.LFunction {
	v := r.get(field)
	if fn, ok := v.(*lua.LFunction); ok {
		return fn
	}
	if v != lua.LNil {
		r.mustBe(field, "a function", v)
	}
	return nil
}

// texts is a list of strings; nil when the field is not there, empty when the
// list is.
func (r *reader) texts(field string) []string {
	v := r.get(field)
	if v == lua.LNil {
		return nil
	}
	plain, err := r.s.fromValue(v)
	if err != nil {
		r.wrong(field, "must be a list of strings, but it is %v", err)
		return nil
	}
	items, ok := plain.([]any)
	if m, isMap := plain.(map[string]any); isMap && len(m) == 0 {
		items, ok = []any{}, true // {} is an empty list here
	}
	if !ok {
		r.mustBe(field, "a list of strings", v)
		return nil
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			r.wrong(field, "item %d must be a string", i+1)
			continue
		}
		out = append(out, s)
	}
	return out
}

// dict is a table of strings by name.
func (r *reader) dict(field string) map[string]string {
	v := r.get(field)
	if v == lua.LNil {
		return nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		r.mustBe(field, "a table of strings", v)
		return nil
	}
	out := map[string]string{}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		key, okKey := k.(lua.LString)
		value, okValue := v.(lua.LString)
		if !okKey || !okValue {
			r.wrong(field, "must hold strings by name; [%s] is a %s", clip(k.String()), r.s.describe(v))
			continue
		}
		out[string(key)] = string(value)
	}
	return out
}

// data is a table of plain data by name.
func (r *reader) data(field string) map[string]any {
	v := r.get(field)
	plain, err := r.s.fromValue(v)
	if err != nil {
		r.wrong(field, "%v", err)
		return nil
	}
	data, ok := plain.(map[string]any)
	if !ok && plain != nil {
		r.mustBe(field, "a table of values by name", v)
	}
	return data
}

// finish notes fields nobody asked for.
func (r *reader) finish() {
	var unknown []string
	for k, _ := r.t.Next(lua.LNil); k != lua.LNil && len(unknown) < maxMistakes; k, _ = r.t.Next(k) {
		key, ok := k.(lua.LString)
		switch {
		case !ok:
			r.wrong("", "holds a value under [%s]; it has named fields only", k)
			return // a list in a wrong place has many
		case !slices.Contains(r.asked, string(key)):
			unknown = append(unknown, string(key))
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		key = clip(key)
		hint := spell.Hint(key, r.asked)
		if hint == "" {
			hint = "; it has " + quoteAll(r.asked)
		}
		r.wrong(key, "is not a field%s", hint)
	}
}

func quoteAll(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += w
	}
	return out
}
