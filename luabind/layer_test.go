package luabind_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/scripts"
	"github.com/flowerlua/flower/store"
)

// studio is a workspace in which the starter runs, process after process.
type studio struct {
	t   *testing.T
	dir string
}

// play runs the starter with a rehearsal; answer answers each question by its
// text, "" leaves it open until it is too late.
func (st *studio) play(model string, options map[string]any, answer func(question string) string) (engine.Ending, *events, error) {
	st.t.Helper()
	modelFile := filepath.Join(st.t.TempDir(), "model.lua")
	if err := os.WriteFile(modelFile, []byte(model), 0o644); err != nil {
		st.t.Fatal(err)
	}
	rehearsal, err := luabind.LoadRehearsal(modelFile, nil)
	if err != nil {
		st.t.Fatal(err)
	}
	defer rehearsal.Close()
	db, err := store.Open(filepath.Join(st.dir, "runs", "sessions"), nil)
	if err != nil {
		st.t.Fatal(err)
	}
	defer db.Close()
	seen := &events{}
	var rt *engine.Runtime
	sink := event.SinkFunc(func(e event.Event) {
		seen.Emit(e)
		if e.Kind == event.Ask && e.Payload["state"] == "asked" && answer != nil {
			if text := answer(e.Text); text != "" {
				rt.Channel().Answer(e.Payload["id"].(string), text)
			}
		}
	})
	rt, err = engine.New(engine.Config{Workspace: st.dir, Store: db, Harness: native.New(native.Config{Model: rehearsal}), Sink: sink})
	if err != nil {
		st.t.Fatal(err)
	}
	defer rt.Close()
	p, err := luabind.Load("starter.lua", scripts.Starter, &luabind.Options{Values: options})
	if err != nil {
		st.t.Fatal(err)
	}
	ending, err := p.Run(context.Background(), rt, nil)
	return ending, seen, err
}

func (st *studio) read(path string) string {
	st.t.Helper()
	raw, err := os.ReadFile(filepath.Join(st.dir, path))
	if err != nil {
		st.t.Error(err)
	}
	return string(raw)
}

const brief = `## Goal
a page

## Acceptance criteria
it opens

## Boundaries
no frameworks

## Unknowns and assumptions
none known
`

// studioModel asks two questions, sets a goal, and is judged not achieved twice.
const studioModel = `
local brief = [[` + brief + `]]
return function(turn)
  if turn.step == "clarify" then
    local asked = 0
    for _, m in ipairs(turn.messages) do asked = asked + #m.calls end
    if asked < 2 then
      return { tool = "mcp__human__ask", input = { question = "question " .. (asked + 1), options = { "one", "two" } } }
    end
    return brief
  elseif turn.step == "goal" then
    return "## Goal\nthe page opens\n\n## Checks\n- open it, see the title\n- [cannot verify here: no printer] print it\n"
  elseif turn.step:find("verdict", 1, true) then
    local round = tonumber(turn.step:match("#(%d+)"))
    if round < 3 then
      return "## Conclusion\nnot achieved\n\n## Reason\nround " .. round .. " lacks a title\n\n## Not passed\n- the title\n"
    end
    return "## Conclusion\nachieved\n\n## Reason\nit opens\n\n## Not passed\nnone\n"
  end
  return "worked: " .. turn.prompt
end
`

func TestStarter_from_an_empty_folder(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	var questions []string
	ending, seen, err := st.play(studioModel, map[string]any{"ask": "make me a page"}, func(q string) string {
		questions = append(questions, q)
		return "two"
	})
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	if strings.Join(questions, ",") != "question 1,question 2" {
		t.Errorf("questions %v", questions)
	}
	var labels []string
	for _, r := range ending.Results {
		labels = append(labels, r.Step)
	}
	want := "clarify goal work·verdict#1 work work·verdict#2 work#round2 work·verdict#3 work#round3"
	if got := strings.Join(labels, " "); !sameWords(got, want) {
		t.Errorf("labels %s", got)
	}
	if !strings.Contains(st.read(".flower/notes/brief.md"), "no frameworks") || !strings.Contains(st.read(".flower/notes/goal.md"), "see the title") {
		t.Error("brief or goal is not on disk")
	}
	if log := st.read(".flower/notes/qa.md"); !strings.Contains(log, "question 2") || !strings.Contains(log, "> two") {
		t.Errorf("log %s", log)
	}
	frozen := 0
	for _, text := range seen.texts(event.Task) {
		if strings.Contains(text, "1 of 2 checks cannot be verified") {
			frozen++
		}
	}
	if frozen != 1 {
		t.Errorf("the unverifiable checks were told %d times", frozen)
	}
	// The rejected rounds: the reason and the item, not the task again.
	for _, r := range ending.Results {
		if r.Step == "work#round2" && (!strings.Contains(r.Text, "lacks a title") || strings.Contains(r.Text, "no frameworks")) {
			t.Errorf("round 2 was told: %s", r.Text)
		}
	}
	lineage := st.read("runs/lineage.json")
	if strings.Contains(lineage, "verdict") || !strings.Contains(lineage, `"work"`) {
		t.Errorf("lineage %s", lineage)
	}
}

// sameWords compares two lists of words, in any order.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

const easyModel = `
return function(turn)
  if turn.step == "goal" then
    return "## Goal\nthe page opens\n\n## Checks\n- check of " .. (turn.prompt:match("also support X") or "the page") .. "\n"
  elseif turn.step:find("verdict", 1, true) then
    return "## Conclusion\nachieved\n"
  elseif turn.step == "clarify" then
    return [[` + brief + `]]
  end
  return "worked: " .. turn.prompt
end
`

func TestStarter_43_45_waking(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	if ending, _, err := st.play(easyModel, map[string]any{"ask": "a page"}, nil); err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	before := st.read(".flower/notes/brief.md")
	ending, _, err := st.play(easyModel, map[string]any{"ask": "also support X"}, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	after := st.read(".flower/notes/brief.md")
	if !strings.HasPrefix(after, before) || !strings.Contains(after[len(before):], "also support X") {
		t.Errorf("brief:\n%s", after)
	}
	steps := map[string]engine.Result{}
	for _, r := range ending.Results {
		steps[r.Step] = r
	}
	if _, ran := steps["clarify"]; ran {
		t.Error("clarify ran again")
	}
	if _, ran := steps["goal"]; !ran {
		t.Error("the goal was not derived again")
	}
	if text := steps["work"].Text; !strings.Contains(text, "also support X") || !strings.Contains(text, "check of also support X") || strings.Contains(text, "no frameworks") {
		t.Errorf("the work was told: %s", text)
	}
	// The same words again, and no words: nothing changes, the work goes on.
	for _, ask := range []string{"also support X", ""} {
		goal := st.read(".flower/notes/goal.md")
		ending, _, err := st.play(easyModel, map[string]any{"ask": ask}, nil)
		if err != nil || !ending.OK {
			t.Fatalf("%+v, %v", ending, err)
		}
		if st.read(".flower/notes/brief.md") != after || st.read(".flower/notes/goal.md") != goal {
			t.Errorf("%q changed a file", ask)
		}
		for _, r := range ending.Results {
			if r.Step == "goal" || r.Step == "work" && !strings.Contains(r.Text, "Go on with the work") {
				t.Errorf("%q: %s was told %s", ask, r.Step, r.Text)
			}
		}
	}
}

func TestStarter_47_new_archives_together(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	if _, _, err := st.play(easyModel, map[string]any{"ask": "a page"}, nil); err != nil {
		t.Fatal(err)
	}
	ending, _, err := st.play(easyModel, map[string]any{"ask": "another", "new": true}, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	archived, err := filepath.Glob(filepath.Join(st.dir, ".flower", "notes", "archive", "*", "*"))
	if err != nil || len(archived) != 4 {
		t.Errorf("archived %v, %v", archived, err)
	}
	if woke, _ := ending.Context.Get("_woke"); woke != 1.0 {
		t.Errorf("woke %v", woke)
	}
}

func TestStarter_says_what_is_missing(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	if _, _, err := st.play(easyModel, nil, nil); err == nil || !strings.Contains(err.Error(), "for example") {
		t.Errorf("%v", err)
	}
	if _, _, err := st.play(easyModel, map[string]any{"ask": "x", "isolate": true}, nil); err == nil || !strings.Contains(err.Error(), "git") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, ".flower")); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
	if _, _, err := st.play(easyModel, map[string]any{"ask": "x", "rounds": 0}, nil); err == nil || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("%v", err)
	}
}

func TestStarter_79_clarify_only_with_a_complete_brief_costs_nothing(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	if _, _, err := st.play(easyModel, map[string]any{"ask": "a page", "clarify_only": true}, nil); err != nil {
		t.Fatal(err)
	}
	manifest := st.read("runs/manifest.json")
	ending, _, err := st.play(easyModel, map[string]any{"clarify_only": true}, nil)
	if err != nil || !ending.OK || len(ending.Results) != 0 || st.read("runs/manifest.json") != manifest {
		t.Errorf("%+v, %v", ending, err)
	}
}

// judged makes a model whose verdict is the given text.
func judged(verdict string) string {
	return strings.Replace(easyModel, `"## Conclusion\nachieved\n"`, "[["+verdict+"]]", 1)
}

func TestGoal_31_33_unreachable_is_for_the_person(t *testing.T) {
	unreachable := "## Conclusion\ncannot be verified here\n\n## Reason\nno printer\n"
	for _, c := range []struct {
		answers []string
		ok      bool
		rounds  int
		told    string // the second round
	}{
		{[]string{"Accept it and go on"}, true, 1, ""},
		{[]string{"it does work, look at port 80", "Accept it and go on"}, true, 2, "it does work, look at port 80"},
		{[]string{"Change the goal", "only the screen", "Accept it and go on"}, true, 2, "only the screen"},
	} {
		st := &studio{t: t, dir: t.TempDir()}
		left := c.answers
		ending, _, err := st.play(judged(unreachable), map[string]any{"ask": "a page"}, func(string) string {
			next := left[0]
			left = left[1:]
			return next
		})
		if err != nil || ending.OK != c.ok {
			t.Fatalf("%v: %+v, %v", c.answers, ending, err)
		}
		rounds := 0
		for _, r := range ending.Results {
			if strings.HasPrefix(r.Step, "work") && !strings.Contains(r.Step, "verdict") {
				rounds++
				if rounds == 2 && !strings.Contains(r.Text, c.told) {
					t.Errorf("%v: round 2 was told %s", c.answers, r.Text)
				}
			}
		}
		if rounds != c.rounds {
			t.Errorf("%v: %d rounds", c.answers, rounds)
		}
		if c.told == "only the screen" && !strings.Contains(st.read(".flower/notes/goal.md"), "only the screen") {
			t.Error("the goal file was not amended")
		}
	}
}

func TestGoal_35_unreachable_without_an_answer_aborts(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	ending, _, err := st.play(judged("## Conclusion\nunverifiable\n\n## Reason\nno printer\n"), map[string]any{"ask": "a page", "max_asks": 0}, nil)
	if err != nil || ending.OK || !strings.Contains(ending.Aborted, "no printer") || !strings.Contains(ending.Aborted, "goal.md") {
		t.Errorf("%+v, %v", ending, err)
	}
}

func TestGoal_27_a_judge_that_fails_is_no_verdict(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	model := strings.Replace(easyModel, `return "## Conclusion\nachieved\n"`, `return { error = { status = 400, type = "invalid_request_error", message = "no" } }`, 1)
	ending, _, err := st.play(model, map[string]any{"ask": "a page", "rounds": 1}, nil)
	judges := 0
	for _, r := range ending.Results {
		if strings.Contains(r.Step, "verdict") {
			judges++
		}
	}
	if err != nil || ending.OK || judges != 2 {
		t.Errorf("%+v after %d judges, %v", ending, judges, err)
	}
}

func TestGoal_the_same_reason_without_new_work_stops(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	ending, _, err := st.play(judged("## Conclusion\nnot achieved\n\n## Reason\nno title\n"), map[string]any{"ask": "a page", "rounds": 9, "max_asks": 0}, nil)
	if err != nil || ending.OK || !strings.Contains(ending.Aborted, "no title") {
		t.Errorf("%+v, %v", ending, err)
	}
	rounds := 0
	for _, r := range ending.Results {
		if strings.HasPrefix(r.Step, "work·") {
			rounds++
		}
	}
	if rounds != 2 {
		t.Errorf("judged %d times", rounds)
	}
}

func TestGuard_in_Lua_denies_rewrites_and_changes_results(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model.lua")
	if err := os.WriteFile(model, []byte(`return function(turn)
  local last = turn.messages[#turn.messages]
  if #last.results > 0 then
    return last.results[1].text .. " | " .. last.results[2].text .. " | " .. last.results[3].text
  end
  return { calls = {
    { tool = "Bash", input = { command = "echo secret" } },
    { tool = "Bash", input = { command = "echo plain" } },
    { tool = "Bash", input = { command = "echo loud" } },
  } }
end`), 0o644); err != nil {
		t.Fatal(err)
	}
	rehearsal, err := luabind.LoadRehearsal(model, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rehearsal.Close()
	rt, _ := newRuntime(t, native.New(native.Config{Model: rehearsal}))
	p, err := luabind.Load("guards.lua", `
local function command(call) return call.input.command end
return flower.workflow{ steps = { flower.step{ name = "a", prompt = "go", spec = flower.agent{
  name = "a", allowed_tools = { "Bash" },
  hooks = {
    flower.guard{ on = "before", match = "Bash", check = function(call)
      if command(call):find("secret") then return false, "no secrets" end
      if command(call):find("plain") then return { command = "echo changed" } end
    end },
    flower.guard{ on = "after", match = { "Bash" }, check = function(call, reply)
      if reply.value:find("loud") then return reply.value:upper() end
    end },
  },
} } } }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	ending, err := p.Run(context.Background(), rt, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	if got := ending.Results[0].Text; !strings.Contains(got, "no secrets") || !strings.Contains(got, "changed") || !strings.Contains(got, "LOUD") {
		t.Errorf("text %q", got)
	}
}

func TestParallel_in_Lua(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	p, err := luabind.Load("parallel.lua", `
local a = flower.agent{ name = "a" }
return flower.workflow{ steps = {
  flower.parallel{
    flower.step{ name = "left", spec = a, prompt = "l" },
    flower.step{ name = "right", spec = a, prompt = "r" },
  },
  flower.step{ name = "both", spec = a, prompt = function(ctx) return ctx.left .. ctx.right end },
} }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	ending, err := p.Run(context.Background(), rt, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	if both, _ := ending.Context.Get("both"); both != "lr" {
		t.Errorf("both = %v", both)
	}
}
