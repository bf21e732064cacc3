package luabind

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/store"
)

// idle is a harness that nobody asks anything.
type idle struct{}

func (idle) Name() string                        { return "idle" }
func (idle) Prices(context.Context, string) bool { return true }
func (idle) Run(context.Context, harness.Turn) (harness.Outcome, error) {
	return harness.Outcome{Stop: harness.EndTurn}, nil
}

func benchRuntime(tb testing.TB) *engine.Runtime {
	tb.Helper()
	dir := tb.TempDir()
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	rt, err := engine.New(engine.Config{Workspace: dir, Store: db, Harness: idle{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		rt.Close()
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return rt
}

const gated = `
local coder = flower.agent{ name = "coder", instructions = "Write code.", allowed_tools = { "Read", "Edit" } }
return flower.workflow{
  name = "bench",
  steps = {
    flower.step{
      name = "fix", spec = coder, prompt = "Fix it.", retries = 3,
      gate = function(result, ctx) return result.ok and ctx.limit == nil, result.text end,
      on_reject = function(result, ctx, reason) return "Still: " .. reason end,
    },
  },
}`

// BenchmarkGate is a gate's call as the runner makes it: from its goroutine to
// the script's, with a result, and back.
func BenchmarkGate(b *testing.B) {
	rt := benchRuntime(b)
	p, err := Load("bench.lua", gated, nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := p.newState(rt)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	returned, err := s.execute(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	flow, err := s.toWorkflow(returned.(*lua.LTable))
	if err != nil {
		b.Fatal(err)
	}
	cost := 0.25
	result := engine.Result{Run: rt.ID(), Step: "fix", SessionID: "0195", OK: true, Stop: harness.EndTurn, CostUSD: &cost, NumTurns: 12,
		Text: strings.Repeat("All tests pass. ", 20), LastMessage: "All tests pass.", Errors: []string{}, Retired: []string{}, Attempts: 1,
		StartedAt: time.Now(), EndedAt: time.Now(), DurationS: 12}
	b.ReportAllocs()
	s.serve(func() {
		for b.Loop() {
			if pass, reason, err := flow.Steps[0].Gate(ctx, result, flow.Context); err != nil || !pass {
				b.Errorf("gate: %v %q %v", pass, reason, err)
				return
			}
		}
	})
}

// BenchmarkCompile is what loading a script costs, without reading it.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load("bench.lua", gated, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkState is the start-up of a run: a state with everything in it, and the
// script executed.
func BenchmarkState(b *testing.B) {
	rt := benchRuntime(b)
	p, err := Load("bench.lua", gated, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := p.newState(rt)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.execute(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		s.close()
	}
}
