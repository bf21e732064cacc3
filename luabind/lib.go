package luabind

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/tool"
)

// openFlower makes the global flower, which is also what require("flower") gives.
func (s *state) openFlower() {
	s.openHandles()
	flower := s.L.NewTable()
	for name, fn := range map[string]lua.LGFunction{
		"agent":    s.constructor("agent"),
		"step":     s.constructor("step"),
		"workflow": s.constructor("workflow"),
		"run":      s.luaRun,
		"sh":       s.luaSh,
		"log":      s.luaLog,
		"abort":    s.luaAbort,
	} {
		flower.RawSetString(name, s.L.NewFunction(fn))
	}
	flower.RawSetString("fs", s.readOnly("flower.fs", s.fsTable()))
	flower.RawSetString("json", s.readOnly("flower.json", s.jsonTable()))
	flower.RawSetString("runtime", s.runtimeHandle(s.rt))
	flower.RawSetString("script_dir", lua.LString(s.program.dir))
	module := s.readOnly("flower", flower)
	s.L.SetGlobal("flower", module)
	s.loaded["flower"] = module
	s.loaded["flower.fs"] = flower.RawGetString("fs")
	s.loaded["flower.json"] = flower.RawGetString("json")
}

// luaLog is flower.log(text): a line for the person who watches the run.
func (s *state) luaLog(L *lua.LState) int {
	s.rt.Emit(event.Event{Kind: event.Task, Text: L.ToStringMeta(L.CheckAny(1)).String()})
	return 0
}

// luaSh is flower.sh(command [, {timeout = seconds, dir = path}]): runs a command
// in the workspace and returns {code, output, timed_out, signal, file}.
func (s *state) luaSh(L *lua.LState) int {
	line, ok := L.Get(1).(lua.LString)
	if !ok || line == "" {
		s.misuse(L, "flower.sh takes the command, a string, not a %s", s.describe(L.Get(1)))
	}
	var found []Mistake
	r := s.reader(L, s.optionTable(L, 2, "flower.sh"), "", &found)
	command := tool.Command{Line: string(line), Timeout: s.program.options.commandLimit()}
	if r.has("timeout") {
		command.Timeout = time.Duration(r.amount("timeout") * float64(time.Second))
		if command.Timeout <= 0 && len(found) == 0 {
			r.wrong("timeout", "must be more than 0 seconds")
		}
	}
	r.get("timeout")
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
	var exit tool.Exit
	var err error
	s.block(func(ctx context.Context) { exit, err = s.commands.Command(ctx, command) })
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	t := L.NewTable()
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

// inWorkspace is the absolute path of a folder of the workspace, after links.
func (s *state) inWorkspace(dir string) (string, error) {
	rel := filepath.ToSlash(filepath.Clean(dir))
	if !fs.ValidPath(rel) {
		return "", fmt.Errorf("%q is not inside the workspace", dir)
	}
	info, err := s.root.Stat(rel)
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, cause(err))
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	return filepath.Join(s.rt.Workspace(), rel), nil
}
