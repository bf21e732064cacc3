package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
)

// excluded is where the program puts its worktrees, inside of the main tree.
const excluded = "/.claude/worktrees/"

// keepTreeClean tells git to overlook the worktrees that a dispatch is about to
// make, which would show as untracked files of the main tree.
func (r *run) keepTreeClean(ctx context.Context, c guard.Call) {
	var d dispatch
	if c.Tool != agentTool || lenient(c.Input, &d) != nil || d.Isolation != "worktree" {
		return
	}
	r.excluding.Do(func() {
		if err := exclude(ctx, r.dir); err != nil {
			r.say.emit(event.Event{Kind: event.Error, Text: "worktrees will show as untracked files: " + err.Error()})
		}
	})
}

// exclude adds the worktrees' place to what the repository of dir overlooks,
// without touching anything under version control.
func exclude(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "--git-path", "info/exclude").Output()
	if err != nil {
		return fmt.Errorf("git does not say where its info/exclude is: %w", err)
	}
	path := strings.TrimSpace(string(out))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range bytes.Lines(old) {
		if string(bytes.TrimSpace(line)) == excluded {
			return nil
		}
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(old, excluded+"\n"...), 0o644)
}

// dispatch is what we look at in the input of an Agent call.
type dispatch struct {
	Kind       string          `json:"subagent_type"`
	Isolation  string          `json:"isolation"`
	Background json.RawMessage `json:"run_in_background"`
}
