//go:build unix

package shell

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// How many lines are really run, and from which seed: set these to look longer.
const (
	runsVariable = "FLOWER_SHELL_RUNS"
	seedVariable = "FLOWER_SHELL_SEED"
)

// sandbox is a throw-away folder with something in it for every command.
type sandbox struct {
	root string // holds tree and home, which are watched, and tmp, which is not
	bash string

	index, staged string // the file git keeps, and what it says
}

func newSandbox(tb testing.TB) *sandbox {
	bash, err := exec.LookPath("bash")
	if err != nil {
		tb.Skip("there is no bash to run lines with")
	}
	s := &sandbox{root: tb.TempDir(), bash: bash}
	for _, dir := range []string{"tree/sub", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.root, dir), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	files := map[string]string{
		"a.txt": "a 1\nb 2\na 1\n", "b.txt": "b 2\nc x\n", "data.tsv": "k\t1\nj\t2\n", "sub/c.txt": "c\n", "script.sed": "w new.out\n",
		"x.sh": "#!/bin/sh\ntouch new.out\n", "-o": "x\n", "-delete": "x\n", "--output=new.out": "x\n", "-i": "x\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.root, "tree", name), []byte(text), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	// What is not installed leaves its part out; the rest is still worth running.
	_ = s.run(`tar cf a.tar a.txt b.txt; gzip -c a.txt >a.gz; xz -c a.txt >a.xz; bzip2 -c a.txt >a.bz2; zstd -qc a.txt >a.zst
		git init -q -b main && git config user.name x && git config user.email x@example.org && git add -A && git commit -qm one &&
		echo more >>b.txt && git commit -qam two && git tag v1 && git branch topic && git notes add -m note && echo dirty >>a.txt && git stash -q && echo wip >>b.txt`, time.Minute)
	return s
}

// run runs the line. The error is of a process it left behind when it ended by
// itself; one that takes too long is killed with all that it started.
func (s *sandbox) run(line string, timeout time.Duration) (left error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.bash, "--norc", "--noprofile", "-c", line)
	cmd.Dir = filepath.Join(s.root, "tree")
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + filepath.Join(s.root, "home"), "TMPDIR=" + filepath.Join(s.root, "tmp"), "TERM=dumb",
		// git status and git diff would write the index for nothing but speed.
		"GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // that a line fails is its own affair
	if cmd.Process == nil || ctx.Err() != nil {
		return nil
	}
	return groupGone(cmd.Process.Pid)
}

// groupGone waits for helpers of a substitution, which the shell does not wait
// for, and complains about what stays.
func groupGone(group int) error {
	for range 20 {
		if err := syscall.Kill(-group, 0); errors.Is(err, syscall.ESRCH) || !alive(group) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	return errors.New("a process is left behind")
}

// alive looks at the process table: what has ended but was not yet collected
// by the init process still counts for kill.
func alive(group int) bool {
	out, err := exec.Command("ps", "-A", "-o", "pgid=", "-o", "stat=").Output()
	if err != nil {
		return true
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == strconv.Itoa(group) && f[1][0] != 'Z' {
			return true
		}
	}
	return false
}

// state is everything about the watched files that a command could change,
// times of reading aside.
func (s *sandbox) state(tb testing.TB) string {
	h := sha256.New()
	for _, dir := range []string{"tree", "home"} {
		err := filepath.WalkDir(filepath.Join(s.root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			switch path {
			case filepath.Join(s.root, "tree/.git"):
				return nil // its time changes along with the index
			case filepath.Join(s.root, "tree/.git/index"):
				fmt.Fprintln(h, s.stagedFiles(tb, path))
				return nil
			}
			fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano(), info.Size())
			if info.Mode().IsRegular() && !strings.Contains(path, "/objects/") { // content-addressed: the name says it
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				h.Write(data)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return string(h.Sum(nil))
}

// stagedFiles is what the index of git says. Readers such as git describe
// --dirty note times of files in it, which says nothing about the files.
func (s *sandbox) stagedFiles(tb testing.TB, index string) string {
	data, err := os.ReadFile(index)
	if err != nil {
		tb.Fatal(err)
	}
	if string(data) != s.index {
		cmd := exec.Command("git", "ls-files", "--stage", "-t")
		cmd.Dir = filepath.Join(s.root, "tree")
		out, err := cmd.Output()
		if err != nil {
			tb.Fatal(err)
		}
		s.index, s.staged = string(data), string(out)
	}
	return s.staged
}

// runnable are the tables whose effects, if they had any, would show in the
// folder. The others ask a service or the machine.
var runnable = []string{"shell.txt", "files.txt", "git.txt"}

// notRun are commands that would only cost time or, if they were misjudged,
// reach beyond the folder.
var notRun = []string{"sleep", "yes", "man", "kill", "history", "fc"}

func (s *sandbox) generator(tb testing.TB, seed uint64) *lineGenerator {
	own := map[string]bool{}
	_ = eachRow("shell.txt", func(f []string) error {
		for name := range strings.SplitSeq(f[0], "/") {
			own[name] = true
		}
		return nil
	})
	g := newLineGenerator(tb, seed, func(command string) bool {
		if slices.Contains(notRun, command) {
			return false
		}
		_, err := exec.LookPath(command)
		return err == nil || own[command]
	}, runnable...)
	// It keeps objects in the store of git, where nothing refers to them.
	g.rows = slices.DeleteFunc(g.rows, func(r *rule) bool { return r.name == "git merge-tree" })
	return g
}

// try generates a line and, when it is called ephemeral, runs it and compares.
func (s *sandbox) try(tb testing.TB, line string, before string) (ran bool) {
	if !Ephemeral(line) {
		return false
	}
	left := s.run(line, time.Second)
	if left != nil {
		tb.Errorf("%q is called ephemeral: %v", line, left)
	}
	if s.state(tb) != before {
		tb.Fatalf("%q is called ephemeral, but it changed files", line)
	}
	return true
}

func number(tb testing.TB, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
}

func TestEphemeral_lines_change_nothing_when_really_run(t *testing.T) {
	s := newSandbox(t)
	runs := number(t, runsVariable, 60)
	if testing.Short() {
		runs = min(runs, 20)
	}
	seed := number(t, seedVariable, 1)
	g := s.generator(t, uint64(seed))
	before := s.state(t)
	tried := 0
	for ran := 0; ran < runs; tried++ {
		if tried > 100*runs+1000 {
			t.Fatalf("only %d of %d lines were ephemeral", ran, tried)
		}
		if s.try(t, g.line(), before) {
			ran++
		}
	}
	t.Logf("%d lines of seed %d, %d of them run", tried, seed, runs)
}

func TestEphemeral_tokens_hide_no_command(t *testing.T) {
	s := newSandbox(t)
	runs := max(number(t, runsVariable, 60)/10, 1)
	seed := number(t, seedVariable, 1)
	g := s.generator(t, uint64(seed))
	before := s.state(t)
	for range runs {
		line, ok := g.tokens(1_000_000)
		if !ok {
			t.Fatal("no line of a million was ephemeral")
		}
		s.try(t, line, before)
	}
}

// The tests above say nothing unless they would notice.
func TestSandbox_notices_changes(t *testing.T) {
	s := newSandbox(t)
	for _, line := range []string{"touch a.txt", "echo x >>a.txt", "mkdir d", "rm b.txt", "git add b.txt", "git tag v9", "chmod 600 a.txt", "touch ~/x", "ln -s a.txt l"} {
		before := s.state(t)
		_ = s.run(line, time.Minute)
		if s.state(t) == before {
			t.Errorf("%q is not noticed", line)
		}
	}
	if left := s.run("sleep 30 >/dev/null &", time.Minute); left == nil {
		t.Error("a process left behind is not noticed")
	}
}

func FuzzEphemeral_lines_change_nothing(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	s := newSandbox(f)
	before := s.state(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := s.generator(t, seed)
		for range 5 {
			s.try(t, g.line(), before)
		}
		if line, ok := g.tokens(2000); ok {
			s.try(t, line, before)
		}
	})
}
