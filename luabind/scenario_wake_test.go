package luabind_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// steps are the labels that were run, in order of the accounts.
func steps(e engine.Ending) (labels []string) {
	for _, r := range e.Results {
		labels = append(labels, r.Step)
	}
	return labels
}

// prompted is what a step of easyModel was told.
func prompted(t *testing.T, e engine.Ending, label string) string {
	t.Helper()
	for _, r := range e.Results {
		if r.Step == label {
			return strings.TrimPrefix(r.Text, "worked: ")
		}
	}
	t.Errorf("%s did not run; %v", label, steps(e))
	return ""
}

// wake runs the starter and must come to its end.
func (st *studio) wake(options map[string]any) engine.Ending {
	st.t.Helper()
	ending, _, err := st.play(easyModel, options, nil)
	if err != nil || !ending.OK {
		st.t.Fatalf("%+v, %v", ending, err)
	}
	return ending
}

func TestClarify_42_a_complete_brief_on_disk_skips_and_fills(t *testing.T) {
	for options, want := range map[string]string{"": "next: next", "always_ask = true,": "clarify: p | next: next"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "brief.md"), []byte(brief), 0o644); err != nil {
			t.Fatal(err)
		}
		h := &echo{reply: func(turn harness.Turn) string {
			if turn.Step == "clarify" {
				return strings.ReplaceAll(brief, "a page", "another page")
			}
			return turn.Prompt
		}}
		p := playIn(t, dir, h, `
			local clarify = require("flower.clarify")
			return flower.workflow{ context = { _brief_missing = { "old" } }, steps = {
				clarify.clarify_step{ channel = flower.channel{}, brief_path = "brief.md", prompt = "p", `+options+` },
				flower.step{ name = "next", spec = flower.agent{ name = "a" }, prompt = function(ctx)
					assert(ctx._brief.complete and ctx._brief_missing == nil)
					assert(ctx.clarify:find("no frameworks", 1, true) and ctx.clarify:find(ctx._brief.goal, 1, true))
					return "next"
				end },
			} }`, nil)
		if got := strings.Join(h.asked(), " | "); p.err != nil || !p.ending.OK || got != want {
			t.Errorf("%s: %v %+v, asked %s", options, p.err, p.ending.Reason, got)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "brief.md"))
		if asked := options != ""; err != nil || strings.Contains(string(raw), "another page") != asked {
			t.Errorf("%s: the brief is %s (%v)", options, raw, err)
		}
	}
}

// TestClarify_the_questioning_goes_on_where_it_was_cut_off: what is asked of the
// session of an earlier run is to go on, not the prompt again; and no later step
// continues that session.
func TestClarify_the_questioning_goes_on_where_it_was_cut_off(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	options := map[string]any{"ask": "a page", "goal": false}
	ending, _, err := st.play(`return function() return "What for?" end`, options, nil)
	if err != nil || ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	ending, _, err = st.play(`
		local brief = [[`+brief+`]]
		return function(turn)
			if turn.step ~= "clarify" then return #turn.messages .. " messages: " .. turn.prompt end
			local goes_on = turn.prompt:find("do not start over", 1, true) and not turn.prompt:find("a page", 1, true)
			return goes_on and #turn.messages > 2 and brief or "asked anew: " .. turn.prompt
		end`, options, nil)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	for _, r := range ending.Results {
		if r.Step == "work" && !strings.HasPrefix(r.Text, "1 messages: ") {
			t.Errorf("the work saw %s", r.Text)
		}
	}
}

func TestWake_44_words_that_stand_there_already_change_nothing(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	st.wake(map[string]any{"ask": "a page"})
	brief, goal := st.read(".flower/notes/brief.md"), st.read(".flower/notes/goal.md")
	ending := st.wake(map[string]any{"ask": "no frameworks"})
	if slices.Contains(steps(ending), "goal") || st.read(".flower/notes/brief.md") != brief || st.read(".flower/notes/goal.md") != goal {
		t.Errorf("ran %v; the brief is\n%s", steps(ending), st.read(".flower/notes/brief.md"))
	}
	if text := prompted(t, ending, "work"); !strings.Contains(text, "Go on with the work") {
		t.Errorf("the work was told %s", text)
	}
}

func TestWake_46_a_fresh_session_gets_the_whole_with_the_new_words(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	st.wake(map[string]any{"ask": "a page"})
	if err := os.Remove(filepath.Join(st.dir, "runs", "lineage.json")); err != nil {
		t.Fatal(err)
	}
	text := prompted(t, st.wake(map[string]any{"ask": "also support X"}), "work")
	if !strings.Contains(text, "no frameworks") || !strings.Contains(text, "also support X") || !strings.Contains(text, "check of also support X") {
		t.Errorf("the work was told %s", text)
	}
}

func TestWake_several_more_things_are_all_kept(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	st.wake(map[string]any{"ask": "a page"})
	for _, more := range []string{"also support X", "in blue", "for children"} {
		ending := st.wake(map[string]any{"ask": more})
		if text := prompted(t, ending, "work"); !strings.Contains(text, more) || strings.Contains(text, "no frameworks") {
			t.Errorf("%s: the work was told %s", more, text)
		}
	}
	text := st.read(".flower/notes/brief.md")
	for _, want := range []string{"no frameworks", "also support X", "in blue", "for children"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s stands %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

func TestWake_48_isolate_outside_git_makes_nothing(t *testing.T) {
	st := &studio{t: t, dir: filepath.Join(t.TempDir(), "project")}
	if err := os.Mkdir(st.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ending, _, err := st.play(easyModel, map[string]any{"ask": "a page", "isolate": true}, nil)
	if err == nil || !strings.Contains(err.Error(), "git repository") || len(ending.Results) > 0 {
		t.Errorf("%+v, %v", ending, err)
	}
	beside, err := os.ReadDir(filepath.Dir(st.dir))
	if err != nil || len(beside) != 1 {
		t.Errorf("beside the workspace: %v, %v", beside, err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, ".flower")); !os.IsNotExist(err) {
		t.Errorf("a workbench was made: %v", err)
	}
}

func TestWake_50_the_probe_and_the_run_look_at_the_same_place(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		st := &studio{t: t, dir: filepath.Join(t.TempDir(), "project")}
		if err := os.MkdirAll(filepath.Join(st.dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		st.wake(map[string]any{"ask": "a page", "isolate": isolate, "goal": false})
		inside := filepath.Join(st.dir, ".flower", "notes", "brief.md")
		if _, err := os.Stat(inside); (err == nil) == isolate {
			t.Errorf("isolate %v: %s: %v", isolate, inside, err)
		}
		probe := "false"
		if isolate {
			probe = "true"
		}
		p := playIn(t, st.dir, &echo{}, `
			local state = require("flower.starter").wake_state{ isolate = `+probe+` }
			assert(state.waking and state.brief.bounds == "no frameworks" and state.woke == 1 and state.steps.work, flower.json.encode(state))
			assert(not require("flower.starter").wake_state{ isolate = not `+probe+` }.waking)`, nil)
		if p.err != nil {
			t.Errorf("isolate %v: %v", isolate, p.err)
		}
	}
}

func TestStarter_file_names_can_be_given(t *testing.T) {
	st := &studio{t: t, dir: t.TempDir()}
	options := map[string]any{"ask": "a page", "brief_path": "docs/what.md", "goal_path": "docs/done.md", "question_log": "docs/asked.md"}
	st.wake(options)
	if !strings.Contains(st.read("docs/what.md"), "no frameworks") || !strings.Contains(st.read("docs/done.md"), "check of the page") {
		t.Error("brief or goal is not where it was to be")
	}
	if ending := st.wake(options); slices.Contains(steps(ending), "clarify") {
		t.Errorf("woken, it ran %v", steps(ending))
	}
}
