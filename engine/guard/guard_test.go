package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/workbench"
)

func call(tool, input string) guard.Call {
	return guard.Call{ID: "toolu_1", Tool: tool, Input: json.RawMessage(input)}
}

func sub(c guard.Call) guard.Call {
	c.Agent = "a1"
	return c
}

func chain(gs ...guard.Guard) guard.Chain { return guard.Chain{Guards: gs} }

func denyAll(name string) guard.Guard {
	return guard.Before(name, func(context.Context, guard.Call) (guard.Decision, error) {
		return guard.Decision{Action: guard.Deny, Reason: "no, says " + name}, nil
	})
}

func rewrite(from, to string) guard.Guard {
	return guard.Before("rewrite", func(_ context.Context, c guard.Call) (guard.Decision, error) {
		if strings.Contains(string(c.Input), from) {
			return guard.Decision{Action: guard.Rewrite, Input: json.RawMessage(strings.ReplaceAll(string(c.Input), from, to))}, nil
		}
		return guard.Decision{}, nil
	})
}

func bench(t *testing.T) *workbench.Bench {
	t.Helper()
	b, err := workbench.Open("", t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestChain_first_denial_wins(t *testing.T) {
	v := chain(denyAll("one"), denyAll("two")).Before(context.Background(), call("Bash", `{}`))
	if !v.Denied || v.Guard != "one" || v.Reason != "no, says one" {
		t.Errorf("%+v", v)
	}
}

func TestChain_F076_a_rewritten_input_is_checked_again(t *testing.T) {
	noSecret := guard.Before("no secret", func(_ context.Context, c guard.Call) (guard.Decision, error) {
		if strings.Contains(string(c.Input), "secret") {
			return guard.Decision{Action: guard.Deny, Reason: "secret"}, nil
		}
		return guard.Decision{}, nil
	})
	v := chain(noSecret, rewrite("plain", "secret")).Before(context.Background(), call("Read", `{"file_path":"plain"}`))
	if !v.Denied || v.Guard != "no secret" {
		t.Errorf("a rewrite got past a denial: %+v", v)
	}
	v = chain(rewrite("a", "b"), rewrite("b", "c")).Before(context.Background(), call("Read", `{"x":"a"}`))
	if v.Denied || string(v.Input) != `{"x":"c"}` {
		t.Errorf("rewrites do not chain: %+v", v)
	}
}

func TestChain_rewrites_that_undo_each_other_end_in_a_denial(t *testing.T) {
	v := chain(rewrite("aa", "b"), rewrite("b", "ab"), rewrite("ab", "aaa")).Before(context.Background(), call("Read", `{"x":"aa"}`))
	if !v.Denied {
		t.Errorf("%+v", v)
	}
}

func TestChain_F077_a_guard_that_fails_hangs_or_panics_denies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		for name, check := range map[string]func(context.Context, guard.Call) (guard.Decision, error){
			"fails":  func(context.Context, guard.Call) (guard.Decision, error) { return guard.Decision{}, errors.New("boom") },
			"panics": func(context.Context, guard.Call) (guard.Decision, error) { panic("boom") },
			"hangs":  func(context.Context, guard.Call) (guard.Decision, error) { <-release; return guard.Decision{}, nil },
			"rubbish": func(context.Context, guard.Call) (guard.Decision, error) {
				return guard.Decision{Action: guard.Rewrite, Input: json.RawMessage("[")}, nil
			},
		} {
			reported := 0
			ch := chain(guard.Before(name, check))
			ch.Timeout = time.Second
			ch.OnError = func(string, guard.Call, error) { reported++ }
			v := ch.Before(t.Context(), call("Bash", `{}`))
			if !v.Denied || v.Guard != name || reported != 1 {
				t.Errorf("%s: %+v, reported %d times", name, v, reported)
			}
			if name == "hangs" && !strings.Contains(v.Reason, "timed out") {
				t.Errorf("the reason does not say that the guard timed out: %s", v.Reason)
			}
		}
	})
}

func TestChain_After_keeps_the_reply_of_a_guard_that_fails(t *testing.T) {
	bad := guard.After("bad", func(context.Context, guard.Call, guard.Reply) (guard.Reply, error) {
		return guard.Reply{Value: "spoiled"}, errors.New("boom")
	})
	loud := guard.After("loud", func(_ context.Context, _ guard.Call, r guard.Reply) (guard.Reply, error) {
		r.Value = strings.ToUpper(r.Value.(string))
		return r, nil
	})
	if r := chain(bad, loud, bad).After(context.Background(), call("Bash", `{}`), guard.Reply{Value: "out"}); r.Value != "OUT" {
		t.Errorf("%+v", r)
	}
}

func TestWhitelist_65(t *testing.T) {
	judge := guard.Agent{Name: "judge", AllowedTools: []string{"Read", "Glob", "Grep"}}
	can := judge
	can.AllowedTools = append([]string{"Bash"}, judge.AllowedTools...)
	cases := []struct {
		agent  guard.Agent
		call   guard.Call
		denied bool
	}{
		{judge, call("Bash", `{}`), true}, {judge, call("Write", `{}`), true}, {judge, call("Edit", `{}`), true},
		{judge, call("NotebookEdit", `{}`), true}, {judge, call("Read", `{}`), false},
		{judge, sub(call("Bash", `{}`)), false}, {judge, sub(call("Write", `{}`)), false},
		{can, call("Bash", `{}`), false}, {can, call("Write", `{}`), true},
	}
	for _, c := range cases {
		v := chain(guard.Standard(c.agent, nil, guard.Options{})...).Before(context.Background(), c.call)
		if v.Denied != c.denied {
			t.Errorf("%v %s agent %q: denied %v", c.agent.AllowedTools, c.call.Tool, c.call.Agent, v.Denied)
		}
		if v.Denied && (!strings.Contains(v.Reason, c.call.Tool) || !strings.Contains(v.Reason, "way round")) {
			t.Errorf("reason: %s", v.Reason)
		}
	}
}

func TestWhitelist_disallowed_tools_bar_subagents_too(t *testing.T) {
	a := guard.Agent{Name: "x", AllowedTools: []string{"Read", "Agent"}, DisallowedTools: []string{"WebFetch"}}
	if v := chain(guard.Standard(a, nil, guard.Options{})...).Before(context.Background(), sub(call("WebFetch", `{}`))); !v.Denied {
		t.Error("a subagent may call what is disallowed")
	}
}

func TestDelegate(t *testing.T) {
	lead := guard.Agent{Name: "lead", AllowedTools: []string{"Agent", "Read", "Bash"}, DelegateOnly: true, Glance: true}
	blind := lead
	blind.Glance = false
	cases := []struct {
		agent  guard.Agent
		call   guard.Call
		denied bool
	}{
		{lead, call("Bash", `{"command":"git status -s"}`), false},
		{lead, call("Bash", `{"command":"rm -rf x"}`), true},
		{lead, call("Bash", `{"command":"git status","run_in_background":true}`), true},
		{lead, call("Write", `{}`), true}, {lead, call("Edit", `{}`), true}, {lead, call("NotebookEdit", `{}`), true},
		{lead, call("Agent", `{}`), false}, {lead, call("WebFetch", `{}`), true},
		{lead, sub(call("Write", `{}`)), false}, {lead, sub(call("Bash", `{"command":"make"}`)), false},
		{blind, call("Bash", `{"command":"git status -s"}`), true},
	}
	for _, b := range []*workbench.Bench{nil, bench(t)} { // the wall stands without a workbench
		for _, c := range cases {
			v := chain(guard.Standard(c.agent, b, guard.Options{})...).Before(context.Background(), c.call)
			if v.Denied != c.denied {
				t.Errorf("%s %s: denied %v, want %v (%s)", c.call.Tool, c.call.Input, v.Denied, c.denied, v.Reason)
			}
		}
	}
}

func TestDelegate_says_what_to_do_instead(t *testing.T) {
	b := bench(t)
	lead := guard.Agent{Name: "lead", DelegateOnly: true, Glance: true, AllowedTools: []string{"Bash"}}
	v := chain(guard.Standard(lead, b, guard.Options{})...).Before(context.Background(), call("Bash", `{"command":"make test"}`))
	for _, part := range []string{"Agent", ".flower/artifacts"} {
		if !strings.Contains(v.Reason, part) {
			t.Errorf("the reason lacks %q: %s", part, v.Reason)
		}
	}
	zh := chain(guard.Standard(lead, b, guard.Options{Lang: "zh"})...).Before(context.Background(), call("Write", `{}`))
	if !strings.Contains(zh.Reason, "派一个工人") {
		t.Errorf("zh: %s", zh.Reason)
	}
}

func TestIsolate(t *testing.T) {
	var tasks []string
	a := guard.Agent{Name: "lead", AllowedTools: []string{"Agent"}, Isolated: []string{"coder"}}
	ch := chain(guard.Standard(a, nil, guard.Options{OnTask: func(_ guard.Call, text string) { tasks = append(tasks, text) }})...)
	cases := []struct{ in, want string }{
		{`{"subagent_type":"coder","prompt":"x"}`, `{"isolation":"worktree","prompt":"x","subagent_type":"coder"}`},
		{`{"subagent_type":"coder","isolation":null}`, `{"isolation":"worktree","subagent_type":"coder"}`},
		{`{"subagent_type":"reader"}`, `{"subagent_type":"reader"}`},
		{`{"subagent_type":"coder","cwd":"/x"}`, `{"subagent_type":"coder","cwd":"/x"}`},
		{`{"subagent_type":"coder","isolation":"none"}`, `{"subagent_type":"coder","isolation":"none"}`},
	}
	for _, c := range cases {
		if v := ch.Before(context.Background(), call("Agent", c.in)); v.Denied || string(v.Input) != c.want {
			t.Errorf("%s: %+v", c.in, v)
		}
	}
	if len(tasks) != 2 {
		t.Errorf("tasks %v", tasks)
	}
}

func TestIndex_follows_what_is_written(t *testing.T) {
	b := bench(t)
	ch := chain(guard.Standard(guard.Agent{Name: "x", AllowedTools: []string{"Write"}}, b, guard.Options{})...)
	path := filepath.Join(b.Scripts(), "run.sh")
	if err := os.WriteFile(path, []byte("# desc: runs it\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	index := func() string {
		raw, err := os.ReadFile(b.IndexFile())
		if err != nil {
			return ""
		}
		return string(raw)
	}
	input, err := json.Marshal(map[string]string{"file_path": "elsewhere.txt"})
	if err != nil {
		t.Fatal(err)
	}
	ch.After(context.Background(), call("Write", string(input)), guard.Reply{Value: "ok"})
	if strings.Contains(index(), "runs it") {
		t.Error("a write elsewhere refreshed the index")
	}
	if input, err = json.Marshal(map[string]string{"file_path": path}); err != nil {
		t.Fatal(err)
	}
	ch.After(context.Background(), call("Write", string(input)), guard.Reply{Value: "ok"})
	if !strings.Contains(index(), "runs it") {
		t.Errorf("index: %s", index())
	}
}

func TestSpill_67_only_texts_are_moved(t *testing.T) {
	b := bench(t)
	ch := chain(guard.Standard(guard.Agent{Name: "x"}, b, guard.Options{})...)
	long := strings.Repeat("目", 5000)
	images := []any{map[string]any{"type": "image", "data": strings.Repeat("x", 9000)}}
	r := ch.After(context.Background(), call("Bash", `{"command":"x"}`), guard.Reply{Value: map[string]any{"stdout": long, "code": 0.0, "images": images}})
	out := r.Value.(map[string]any)
	if diff := cmp.Diff(map[string]any{"code": 0.0, "images": images}, map[string]any{"code": out["code"], "images": out["images"]}); diff != "" {
		t.Error(diff)
	}
	stdout := out["stdout"].(string)
	first, rest, _ := strings.Cut(stdout, "\n")
	if rest != strings.Repeat("目", 400) || !strings.Contains(first, "5000") {
		t.Errorf("pointer %q, %d characters follow", first, len([]rune(rest)))
	}
	files, err := filepath.Glob(filepath.Join(b.Spills(), "*.txt"))
	if err != nil || len(files) != 1 || len(filepath.Base(files[0])) != 16+4 {
		t.Fatalf("files %v, %v", files, err)
	}
	if raw, err := os.ReadFile(files[0]); err != nil || string(raw) != long {
		t.Errorf("the file does not hold the text: %v", err)
	}
	if !strings.Contains(first, b.Shown(files[0])) {
		t.Errorf("the pointer does not name the file: %s", first)
	}
	// Reading it back is not spilled again, by either path.
	for _, path := range []string{files[0], b.Shown(files[0])} {
		input, err := json.Marshal(map[string]string{"command": "cat " + path})
		if err != nil {
			t.Fatal(err)
		}
		if r := ch.After(context.Background(), call("Bash", string(input)), guard.Reply{Value: long}); r.Value != long {
			t.Errorf("%s was spilled again", path)
		}
	}
}

func TestSpill_thresholds_and_tools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	long, short := strings.Repeat("x", 4000), strings.Repeat("x", 3999)
	cases := []struct {
		o       guard.Options
		call    guard.Call
		text    string
		spilled bool
	}{
		{guard.Options{SpillDir: dir}, call("Grep", `{}`), long, true},
		{guard.Options{SpillDir: dir}, call("Grep", `{}`), short, false},
		{guard.Options{SpillDir: dir}, call("Read", `{}`), long, false},
		{guard.Options{SpillDir: dir}, call("mcp__db__query", `{}`), long, true},
		{guard.Options{SpillDir: dir}, call("mcp__human__ask", `{}`), long, false},
		{guard.Options{SpillDir: dir}, sub(call("Bash", `{}`)), long, true},
		{guard.Options{SpillDir: dir, SpillMainOnly: true}, sub(call("Bash", `{}`)), long, false},
		{guard.Options{SpillDir: dir, SpillThreshold: -1}, call("Bash", `{}`), long, false},
		{guard.Options{SpillDir: dir, SpillThreshold: 10}, call("Bash", `{}`), short, true},
		{guard.Options{}, call("Bash", `{}`), long, false},
	}
	for i, c := range cases {
		r := chain(guard.Standard(guard.Agent{Name: "x"}, nil, c.o)...).After(context.Background(), c.call, guard.Reply{Value: c.text})
		if got := r.Value != c.text; got != c.spilled {
			t.Errorf("case %d: spilled %v", i, got)
		}
	}
}
