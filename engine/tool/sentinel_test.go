//go:build linux

package tool_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/tool"
)

// TestMain_of_a_process_that_is_killed is no test: it is what
// TestSentinel_ends_what_a_killed_process_started starts and kills.
func TestMain_of_a_process_that_is_killed(t *testing.T) {
	if os.Getenv("FLOWER_TEST_KILLED") == "" {
		t.Skip("started by another test")
	}
	s := tool.NewSet(tool.Options{Workspace: os.Getenv("FLOWER_TEST_KILLED")})
	go run(t, s, "Bash", in{"command": "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & echo on > ready; while :; do sleep 0.1; done"})
	p, err := tool.Program{Command: "sleep", Args: []string{"300"}, Dir: "/"}.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
}

func TestSentinel_ends_what_a_killed_process_started(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMain_of_a_process_that_is_killed$")
	cmd.Env = append(os.Environ(), "FLOWER_TEST_KILLED="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil && len(carriers(cmd.Process.Pid)) >= 3 {
			break
		}
	}
	if started := carriers(cmd.Process.Pid); len(started) < 3 {
		t.Fatalf("started: %v", started)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	var left []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = carriers(cmd.Process.Pid); len(left) == 0 {
			break
		}
	}
	if len(left) > 0 {
		t.Errorf("five seconds later there are %v", left)
	}
	for end := time.Now().Add(5 * time.Second); len(sentinels(cmd.Process.Pid)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the sentinel stays: %v", sentinels(cmd.Process.Pid))
		}
	}
}

func TestSentinel_is_there_while_there_is_something_to_end(t *testing.T) {
	s := newSet(t, tool.Options{})
	good(t, s, "Bash", in{"command": "true"})
	if n := len(sentinels(os.Getpid())); n != 1 {
		t.Errorf("%d sentinels", n)
	}
	_, done := tool.Mark()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(sentinels(os.Getpid())); n != 1 {
		t.Errorf("%d sentinels of what others started", n)
	}
	done()
	done()
	if left := sentinels(os.Getpid()); len(left) > 0 {
		t.Errorf("over, and there is %v", left)
	}
}

// carriers are the processes with a mark of a process, sentinels those that watch
// over it.
func carriers(pid int) []string { return processes("environ", fmt.Sprintf("FLOWER_JOB=%d-", pid)) }

func sentinels(pid int) []string {
	return processes("cmdline", fmt.Sprintf("flower-sentinel\x00%d-", pid))
}

func processes(file, with string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range files {
		if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(with)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
