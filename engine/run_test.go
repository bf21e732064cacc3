package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
)

// quick retries without waiting.
func quick() engine.Config {
	return engine.Config{Resilience: &failure.Policy{BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond}}
}

var overloaded = &model.Error{Status: 529, Type: "overloaded_error", Message: "Overloaded"}

func manifestRows(t *testing.T, path string) (rows []engine.Result) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRun_transient_failure_before_a_session_repeats_the_order(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{session: "-", err: overloaded}, answer{text: "ok"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{Resume: "s0", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []sent{{"x", "go", "s0", true}, {"x", "go", "s0", true}}
	if diff := cmp.Diff(want, p.script.orders()); diff != "" {
		t.Error(diff)
	}
	if !r.OK || r.Attempts != 2 || len(r.Errors) != 1 || r.Resumed {
		t.Errorf("result %+v", r)
	}
}

func TestRun_transient_failure_with_a_session_resumes_it_without_the_error(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{text: "half", err: overloaded}, answer{text: "whole"})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := p.script.orders()
	if len(o) != 2 || o[1].Resume != "s1" || strings.Contains(o[1].Prompt, "verload") || strings.Contains(o[1].Prompt, "529") {
		t.Errorf("orders %+v", o)
	}
	if !r.OK || !r.Resumed || r.Text != "whole" || r.NumTurns != 2 || *r.CostUSD != 0.5 {
		t.Errorf("result %+v", r)
	}
}

func TestRun_text_of_an_attempt_without_any_keeps_the_earlier(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{text: "half", err: overloaded}, answer{})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.Text != "half" {
		t.Errorf("text %q, %v", r.Text, err)
	}
}

func TestRun_fatal_and_overlong_are_not_repeated(t *testing.T) {
	for _, err := range []error{
		&model.Error{Status: 401, Type: "authentication_error", Message: "invalid x-api-key"},
		&model.Error{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"},
	} {
		c := quick()
		c.Handoff = &engine.HandoffPolicy{Off: true}
		p := newBench(t).startWith(c, answer{err: err})
		r, runErr := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
		if runErr != nil || r.OK || r.Attempts != 1 || !strings.HasPrefix(r.Error, err.Error()) {
			t.Errorf("%v: %+v, %v", err, r, runErr)
		}
		if long := r.Stop == harness.WindowExceeded; long != strings.Contains(r.Error, "handoff is off") || long != strings.Contains(r.Error, "too long") {
			t.Errorf("%v: stop %q, error %q", err, r.Stop, r.Error)
		}
	}
}

// A store that fails is not the model's failure: nothing is done again in another
// session, which could not be recorded either.
func TestRun_trouble_of_the_store_is_not_repeated(t *testing.T) {
	for _, cause := range []error{transcript.ErrUnavailable, transcript.ErrDamaged, transcript.ErrConflict, transcript.ErrNotFound} {
		p := newBench(t).startWith(quick(), answer{session: "-", err: fmt.Errorf("session s: the transcript could not be written: disk full: %w", cause)})
		s := step("A")
		s.Retries = 3
		ending := p.run(t, flow(s), engine.WorkflowOptions{})
		if n := len(p.script.orders()); n != 1 || ending.OK || !strings.Contains(ending.Reason, "disk full") {
			t.Errorf("%v: %d orders, %+v", cause, n, ending)
		}
		p.close()
	}
}

func TestRun_gives_up_after_the_policys_attempts(t *testing.T) {
	var answers []answer
	for range 10 {
		answers = append(answers, answer{err: overloaded})
	}
	p := newBench(t).startWith(quick(), answers...)
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.Attempts != 6 || len(r.Errors) != 6 || r.OK {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestRun_waits_as_long_as_the_server_asks(t *testing.T) {
	b := newBench(t)
	limited := &model.Error{Status: 429, Type: "rate_limit_error", Message: "slow down", Retry: 90 * time.Second}
	p := b.start(answer{session: "-", err: limited}, answer{session: "-", text: "ok"})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		inner, err := engine.New(engine.Config{Workspace: b.dir, Store: p.Store(), Harness: p.script})
		if err != nil {
			t.Fatal(err)
		}
		defer inner.Close()
		if _, err := inner.Run(t.Context(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 90*time.Second || waited > 2*time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestRun_53_interrupts_are_not_attempts(t *testing.T) {
	var answers []answer
	for range 10 {
		answers = append(answers, answer{stop: harness.Interrupted, words: "use the other file"})
	}
	p := newBench(t).startWith(engine.Config{NoRetry: true}, append(answers, answer{text: "done"})...)
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := p.script.orders()[1]
	if o.Resume != "s1" || !strings.Contains(o.Prompt, "use the other file") || !strings.Contains(o.Prompt, "interruption") {
		t.Errorf("order %+v", o)
	}
	if !r.OK || r.Attempts != 1 || len(r.Errors) != 10 || r.Errors[0] != engine.MarkInterrupted {
		t.Errorf("result %+v", r)
	}
}

func TestRun_an_interrupt_without_a_session_stops(t *testing.T) {
	p := newBench(t).start(answer{session: "-", stop: harness.Interrupted})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.OK || r.Error != engine.MarkInterrupted || len(p.script.orders()) != 1 {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestInterrupt_reaches_the_active_run(t *testing.T) {
	var p *process
	p = newBench(t).start(answer{do: func(_ context.Context, turn harness.Turn) {
		if !p.Interrupt("hello") {
			t.Error("Interrupt found no active run")
		}
		if words := <-turn.Interrupt; words != "hello" {
			t.Errorf("words %q", words)
		}
	}})
	if p.Interrupt("nobody there") {
		t.Error("Interrupt found a run before there was one")
	}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestRun_stops_that_are_no_failure_are_not_repeated(t *testing.T) {
	p := newBench(t).startWith(quick(), answer{stop: harness.MaxTurns})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil || r.OK || r.Error != "max turns" || r.Attempts != 1 {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestRun_orders_that_cannot_be_carried_out(t *testing.T) {
	p := newBench(t).start()
	for _, c := range []struct {
		spec engine.Spec
		o    engine.RunOptions
		want string
	}{
		{engine.Spec{Name: "x"}, engine.RunOptions{Fork: true}, "fork"},
		{engine.Spec{Name: "x"}, engine.RunOptions{ResumeAt: "u"}, "resume_at"},
		{engine.Spec{}, engine.RunOptions{}, "name"},
		{engine.Spec{Name: "x", PermissionMode: "yolo"}, engine.RunOptions{}, "permission_mode"},
		{engine.Spec{Name: "x", Model: "unpriced", MaxBudgetUSD: 1}, engine.RunOptions{}, "price"},
	} {
		if _, err := p.Run(context.Background(), c.spec, "go", c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
	if len(p.script.orders()) != 0 {
		t.Error("something ran")
	}
}

func TestRun_events_carry_run_step_and_session(t *testing.T) {
	p := newBench(t).start(answer{do: func(_ context.Context, turn harness.Turn) {
		turn.Sink.Emit(event.Event{Kind: event.Text, Text: "hi"})
	}})
	var own []event.Event
	_, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{StepName: "label", OnEvent: func(e event.Event) { own = append(own, e) }})
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	for name, list := range map[string][]event.Event{"sink": p.seen.of(event.Text), "own": own[1:2]} {
		if len(list) != 1 || list[0].Text != "hi" || list[0].Run != p.ID() || list[0].Step != "label" || list[0].Session != "s1" {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestRuntime_ids(t *testing.T) {
	b := newBench(t)
	one, two := b.start(), newBench(t).start()
	if !regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{6}$`).MatchString(one.ID()) || one.ID() == two.ID() {
		t.Errorf("ids %s and %s", one.ID(), two.ID())
	}
	one.close()
	again := b.start()
	if again.Project() != one.Project() || one.Project() == two.Project() {
		t.Error("the project's id does not belong to the run directory")
	}
}

func TestManifest_25_two_runtimes_keep_each_others_rows(t *testing.T) {
	b := newBench(t)
	first := b.start()
	other, err := engine.New(engine.Config{Workspace: b.dir, Store: first.Store(), Harness: first.script})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, rt := range []*engine.Runtime{first.Runtime, other, first.Runtime} {
		if _, err := rt.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for _, row := range manifestRows(t, first.ManifestPath()) {
		count[row.Run]++
	}
	if diff := cmp.Diff(map[string]int{first.ID(): 2, other.ID(): 1}, count); diff != "" {
		t.Error(diff)
	}
}

func TestManifest_25_a_broken_file_is_moved_aside_with_a_notice(t *testing.T) {
	b := newBench(t)
	p := b.start()
	if err := os.WriteFile(p.ManifestPath(), []byte("[{\"run\": "), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if rows := manifestRows(t, p.ManifestPath()); len(rows) != 1 {
		t.Errorf("rows %+v", rows)
	}
	aside, err := filepath.Glob(p.ManifestPath() + ".broken-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("aside %v, %v", aside, err)
	}
	p.close()
	if notices := p.seen.of(event.Task); len(notices) != 1 || !strings.Contains(notices[0].Text, aside[0]) {
		t.Errorf("notices %+v", notices)
	}
}

func TestManifest_rows_of_foreign_fields_survive(t *testing.T) {
	b := newBench(t)
	p := b.start()
	foreign := `[{"run":"old","step":"x","note":"kept","n":1e400}]`
	if err := os.WriteFile(p.ManifestPath(), []byte(foreign), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(p.ManifestPath())
	if err != nil || !strings.Contains(string(raw), "1e400") || !strings.Contains(string(raw), `"kept"`) {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestNew_names_what_is_missing(t *testing.T) {
	for _, c := range []engine.Config{{}, {Workspace: "x"}, {Workspace: "x", Harness: &script{}}} {
		if _, err := engine.New(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestNew_keeps_git_out_of_the_run_directory(t *testing.T) {
	p := newBench(t).start()
	raw, err := os.ReadFile(filepath.Join(p.RunDir(), ".gitignore"))
	if err != nil || string(raw) != "*\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestTotalCost_is_unknown_with_one_unknown_price(t *testing.T) {
	p := newBench(t).start()
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if usd, ok := p.TotalCost(); !ok || usd != 0.25 {
		t.Errorf("cost %v %v", usd, ok)
	}
}

func TestRun_tells_its_accounts_once(t *testing.T) {
	p := newBench(t).start(answer{do: func(_ context.Context, turn harness.Turn) {
		turn.Sink.Emit(event.Event{Kind: event.Result, Payload: map[string]any{"cost_usd": 0.25}})
	}})
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	p.close()
	if results := p.seen.of(event.Result); len(results) != 1 || results[0].Payload["cost_usd"] != 0.25 || results[0].Payload["attempts"] != 1 {
		t.Errorf("results %+v", results)
	}
}

func TestManifest_many_runs_at_once_keep_every_row(t *testing.T) {
	p := newBench(t).start()
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if rows := manifestRows(t, p.ManifestPath()); len(rows) != 200 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestRun_denials_kept_beside_a_session_are_in_its_view(t *testing.T) {
	p := newBench(t).start(answer{}, answer{do: func(_ context.Context, turn harness.Turn) {
		if !turn.View.Denied["toolu_1"] || len(turn.View.Denied) != 1 {
			t.Errorf("denied %v", turn.View.Denied)
		}
	}})
	r, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Store().Put(context.Background(), "denials/"+p.Project()+"/"+r.SessionID, []byte(`["toolu_1"]`), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), engine.Spec{Name: "x"}, "go", engine.RunOptions{Resume: r.SessionID}); err != nil {
		t.Fatal(err)
	}
}

func TestRun_is_logged_without_what_was_said(t *testing.T) {
	var out bytes.Buffer
	p := newBench(t).startWith(engine.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))}, answer{text: "secret words"})
	p.run(t, flow(step("first")), engine.WorkflowOptions{})
	p.close()
	if text := out.String(); !strings.Contains(text, "msg=first kind=step") || !strings.Contains(text, "kind=result") || !strings.Contains(text, "step=first") || strings.Contains(text, "secret") {
		t.Errorf("logged:\n%s", text)
	}
}
