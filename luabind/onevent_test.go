package luabind_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

func TestRuntimeRun_tells_the_script_of_events(t *testing.T) {
	h := &echo{reply: func(turn harness.Turn) string {
		turn.Sink.Emit(event.Event{Kind: event.ToolCall, Tool: "Bash", Text: "ls", Payload: map[string]any{"n": 1}})
		return "fine"
	}}
	p := play(t, h, `
		local seen = {}
		flower.runtime:run(flower.agent{ name = "a" }, "go", { on_event = function(e)
			seen[#seen + 1] = e.kind .. " " .. (e.tool or "-") .. " " .. tostring(e.payload and e.payload.n)
			if e.kind == "tool_call" then error("it broke") end
		end })
		for _, line in ipairs(seen) do print(line) end`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	sameLines(t, "events", p.printed, "prompt - nil", "tool_call Bash 1", "result - nil")
	if len(p.errors) != 1 || !strings.Contains(p.errors[0], "on_event: ") || !strings.Contains(p.errors[0], "it broke") {
		t.Errorf("errors %q", p.errors)
	}
}
