package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// worktree is a git worktree that a subagent works in.
type worktree struct {
	root   string // of the repository it was made from
	path   string
	branch string
}

// gitTime bounds one command of git.
const gitTime = time.Minute

// enter makes the subagent's worktree, or finds it again, and holds it; nil when
// it has none.
func (s *subagent) enter(ctx context.Context) (tree *worktree, why string) {
	r := s.parent.run
	if s.from.Worktree == "" && !s.fresh {
		r.hold(s.from.Dir, 1)
		return nil, ""
	}
	r.git.Lock()
	defer r.git.Unlock()
	root, err := git(ctx, r.turn.Agent.Workspace, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Sprintf("A worktree needs a git repository, and %s is in none. Dispatch without isolation.", r.turn.Agent.Workspace)
	}
	tree = &worktree{root: root, branch: "flower/agent-" + s.id,
		path: filepath.Join(filepath.Dir(root), ".flower-"+filepath.Base(root), "worktrees", "agent-"+s.id)}
	if !isDir(tree.path) {
		if _, err := git(ctx, root, "worktree", "prune"); err != nil {
			return nil, fmt.Sprintf("The worktree could not be made: %v.", err)
		}
		args := []string{"worktree", "add", "-b", tree.branch, tree.path, "HEAD"}
		if _, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "refs/heads/"+tree.branch); err == nil {
			args = []string{"worktree", "add", tree.path, tree.branch}
		}
		if _, err := git(ctx, root, args...); err != nil {
			return nil, fmt.Sprintf("The worktree could not be made (a repository without a commit has nothing to make it of): %v.", err)
		}
	}
	if s.fresh {
		s.from.Dir = filepath.Join(tree.path, below(root, s.from.Dir))
		if !isDir(s.from.Dir) { // the folder is not in the repository
			s.from.Dir = tree.path
		}
	}
	s.from.Worktree = tree.path
	r.hold(s.from.Dir, 1)
	return tree, ""
}

// leave lets go of the subagent's folder. A worktree is removed when nobody works
// in it and there is nothing in it that is not somewhere else; note says what
// became of it.
func (s *subagent) leave(ctx context.Context, tree *worktree) (note string) {
	r := s.parent.run
	r.hold(s.from.Dir, -1)
	if tree == nil {
		return ""
	}
	ctx = context.WithoutCancel(ctx)
	r.git.Lock()
	defer r.git.Unlock()
	kept := fmt.Sprintf("\n[its worktree is %s, branch %s", tree.path, tree.branch)
	if r.held(tree.path) {
		return kept + "; another subagent works in it]"
	}
	what, err := tree.work(ctx)
	switch {
	case err != nil:
		return kept + "; it was kept, since git could not tell what is in it]"
	case what != "":
		return kept + "; it has " + what + "]"
	}
	if _, err := git(ctx, tree.root, "worktree", "remove", tree.path); err != nil {
		return kept + "; it was kept, since git would not remove it]"
	}
	// Every commit of it is on another branch, or it has none of its own.
	if _, err := git(ctx, tree.root, "branch", "-D", tree.branch); err != nil {
		return "\n[its worktree had no changes and was removed; the branch " + tree.branch + " is left]"
	}
	return "\n[its worktree had no changes and was removed]"
}

// work says what is in the worktree and nowhere else; empty when there is nothing.
func (w *worktree) work(ctx context.Context) (string, error) {
	status, err := git(ctx, w.path, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	head, err := git(ctx, w.path, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	refs, err := git(ctx, w.path, "for-each-ref", "--contains", head, "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return "", err
	}
	others := slices.DeleteFunc(strings.Fields(refs), func(ref string) bool { return ref == "refs/heads/"+w.branch })
	var parts []string
	if status != "" {
		parts = append(parts, fmt.Sprintf("%d uncommitted files", strings.Count(status, "\n")+1))
	}
	if len(others) == 0 {
		parts = append(parts, "commits that no other branch has")
	}
	return strings.Join(parts, " and "), nil
}

// hold counts who works in the worktree that dir is in, or will no more.
func (r *run) hold(dir string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folders[dir] += n
	if r.folders[dir] <= 0 {
		delete(r.folders, dir)
	}
}

// held reports whether anybody works in path or below.
func (r *run) held(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for dir := range r.folders {
		if within(dir, []string{path}) {
			return true
		}
	}
	return false
}

// allWorktrees are the folders that hold worktrees of the workspace's repository.
func (r *run) allWorktrees() []string {
	for dir := r.turn.Agent.Workspace; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return []string{filepath.Join(filepath.Dir(dir), ".flower-"+filepath.Base(dir), "worktrees")}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// git runs a command of git in dir and returns what it printed, trimmed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") // of another repository, when a hook started us
	})
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0")
	var out, diagnostic bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostic
	if err := cmd.Run(); err != nil {
		if s := strings.TrimSpace(diagnostic.String()); s != "" {
			return "", errors.New(cutText(s, 500))
		}
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// within reports whether path, links resolved, is one of the roots or below one.
func within(path string, roots []string) bool {
	path = resolved(path)
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(resolved(root), path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// below is dir relative to root; the root itself when it is not below.
func below(root, dir string) string {
	rel, err := filepath.Rel(resolved(root), resolved(dir))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "."
	}
	return rel
}
