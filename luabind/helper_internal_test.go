package luabind

import (
	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"time"
)

// sampleResult is a result with something in every field.
func sampleResult() engine.Result {
	cost := 0.25
	return engine.Result{
		Run: "run", Step: "fix", SessionID: "session", OK: true, Stop: harness.EndTurn, CostUSD: &cost, NumTurns: 3,
		Usage: harness.Usage{Main: harness.Account{Turns: 3}}, Text: "text", LastMessage: "last", Error: "", Errors: []string{"one"},
		Attempts: 1, Retired: []string{}, Context: 5000, StartedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0), DurationS: 1,
	}
}
