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
	"github.com/flowerlua/flower/engine/harness"
)

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
	case []byte:
		return lua.LString(v)
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

// viaJSON makes tables of any other Go value by its json tags; a value that JSON
// cannot hold is nil.
func (s *state) viaJSON(v any) lua.LValue {
	value, err := s.goValue(v)
	if err != nil {
		return lua.LNil
	}
	return value
}

// goValue is toLua for what a Go function returned.
func (s *state) goValue(v any) (lua.LValue, error) {
	switch v.(type) {
	case nil, string, bool, int, int64, float64, []byte, []string, []any, map[string]any, map[string]string:
		return s.toLua(v), nil // texts keep their bytes
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, err
	}
	return s.toLua(plain), nil
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

// resultTable is a result as callbacks get it. What gates ask for is there, the
// rest comes when somebody looks.
func (s *state) resultTable(r engine.Result) *lua.LTable {
	t := s.lazy(8, func(t *lua.LTable) { s.fillResult(t, &r) })
	t.RawSetString("step", lua.LString(r.Step))
	t.RawSetString("session_id", lua.LString(r.SessionID))
	t.RawSetString("ok", lua.LBool(r.OK))
	t.RawSetString("stop", lua.LString(r.Stop))
	if r.CostUSD != nil {
		t.RawSetString("cost_usd", lua.LNumber(*r.CostUSD))
	}
	t.RawSetString("text", lua.LString(r.Text))
	t.RawSetString("last_message", lua.LString(r.LastMessage))
	t.RawSetString("error", lua.LString(r.Error))
	return t
}

func (s *state) fillResult(t *lua.LTable, r *engine.Result) {
	t.RawSetString("run", lua.LString(r.Run))
	t.RawSetString("gate", lua.LString(r.Gate))
	t.RawSetString("gate_reason", lua.LString(r.GateReason))
	t.RawSetString("num_turns", lua.LNumber(r.NumTurns))
	t.RawSetString("usage", s.usageTable(r.Usage))
	t.RawSetString("errors", list(s, r.Errors))
	t.RawSetString("attempts", lua.LNumber(r.Attempts))
	t.RawSetString("resumed", lua.LBool(r.Resumed))
	t.RawSetString("retired", list(s, r.Retired))
	t.RawSetString("context", lua.LNumber(r.Context))
	t.RawSetString("started_at", s.toLua(r.StartedAt))
	t.RawSetString("ended_at", s.toLua(r.EndedAt))
	t.RawSetString("duration_s", lua.LNumber(r.DurationS))
}

// usageTable is {main, sub}, as the manifest has it.
func (s *state) usageTable(u harness.Usage) *lua.LTable {
	t := s.L.CreateTable(0, 2)
	t.RawSetString("main", s.accountTable(u.Main))
	t.RawSetString("sub", s.accountTable(u.Sub))
	return t
}

func (s *state) accountTable(a harness.Account) *lua.LTable {
	tokens := s.L.CreateTable(0, 5)
	tokens.RawSetString("input", lua.LNumber(a.Tokens.Input))
	tokens.RawSetString("output", lua.LNumber(a.Tokens.Output))
	tokens.RawSetString("cache_read", lua.LNumber(a.Tokens.CacheRead))
	tokens.RawSetString("cache_write", lua.LNumber(a.Tokens.CacheWrite))
	tokens.RawSetString("cache_write_1h", lua.LNumber(a.Tokens.CacheWrite1h))
	t := s.L.CreateTable(0, 4)
	t.RawSetString("tokens", tokens)
	t.RawSetString("turns", lua.LNumber(a.Turns))
	t.RawSetString("tool_calls", lua.LNumber(a.ToolCalls))
	t.RawSetString("dispatches", lua.LNumber(a.Dispatches))
	return t
}

// errNotData is a value that is not plain data: a function, a handle, a table
// with other keys than 1…n or texts.
var errNotData = errors.New("not plain data")

var errHoles = fmt.Errorf("%w: a table that is both a list and has named fields, or a list with holes", errNotData)

// budget bounds what becomes Go data: tables may share parts, so that a small
// one has a huge tree, and may contain themselves.
type budget struct{ nodes, bytes int }

// fromValue makes plain Go data of a Lua value: nil, bool, float64, string, []any,
// map[string]any.
func (s *state) fromValue(v lua.LValue) (any, error) {
	return s.fromDepth(v, 0, &budget{nodes: maxNodes, bytes: maxString})
}

func (s *state) fromDepth(v lua.LValue, depth int, left *budget) (any, error) {
	if left.nodes--; left.nodes < 0 {
		return nil, fmt.Errorf("holds more than %d values", maxNodes)
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LNumber:
		return float64(v), nil
	case lua.LString:
		if left.bytes -= len(v); left.bytes < 0 {
			return nil, fmt.Errorf("holds more than %d MiB of text", maxString>>20)
		}
		return string(v), nil
	case *lua.LTable:
		if depth >= maxDepth {
			return nil, fmt.Errorf("tables are nested more than %d deep (does one contain itself?)", maxDepth)
		}
		return s.fromTable(v, depth, left)
	}
	return nil, fmt.Errorf("%w: a %s", errNotData, s.describe(v))
}

func (s *state) fromTable(t *lua.LTable, depth int, left *budget) (any, error) {
	s.fill(t)
	n := t.Len()
	if n > 0 || t.Metatable == lua.LValue(s.arrayMeta) {
		return s.fromList(t, n, depth, left)
	}
	out := map[string]any{}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		key, ok := k.(lua.LString)
		if !ok {
			return nil, fmt.Errorf("%w: a table with the key %s, which is a %s", errNotData, k, k.Type())
		}
		left.bytes -= len(key)
		value, err := s.fromDepth(v, depth+1, left)
		if err != nil {
			return nil, within(clip(string(key)), err)
		}
		out[string(key)] = value
	}
	return out, nil
}

func (s *state) fromList(t *lua.LTable, n, depth int, left *budget) (any, error) {
	count := 0
	t.ForEach(func(_, _ lua.LValue) { count++ })
	if count != n {
		return nil, errHoles
	}
	out := make([]any, n)
	for i := range out {
		item := t.RawGetInt(i + 1)
		if item == lua.LNil {
			return nil, errHoles
		}
		v, err := s.fromDepth(item, depth+1, left)
		if err != nil {
			return nil, within(fmt.Sprintf("[%d]", i+1), err)
		}
		out[i] = v
	}
	return out, nil
}

// within names the field that an error is about; a path that is long enough
// already stays.
func within(field string, err error) error {
	if len(err.Error()) > 300 {
		return err
	}
	return fmt.Errorf("%s: %w", field, err)
}

// describe names a value's type as messages do.
func (s *state) describe(v lua.LValue) string {
	switch v := v.(type) {
	case *lua.LTable:
		if m := s.kinds[v]; m != nil {
			return "flower." + m.kind
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
