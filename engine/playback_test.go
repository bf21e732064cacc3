package engine_test

// What a program needs that records exchanges or plays them back: waits of its own,
// errors that nothing mends, and files that are no change of what is judged.

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

func TestRun_waits_by_the_sleep_it_is_given(t *testing.T) {
	limited := &model.Error{Status: 429, Type: "rate_limit_error", Message: "slow down", Retry: 12 * time.Hour}
	var asked []time.Duration
	c := engine.Config{Sleep: func(_ context.Context, d time.Duration) bool {
		asked = append(asked, d)
		return true
	}}
	p := newBench(t).startWith(c, answer{session: "-", err: limited}, answer{text: "ok"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || !r.OK || r.Attempts != 2 {
		t.Errorf("result %+v, %v", r, err)
	}
	if len(asked) != 1 || asked[0] != 12*time.Hour {
		t.Errorf("it was asked to wait %v", asked)
	}
}

// quoting is an error that nothing mends and that quotes a prompt.
type quoting struct{}

func (quoting) Error() string { return "+ the prompt is too long: 210000 tokens > 200000 maximum" }
func (quoting) Final() bool   { return true }

func TestRun_final_error_is_neither_repeated_nor_handed_over(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{text: "half", err: quoting{}}, answer{text: "never"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.OK || r.Attempts != 1 || len(r.Retired) != 0 || r.Error != (quoting{}).Error() {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestJudge_does_not_mind_what_the_program_itself_writes(t *testing.T) {
	b := judging(t, false)
	own := []string{filepath.Join(b.dir, "recording"), filepath.Join(b.dir, "events.jsonl")}
	if err := os.Mkdir(own[0], 0o755); err != nil {
		t.Fatal(err)
	}
	p := b.startWith(engine.Config{Own: own}, answer{do: func(_ context.Context, turn harness.Turn) {
		if _, err := os.Stat(filepath.Join(turn.Agent.Workspace, "recording")); !os.IsNotExist(err) {
			t.Errorf("the recording is in the copy: %v", err)
		}
		for _, path := range []string{filepath.Join(own[0], "0001.jsonl"), own[1]} {
			if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}})
	r, err := p.Run(context.Background(), engine.Judge("judge", engine.RoleOptions{CanRun: true}), "judge", engine.RunOptions{})
	if err != nil || !r.OK {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestApart_continues_itself_alone_and_leaves_the_lineage(t *testing.T) {
	b := newBench(t)
	failing := true
	fails := step("B")
	fails.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) { return !failing, "", nil }
	once := func(p *process) string {
		before := len(p.script.orders())
		p.run(t, named("one", step("A"), fails), engine.WorkflowOptions{})
		out := ""
		for _, o := range p.script.orders()[before:] {
			out += o.Label
			if o.Resume != "" {
				out += "+"
			}
			out += " "
		}
		return out
	}
	lineage := filepath.Join(b.dir, "runs", "lineage.json")
	read := func() string {
		raw, err := os.ReadFile(lineage)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	first := b.start()
	if got := once(first); got != "A B " {
		t.Errorf("the first run did %s", got)
	}
	first.close()
	before := read()
	apart := b.startWith(engine.Config{Apart: true, Realm: "playback"})
	for _, want := range []string{"A B ", "B+ "} { // a run of its own is continued, restored steps and all
		if got := once(apart); got != want {
			t.Errorf("apart it did %s, want %s", got, want)
		}
	}
	failing = false
	if got := once(apart); got != "B+ " {
		t.Errorf("apart it did %s at last", got)
	}
	if got := once(apart); got != "A+ B+ " {
		t.Errorf("apart it did %s after its end", got)
	}
	apart.close()
	if read() != before {
		t.Errorf("the lineage was changed:\n%s", read())
	}
	again := b.startWith(engine.Config{Apart: true, Realm: "playback"})
	if got := once(again); got != "A B " {
		t.Errorf("another process continues it: %s", got)
	}
	again.close()
	last := b.start()
	if got := once(last); got != "B+ " {
		t.Errorf("the first run was continued by %s", got)
	}
}
