package luabind

import (
	"context"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
)

// Replay executes the script with args and evaluates the workflow it returns, and
// those it gives to flower.run, on recorded results: see engine.Runtime.Replay. The
// script is executed as for a run. Its error is that of Run; what was evaluated
// before it is returned too.
func (p *Program) Replay(ctx context.Context, rt *engine.Runtime, args []string, o engine.ReplayOptions) ([]engine.Replayed, error) {
	s, err := p.newState(rt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var all []engine.Replayed
	replay := func(ctx context.Context, w *engine.Workflow) error {
		found, err := rt.Replay(ctx, w, o)
		all = append(all, found...)
		return err
	}
	behind(s.loaded["flower"]).RawSetString("run", s.L.NewFunction(s.replayRun(replay)))
	returned, err := s.execute(ctx, args)
	if err != nil {
		return all, err
	}
	switch t, ok := returned.(*lua.LTable); {
	case ok && s.isMade(t, "workflow"):
		flow, mistakes := s.toWorkflow(t)
		if mistakes != nil {
			return all, mistakes
		}
		s.serve(func() { err = replay(ctx, flow) })
	case returned != lua.LNil || len(all) == 0:
		err = &Error{File: p.main.name, Code: CodeMisuse,
			Message: fmt.Sprintf("there is no workflow to replay: the script returned a %s", s.describe(returned))}
	}
	return all, err
}

// replayRun is flower.run of a workflow that is replayed, and then counts as one
// that reached its end.
func (s *state) replayRun(replay func(context.Context, *engine.Workflow) error) lua.LGFunction {
	return func(L *lua.LState) int {
		t, ok := L.Get(1).(*lua.LTable)
		if !ok || !s.isMade(t, "workflow") {
			return s.luaRun(L) // which says what is wrong
		}
		flow, err := s.toWorkflow(t)
		if err != nil {
			s.raise(L, CodeMisuse, err)
		}
		s.block(func(ctx context.Context) { err = replay(ctx, flow) })
		if err != nil {
			s.raise(L, CodeEngine, err)
		}
		out := s.toLua(map[string]any{"ok": true, "failed_at": "", "reason": "", "aborted": ""}).(*lua.LTable)
		out.RawSetString("context", t.RawGetString("context"))
		L.Push(out)
		return 1
	}
}
