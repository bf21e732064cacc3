package claudecode_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

func TestRun_the_prompt_before_the_conversation_is_the_same_in_every_process(t *testing.T) {
	b := newBench(t, says("First answer."))
	b.turn.Agent.Index = "- notes/a.md: the first note"
	first := b.mustRun(harness.EndTurn)
	b.server.Enqueue(says("Second answer."))
	b.resume(first.SessionID, "And then?")
	b.turn.Agent.Index = "- notes/b.md: the second note"
	b.mustRun(harness.EndTurn)
	all := b.requests()
	a, z := all[0], all[len(all)-1]
	for i := range a.System {
		if a.System[i].Text != z.System[i].Text {
			t.Errorf("system block %d differs:\n%s\n---\n%s", i, a.System[i].Text, z.System[i].Text)
		}
	}
	if len(a.Tools) != len(z.Tools) {
		t.Errorf("%d tools, then %d", len(a.Tools), len(z.Tools))
	}
	if !strings.Contains(said(z), "the second note") {
		t.Error("the changed workbench is not told")
	}
	for i, m := range a.Messages[:1] {
		for j, c := range m.Content {
			if z.Messages[i].Content[j].Text != c.Text {
				t.Errorf("message %d.%d differs:\n%s\n---\n%s", i, j, c.Text, z.Messages[i].Content[j].Text)
			}
		}
	}
}

func TestRun_kills_nobody_can_leave_a_command_behind(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "echo $$ > pid; (sleep 0.5; kill -9 $PPID) & sleep 300")))
	began := time.Now()
	out, err := b.run()
	if err == nil || out.Stop != harness.Failed || out.SessionID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	if !strings.Contains(err.Error(), "killed") {
		t.Errorf("error = %v", err)
	}
	if d := time.Since(began); d > 40*time.Second {
		t.Errorf("it took %s", d)
	}
	if left := leftOver(2 * time.Second); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// The program drops the call that was cut; we do not.
	b.server.Enqueue(says("Done."))
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if text := said(b.last()); !strings.Contains(text, "may or may not have taken effect") || !strings.Contains(text, "kill -9") {
		t.Errorf("the cut call is not told:\n%s", text)
	}
}

func TestRun_a_background_command_ends_with_the_turn(t *testing.T) {
	for _, command := range []string{"echo $$ > pid; sleep 300", "sleep 0.2"} { // one is over while the turn is
		b := newBench(t, calls("Bash", `{"command":"`+command+`","run_in_background":true}`),
			api.Turn{Blocks: []api.Block{api.Text("Started.")}, Delay: 500 * time.Millisecond}, says("News of the command."))
		b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "BashOutput", "KillBash")
		if out := b.mustRun(harness.EndTurn); !strings.HasPrefix(out.Text, "Started.") {
			t.Errorf("text = %q", out.Text)
		}
		if left := leftOver(2 * time.Second); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestRun_plan_mode_changes_nothing(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "touch made.txt"), "Bash", input("command", "ls"), "Write", input("file_path", "/tmp/made.txt", "content", "x")), says("Planned."))
	b.turn.Agent.PermissionMode = harness.Plan
	b.config.Ephemeral = func(command string) bool { return command == "ls" }
	b.mustRun(harness.EndTurn)
	if _, err := os.Stat(filepath.Join(b.dir, "made.txt")); err == nil {
		t.Error("a command changed something")
	}
	failed := 0
	for _, r := range b.last().Results() {
		if r.IsError {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d calls were refused, want 2:\n%s", failed, said(b.last()))
	}
}

func TestRun_todos_are_the_tool_that_was_allowed(t *testing.T) {
	b := newBench(t, calls("TodoWrite", `{"todos":[{"content":"one","status":"pending","activeForm":"doing one"}]}`), says("Noted."))
	b.turn.Agent.AllowedTools = []string{"TodoWrite", "Glob", "Grep"}
	b.mustRun(harness.EndTurn)
	if rs := b.last().Results(); len(rs) != 1 || rs[0].IsError {
		t.Errorf("results: %+v", rs)
	}
	if n := len(b.last().Tools); n != 3 {
		t.Errorf("%d tools are offered", n)
	}
}

func TestRun_a_write_outside_of_the_folders_is_refused(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join("/", "var", "flower-no-such-folder", "x.txt")
	b.server.Enqueue(calls("Write", input("file_path", outside, "content", "x"), "Write", input("file_path", filepath.Join(b.dir, "in.txt"), "content", "x")), says("Done."))
	b.mustRun(harness.EndTurn)
	rs := b.last().Results()
	if len(rs) != 2 || !rs[0].IsError || rs[1].IsError {
		t.Errorf("results: %+v", rs)
	}
}

func TestVersion_a_pinned_one_is_held_and_a_missing_program_says_how_to_install_it(t *testing.T) {
	b := newBench(t)
	b.config.Version = "1.0.0"
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "has version "+claudecode.Tried) {
		t.Errorf("pinned: %v", err)
	}
	b.config.Command = filepath.Join(t.TempDir(), "none")
	if _, err := b.run(); !errors.Is(err, claudecode.ErrNoProgram) || !strings.Contains(err.Error(), "npm install") {
		t.Errorf("missing: %v", err)
	}
	if n := len(b.requests()); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestRun_an_unknown_option_names_the_version_that_was_tried(t *testing.T) {
	b := newBench(t)
	b.config.Command = filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\necho \"error: unknown option '--session-mirror'\" >&2\nexit 1\n"
	if err := os.WriteFile(b.config.Command, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := b.run(); err == nil || !strings.Contains(err.Error(), "unknown option") || !strings.Contains(err.Error(), claudecode.Tried) || out.SessionID != "" {
		t.Errorf("%+v %v", out, err)
	}
}

func TestGuards_parallel_calls_are_each_asked_about(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "echo a"), "Bash", input("command", "echo b"), "Read", input("file_path", "/none"), "Bash", input("command", "echo c")), says("Done."))
	asked := make(chan string, 16)
	b.turn.Guards = chain(judge{before: func(c guard.Call) guard.Decision {
		asked <- c.Tool + string(c.Input)
		if strings.Contains(string(c.Input), "echo b") {
			return guard.Decision{Action: guard.Deny, Reason: "not b"}
		}
		return guard.Decision{}
	}, after: func(_ guard.Call, r guard.Reply) guard.Reply {
		if s, ok := r.Value.(string); ok && s == "a" {
			r.Value = 7.0 // in no shape that the program takes
		}
		return r
	}})
	b.mustRun(harness.EndTurn)
	if len(asked) != 4 {
		t.Errorf("%d calls were asked about", len(asked))
	}
	failed := 0
	for _, r := range b.last().Results() {
		if r.IsError {
			failed++
		}
	}
	if text := said(b.last()); failed != 2 || !strings.Contains(text, "user: not b") || !strings.Contains(text, "user: a") || !strings.Contains(text, "user: c") {
		t.Errorf("%d calls failed:\n%s", failed, text)
	}
	if errs := b.of(event.Error); len(errs) != 1 || !strings.Contains(errs[0].Text, "does not take") {
		t.Errorf("a rewrite in a wrong shape is not reported: %+v", errs)
	}
}

func TestBudget_a_small_one_leaves_room_for_a_short_answer(t *testing.T) {
	b := newBench(t, says("Short."))
	b.turn.Limits.USD = 0.12 // the program would ask for 32,000 tokens, at 32 cents
	b.mustRun(harness.EndTurn)
	if n := b.last().MaxTokens; n >= 32000 || n < 2048 {
		t.Errorf("max_tokens = %d", n)
	}
	b.turn.Limits.USD = 0.0001
	b.server.Enqueue(says("Never."))
	if out := b.mustRun(harness.Budget); out.Turns != 0 {
		t.Errorf("%+v", out)
	}
	b.config.Info = nil
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "price") {
		t.Errorf("without prices: %v", err)
	}
}

func TestRun_who_hands_over_does_not_compact(t *testing.T) {
	full := calls("Bash", input("command", "echo full"))
	full.Usage = &api.Usage{Input: 175_000, Output: 5} // over the program's own threshold
	b := newBench(t, full, says("Done."))
	b.turn.Limits.ContextLine = 190_000
	if out := b.mustRun(harness.EndTurn); out.Text != "Done." {
		t.Errorf("%+v", out)
	}
	if n := len(b.requests()); n != 2 {
		t.Errorf("%d requests were made", n)
	}
	if text := said(b.last()); !strings.Contains(text, "Do it.") || !strings.Contains(text, "full") {
		t.Errorf("the conversation was compacted:\n%s", text)
	}
}

func TestGuards_see_the_whole_of_an_output_that_the_program_cuts(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "seq 1 30000")), says("Done."))
	dir := filepath.Join(b.dir, "spill")
	b.turn.Guards = chain(guard.Spill(nil, guard.Options{SpillDir: dir}))
	b.mustRun(harness.EndTurn)
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if raw, err := os.ReadFile(files[0]); err != nil || !strings.HasSuffix(strings.TrimSpace(string(raw)), "29999\n30000") {
		t.Errorf("%d bytes were spilled (%v)", len(raw), err)
	}
	if text := said(b.last()); !strings.Contains(text, dir) || strings.Contains(text, "persisted-output") {
		t.Error("the model is not shown the pointer")
	}
}

func TestRun_a_refusal_is_a_stop(t *testing.T) {
	b := newBench(t, api.Turn{Blocks: []api.Block{api.Text("I can")}, StopReason: "refusal"})
	b.mustRun(harness.Refusal)
}
