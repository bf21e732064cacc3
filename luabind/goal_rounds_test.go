package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
)

// brittle is echo, whose turns of some labels fail.
type brittle struct {
	echo
	labels map[string]bool
}

func (f *brittle) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	out, err := f.echo.Run(ctx, t)
	if f.labels[t.Step] {
		return out, errors.Join(err, errors.New("it broke off"))
	}
	return out, err
}

// judgedRounds runs a guarded step whose judge says the verdicts, one a round.
func judgedRounds(t *testing.T, f *brittle, source string, verdicts ...string) played {
	t.Helper()
	dir, ruled := t.TempDir(), 0
	f.reply = func(turn harness.Turn) string {
		if !strings.Contains(turn.Step, "·verdict#") {
			return "worked"
		}
		ruled++
		return "## Conclusion\n" + verdicts[ruled-1] + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "goal.md"), []byte("## Goal\nIt greets.\n\n## Checks\n- run it\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return playIn(t, dir, f, `
		local goal = require("flower.goal")
		local spec = flower.agent{ name = "a" }
		local work = goal.with_goal(flower.step{ name = "work", spec = spec, prompt = "the whole task" }, { goal_path = "goal.md", rounds = 3 })
		`+source, nil)
}

func TestGoal_a_round_that_failed_is_sent_back_what_the_one_before_it_lacked(t *testing.T) {
	f := &brittle{labels: map[string]bool{"work#round2": true}}
	p := judgedRounds(t, f, `return flower.workflow{ steps = { work } }`, "not achieved\n\n## Reason\nno title", "achieved")
	if p.err != nil || !p.ending.OK {
		t.Fatalf("%+v, %v", p.ending, p.err)
	}
	asked := f.asked()
	last := asked[len(asked)-2] // the judge is the last
	if !strings.HasPrefix(last, "work#round3: ") || !strings.Contains(last, "no title") || !strings.HasSuffix(last, "[session-1]") || strings.Contains(last, "the whole task") {
		t.Errorf("round 3 was told %q", last)
	}
	// Nobody has ruled yet: it starts over.
	f = &brittle{labels: map[string]bool{"work": true}}
	p = judgedRounds(t, f, `return flower.workflow{ context = { _verdict = { kind = "verdict" } }, steps = { work } }`, "achieved")
	if asked := f.asked(); p.err != nil || !p.ending.OK || asked[1] != "work#retry1: the whole task" {
		t.Errorf("%q, %+v, %v", asked, p.ending, p.err)
	}
}

func TestGoal_the_same_reason_in_another_run_is_not_said_twice_in_a_row(t *testing.T) {
	lacks := "not achieved\n\n## Reason\nno title"
	p := judgedRounds(t, &brittle{}, `
		local w = flower.workflow{ steps = { goal.with_goal(work, { goal_path = "goal.md", rounds = 1 }) } }
		for _ = 1, 2 do
			local ending = flower.run(w)
			assert(not ending.ok and ending.aborted == "", ending.reason)
		end`, lacks, lacks)
	if p.err != nil {
		t.Error(p.err)
	}
}
