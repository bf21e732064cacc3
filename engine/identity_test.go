package engine_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

func named(name string, steps ...engine.Step) *engine.Workflow {
	return &engine.Workflow{Name: name, Steps: steps}
}

func TestWorkflows_of_other_names_realms_and_origins_are_not_continued(t *testing.T) {
	b := newBench(t)
	fails := step("B")
	fails.Gate = reject
	first := b.start(answer{text: "a"})
	first.run(t, named("one", step("A"), fails), engine.WorkflowOptions{})
	first.close()
	for _, c := range []struct {
		name, realm, origin string
		want                string
	}{
		{"one", "", "", "B"}, // the same: A is restored, B goes on
		{"two", "", "", "A B"},
		{"one", "rehearsal", "", "A B"},
		{"one", "", "ticket 2", "A B"},
	} {
		p := b.startWith(engine.Config{Realm: c.realm})
		p.run(t, named(c.name, step("A"), fails), engine.WorkflowOptions{Origin: c.origin})
		if got := p.script.labels(); got != c.want {
			t.Errorf("%+v: ran %s", c, got)
		}
		if c.want == "A B" && p.script.orders()[0].Resume != "" {
			t.Errorf("%+v: A continued %s", c, p.script.orders()[0].Resume)
		}
		p.close()
	}
}

func TestLease_a_workflow_runs_once_at_a_time_in_a_directory(t *testing.T) {
	b := newBench(t)
	var second error
	p := b.start()
	w := flow(step("A"))
	p.script.answers = []answer{{do: func(context.Context, harness.Turn) {
		_, second = p.RunWorkflow(context.Background(), flow(step("A")), engine.WorkflowOptions{})
		if _, err := p.RunWorkflow(context.Background(), named("other", step("C")), engine.WorkflowOptions{}); err != nil {
			t.Errorf("another workflow beside it: %v", err)
		}
	}}}
	if ending := p.run(t, w, engine.WorkflowOptions{}); !ending.OK {
		t.Errorf("%+v", ending)
	}
	if second == nil || !strings.Contains(second.Error(), "in use by this process") || !strings.Contains(second.Error(), "run directory of its own") {
		t.Errorf("err = %v", second)
	}
	if ending := p.run(t, w, engine.WorkflowOptions{}); !ending.OK { // it was given back
		t.Errorf("%+v", ending)
	}
	if left, err := os.ReadDir(p.RunDir() + "/locks"); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestLease_a_session_has_one_writer(t *testing.T) {
	p := newBench(t).start()
	var inside error
	p.script.answers = []answer{{session: "s9", do: func(context.Context, harness.Turn) {
		_, inside = p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{Resume: "s9"})
	}}}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if inside == nil || !strings.Contains(inside.Error(), "session s9 is in use by") {
		t.Errorf("err = %v", inside)
	}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{Resume: "s9"}); err != nil {
		t.Error(err)
	}
}

func TestManifest_says_what_the_gate_made_of_a_result(t *testing.T) {
	p := newBench(t).start()
	rounds := 0
	a, b := step("A"), step("B")
	a.Retries = 1
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		rounds++
		return rounds == 2, "not yet", nil
	}
	b.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		return false, "", engine.Abort("enough")
	}
	p.run(t, flow(a, b), engine.WorkflowOptions{})
	var got []string
	for _, row := range manifestRows(t, p.ManifestPath()) {
		got = append(got, row.Step+" "+row.Gate+" "+row.GateReason)
	}
	if s := strings.Join(got, ", "); s != "A rejected not yet, A#round2 passed , B aborted enough" {
		t.Errorf("rows %s", s)
	}
}

func TestRun_an_order_that_cannot_be_carried_out_is_not_repeated(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{session: "-", err: &harness.OrderError{Err: errors.New(`no tool is called "Reed"`)}})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.OK || r.Attempts != 1 || !strings.Contains(r.Error, "Reed") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRuntime_is_closed(t *testing.T) {
	p := newBench(t).start()
	p.Close()
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if _, err := p.RunWorkflow(context.Background(), flow(step("A")), engine.WorkflowOptions{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("RunWorkflow: %v", err)
	}
}

func TestWorkflow_a_rejection_without_a_reason_says_so_and_a_long_one_is_cut(t *testing.T) {
	p := newBench(t).start()
	a := step("A")
	a.Gate = reject
	if ending := p.run(t, flow(a), engine.WorkflowOptions{}); ending.Reason != "the gate gave no reason" {
		t.Errorf("reason %q", ending.Reason)
	}
	a.Retries = 1
	a.Gate = func(context.Context, engine.Result, engine.Context) (bool, string, error) {
		return false, "begin" + strings.Repeat("目", 1<<20) + "end", nil
	}
	p.run(t, flow(a), engine.WorkflowOptions{Fresh: true})
	orders := p.script.orders()
	sent := orders[len(orders)-1].Prompt
	if n := len([]rune(sent)); n > 70_000 || !strings.HasPrefix(sent, "begin") || !strings.HasSuffix(sent, "end") {
		t.Errorf("%d characters were sent", n)
	}
}
