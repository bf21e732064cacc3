package native_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/tool"
)

// TestGuards_a_turn_that_is_stopped_gives_them_two_seconds: a guard behind a call that
// waits for the end of its context, and one that ends in time.
func TestGuards_a_turn_that_is_stopped_gives_them_two_seconds(t *testing.T) {
	for name, c := range map[string]struct{ takes, want time.Duration }{
		"one that would take long":  {time.Hour, 2 * time.Second},
		"one that ends in a second": {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var stopped time.Time
				seen := false
				turn := harness.Turn{
					Agent:  harness.Agent{Name: "one", Workspace: t.TempDir(), AllowedTools: []string{"looks"}},
					Prompt: "Do it.", Project: project, Store: newMemory(),
					HostTools: []tool.Tool{tool.Func{Def: tool.Definition{Name: "looks", ReadOnly: true},
						Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("seen") }}},
					Guards: guard.Chain{Guards: []guard.Guard{guard.After("slow", func(ctx context.Context, _ guard.Call, r guard.Reply) (guard.Reply, error) {
						stopped = time.Now()
						cancel()
						select {
						case <-time.After(c.takes):
							seen = true
							return r, nil
						case <-ctx.Done():
							return r, ctx.Err()
						}
					})}},
				}
				if _, err := native.New(native.Config{Model: instant{3}}).Run(ctx, turn); err == nil {
					t.Error("no error")
				}
				if took := time.Since(stopped); took != c.want {
					t.Errorf("it ended after %s, want %s", took, c.want)
				}
				if seen != (c.takes == c.want) {
					t.Errorf("the guard came to its end: %v", seen)
				}
			})
		})
	}
}
