package harnesstest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

func theLimitOfTurns(r *rig) {
	r.turn.Limits.Turns = 2
	n := 0
	r.says(func(request) turn {
		n++
		return calls("Bash", bash("echo "+strings.Repeat("x", n)))
	})
	out := r.mustRun(harness.MaxTurns)
	if out.Turns != 2 {
		r.Errorf("%d turns were made", out.Turns)
	}
}

func theBudgetHolds(r *rig) {
	r.turn.Limits.USD = 1.11
	r.turn.Limits.SpentUSD = 0.1
	expensive := calls("Bash", bash("echo dear"))
	expensive.Usage = &api.Usage{Input: 10, Output: 100_000} // a dollar
	r.answers(expensive, text("Never asked for."))
	out := r.mustRun(harness.Budget)
	if out.Turns != 1 || out.CostUSD == nil || *out.CostUSD < 1 {
		r.Errorf("outcome = %+v", out)
	}
	if out.Detail == "" || r.server.Queued() != 1 {
		r.Errorf("detail %q, %d answers left", out.Detail, r.server.Queued())
	}
}

func theContextLineHolds(r *rig) {
	r.turn.Limits.ContextLine = 90_000
	full := calls("Bash", bash("echo full"))
	full.Usage = &api.Usage{Input: 95_000, Output: 10}
	r.answers(full, text("Never asked for."))
	out := r.mustRun(harness.ContextFull)
	if out.Turns != 1 || out.Context != 95_000 || r.server.Queued() != 1 {
		r.Errorf("outcome = %+v", out)
	}
	// The line is lifted for the turn that writes the handoff.
	r.turn.Limits.ContextLine = 0
	r.server.Enqueue()
	r.resume(harness.Session{Resume: out.SessionID}, "Write it all down.")
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "full", "Write it all down.")
	r.hasNot(r.last(), "the line is at")
}

// response is what the errors of a provider's answers have in common.
type response interface {
	StatusCode() int
	RetryAfter() time.Duration
}

func (r *rig) mustFail(status int, class failure.Class) error {
	r.Helper()
	out, err := r.run()
	var answer response
	if !errors.As(err, &answer) || answer.StatusCode() != status {
		r.Fatalf("error = %v, want one with status %d", err, status)
	}
	if got := failure.Classify(err); got != class {
		r.Errorf("%v is %s, want %s", err, got, class)
	}
	if out.Stop != harness.Failed || out.Text != "" {
		r.Errorf("outcome = %+v", out)
	}
	return err
}

func aWrongKey(r *rig) {
	r.retries = 2
	r.answers(refuses(401, "invalid x-api-key"), text("Never asked for."))
	r.mustFail(401, failure.Fatal)
}

func aRateLimit(r *rig) {
	r.answers(api.Turn{Error: &api.Error{Status: 429, RetryAfter: 17 * time.Second}})
	if wait := failure.RetryAfter(r.mustFail(429, failure.Transient)); wait != 17*time.Second {
		r.Errorf("the wait is %s", wait)
	}
}

func anOverload(r *rig) {
	r.answers(refuses(529, "Overloaded"))
	r.mustFail(529, failure.Transient)
	r.retries = 1
	r.answers(refuses(529, "Overloaded"), text("Done."))
	if out := r.mustRun(harness.EndTurn); out.Text != "Done." || out.Turns != 1 {
		r.Errorf("outcome = %+v", out)
	}
}

func tooLong(r *rig) {
	r.answers(refuses(400, "prompt is too long: 203112 tokens > 200000 maximum"))
	if err := r.mustFail(400, failure.Fatal); !failure.Overflow(err.Error()) {
		r.Errorf("%v does not count as an overflow", err)
	}
}

func aStreamCutInText(r *rig) {
	r.retries = 2
	cut := text(strings.Repeat("half an answer ", 400))
	cut.Faults = []api.Fault{{Kind: api.Cut, At: 3000}}
	r.answers(cut, text("The whole answer."))
	out := r.mustRun(harness.EndTurn)
	if out.LastMessage != "The whole answer." {
		r.Errorf("last message = %q", out.LastMessage)
	}
}

func aStreamCutAfterACall(r *rig) {
	r.retries = 2
	cut := calls("Bash", bash("echo once >> count"))
	cut.Blocks = append(cut.Blocks, api.Text(strings.Repeat("and then some ", 800)))
	cut.Faults = []api.Fault{{Kind: api.Cut, At: 6000}}
	r.answers(cut, text("Done."))
	out := r.mustRun(harness.EndTurn)
	if raw, err := os.ReadFile(filepath.Join(r.dir, "count")); err != nil || string(raw) != "once\n" {
		r.Errorf("the command ran %q (%v)", raw, err)
	}
	if !strings.HasSuffix(out.Text, "Done.") {
		r.Errorf("text = %q", out.Text)
	}
}
