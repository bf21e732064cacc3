package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

func TestRun_one_answer_without_tools(t *testing.T) {
	b := newBench(t, nil, says("All done."))
	var told []string
	b.turn.OnSession = func(id string) { told = append(told, id) }
	out := b.mustRun(harness.EndTurn)
	if out.Text != "All done." || out.LastMessage != "All done." {
		t.Errorf("text = %q, last message = %q", out.Text, out.LastMessage)
	}
	if out.Turns != 1 || out.Usage.Main.Turns != 1 || out.Context == 0 || out.CostUSD == nil || *out.CostUSD <= 0 {
		t.Errorf("accounts: %+v", out)
	}
	if len(told) != 1 || told[0] != out.SessionID {
		t.Errorf("OnSession was told %q, the session is %q", told, out.SessionID)
	}
	if got := kinds(b.memory.entries(key(out.SessionID))); got != "flower_prefix user assistant" {
		t.Errorf("stored: %s", got)
	}
	r := b.last()
	if got := r.Prompt(); got != "Do it." {
		t.Errorf("prompt sent: %q", got)
	}
	if len(r.Tools) != 4 || r.Tools[0].Name != "Bash" || r.Tools[3].Name != "Write" {
		t.Errorf("tools offered: %v, want the four allowed ones, sorted", r.Tools)
	}
}

func TestRun_tools_do_their_work_and_results_are_entries_of_their_own(t *testing.T) {
	b := newBench(t, nil)
	path := filepath.Join(b.dir, "a.txt")
	b.server.Enqueue(
		api.Turn{Blocks: []api.Block{
			api.Text("I write it."),
			api.ToolUse("", "Write", input("file_path", path, "content", "hello\n")),
			api.ToolUse("", "Read", input("file_path", path)),
		}},
		says("Written."),
	)
	out := b.mustRun(harness.EndTurn)
	if content, err := os.ReadFile(path); err != nil || string(content) != "hello\n" {
		t.Fatalf("file: %q, %v", content, err)
	}
	if out.Text != "I write it.\n\nWritten." || out.LastMessage != "Written." {
		t.Errorf("text = %q, last = %q", out.Text, out.LastMessage)
	}
	entries := b.memory.entries(key(out.SessionID))
	if got := kinds(entries); got != "flower_prefix user calls(2) result result assistant" {
		t.Errorf("stored: %s", got)
	}
	for i, e := range entries[2:] {
		if e.Parent != entries[i+1].UUID {
			t.Errorf("entry %d hangs on %q, want the one before it, %q", i+2, e.Parent, entries[i+1].UUID)
		}
	}
	got := results(b.last())
	if len(got) != 2 || !strings.Contains(got[1], "hello") {
		t.Errorf("results sent: %q", got)
	}
	if out.Usage.Main.ToolCalls != 2 {
		t.Errorf("tool calls counted: %d", out.Usage.Main.ToolCalls)
	}
}

func TestRun_events_tell_what_happens(t *testing.T) {
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.Thinking("hm"), api.Text("Looking."), api.ToolUse("", "Bash", input("command", "echo hi"))}},
		says("Done."))
	out := b.mustRun(harness.EndTurn)
	var got []string
	for _, e := range b.events {
		got = append(got, string(e.Kind))
		if e.Session != out.SessionID || e.Step != "step-1" || e.Run != "run-1" {
			t.Errorf("event %s names session %q, step %q, run %q", e.Kind, e.Session, e.Step, e.Run)
		}
	}
	if want := "thinking text tool_call tool_result text result"; strings.Join(got, " ") != want {
		t.Errorf("events: %s\nwant:   %s", strings.Join(got, " "), want)
	}
	if c := b.of(event.ToolCall)[0]; c.Text != "echo hi" || c.Tool != "Bash" || c.Context == 0 {
		t.Errorf("tool_call event: %+v", c)
	}
	if r := b.of(event.ToolResult)[0]; !strings.Contains(r.Text, "hi") {
		t.Errorf("tool_result event: %+v", r)
	}
}

func TestRun_continues_a_session_with_the_same_beginning(t *testing.T) {
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.Thinking("deep"), api.Text("First."), api.ToolUse("", "Bash", input("command", "echo one"))}},
		says("One."), says("Two."))
	first := b.mustRun(harness.EndTurn)
	b.resume(first.SessionID, "And now?")
	second := b.mustRun(harness.EndTurn)
	if second.SessionID != first.SessionID || second.Text != "Two." {
		t.Errorf("second turn: session %q, text %q", second.SessionID, second.Text)
	}
	if got := kinds(b.memory.entries(key(first.SessionID))); got != "flower_prefix user calls(1) result assistant flower_prefix user assistant" {
		t.Errorf("stored: %s", got)
	}
	r := b.requests()
	before, after := r[1], r[2]
	assertSamePrefix(t, before, after)
}

// assertSamePrefix fails unless the newer request begins, block for block and
// byte for byte, with what the older one had; breakpoints aside.
func assertSamePrefix(t *testing.T, before, after api.Request) {
	t.Helper()
	strip := func(raw []byte) string {
		return strings.ReplaceAll(string(raw), `,"cache_control":{"type":"ephemeral"}`, "")
	}
	flat := func(r api.Request) []string {
		var out []string
		for _, x := range r.Tools {
			out = append(out, string(x.Raw))
		}
		for _, x := range r.System {
			out = append(out, string(x.Raw))
		}
		for _, m := range r.Messages {
			for _, x := range m.Content {
				out = append(out, m.Role+" "+strip(x.Raw))
			}
		}
		return out
	}
	old, now := flat(before), flat(after)
	if len(now) < len(old) {
		t.Fatalf("the newer request has %d blocks, the older one %d", len(now), len(old))
	}
	for i := range old {
		if old[i] != now[i] {
			t.Fatalf("block %d differs\nwas: %.300s\nis:  %.300s", i, old[i], now[i])
		}
	}
}

func TestRun_denied_calls_are_marked_and_do_not_run(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "touch no")), says("Then not."))
	b.turn.Guards.Guards = append(b.turn.Guards.Guards, denies{"Bash", "not here"})
	out := b.mustRun(harness.EndTurn)
	if _, err := os.Stat(filepath.Join(b.dir, "no")); err == nil {
		t.Error("the denied command ran")
	}
	if got := results(b.last()); len(got) != 1 || got[0] != "not here" {
		t.Errorf("result: %q", got)
	}
	for _, e := range b.memory.entries(key(out.SessionID)) {
		if len(e.ToolResults) > 0 && !e.Flags.Has(transcript.Denied|transcript.ErrorResult) {
			t.Errorf("the denial is not marked: %s", e.Raw)
		}
	}
}
