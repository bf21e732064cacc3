package claudecode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

func TestRun_text_and_a_call_with_accounts_events_and_transcript(t *testing.T) {
	b := newBench(t, calls("Bash", input("command", "echo one; printenv HOME; printenv | grep -c ANTHROPIC")), says("Done."))
	b.config.Home = "/home/of-the-user"
	b.turn.Agent.Instructions = "Be brief."
	var ids []string
	b.turn.OnSession = func(id string) { ids = append(ids, id) }
	out := b.mustRun(harness.EndTurn)
	if out.Text != "Done." || out.LastMessage != "Done." || out.Turns != 2 {
		t.Errorf("outcome = %+v", out)
	}
	if out.Usage.Main.ToolCalls != 1 || out.Usage.Main.Turns != 2 || out.Usage.Main.Tokens.Output == 0 || out.Context == 0 {
		t.Errorf("usage = %+v, context %d", out.Usage, out.Context)
	}
	if out.CostUSD == nil || *out.CostUSD <= 0 {
		t.Error("no cost")
	}
	if len(ids) != 1 || ids[0] != out.SessionID {
		t.Errorf("OnSession was told %v, the session is %s", ids, out.SessionID)
	}
	if text := said(b.last()); !strings.Contains(text, "one\n/home/of-the-user\n0") {
		t.Errorf("the command did not run as it should:\n%s", text)
	}
	if system := b.last().System; !strings.Contains(system[len(system)-1].Text, "Be brief.") {
		t.Error("the instructions are not behind the program's own prompt")
	}
	for kind, want := range map[event.Kind]int{event.Prompt: 0, event.ToolCall: 1, event.ToolResult: 1, event.Text: 1, event.Result: 1, event.Error: 0, event.Unknown: 0} {
		if got := b.of(kind); len(got) != want {
			t.Errorf("%d events %s, want %d: %+v", len(got), kind, want, got)
		}
	}
	entries := b.stored(out.SessionID, "")
	users, answers := 0, 0
	for _, e := range entries {
		switch e.Type {
		case "user":
			users++
		case "assistant":
			answers++
		}
	}
	if users != 2 || answers != 2 {
		t.Errorf("%d user entries and %d answers are stored", users, answers)
	}
	left, err := filepath.Glob(filepath.Join(b.config.TempDir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".claude")); err == nil {
		t.Error("the program left a folder in the workspace")
	}
}

func TestRun_resumes_in_another_process(t *testing.T) {
	b := newBench(t, says("First answer."))
	first := b.mustRun(harness.EndTurn)
	b.server.Enqueue(says("Second answer."))
	b.resume(first.SessionID, "And then?")
	second := b.mustRun(harness.EndTurn)
	if second.SessionID != first.SessionID {
		t.Errorf("the session changed from %s to %s", first.SessionID, second.SessionID)
	}
	if text := said(b.last()); !strings.Contains(text, "user: Do it.") || !strings.Contains(text, "First answer.") || !strings.Contains(text, "And then?") {
		t.Errorf("the history is not whole:\n%s", text)
	}
}
