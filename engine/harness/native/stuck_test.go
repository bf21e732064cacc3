package native_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// F-072
func TestStuck_patterns_are_warned_of_once_and_then_end_the_turn(t *testing.T) {
	same := func(int) api.Turn { return calls("Bash", input("command", "echo same")) }
	fail := func(int) api.Turn { return calls("Bash", input("command", "exit 1")) }
	swap := func(n int) api.Turn { return calls("Bash", input("command", fmt.Sprint("echo ", n%2))) }
	cases := map[string]struct {
		turn         func(n int) api.Turn
		warned, ends int // the request that has the warning, the answer after which it ends
		words        string
	}{
		"same result":    {same, 5, 6, "same result"},
		"same error":     {fail, 4, 5, "failed"},
		"back and forth": {swap, 7, 8, "alternated"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, &api.Options{Script: func(r api.Request) api.Turn { return c.turn(r.Turn()) }})
			out := b.mustRun(harness.Stuck)
			if !strings.Contains(out.Detail, c.words) || !strings.Contains(out.Detail, "Bash") || out.Turns != c.ends {
				t.Errorf("after %d turns: %q", out.Turns, out.Detail)
			}
			warnings := strings.Count(string(b.last().Body), "going in circles")
			first := strings.Contains(string(b.requests()[c.warned-1].Body), "going in circles")
			if warnings != 1 || !first || strings.Contains(string(b.requests()[c.warned-2].Body), "going in circles") {
				t.Errorf("%d warnings, in request %d: %v", warnings, c.warned, first)
			}
		})
	}
}

func TestStuck_progress_and_polling_are_not_stuck(t *testing.T) {
	b := newBench(t, nil)
	n := 0
	b.host("counts", false, func(tool.Call) tool.Result { n++; return tool.TextResult(fmt.Sprint(n)) })
	b.host("mcp__human__inbox", true, func(tool.Call) tool.Result { return tool.TextResult("nothing") })
	for range 10 {
		b.server.Enqueue(calls("counts", `{}`), calls("mcp__human__inbox", `{}`))
	}
	for range 10 {
		b.server.Enqueue(calls("mcp__human__inbox", `{}`))
	}
	b.server.Enqueue(says("Done."))
	b.mustRun(harness.EndTurn)
}

func TestStuck_who_heeds_the_warning_goes_on(t *testing.T) {
	b := newBench(t, &api.Options{Script: func(r api.Request) api.Turn {
		switch {
		case strings.Contains(r.Prompt(), "going in circles"):
			return calls("Bash", input("command", "echo other"))
		case r.Turn() > 8:
			return says("Done.")
		case r.Turn() > 5:
			return calls("Bash", input("command", fmt.Sprint("echo ", r.Turn())))
		}
		return calls("Bash", input("command", "echo same"))
	}})
	b.mustRun(harness.EndTurn)
}

func TestStuck_subagent_ends_with_the_pattern_in_its_result(t *testing.T) {
	b := team(t, once(dispatches(1)), func(api.Request) api.Turn { return calls("Bash", input("command", "exit 3")) })
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.Contains(got, "failed 5 times in a row") {
		t.Errorf("result: %q", got)
	}
}
