package event_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
)

func TestLog_writes_what_an_operator_wants_to_know(t *testing.T) {
	var out bytes.Buffer
	sink := event.Log(slog.New(slog.NewTextHandler(&out, nil)))
	for _, e := range []event.Event{
		{Kind: event.Step, Run: "r1", Step: "fix", Payload: map[string]any{"total": 2, "index": 1, "list": []string{"x"}}},
		{Kind: event.Prompt, Text: "secret plan"}, {Kind: event.Text, Text: "secret words"}, {Kind: event.ToolResult, Text: "secret result"},
		{Kind: event.System, Text: "for debugging"},
		{Kind: event.Retry, Text: "overloaded", Step: "fix", Payload: map[string]any{"attempt": 2, "delay_s": 4.5}},
		{Kind: event.Error, Text: strings.Repeat("x", 1000)},
	} {
		sink.Emit(e)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || strings.Contains(out.String(), "secret") || strings.Contains(out.String(), "list") {
		t.Fatalf("logged:\n%s", out.String())
	}
	for i, want := range []string{"level=INFO msg=step kind=step run=r1 step=fix index=1 total=2", "level=WARN msg=overloaded kind=retry step=fix attempt=2 delay_s=4.5", "level=ERROR msg=xxx"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %s, want %s", i, lines[i], want)
		}
	}
	if len(lines[2]) > 700 {
		t.Errorf("a line has %d bytes", len(lines[2]))
	}
}
