package luabind

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// badReturn is what a callback that returned something else is told, with the
// place of the function.
func (s *state) badReturn(fn *lua.LFunction, name, want string, got ...lua.LValue) error {
	types := make([]string, len(got))
	for i, v := range got {
		types[i] = s.describe(v)
	}
	e := &Error{File: s.program.main.name, Code: CodeMisuse,
		Message: fmt.Sprintf("%s must return %s; it returned %s", name, want, strings.Join(types, ", "))}
	if fn.Proto != nil {
		e.File, e.Line = fn.Proto.SourceName, fn.Proto.LineDefined
	}
	return e
}

func (s *state) contextValue(c engine.Context) lua.LValue {
	if t, ok := c.(*tableContext); ok && t.s == s {
		return t.t
	}
	t := s.L.NewTable()
	for _, key := range c.Keys() {
		if v, ok := c.Get(key); ok {
			t.RawSetString(key, s.toLua(v))
		}
	}
	return t
}

// textCallback calls a function that must return a text.
func (s *state) textCallback(ctx context.Context, fn *lua.LFunction, name string, prepare func() []lua.LValue) (string, error) {
	var text string
	err := s.callback(ctx, fn, 1, prepare, func(out []lua.LValue) error {
		switch v := out[0].(type) {
		case lua.LString:
			text = string(v)
			return nil
		case lua.LNumber: // Lua itself takes a number for a text
			text = v.String()
			return nil
		}
		return s.badReturn(fn, name, "a string", out[0])
	})
	return text, err
}

func (s *state) prompt(name string, fn *lua.LFunction) engine.Prompt {
	return func(ctx context.Context, c engine.Context) (string, error) {
		return s.textCallback(ctx, fn, name, func() []lua.LValue { return []lua.LValue{s.contextValue(c)} })
	}
}

func (s *state) gate(fn *lua.LFunction) func(context.Context, engine.Result, engine.Context) (bool, string, error) {
	return func(ctx context.Context, r engine.Result, c engine.Context) (pass bool, reason string, err error) {
		err = s.callback(ctx, fn, 2,
			func() []lua.LValue { return []lua.LValue{s.resultTable(r), s.contextValue(c)} },
			func(out []lua.LValue) error {
				passed, isBool := out[0].(lua.LBool)
				text, isText := out[1].(lua.LString)
				if !isBool || !isText && out[1] != lua.LNil {
					return s.badReturn(fn, "gate", "true, or false and a reason", out[0], out[1])
				}
				pass, reason = bool(passed), string(text)
				return nil
			})
		return pass, reason, err
	}
}

func (s *state) when(fn *lua.LFunction) func(context.Context, engine.Context) (bool, error) {
	return func(ctx context.Context, c engine.Context) (run bool, err error) {
		err = s.callback(ctx, fn, 1,
			func() []lua.LValue { return []lua.LValue{s.contextValue(c)} },
			func(out []lua.LValue) error {
				v, ok := out[0].(lua.LBool)
				if !ok {
					return s.badReturn(fn, "when", "true or false", out[0])
				}
				run = bool(v)
				return nil
			})
		return run, err
	}
}

func (s *state) onReject(fn *lua.LFunction) func(context.Context, engine.Result, engine.Context, string) (string, error) {
	return func(ctx context.Context, r engine.Result, c engine.Context, reason string) (string, error) {
		return s.textCallback(ctx, fn, "on_reject", func() []lua.LValue {
			return []lua.LValue{s.resultTable(r), s.contextValue(c), lua.LString(reason)}
		})
	}
}

func (s *state) reduce(fn *lua.LFunction) func(context.Context, engine.Result, engine.Context) (string, error) {
	return func(ctx context.Context, r engine.Result, c engine.Context) (string, error) {
		return s.textCallback(ctx, fn, "reduce", func() []lua.LValue {
			return []lua.LValue{s.resultTable(r), s.contextValue(c)}
		})
	}
}

// onStep tells the script of a step that ran. It can change nothing, so an error
// in it is reported and the workflow goes on.
func (s *state) onStep(fn *lua.LFunction) func(string, engine.Result) {
	depth := depthOf(s.clock.context()) + 1 // of the workflow that is run
	return func(step string, r engine.Result) {
		ctx, cancel := s.afterwards()
		defer cancel()
		ctx = withDepth(ctx, depth)
		err := s.callback(ctx, fn, 0,
			func() []lua.LValue { return []lua.LValue{lua.LString(step), s.resultTable(r)} },
			func([]lua.LValue) error { return nil })
		if err != nil {
			s.warn("on_step", err)
		}
	}
}

// onEvent tells the script of an event of an agent that it runs. It can change nothing,
// so an error in it is reported and the agent works on.
func (s *state) onEvent(fn *lua.LFunction) func(event.Event) {
	depth := depthOf(s.clock.context()) + 1
	return func(e event.Event) {
		ctx, cancel := s.afterwards()
		defer cancel()
		ctx = withDepth(ctx, depth)
		err := s.callback(ctx, fn, 0,
			func() []lua.LValue { return []lua.LValue{s.eventTable(e)} },
			func([]lua.LValue) error { return nil })
		if err != nil {
			s.warn("on_event", err)
		}
	}
}

// eventTable is an event as the event stream writes it.
func (s *state) eventTable(e event.Event) *lua.LTable {
	plain := map[string]any{}
	raw, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		plain = map[string]any{"kind": string(e.Kind), "text": e.Text} // a payload that is no JSON
	}
	t, _ := s.toLua(plain).(*lua.LTable)
	return t
}

// lastWords is how long a callback may take that comes after the run was stopped.
const lastWords = 10 * time.Second

// afterwards is the context of a callback that is told of what has happened: that
// of the run, or a short one when the run was stopped meanwhile.
func (s *state) afterwards() (context.Context, context.CancelFunc) {
	if s.run.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(s.run), lastWords)
	}
	return context.WithCancel(s.run)
}

// tableContext is a workflow's context, backed by the live Lua table: what one
// callback writes the next one sees, functions included. The engine uses it from
// its own goroutine, so every access goes through the owner's.
type tableContext struct {
	s *state
	t *lua.LTable
}

// Get gives plain data as Go values and anything else as the Lua value itself.
func (c *tableContext) Get(key string) (value any, ok bool) {
	c.on(func() {
		v := c.t.RawGetString(key)
		if v == lua.LNil {
			return
		}
		ok = true
		plain, err := c.s.fromValue(v)
		if err != nil {
			value = v
			return
		}
		value = plain
	})
	return value, ok
}

// Set makes tables of plain Go data.
func (c *tableContext) Set(key string, value any) {
	c.on(func() { c.t.RawSetString(key, c.s.toLua(value)) })
}

// Delete removes a key.
func (c *tableContext) Delete(key string) {
	c.on(func() { c.t.RawSetString(key, lua.LNil) })
}

// Keys are the names in the table, sorted.
func (c *tableContext) Keys() (keys []string) {
	c.on(func() {
		c.t.ForEach(func(k, _ lua.LValue) {
			if key, ok := k.(lua.LString); ok {
				keys = append(keys, string(key))
			}
		})
	})
	sortStrings(keys)
	return keys
}

// Remakes: functions and handles come back when the script runs again.
func (c *tableContext) Remakes(value any) bool {
	_, ok := value.(lua.LValue)
	return ok
}

// on runs f on the owner's goroutine. After the script's end the table is only
// read by whoever holds the Ending, so f runs where it is called.
func (c *tableContext) on(f func()) {
	if err := c.s.do(context.Background(), f); err != nil {
		f()
	}
}
