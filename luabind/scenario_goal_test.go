package luabind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
)

// trial is a step called work under a goal guard, with a complete goal on disk. The
// judge says verdicts, one a round; each round changes the workspace.
type trial struct {
	verdicts []string
	channel  string // the channel's fields; "" is no channel
	guard    string // more options of the guard
	step     string // more fields of the step
	goal     string // of the file; "" is a complete one
	answer   func(question string) string
}

const completeGoal = "## Goal\nIt greets.\n\n## Checks\n- run it, see hello\n"

// tried is how it went.
type tried struct {
	played
	asked     []string // the harness: label and prompt
	questions []string
	seen      *events
}

// of are the prompts of one label.
func (tr tried) of(label string) (prompts []string) {
	for _, line := range tr.asked {
		if got, prompt, _ := strings.Cut(line, ": "); got == label {
			prompts = append(prompts, prompt)
		}
	}
	return prompts
}

func (c trial) run(t *testing.T) tried {
	t.Helper()
	dir := t.TempDir()
	goal := c.goal
	if goal == "" {
		goal = completeGoal
	}
	if err := os.WriteFile(filepath.Join(dir, "goal.md"), []byte(goal), 0o644); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	h := &echo{reply: func(turn harness.Turn) string {
		if strings.Contains(turn.Step, "·verdict#") {
			rounds++
			return c.verdicts[min(rounds, len(c.verdicts))-1]
		}
		if err := os.WriteFile(filepath.Join(dir, "made.txt"), fmt.Append(nil, turn.Step), 0o644); err != nil {
			t.Error(err)
		}
		return "worked"
	}}
	channel := ""
	if c.channel != "" {
		channel = "local channel = flower.channel{ " + c.channel + " }"
	}
	source := channel + `
		local goal = require("flower.goal")
		local work = flower.step{ name = "work", spec = flower.agent{ name = "coder" }, prompt = "Make it greet.", ` + c.step + ` }
		work = goal.with_goal(work, { goal_path = "goal.md", channel = channel, ` + c.guard + ` })
		return flower.workflow{ channel = channel, steps = { work } }`
	tr := tried{seen: &events{}}
	var rt *engine.Runtime
	rt, err := engine.New(engine.Config{Workspace: dir, Store: sharedStore(t), Harness: h, NoRetry: true, Sink: event.SinkFunc(func(e event.Event) {
		tr.seen.Emit(e)
		if e.Kind == event.Ask && e.Payload["state"] == "asked" {
			tr.questions = append(tr.questions, e.Text)
			if c.answer != nil {
				rt.Channel().Answer(e.Payload["id"].(string), c.answer(e.Text))
			}
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	program, err := luabind.Load("test.lua", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.dir = dir
	tr.ending, tr.err = program.Run(t.Context(), rt, nil)
	rt.Close()
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	tr.asked = h.asked()
	return tr
}

func (tr tried) goalFile(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(tr.dir, "goal.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const (
	notYet      = "## Conclusion\nnot achieved\n\n## Reason\nround %d says nothing\n\n## Not passed\n- the greeting\n"
	unreachable = "## Conclusion\ncannot be verified here\n\n## Reason\nno printer\n"
	achieved    = "## Conclusion\nachieved\n\n## Reason\nit greets\n"
)

func TestGoal_a_vague_ruling_is_another_round_and_never_a_pass(t *testing.T) {
	for _, vague := range []string{"", "Looks fine to me, thanks everybody!", "## Conclusion\nachieved, and not achieved\n", "## Conclusion\n\n## Reason\nnone\n"} {
		tr := trial{verdicts: []string{vague, achieved}}.run(t)
		again := tr.of("work#round2")
		if !tr.ending.OK || len(again) != 1 || !strings.Contains(again[0], "gave no clear conclusion") && !strings.Contains(again[0], "none") {
			t.Errorf("%q: %+v, asked %q", vague, tr.ending.Reason, tr.asked)
		}
	}
}

func TestGoal_rounds_are_bounded_and_the_last_ruling_fails_the_step(t *testing.T) {
	tr := trial{guard: "rounds = 2", verdicts: []string{fmt.Sprintf(notYet, 1), fmt.Sprintf(notYet, 2), achieved}}.run(t)
	if tr.ending.OK || tr.ending.FailedAt != "work" || !strings.Contains(tr.ending.Reason, "round 2 says nothing") || tr.ending.Aborted != "" {
		t.Errorf("%+v", tr.ending)
	}
	if got := len(tr.of("work·verdict#1")) + len(tr.of("work·verdict#2")); got != 2 || len(tr.asked) != 4 {
		t.Errorf("asked %q", tr.asked)
	}
	rounds, _ := tr.ending.Context.Get(engine.KeyGoalRounds)
	verdict, _ := tr.ending.Context.Get(engine.KeyVerdict)
	if rounds != 2.0 || verdict.(map[string]any)["state"] != "not_yet" {
		t.Errorf("%v rounds, verdict %v", rounds, verdict)
	}
}

func TestGoal_on_fail_of_the_step_holds_when_the_rounds_are_over(t *testing.T) {
	tr := trial{guard: "rounds = 1", step: `on_fail = "continue"`, verdicts: []string{fmt.Sprintf(notYet, 1)}}.run(t)
	if work, _ := tr.ending.Context.Get("work"); !tr.ending.OK || work != "worked" {
		t.Errorf("%+v, work = %v", tr.ending, work)
	}
}

func TestGoal_the_judge_gets_the_goal_and_nothing_of_the_work(t *testing.T) {
	tr := trial{verdicts: []string{fmt.Sprintf(notYet, 1), achieved}}.run(t)
	for _, line := range tr.asked {
		label, prompt, _ := strings.Cut(line, ": ")
		if !strings.Contains(label, "verdict") {
			continue
		}
		if !strings.Contains(prompt, "run it, see hello") || strings.Contains(prompt, "[session") || strings.Contains(prompt, "worked") {
			t.Errorf("%s was asked %s", label, prompt)
		}
	}
	lineage, err := os.ReadFile(filepath.Join(tr.dir, "runs", "lineage.json"))
	if err != nil || strings.Contains(string(lineage), "verdict") || !strings.Contains(string(lineage), `"work"`) {
		t.Errorf("lineage %s, %v", lineage, err)
	}
	booked := 0
	for _, r := range tr.ending.Results {
		if strings.HasPrefix(r.Step, "work·verdict#") {
			booked++
		}
	}
	if booked != 2 {
		t.Errorf("%d rulings in the accounts", booked)
	}
}

func TestGoal_that_is_incomplete_or_not_there_is_no_goal(t *testing.T) {
	for _, goal := range []string{"## Goal\nIt greets.\n", "nothing of the kind"} {
		tr := trial{goal: goal, verdicts: []string{achieved}}.run(t)
		if prompt := tr.of("work·verdict#1"); !tr.ending.OK || len(prompt) != 1 || !strings.Contains(prompt[0], "No goal was set") {
			t.Errorf("%q: the judge was asked %q", goal, prompt)
		}
	}
}

func TestGoal_30_the_question_says_why_and_offers_three_ways(t *testing.T) {
	var options []any
	tr := trial{channel: "timeout = 10", verdicts: []string{unreachable}, answer: func(q string) string {
		if !strings.Contains(q, "no printer") {
			t.Errorf("asked %q", q)
		}
		return "Accept it and go on"
	}}.run(t)
	for _, e := range tr.seen.list {
		if e.Kind == event.Ask && e.Payload["state"] == "asked" {
			options, _ = e.Payload["options"].([]any)
			if texts, ok := e.Payload["options"].([]string); ok {
				for _, text := range texts {
					options = append(options, text)
				}
			}
		}
	}
	if !tr.ending.OK || len(tr.questions) != 1 || len(options) != 3 {
		t.Errorf("%+v after %q with %v", tr.ending, tr.questions, options)
	}
	if work, _ := tr.ending.Context.Get("work"); work != "worked" {
		t.Errorf("work = %v", work)
	}
}

func TestGoal_32_a_changed_goal_is_appended_and_one_without_words_is_not(t *testing.T) {
	for name, c := range map[string]struct {
		second  string // "": not answered
		channel string
		told    string
	}{
		"words":    {"only on the screen", "timeout = 10", "The person changed the goal: only on the screen"},
		"no words": {"", "timeout = 10, max_asks = 1", "has not said which"},
	} {
		answers := []string{"Change the goal", c.second, "Accept it and go on"}
		tr := trial{channel: c.channel, guard: "rounds = 2", verdicts: []string{unreachable, achieved}, answer: func(string) string {
			next := answers[0]
			answers = answers[1:]
			return next
		}}.run(t)
		again := tr.of("work#round2")
		if !tr.ending.OK || len(again) != 1 || !strings.Contains(again[0], c.told) {
			t.Errorf("%s: %+v, round 2 was asked %q", name, tr.ending, again)
		}
		file := tr.goalFile(t)
		if changed := strings.Contains(file, "only on the screen"); changed != (c.second != "") || !strings.Contains(file, "It greets.") || !strings.Contains(file, "run it, see hello") {
			t.Errorf("%s: the goal is now\n%s", name, file)
		}
		if c.second == "" {
			if file != completeGoal {
				t.Errorf("the file changed:\n%s", file)
			}
			continue
		}
		goal, _ := tr.ending.Context.Get(engine.KeyGoal)
		if text := fmt.Sprint(goal); !strings.Contains(text, "only on the screen") {
			t.Errorf("_goal is %s", text)
		}
		if ruled := tr.of("work·verdict#2"); len(ruled) != 1 || !strings.Contains(ruled[0], "only on the screen") {
			t.Errorf("the second judge was asked %q", ruled)
		}
	}
}

func TestGoal_34_a_question_that_nobody_answers_aborts_with_the_reason_and_the_file(t *testing.T) {
	for name, channel := range map[string]string{"timeout": "timeout = 0.05", "nobody there": "timeout = 0", "over the quota": "max_asks = 0", "no channel": ""} {
		tr := trial{channel: channel, guard: "rounds = 5", verdicts: []string{unreachable}}.run(t)
		if tr.ending.OK || !strings.Contains(tr.ending.Aborted, "no printer") || !strings.Contains(tr.ending.Aborted, "goal.md") || len(tr.asked) != 2 {
			t.Errorf("%s: %+v, asked %q", name, tr.ending, tr.asked)
		}
	}
}

func TestGoal_38_without_a_runtime_nobody_judges(t *testing.T) {
	p := play(t, &echo{}, `
		local goal = require("flower.goal")
		local work = goal.with_goal(flower.step{ name = "work", spec = flower.agent{ name = "a" }, prompt = "p" }, { goal_path = "goal.md" })
		local ok, err = pcall(work.gate, { ok = true }, {})
		assert(not ok and err.code == "abort" and err.message:find("no runtime", 1, true), tostring(err))`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestGoal_step_36_an_incomplete_goal_leaves_the_old_file(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "goal.md"), []byte(completeGoal), 0o644); err != nil {
		t.Fatal(err)
	}
	h := &echo{reply: func(harness.Turn) string { return "## Goal\nanother, without checks\n" }}
	p := playIn(t, dir, h, `return flower.workflow{ steps = { require("flower.goal").goal_step{ goal_path = "goal.md", always_set = true } } }`, nil)
	raw, err := os.ReadFile(filepath.Join(dir, "goal.md"))
	if p.err != nil || p.ending.OK || err != nil || string(raw) != completeGoal {
		t.Errorf("%v %+v, the file is %s (%v)", p.err, p.ending, raw, err)
	}
	if asked := h.asked(); len(asked) != 2 || !strings.HasPrefix(asked[1], "goal#round2: Sections are missing or empty: ") {
		t.Errorf("asked %q", asked)
	}
}

func TestGoal_step_37_tells_of_checks_that_cannot_be_verified_once(t *testing.T) {
	for text, want := range map[string]int{
		"- [cannot verify here: no printer] print it\n- run it, see hello\n- [cannot verify here] ask a user\n": 2,
		"- run it, see hello\n": 0,
	} {
		h := &echo{reply: func(harness.Turn) string { return "## Goal\nIt greets.\n\n## Checks\n" + text }}
		rt, seen := newRuntime(t, h)
		program, err := luabind.Load("test.lua", `return flower.workflow{ steps = { require("flower.goal").goal_step{ goal_path = "notes/goal.md" } } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		ending, err := program.Run(t.Context(), rt, nil)
		rt.Close()
		if err != nil || !ending.OK {
			t.Fatalf("%+v, %v", ending, err)
		}
		var told []event.Event
		for _, e := range seen.list {
			if e.Kind == event.Task && e.Payload["unverifiable"] != nil {
				told = append(told, e)
			}
		}
		if want == 0 && len(told) != 0 || want > 0 && (len(told) != 1 || len(told[0].Payload["unverifiable"].([]any)) != want ||
			told[0].Payload["total"] != 3.0 || told[0].Payload["path"] != "notes/goal.md") {
			t.Errorf("%s: told %+v", text, told)
		}
	}
}

func TestGoal_step_carries_the_brief_or_says_that_there_is_none_and_what_the_machine_is(t *testing.T) {
	for before, want := range map[string]string{
		"":                                     "There is no brief",
		`context = { clarify = "THE BRIEF" },`: "THE BRIEF",
	} {
		h := &echo{reply: func(harness.Turn) string { return completeGoal }}
		p := play(t, h, `return flower.workflow{ `+before+` steps = { require("flower.goal").goal_step{ goal_path = "goal.md" } } }`, nil)
		asked := h.asked()
		if p.err != nil || !p.ending.OK || !strings.Contains(asked[0], want) || !strings.Contains(asked[0], "on the PATH: ") || !strings.Contains(asked[0], "not a git repository") {
			t.Errorf("%v, asked %q", p.err, asked)
		}
		if value, _ := p.ending.Context.Get("goal"); !strings.Contains(value.(string), "run it, see hello") {
			t.Errorf("goal = %v", value)
		}
	}
}
