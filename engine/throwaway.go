package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flowerlua/flower/internal/tree"
)

// throwaway is a copy of the workspace in which an agent may run things, so that
// what it looks at cannot change. The original is hashed before and after: a
// difference voids what the agent found.
type throwaway struct {
	original string
	skip     []string // not copied, not hashed: what a run itself writes
	parent   string   // holds the copy; removed with it
	copy     string
	before   string
}

// copyPrefix begins the name of a folder that holds a copy; the process id follows.
const copyPrefix = ".flower-copy-"

// newThrowaway copies the workspace beside itself, where the file system can share
// blocks, or into the temporary folder.
func (rt *Runtime) newThrowaway(ctx context.Context) (_ *throwaway, err error) {
	t := &throwaway{original: rt.workspace, skip: append([]string{rt.runDir, filepath.Join(rt.workspace, ".flower")}, rt.config.Own...)}
	if t.before, err = t.digest(ctx); err != nil {
		return nil, fmt.Errorf("look at the workspace before the judge: %w", err)
	}
	beside := filepath.Dir(rt.workspace)
	removeStale(beside)
	pattern := fmt.Sprintf("%s%d-*", copyPrefix, os.Getpid())
	if t.parent, err = os.MkdirTemp(beside, pattern); err != nil {
		if t.parent, err = os.MkdirTemp("", pattern); err != nil {
			return nil, fmt.Errorf("make a copy for the judge: %w", err)
		}
	}
	t.copy = filepath.Join(t.parent, filepath.Base(rt.workspace))
	if err := tree.Copy(ctx, t.original, t.copy, t.skip...); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the workspace for the judge: %w", err), t.remove())
	}
	if err := t.ownGit(ctx); err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

// ownGit gives the copy of a linked worktree, whose .git only points to the
// original's, a repository of its own.
func (t *throwaway) ownGit(ctx context.Context) error {
	link := filepath.Join(t.copy, ".git")
	info, err := os.Lstat(link)
	if err != nil || info.IsDir() {
		return nil // no repository, or copied with its own
	}
	clone := filepath.Join(t.parent, "clone")
	if err := git(ctx, t.original, "clone", "--quiet", "--no-checkout", "--no-hardlinks", ".", clone); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(clone, ".git"), link); err != nil {
		return err
	}
	return git(ctx, t.copy, "reset", "--quiet")
}

func git(ctx context.Context, dir string, args ...string) error {
	out, err := gitOutput(ctx, dir, args...)
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	// The index must not be refreshed by looking.
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// digest covers the tree and, in a repository, HEAD and all refs; not the inner
// files of git, which looking may rewrite.
func (t *throwaway) digest(ctx context.Context) (string, error) {
	sum, err := tree.Hash(ctx, t.original, append([]string{filepath.Join(t.original, ".git")}, t.skip...)...)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(t.original, ".git")); err != nil {
		return sum, nil
	}
	refs, err := gitOutput(ctx, t.original, "show-ref", "--head")
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: a repository without a commit
		return "", fmt.Errorf("git show-ref: %w: %s", err, refs)
	}
	return sum + "\n" + refs, nil
}

// end removes the copy and reports a change of the original.
func (t *throwaway) end() error {
	err := t.remove()
	after, hashErr := t.digest(context.Background())
	switch {
	case hashErr != nil:
		return errors.Join(err, fmt.Errorf("look at the workspace after the judge: %w", hashErr))
	case after != t.before:
		return errors.Join(err, errors.New("the workspace changed while it was judged, so the verdict is void"))
	}
	return err
}

// remove deletes the copy, folders without write permission included.
func (t *throwaway) remove() error {
	_ = filepath.WalkDir(t.parent, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what is left says so below
		}
		return nil
	})
	return os.RemoveAll(t.parent)
}

// removeStale deletes copies of processes that are gone.
func removeStale(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, copyPrefix+"*")) // the pattern is well-formed
	for _, path := range old {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), copyPrefix+"%d-", &pid); err != nil || pid <= 0 {
			continue
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = (&throwaway{parent: path}).remove() // the next one tries again
		}
	}
}
