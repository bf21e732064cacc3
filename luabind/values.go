package luabind

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// maxDepth bounds nested tables: a table that contains itself has no end.
const maxDepth = 64

// toLua makes a Lua value of a Go value: plain data becomes tables, a Runtime a
// handle, a Lua value stays what it is.
func (s *state) toLua(v any) lua.LValue {
	switch v := v.(type) {
	case nil:
		return lua.LNil
	case lua.LValue:
		return v
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case time.Time:
		return lua.LString(v.UTC().Format(time.RFC3339))
	case []string:
		return list(s, v)
	case []any:
		return list(s, v)
	case map[string]any:
		return dict(s, v)
	case map[string]string:
		return dict(s, v)
	case engine.Result:
		return s.resultTable(v)
	case map[string]engine.Result:
		return dict(s, v)
	case *engine.Runtime:
		return s.runtimeHandle(v)
	case func(event.Event):
		return s.emitFunction(v)
	}
	return s.viaJSON(v)
}

// viaJSON makes tables of any other Go value by its json tags.
func (s *state) viaJSON(v any) lua.LValue {
	raw, err := json.Marshal(v)
	if err != nil {
		return lua.LNil
	}
	var plain any
	if json.Unmarshal(raw, &plain) != nil {
		return lua.LNil
	}
	return s.toLua(plain)
}

func list[T any](s *state, values []T) lua.LValue {
	t := s.L.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(s.toLua(v))
	}
	s.L.SetMetatable(t, s.arrayMeta) // stays a list when it is empty
	return t
}

func dict[T any](s *state, values map[string]T) lua.LValue {
	t := s.L.CreateTable(0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		t.RawSetString(key, s.toLua(values[key]))
	}
	return t
}

func (s *state) resultTable(r engine.Result) *lua.LTable {
	t := s.L.CreateTable(0, 20)
	t.RawSetString("run", lua.LString(r.Run))
	t.RawSetString("step", lua.LString(r.Step))
	t.RawSetString("session_id", lua.LString(r.SessionID))
	t.RawSetString("ok", lua.LBool(r.OK))
	t.RawSetString("stop", lua.LString(r.Stop))
	if r.CostUSD != nil {
		t.RawSetString("cost_usd", lua.LNumber(*r.CostUSD))
	}
	t.RawSetString("num_turns", lua.LNumber(r.NumTurns))
	t.RawSetString("usage", s.viaJSON(r.Usage))
	t.RawSetString("text", lua.LString(r.Text))
	t.RawSetString("last_message", lua.LString(r.LastMessage))
	t.RawSetString("error", lua.LString(r.Error))
	t.RawSetString("errors", s.toLua(r.Errors))
	t.RawSetString("attempts", lua.LNumber(r.Attempts))
	t.RawSetString("resumed", lua.LBool(r.Resumed))
	t.RawSetString("retired", s.toLua(r.Retired))
	t.RawSetString("context", lua.LNumber(r.Context))
	t.RawSetString("started_at", s.toLua(r.StartedAt))
	t.RawSetString("ended_at", s.toLua(r.EndedAt))
	t.RawSetString("duration_s", lua.LNumber(r.DurationS))
	return t
}

// Errors of fromValue.
var (
	errNotData = errors.New("not plain data")
	errDeep    = fmt.Errorf("tables are nested more than %d deep (does one contain itself?)", maxDepth)
)

// fromValue makes plain Go data of a Lua value: nil, bool, float64, string, []any,
// map[string]any. A function, a handle or a table with other keys than 1…n or
// texts is errNotData.
func (s *state) fromValue(v lua.LValue) (any, error) { return s.fromDepth(v, 0) }

func (s *state) fromDepth(v lua.LValue, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LNumber:
		return float64(v), nil
	case lua.LString:
		return string(v), nil
	case *lua.LTable:
		return s.fromTable(v, depth)
	}
	return nil, fmt.Errorf("%w: a %s", errNotData, s.describe(v))
}

func (s *state) fromTable(t *lua.LTable, depth int) (any, error) {
	n := t.Len()
	if n > 0 || t.Metatable == lua.LValue(s.arrayMeta) {
		return s.fromList(t, n, depth)
	}
	out := map[string]any{}
	var failed error
	t.ForEach(func(k, v lua.LValue) {
		key, ok := k.(lua.LString)
		if failed != nil {
			return
		}
		if !ok {
			failed = fmt.Errorf("%w: a table with the key %s, which is a %s", errNotData, k, k.Type())
			return
		}
		if out[string(key)], failed = s.fromDepth(v, depth+1); failed != nil {
			failed = fmt.Errorf("%s: %w", key, failed)
		}
	})
	return out, failed
}

func (s *state) fromList(t *lua.LTable, n, depth int) (any, error) {
	count := 0
	t.ForEach(func(_, _ lua.LValue) { count++ })
	if count != n {
		return nil, fmt.Errorf("%w: a table that is both a list and has named fields, or a list with holes", errNotData)
	}
	out := make([]any, n)
	for i := range out {
		v, err := s.fromDepth(t.RawGetInt(i+1), depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i+1, err)
		}
		out[i] = v
	}
	return out, nil
}

// describe names a value's type as messages do.
func (s *state) describe(v lua.LValue) string {
	switch v := v.(type) {
	case *lua.LTable:
		if m := s.kinds[v]; m != nil {
			return m.kind
		}
	case *lua.LUserData:
		if _, ok := v.Value.(*engine.Runtime); ok {
			return "runtime"
		}
	case *lua.LNilType:
		return "nil"
	}
	return v.Type().String()
}

// integer is the value of a number without a fraction.
func integer(v lua.LValue) (int, bool) {
	n, ok := v.(lua.LNumber)
	f := float64(n)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<31 {
		return 0, false
	}
	return int(f), true
}
