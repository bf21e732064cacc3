package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// repository makes the bench's folder a git repository with one commit.
func (b *bench) repository() {
	b.t.Helper()
	b.dir = filepath.Join(b.dir, "repo")
	b.turn.Agent.Workspace = b.dir
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.email", "t@example.com"}, {"config", "user.name", "t"},
		{"commit", "-q", "--allow-empty", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.t.Fatalf("git %v: %s", args, out)
		}
	}
}

// F-091
func TestSubagent_worktree_with_work_is_kept_and_an_empty_one_removed(t *testing.T) {
	cases := map[string]struct {
		command string
		kept    string
	}{
		"nothing":      {"true", ""},
		"uncommitted":  {"echo x > new.txt", "1 uncommitted files"},
		"committed":    {"echo x > new.txt && git add . && git commit -q -m work", "commits that no other branch has"},
		"merged":       {"echo x > new.txt && git add . && git commit -q -m work && git branch elsewhere", ""},
		"both":         {"echo x > a && git add . && git commit -q -m work && echo y > b", "uncommitted files and commits"},
		"ignored only": {"mkdir -p .git2 && rmdir .git2", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := team(t, once(calls("Agent", input("description", "d", "prompt", "P", "subagent_type", "coder", "isolation", "worktree"))),
				func(r api.Request) api.Turn {
					if r.Turn() == 1 {
						return calls("Bash", input("command", "pwd; "+c.command))
					}
					return says("I was in " + strings.TrimSpace(results(r)[0]))
				})
			b.repository()
			b.mustRun(harness.EndTurn)
			report := results(b.last())[0]
			trees, _ := filepath.Glob(filepath.Join(filepath.Dir(b.dir), ".flower-repo", "worktrees", "agent-*"))
			if c.kept == "" {
				if len(trees) != 0 || !strings.Contains(report, "no changes and was removed") {
					t.Errorf("left: %v, report %q", trees, report)
				}
				return
			}
			if len(trees) != 1 || !strings.Contains(report, c.kept) || !strings.Contains(report, trees[0]) {
				t.Errorf("left: %v, report %q, want %q", trees, report, c.kept)
			}
		})
	}
}

func TestSubagent_worktree_is_found_again_at_resume(t *testing.T) {
	b := team(t, func(r api.Request) api.Turn {
		switch r.Turn() {
		case 1:
			return calls("Agent", input("description", "d", "prompt", "P", "subagent_type", "coder", "isolation", "worktree"))
		case 2:
			return calls("Agent", input("description", "d", "prompt", "Q", "resume", idInReport.FindStringSubmatch(results(r)[0])[1]))
		}
		return says("Done.")
	}, func(r api.Request) api.Turn {
		if len(r.Results()) > 0 {
			return says("R: " + results(r)[0])
		}
		if r.Prompt() == "P" {
			return calls("Bash", input("command", "echo mine > f"))
		}
		return calls("Bash", input("command", "cat f; git branch --show-current"))
	})
	b.repository()
	b.mustRun(harness.EndTurn)
	if got := results(b.last())[0]; !strings.Contains(got, "mine\nflower/agent-") {
		t.Errorf("report: %q", got)
	}
}

func TestSubagent_isolated_worker_gets_a_worktree_by_itself(t *testing.T) {
	b := team(t, once(dispatches(2)), func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("Bash", input("command", "pwd > where.txt; cat where.txt"))
		}
		return says("In " + results(r)[0])
	})
	b.repository()
	w := b.turn.Agent.Workers["coder"]
	w.Isolate = true
	b.turn.Agent.Workers["coder"] = w
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if !strings.Contains(got[0], ".flower-repo/worktrees/agent-") || got[0] == got[1] {
		t.Errorf("reports: %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "where.txt")); err == nil {
		t.Error("the subagent wrote into the workspace itself")
	}
}

// F-092
func TestSubagent_worktree_is_not_removed_while_another_works_in_it(t *testing.T) {
	dir := make(chan string, 1)
	leave := make(chan struct{})
	b := team(t, func(r api.Request) api.Turn {
		if r.Turn() > 1 {
			return says("Done.")
		}
		return calls(
			"Agent", input("description", "d", "prompt", "OWNER", "subagent_type", "coder", "isolation", "worktree"),
			"Agent", input("description", "d", "prompt", "HOST", "subagent_type", "coder"))
	}, func(r api.Request) api.Turn {
		text := r.Messages[0].Content[0].Text
		switch {
		case text == "OWNER" && r.Turn() == 1:
			return calls("Bash", input("command", "pwd"))
		case text == "OWNER":
			dir <- strings.TrimSpace(results(r)[0])
			<-leave // until the guest is there
			return says("Nothing done.")
		case text == "HOST" && r.Turn() == 1:
			return calls("Agent", input("description", "d", "prompt", "GUEST", "subagent_type", "coder", "cwd", <-dir))
		case text == "GUEST" && r.Turn() == 1:
			close(leave)
			return calls("Bash", input("command", "sleep 0.3; pwd; ls -d ."))
		}
		return says("Saw: " + results(r)[0])
	})
	b.repository()
	w := b.turn.Agent.Workers["coder"]
	w.Tools = append(w.Tools, "Agent")
	b.turn.Agent.Workers["coder"] = w
	b.config.MaxDepth = 2
	b.mustRun(harness.EndTurn)
	got := results(b.last())
	if !strings.Contains(got[0], "another subagent works in it") || !strings.Contains(got[1], "worktrees/agent-") {
		t.Errorf("reports: %q", got)
	}
}
