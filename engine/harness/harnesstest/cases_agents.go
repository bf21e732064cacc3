package harnesstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

type (
	request = api.Request
	turn    = api.Turn
)

// dispatching makes the agent one that sends a coder to run a command; the coder
// then says the report.
func (r *rig) dispatching(command, report string) {
	r.turn.Agent.AllowedTools = []string{"Agent", "Bash"}
	r.turn.Agent.Workers = map[string]harness.Worker{"coder": {Description: "Writes code.", Prompt: "You are the coder of this test.", Tools: []string{"Bash"}}}
	r.says(func(q request) turn {
		coder, answered := strings.Contains(system(q), "You are the coder"), len(q.Results()) > 0
		switch {
		case coder && answered:
			return text(report)
		case coder:
			return calls("Bash", bash(command))
		case answered:
			return text("Done.")
		}
		return calls("Agent", object("description", "code it", "prompt", "TASK ONE", "subagent_type", "coder"))
	})
}

// reports are the requests of the main thread and of the coder.
func (r *rig) sides() (main, coder []request) {
	for _, q := range r.requests() {
		if strings.Contains(system(q), "You are the coder") {
			coder = append(coder, q)
		} else {
			main = append(main, q)
		}
	}
	return main, coder
}

func aSubagentReports(r *rig) {
	r.dispatching("echo worked-$((20+1))", "REPORT: all is well.")
	out := r.mustRun(harness.EndTurn)
	main, coder := r.sides()
	r.has(conversation(main[len(main)-1]), "REPORT: all is well.")
	r.has(conversation(coder[len(coder)-1]), "TASK ONE", "worked-21")
	r.hasNot(conversation(coder[0]), "Do it.")
	if out.Text != "Done." {
		r.Errorf("the text is %q; a subagent's words are not the outcome", out.Text)
	}
	if u := out.Usage; u.Main.Dispatches != 1 || u.Main.Turns != 2 || u.Sub.Turns != 2 || u.Sub.ToolCalls != 1 || u.Sub.Tokens.Output == 0 || u.Main.Tokens.Output == 0 {
		r.Errorf("usage = %+v", u)
	}
	subs := 0
	for info, err := range r.store.List(r.Context(), transcript.Key{Project: project, Session: out.SessionID}) {
		if err != nil {
			r.Fatal(err)
		}
		if info.Key.Sub != "" && info.Head.Count >= 4 {
			subs++
		}
	}
	if subs != 1 {
		r.Errorf("%d transcripts of subagents are stored", subs)
	}
	spoken := false
	for _, e := range r.of(event.Text) {
		spoken = spoken || e.Subagent != "" && e.Text == "REPORT: all is well."
	}
	if !spoken {
		r.Error("no event has the subagent's words with its id")
	}
}

func guardsHoldForSubagents(r *rig) {
	r.dispatching("touch made.txt", "REPORT: it was denied.")
	r.turn.Guards = guards(denies(func(c guard.Call) bool { return c.Tool == "Bash" && !c.MainThread() && c.AgentRole == "coder" }, "not even for a coder"))
	r.mustRun(harness.EndTurn)
	_, coder := r.sides()
	r.has(conversation(coder[len(coder)-1]), "not even for a coder")
	r.missing("made.txt")
}

// git runs git in the workspace.
func (r *rig) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func anIsolatedWorker(r *rig) {
	r.git("init", "-q")
	if err := os.WriteFile(filepath.Join(r.dir, "file.txt"), []byte("x\n"), 0o644); err != nil {
		r.Fatal(err)
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	r.dispatching("pwd; echo new > new.txt", "REPORT: written.")
	w := r.turn.Agent.Workers["coder"]
	w.Isolate = true
	r.turn.Agent.Workers["coder"] = w
	r.mustRun(harness.EndTurn)
	main, coder := r.sides()
	r.missing("new.txt")
	r.hasNot(conversation(coder[len(coder)-1]), "user: "+r.dir+"\n")
	r.has(conversation(main[len(main)-1]), "worktree")
	if n := strings.Count(r.git("worktree", "list"), "\n"); n != 2 {
		r.Errorf("worktrees: %s", r.git("worktree", "list"))
	}
	if s := r.git("status", "--porcelain"); s != "" {
		r.Errorf("the main tree is not clean: %s", s)
	}
}

// aWorkersLimits: one turn, and an effort of its own.
func aWorkersLimits(r *rig) {
	r.dispatching("touch once.txt", "REPORT: more than one turn.")
	w := r.turn.Agent.Workers["coder"]
	w.MaxTurns, w.Effort = 1, "low"
	r.turn.Agent.Workers["coder"], r.turn.Agent.Effort = w, "high"
	r.turn.Agent.Model = "claude-opus-4-8" // one whose effort can be set
	r.mustRun(harness.EndTurn)
	main, coder := r.sides()
	if len(coder) != 1 {
		r.Errorf("the worker had %d turns", len(coder))
	}
	if _, err := os.Stat(filepath.Join(r.dir, "once.txt")); err != nil {
		r.Error(err)
	}
	r.has(string(coder[0].Body), `"effort":"low"`)
	r.has(string(main[0].Body), `"effort":"high"`)
	r.hasNot(conversation(main[len(main)-1]), "REPORT")
}
