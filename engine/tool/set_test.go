package tool_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

func TestSet_reading_tools_run_side_by_side(t *testing.T) {
	dir := tempDir(t)
	for i := range 20 {
		put(t, dir, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("number %d\n", i))
	}
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Bash", in{"command": "echo begun; sleep 600", "run_in_background": true})
	var wg sync.WaitGroup
	for i := range 20 {
		for name, input := range map[string]in{
			"Read":       {"file_path": fmt.Sprintf("f%d.txt", i)},
			"Grep":       {"pattern": fmt.Sprintf("number %d$", i)},
			"Glob":       {"pattern": fmt.Sprintf("f%d.*", i)},
			"BashOutput": {"id": "bash_1"},
		} {
			wg.Go(func() {
				if r := run(t, s, name, input); r.IsError {
					t.Errorf("%s: %s", name, r.Text())
				}
			})
		}
	}
	wg.Wait()
	good(t, s, "Write", in{"file_path": "f7.txt", "content": "known to have been read"})
}

// Random ignore files over a random tree: what Glob leaves out is what git does.
func TestIgnore_random_rules_are_those_of_git(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	words := []string{"a", "b", "ab", "c.o", "a.log", "x y"}
	bits := []string{"a", "b", "*", "?", "**", "a*", "*.o", "[ab]", "[!a]", "c.o", "*b*", "x\\ y", "\\a"}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := tempDir(t)
		for range 40 {
			var parts []string
			for range 1 + r.IntN(4) {
				parts = append(parts, words[r.IntN(len(words))])
			}
			// Folders and files have names of their own, so that they do not clash.
			put(t, dir, strings.Join(parts, "/")+"/"+words[r.IntN(len(words))]+"f", "")
		}
		var rules strings.Builder
		for range 6 {
			var parts []string
			for range 1 + r.IntN(3) {
				parts = append(parts, bits[r.IntN(len(bits))])
			}
			rules.WriteString([]string{"", "", "!", "/"}[r.IntN(4)] + strings.Join(parts, "/") + []string{"", "", "/", "f", "/**"}[r.IntN(5)] + "\n")
		}
		put(t, dir, ".gitignore", rules.String())
		put(t, dir, "a/.gitignore", "!b\n*.of\n/ab/\n")
		for _, args := range [][]string{{"init", "-q"}, {"-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=off", "ls-files", "-co", "--exclude-standard"}} {
			cmd := exec.Command(git, args...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if args[0] == "init" {
				continue
			}
			s := newSet(t, tool.Options{Workspace: dir, Limits: tool.Limits{GlobFiles: 1000}})
			got := strings.Join(sorted(strings.Split(good(t, s, "Glob", in{"pattern": "**"}), "\n")), "\n")
			want := strings.Join(sorted(strings.Split(strings.TrimSpace(string(out)), "\n")), "\n")
			if want == "" {
				want = "no file matches"
			}
			if got != want {
				t.Errorf("seed %d, %s\nrules:\n%s\nGlob:\n%s\ngit:\n%s", seed, filepath.Base(dir), rules.String(), got, want)
			}
		}
	}
}
