package luabind_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
)

// inLanguage runs a script in a language; answer is the person.
func inLanguage(t *testing.T, lang string, h harness.Harness, source, answer string) played {
	t.Helper()
	seen := &events{}
	var rt *engine.Runtime
	rt, err := engine.New(engine.Config{Workspace: t.TempDir(), Store: sharedStore(t), Harness: h, Lang: lang, NoRetry: true,
		Sink: event.SinkFunc(func(e event.Event) {
			seen.Emit(e)
			if e.Kind == event.Ask && e.Payload["state"] == "asked" {
				rt.Channel().Answer(e.Payload["id"].(string), answer)
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	program, err := luabind.Load("test.lua", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := played{}
	p.ending, p.err = program.Run(t.Context(), rt, nil)
	rt.Close()
	p.printed = seen.texts(event.Task)
	return p
}

// TestGoal_a_judge_that_repeats_itself: only the person's Stop ends the run; other
// words reach the one who works.
func TestGoal_a_judge_that_repeats_itself(t *testing.T) {
	for _, c := range []struct {
		lang, answer string
		stops        bool
		told         string // the third round, behind the reason
	}{
		{"en", "Go on", false, ""},
		{"en", "go on", false, ""},
		{"en", "yes, go on", false, "The person says: yes, go on"},
		{"en", "don't stop, the title is in head.html", false, "The person says: don't stop, the title is in head.html"},
		{"en", "Stop", true, ""},
		{"en", "stop.", true, ""},
		{"zh", "继续", false, ""},
		{"zh", "继续吧", false, "对方说：继续吧"},
		{"zh", "停下", true, ""},
	} {
		ruled := 0
		h := &echo{reply: func(turn harness.Turn) string {
			if !strings.Contains(turn.Step, "#1") && !strings.Contains(turn.Step, "#2") && strings.Contains(turn.Step, "·") {
				return "## Conclusion\nachieved\n"
			}
			if strings.Contains(turn.Step, "·") {
				ruled++
				return "## Conclusion\nnot achieved\n\n## Reason\nno title\n"
			}
			return "worked"
		}}
		p := inLanguage(t, c.lang, h, `
			local channel = flower.channel{ timeout = 10 }
			local work = flower.step{ name = "work", spec = flower.agent{ name = "coder" }, prompt = "Make it greet." }
			work = require("flower.goal").with_goal(work, { goal_path = "goal.md", channel = channel })
			return flower.workflow{ channel = channel, steps = { work } }`, c.answer)
		if p.err != nil || p.ending.OK == c.stops || (p.ending.Aborted != "") != c.stops || ruled != 2 {
			t.Errorf("%s %q: %v %+v, ruled %d times", c.lang, c.answer, p.err, p.ending, ruled)
		}
		if c.stops {
			continue
		}
		told := ""
		for _, line := range h.asked() {
			if strings.HasPrefix(line, "work#round3: ") {
				told = line
			}
		}
		if !strings.Contains(told, "no title") || !strings.Contains(told, c.told) || c.told == "" && (strings.Contains(told, "person says") || strings.Contains(told, "对方说")) {
			t.Errorf("%s %q: round 3 was told %q", c.lang, c.answer, told)
		}
	}
}
