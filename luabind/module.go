package luabind

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	lua "github.com/yuin/gopher-lua"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// check reports a module that scripts could not use.
func (m Module) check() error {
	if !moduleName.MatchString(m.Name) || m.Name == "flower" {
		return fmt.Errorf("luabind: %q is not a name for a module", m.Name)
	}
	for name, fn := range m.Functions {
		t := reflect.TypeOf(fn)
		if t == nil || t.Kind() != reflect.Func || t.IsVariadic() {
			return fmt.Errorf("luabind: %s.%s is a %v; it must be a function with fixed arguments", m.Name, name, t)
		}
		if outputs := t.NumOut(); outputs > 2 || outputs == 2 && t.Out(1) != errorType {
			return fmt.Errorf("luabind: %s.%s must return at most a value and an error", m.Name, name)
		}
	}
	return nil
}

func (s *state) moduleTable(m Module) *lua.LTable {
	t := s.L.NewTable()
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
		return s.pushOutputs(L, out)
	}
}

func (s *state) pushOutputs(L *lua.LState, out []reflect.Value) int {
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
	L.Push(s.toLua(out[0].Interface()))
	return 1
}

// argument makes a Go value of a Lua one, by way of JSON where it is a table.
func (s *state) argument(v lua.LValue, t reflect.Type) (reflect.Value, error) {
	plain, err := s.fromValue(v)
	if err != nil {
		return reflect.Value{}, err
	}
	target := reflect.New(t)
	if plain == nil {
		if k := t.Kind(); k != reflect.Pointer && k != reflect.Map && k != reflect.Slice && k != reflect.Interface {
			return reflect.Value{}, fmt.Errorf("must be a %s, is missing", luaName(t))
		}
		return target.Elem(), nil
	}
	if plain, err = jsonNumbers(plain); err != nil {
		return reflect.Value{}, err
	}
	if m, ok := plain.(map[string]any); ok && len(m) == 0 && t.Kind() == reflect.Slice {
		return target.Elem(), nil // {} is an empty list here
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return reflect.Value{}, err
	}
	if err := json.Unmarshal(raw, target.Interface()); err != nil {
		return reflect.Value{}, fmt.Errorf("must be a %s, is a %s", luaName(t), s.describe(v))
	}
	return target.Elem(), nil
}

// luaName is what a script's author calls a Go type.
func luaName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
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
