package engine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// judging is a directory with a workspace to judge.
func judging(t *testing.T, git bool) *bench {
	t.Helper()
	b := newBench(t)
	b.dir = filepath.Join(b.dir, "workspace")
	for name, content := range map[string]string{"main.txt": "made", "build/out": "ignored output", ".gitignore": "build\n", ".flower/notes/goal.md": "g"} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if git {
		runGit(t, b.dir, "init", "-q")
		runGit(t, b.dir, "add", "main.txt")
		runGit(t, b.dir, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "first")
	}
	return b
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestJudge_that_runs_works_in_a_copy_that_is_removed(t *testing.T) {
	for _, git := range []bool{true, false} {
		b := judging(t, git)
		var dir string
		p := b.start(answer{do: func(_ context.Context, turn harness.Turn) {
			dir = turn.Agent.Workspace
			if raw, err := os.ReadFile(filepath.Join(dir, "build", "out")); err != nil || string(raw) != "ignored output" {
				t.Errorf("what git ignores is not in the copy: %v", err)
			}
			for _, left := range []string{"runs", ".flower"} {
				if _, err := os.Stat(filepath.Join(dir, left)); !os.IsNotExist(err) {
					t.Errorf("%s is in the copy", left)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "main.txt"), []byte("changed by the judge"), 0o644); err != nil {
				t.Error(err)
			}
			if git {
				runGit(t, dir, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qam", "judge")
			}
		}})
		r, err := p.Run(context.Background(), engine.Judge("judge", engine.RoleOptions{CanRun: true}), "judge", engine.RunOptions{})
		if err != nil || !r.OK {
			t.Errorf("git %v: %+v, %v", git, r, err)
		}
		if dir == b.dir || dir == "" {
			t.Errorf("the judge worked in %s", dir)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(b.dir), ".flower-copy-*")); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		if raw, err := os.ReadFile(filepath.Join(b.dir, "main.txt")); err != nil || string(raw) != "made" {
			t.Errorf("the original is %q, %v", raw, err)
		}
	}
}

func TestJudge_a_changed_original_voids_the_verdict(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"file": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "main.txt"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"ref": func(t *testing.T, dir string) { runGit(t, dir, "branch", "sneaky") },
	} {
		b := judging(t, true)
		p := b.start(answer{text: "achieved", do: func(context.Context, harness.Turn) { change(t, b.dir) }})
		r, err := p.Run(context.Background(), engine.Judge("judge", engine.RoleOptions{CanRun: true}), "judge", engine.RunOptions{})
		if err != nil || r.OK || !strings.Contains(r.Error, "void") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestJudge_in_a_linked_worktree_gets_a_repository_of_its_own(t *testing.T) {
	b := judging(t, true)
	linked := filepath.Join(filepath.Dir(b.dir), "linked")
	runGit(t, b.dir, "worktree", "add", "-q", linked)
	p := b.startWith(engine.Config{Workspace: linked}, answer{do: func(_ context.Context, turn harness.Turn) {
		runGit(t, turn.Agent.Workspace, "branch", "only-in-the-copy")
	}})
	r, err := p.Run(context.Background(), engine.Judge("judge", engine.RoleOptions{CanRun: true}), "judge", engine.RunOptions{})
	if err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestJudge_copies_of_dead_processes_are_removed(t *testing.T) {
	b := judging(t, false)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(filepath.Dir(b.dir), ".flower-copy-"+strconv.Itoa(gone.Process.Pid)+"-1")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	p := b.start()
	if _, err := p.Run(context.Background(), engine.Judge("judge", engine.RoleOptions{CanRun: true}), "judge", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale copy is still there: %v", err)
	}
}
