package luabind

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
	textType    = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType    = reflect.TypeFor[json.Unmarshaler]()
)

// check reports a module that scripts could not use.
func (m Module) check() error {
	if !moduleName.MatchString(m.Name) {
		return fmt.Errorf("luabind: %q is not a name for a module; it is words joined by dots", m.Name)
	}
	if isOurs(m.Name) {
		return fmt.Errorf("luabind: the module %q would take a name of flower's own", m.Name)
	}
	for name, fn := range m.Functions {
		t := reflect.TypeOf(fn)
		if t == nil || t.Kind() != reflect.Func || t.IsVariadic() || reflect.ValueOf(fn).IsNil() {
			return fmt.Errorf("luabind: %s.%s is a %v; it must be a function with fixed arguments", m.Name, name, t)
		}
		if outputs := t.NumOut(); outputs > 2 || outputs == 2 && t.Out(1) != errorType {
			return fmt.Errorf("luabind: %s.%s must return at most a value and an error", m.Name, name)
		}
		for i := range t.NumIn() {
			if in := t.In(i); !(i == 0 && in == contextType) && !fillable(in) {
				return fmt.Errorf("luabind: argument %d of %s.%s is a %v, which a script cannot give", i+1, m.Name, name, in)
			}
		}
	}
	return nil
}

// isOurs: no file and no Go module can take the name.
func isOurs(name string) bool { return name == "flower" || strings.HasPrefix(name, "flower.") }

// fillable: a script has values for it.
func fillable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Interface:
		return t.NumMethod() == 0
	}
	return true
}

func (s *state) moduleTable(m Module) *lua.LTable {
	t := s.L.CreateTable(0, len(m.Functions))
	for name, fn := range m.Functions {
		t.RawSetString(name, s.L.NewFunction(s.goFunction(m.Name+"."+name, reflect.ValueOf(fn))))
	}
	return t
}

// goFunction lets a script call a Go function. It runs on a goroutine of its
// own, with the context of the calling callback.
func (s *state) goFunction(name string, fn reflect.Value) lua.LGFunction {
	t := fn.Type()
	return func(L *lua.LState) int {
		args := make([]reflect.Value, 0, t.NumIn())
		at := 0 // of the script's arguments
		for i := range t.NumIn() {
			if i == 0 && t.In(i) == contextType {
				args = append(args, reflect.Value{})
				continue
			}
			at++
			arg, err := s.argument(L.Get(at), t.In(i))
			if err != nil {
				s.misuse(L, "%s: argument %d: %v", name, at, err)
			}
			args = append(args, arg)
		}
		if L.GetTop() > at {
			s.misuse(L, "%s takes %d arguments, was given %d", name, at, L.GetTop())
		}
		var out []reflect.Value
		var err error
		s.block(func(ctx context.Context) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%s panicked: %v", name, p)
				}
			}()
			if len(args) > 0 && !args[0].IsValid() {
				args[0] = reflect.ValueOf(ctx)
			}
			out = fn.Call(args)
		})
		if err != nil {
			s.raise(L, CodeEngine, err)
		}
		return s.pushOutputs(L, name, out)
	}
}

func (s *state) pushOutputs(L *lua.LState, name string, out []reflect.Value) int {
	if n := len(out); n > 0 && out[n-1].Type() == errorType {
		if err, ok := out[n-1].Interface().(error); ok && err != nil {
			return pushResult(L, lua.LNil, err)
		}
		out = out[:n-1]
	}
	if len(out) == 0 {
		L.Push(lua.LTrue)
		return 1
	}
	value, err := s.output(out[0])
	if err != nil {
		s.raise(L, CodeEngine, fmt.Errorf("%s returned what a script cannot be given: %w", name, err))
	}
	L.Push(value)
	return 1
}

func (s *state) output(v reflect.Value) (lua.LValue, error) {
	switch v.Kind() {
	case reflect.String:
		return lua.LString(v.String()), nil
	case reflect.Bool:
		return lua.LBool(v.Bool()), nil
	case reflect.Float32, reflect.Float64:
		return lua.LNumber(v.Float()), nil
	}
	if v.Kind() == reflect.Interface && v.IsNil() {
		return lua.LNil, nil
	}
	return s.goValue(v.Interface())
}

// argument makes a Go value of a Lua one, by way of JSON where it is a table.
func (s *state) argument(v lua.LValue, t reflect.Type) (reflect.Value, error) {
	target := reflect.New(t)
	if v == lua.LNil {
		if k := t.Kind(); k != reflect.Pointer && k != reflect.Map && k != reflect.Slice && k != reflect.Interface {
			return reflect.Value{}, fmt.Errorf("must be a %s, is missing", luaName(t))
		}
		return target.Elem(), nil
	}
	if done, err := s.setPlain(target.Elem(), v); done || err != nil {
		return target.Elem(), err
	}
	plain, err := s.fromValue(v)
	if err != nil {
		return reflect.Value{}, err
	}
	if t.Kind() == reflect.Interface {
		if plain != nil {
			target.Elem().Set(reflect.ValueOf(plain))
		}
		return target.Elem(), nil
	}
	return target.Elem(), s.setTable(target, v, emptyLists(plain, t))
}

// setPlain sets what needs no table: a text keeps its bytes this way, a number
// its size.
func (s *state) setPlain(target reflect.Value, v lua.LValue) (done bool, err error) {
	t := target.Type()
	wrong := fmt.Errorf("must be a %s, is a %s", luaName(t), s.describe(v))
	if reflect.PointerTo(t).Implements(textType) || reflect.PointerTo(t).Implements(jsonType) {
		return false, nil // it reads itself
	}
	text, isText := v.(lua.LString)
	number, isNumber := v.(lua.LNumber)
	switch {
	case t.Kind() == reflect.String:
		target.SetString(string(text))
		return isText, failUnless(isText, wrong)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		target.SetBytes([]byte(text))
		return isText, failUnless(isText, wrong)
	case t.Kind() == reflect.Bool:
		b, ok := v.(lua.LBool)
		target.SetBool(bool(b))
		return ok, failUnless(ok, wrong)
	case target.CanFloat():
		target.SetFloat(float64(number))
		return isNumber, failUnless(isNumber, wrong)
	case target.CanInt(), target.CanUint():
		if !isNumber {
			return false, wrong
		}
		return true, setWhole(target, float64(number))
	}
	return false, nil
}

func failUnless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

// setWhole sets a whole number that fits.
func setWhole(target reflect.Value, n float64) error {
	if n != math.Trunc(n) || math.Abs(n) >= 1<<63 {
		return fmt.Errorf("must be a whole number, is %s", lua.LNumber(n))
	}
	i := int64(n)
	if target.CanUint() && (i < 0 || target.OverflowUint(uint64(i))) || target.CanInt() && target.OverflowInt(i) {
		return fmt.Errorf("is %d, which is out of range", i)
	}
	if target.CanUint() {
		target.SetUint(uint64(i))
	} else {
		target.SetInt(i)
	}
	return nil
}

// setTable fills lists, maps and structs; a field the type does not have is an
// error.
func (s *state) setTable(target reflect.Value, v lua.LValue, plain any) error {
	plain, err := jsonNumbers(plain)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err = dec.Decode(target.Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s must be a %s, is a %s", wrong.Field, luaName(wrong.Type), jsonKind(wrong.Value))
	case errors.As(err, &wrong):
		return fmt.Errorf("must be a %s, is a %s", luaName(target.Type().Elem()), s.describe(v))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// jsonKind is a script's word for JSON's.
func jsonKind(value string) string {
	switch kind, _, _ := strings.Cut(value, " "); kind {
	case "object", "array":
		return "table"
	case "bool":
		return "boolean"
	default:
		return kind
	}
}

// emptyLists makes lists of the {} that stand where a type wants a list.
func emptyLists(plain any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := plain.(type) {
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i := range v {
				v[i] = emptyLists(v[i], t.Elem())
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			if len(v) == 0 {
				return []any{}
			}
		case reflect.Map:
			for name := range v {
				v[name] = emptyLists(v[name], t.Elem())
			}
		case reflect.Struct:
			for _, field := range reflect.VisibleFields(t) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name = cmp.Or(name, field.Name); v[name] != nil {
					v[name] = emptyLists(v[name], field.Type)
				}
			}
		}
	}
	return plain
}

// luaName is what a script's author calls a Go type.
func luaName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "list"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "table"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	if t.ConvertibleTo(reflect.TypeFor[int64]()) {
		return "whole number"
	}
	return t.String()
}
