package luabind

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// openRoles adds the constructors of roles, workers and guards.
func (s *state) openRoles(flower *lua.LTable) {
	for _, role := range []engine.Role{engine.RoleCoordinator, engine.RoleClarifier, engine.RoleJudge, engine.RoleOracle} {
		flower.RawSetString(string(role), s.L.NewFunction(s.constructor(string(role), "agent")))
	}
	flower.RawSetString("worker", s.L.NewFunction(s.constructor("worker", "worker")))
	flower.RawSetString("guard", s.L.NewFunction(s.constructor("guard", "guard")))
	flower.RawSetString("tool", s.L.NewFunction(s.constructor("tool", "tool")))
}

// readRole reads the table of a role's constructor.
func (s *state) readRole(r *reader, role engine.Role) engine.Spec {
	o := engine.RoleOptions{
		Instructions: r.text("instructions"), Rules: r.text("rules"), Lang: s.rt.Lang(),
		Model: r.text("model"), Effort: readEffort(r), MaxTurns: r.count("max_turns"), MaxBudgetUSD: r.amount("max_budget_usd"),
		Compact: s.readCompact(r), Env: r.dict("env"), Guards: s.readGuards(r),
	}
	if role == engine.RoleOracle {
		r.finish()
		return engine.Oracle(o)
	}
	name := ""
	if r.required("name", "a string") {
		name = r.text("name")
	}
	if role == engine.RoleClarifier && r.has("max_turns") {
		r.wrong("max_turns", "is not for a clarifier: it asks until the requirement is clear; limit its questions (max_asks of the channel) or its cost (max_budget_usd)")
	}
	ch := s.readChannel(r)
	o.Human = ch != nil
	var spec engine.Spec
	switch role {
	case engine.RoleCoordinator:
		o.NoRead, o.NoGlance = r.off("can_read"), r.off("glance")
		o.PermissionMode = readMode(r)
		spec = engine.Coordinator(name, s.readWorkers(r), o)
		spec.Plugins = r.texts("plugins")
	case engine.RoleClarifier:
		o.NoRead = r.off("can_read")
		spec = engine.Clarifier(name, o)
	default:
		o.CanRun = r.boolean("can_run")
		spec = engine.Judge(name, o)
	}
	spec.MCPServers = s.readServers(r)
	s.offerHuman(&spec, ch)
	if role == engine.RoleCoordinator {
		s.offerOwn(r, &spec)
	}
	r.finish()
	return spec
}

func readMode(r *reader) harness.PermissionMode {
	return harness.PermissionMode(r.oneOf("permission_mode", "default", "acceptEdits", "plan", "bypassPermissions"))
}

// off reports a boolean that is true unless it is set to false.
func (r *reader) off(field string) bool {
	set := r.has(field)
	return !r.boolean(field) && set
}

func (s *state) readWorkers(r *reader) map[string]harness.Worker {
	v := r.get("workers")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v != lua.LNil {
			r.mustBe("workers", "a table of flower.worker{…} by name", v)
		}
		return nil
	}
	workers := map[string]harness.Worker{}
	t.ForEach(func(k, v lua.LValue) {
		name, okName := k.(lua.LString)
		worker, okWorker := v.(*lua.LTable)
		if !okName || !okWorker || !s.isMade(worker, "worker") {
			r.wrong("workers", "must hold flower.worker{…} by name; [%s] is a %s", k, s.describe(v))
			return
		}
		workers[string(name)] = s.readWorker(worker, r.fieldPath("workers")+"."+string(name), r.found)
	})
	return workers
}

func (s *state) readWorker(t *lua.LTable, path string, found *[]Mistake) harness.Worker {
	r := s.reader(s.L, t, path, found)
	description, prompt := "", ""
	if r.required("description", "a string: when to dispatch it") {
		description = r.text("description")
	}
	if r.required("prompt", "a string: what it is") {
		prompt = r.text("prompt")
	}
	w := engine.NewWorker(description, prompt, engine.WorkerOptions{
		NoDiscipline: r.off("discipline"), Rules: r.text("rules"), Lang: s.rt.Lang(),
		Tools: r.texts("tools"), Model: r.text("model"), Effort: readEffort(r), MaxTurns: r.count("max_turns"),
		PermissionMode: readMode(r), Isolate: r.boolean("isolate"),
		Skills: r.texts("skills"),
	})
	r.finish()
	return w
}

// readGuards reads hooks, a list of flower.guard{…}.
func (s *state) readGuards(r *reader) []guard.Guard {
	v := r.get("hooks")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v != lua.LNil {
			r.mustBe("hooks", "a list of flower.guard{…}", v)
		}
		return nil
	}
	var guards []guard.Guard
	for i := 1; i <= t.Len(); i++ {
		item, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok || !s.isMade(item, "guard") {
			r.wrong("hooks", "item %d is a %s; it must be a flower.guard{…}", i, s.describe(t.RawGetInt(i)))
			continue
		}
		if g := s.readGuard(item, fmt.Sprintf("%s[%d]", r.fieldPath("hooks"), i), r.found); g != nil {
			guards = append(guards, g)
		}
	}
	return guards
}

// luaGuard is a guard whose check is a Lua function.
type luaGuard struct {
	s     *state
	name  string
	after bool
	match map[string]bool // tools; empty: all
	check *lua.LFunction
}

func (s *state) readGuard(t *lua.LTable, path string, found *[]Mistake) guard.Guard {
	before := len(*found)
	r := s.reader(s.L, t, path, found)
	g := &luaGuard{s: s, name: r.text("name"), match: map[string]bool{}}
	if r.required("on", `"before" or "after"`) {
		g.after = r.oneOf("on", "before", "after") == "after"
	}
	if one, ok := r.t.RawGetString("match").(lua.LString); ok {
		r.get("match")
		g.match[string(one)] = true
	} else {
		for _, name := range r.texts("match") {
			g.match[name] = true
		}
	}
	if r.required("check", "a function of the call") {
		g.check = r.function("check")
	}
	r.finish()
	if len(*found) > before || g.check == nil {
		return nil
	}
	for name := range g.match {
		if !strings.HasPrefix(name, "mcp__") && !slices.Contains(tool.Builtin, name) {
			s.tell(fmt.Sprintf("%s:%d: %s matches %q, and no tool that flower brings is called so%s", r.at.file, r.at.line, path, name, spell.Hint(name, tool.Builtin)))
		}
	}
	if g.name == "" {
		g.name = fmt.Sprintf("%s:%d", r.at.file, r.at.line)
	}
	return g
}

func (g *luaGuard) Name() string { return g.name }

// matches: the guard looks at the call.
func (g *luaGuard) matches(c guard.Call, after bool) bool {
	return g.after == after && (len(g.match) == 0 || g.match[c.Tool])
}

// Before calls check(call): nothing or true allows, false and a reason denies, a
// table is the new input.
func (g *luaGuard) Before(ctx context.Context, c guard.Call) (d guard.Decision, err error) {
	if !g.matches(c, false) {
		return d, nil
	}
	err = g.s.callback(ctx, g.check, 2,
		func() []lua.LValue { return []lua.LValue{g.s.callTable(c)} },
		func(out []lua.LValue) error {
			var bad error
			d, bad = g.decision(out)
			return bad
		})
	return d, err
}

func (g *luaGuard) decision(out []lua.LValue) (guard.Decision, error) {
	switch v := out[0].(type) {
	case *lua.LNilType:
		return guard.Decision{}, nil
	case lua.LBool:
		if v {
			return guard.Decision{}, nil
		}
		reason, ok := out[1].(lua.LString)
		if !ok || reason == "" {
			return guard.Decision{}, g.s.badReturn(g.check, "a guard", "false and a reason to deny", out...)
		}
		return guard.Decision{Action: guard.Deny, Reason: string(reason)}, nil
	case *lua.LTable:
		text, err := g.s.encodeJSON(v, false)
		if err != nil {
			return guard.Decision{}, g.s.badReturn(g.check, "a guard", "the new input as plain data ("+err.Error()+")", out[0])
		}
		return guard.Decision{Action: guard.Rewrite, Input: json.RawMessage(text)}, nil
	}
	return guard.Decision{}, g.s.badReturn(g.check, "a guard", "true or nothing, false and a reason, or the new input", out...)
}

// After calls check(call, reply): nothing leaves the reply as it is, a string or
// table is what the model gets instead.
func (g *luaGuard) After(ctx context.Context, c guard.Call, reply guard.Reply) (guard.Reply, error) {
	if !g.matches(c, true) {
		return reply, nil
	}
	next := reply
	err := g.s.callback(ctx, g.check, 1,
		func() []lua.LValue {
			t := g.s.L.NewTable()
			t.RawSetString("value", g.s.toLua(reply.Value))
			t.RawSetString("is_error", lua.LBool(reply.IsError))
			return []lua.LValue{g.s.callTable(c), t}
		},
		func(out []lua.LValue) error {
			if out[0] == lua.LNil {
				return nil
			}
			value, err := g.s.fromValue(out[0])
			if err != nil {
				return g.s.badReturn(g.check, "a guard", "nothing, or the new value as plain data", out[0])
			}
			next.Value = value
			return nil
		})
	return next, err
}

// callTable is what a guard in Lua sees of a call.
func (s *state) callTable(c guard.Call) *lua.LTable {
	t := s.L.NewTable()
	t.RawSetString("id", lua.LString(c.ID))
	t.RawSetString("tool", lua.LString(c.Tool))
	t.RawSetString("agent", lua.LString(c.Agent))
	t.RawSetString("role", lua.LString(c.AgentRole))
	t.RawSetString("step", lua.LString(c.Step))
	t.RawSetString("session", lua.LString(c.Session))
	t.RawSetString("dir", lua.LString(c.Dir))
	t.RawSetString("main_thread", lua.LBool(c.MainThread()))
	var input any
	if json.Unmarshal(c.Input, &input) == nil {
		t.RawSetString("input", s.toLua(input))
	}
	return t
}
