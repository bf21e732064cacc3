package luabind

import (
	"context"
	"fmt"
	"path/filepath"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// openFlower makes the global flower, which is also what require("flower") gives.
func (s *state) openFlower() {
	s.openHandles()
	flower := s.L.CreateTable(0, 16)
	for name, fn := range map[string]lua.LGFunction{
		"agent":    s.constructor("agent", "agent"),
		"step":     s.constructor("step", "step"),
		"parallel": s.constructor("parallel", "parallel"),
		"workflow": s.constructor("workflow", "workflow"),
		"run":      s.luaRun,
		"sh":       s.luaSh,
		"log":      s.luaLog,
		"abort":    s.luaAbort,
		"fields":   s.luaFields,
	} {
		flower.RawSetString(name, s.L.NewFunction(fn))
	}
	flower.RawSetString("fs", s.readOnly("flower.fs", s.fsTable()))
	flower.RawSetString("json", s.readOnly("flower.json", s.jsonTable()))
	flower.RawSetString("runtime", s.runtimeHandle(s.rt))
	flower.RawSetString("script_dir", lua.LString(s.program.dir))
	s.openRoles(flower)
	s.openHuman(flower)
	s.openDocuments(flower)
	s.openPlaces(flower)
	s.refuseUnknown("flower", flower)
	module := s.readOnly("flower", flower)
	s.L.SetGlobal("flower", module)
	s.loaded["flower"] = module
	s.loaded["flower.fs"] = flower.RawGetString("fs")
	s.loaded["flower.json"] = flower.RawGetString("json")
}

// refuseUnknown makes reading a name that a table of ours does not have an error
// with the near match: calling nil would only say that nil was called.
func (s *state) refuseUnknown(name string, t *lua.LTable) {
	var names []string
	t.ForEach(func(k, _ lua.LValue) { names = append(names, k.String()) })
	meta := s.L.CreateTable(0, 1)
	meta.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
		asked := L.ToStringMeta(L.Get(2)).String()
		s.misuse(L, "%s has no %q%s", name, asked, spell.Hint(asked, names))
		return 0
	}))
	s.L.SetMetatable(t, meta)
}

// luaLog is flower.log(text): a line for the person who watches the run.
func (s *state) luaLog(L *lua.LState) int {
	s.tell(L.ToStringMeta(L.CheckAny(1)).String())
	return 0
}

// luaSh is flower.sh(command [, {timeout = seconds, dir = path}]): runs a command
// in the workspace and returns {code, output, timed_out, signal, file}.
func (s *state) luaSh(L *lua.LState) int {
	line, ok := L.Get(1).(lua.LString)
	if !ok || line == "" {
		s.misuse(L, "flower.sh takes the command, a string, not a %s", s.describe(L.Get(1)))
	}
	command := s.commandOptions(L)
	command.Line = string(line)
	var exit tool.Exit
	var err error
	set := s.commandSet()
	s.block(func(ctx context.Context) { exit, err = set.Command(ctx, command) })
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	t := L.CreateTable(0, 5)
	t.RawSetString("code", lua.LNumber(exit.Code))
	t.RawSetString("output", lua.LString(exit.Output))
	t.RawSetString("timed_out", lua.LBool(exit.TimedOut))
	if exit.Signal != "" {
		t.RawSetString("signal", lua.LString(exit.Signal))
	}
	if exit.File != "" {
		t.RawSetString("file", lua.LString(exit.File))
	}
	L.Push(t)
	return 1
}

// commandOptions reads flower.sh's second argument.
func (s *state) commandOptions(L *lua.LState) tool.Command {
	var found []Mistake
	r := s.reader(L, s.optionTable(L, 2, "flower.sh"), "", &found)
	command := tool.Command{Timeout: s.program.options.commandLimit()}
	if timeout := r.seconds("timeout"); timeout > 0 {
		command.Timeout = timeout
	} else if r.has("timeout") && len(found) == 0 {
		r.wrong("timeout", "must be more than 0 seconds")
	}
	if dir := r.text("dir"); dir != "" {
		full, err := s.inWorkspace(dir)
		if err != nil {
			r.wrong("dir", "%v", err)
		}
		command.Dir = full
	}
	r.finish()
	if len(found) > 0 {
		s.raise(L, CodeMisuse, newMistakes(found))
	}
	return command
}

// inWorkspace is the absolute path of a folder of the workspace; links do not
// lead out of it.
func (s *state) inWorkspace(dir string) (string, error) {
	rel, err := s.relative(dir)
	if err != nil {
		return "", err
	}
	info, err := s.root.Stat(rel)
	if err != nil {
		return "", fmt.Errorf("%s: %w", clip(dir), cause(err))
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", clip(dir))
	}
	return filepath.Join(s.rt.Workspace(), rel), nil
}
