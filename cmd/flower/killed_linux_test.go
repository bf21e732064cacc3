package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilled_nothing_it_started_is_left: after kill -9 of flower in the middle of a
// command, the command and what it had put into the background are gone within
// five seconds, and the next run goes on.
func TestKilled_nothing_it_started_is_left(t *testing.T) {
	t.Parallel()
	b := &crashBed{t: t, dir: t.TempDir(), bin: flowerCommand(t)}
	b.write("flow.lua", crashFlow)
	b.write("model.lua", `
		return function(turn)
			if #turn.messages > 1 or turn.step ~= "step1" then return "finished" end
			return { tool = "Bash", input = { command = "setsid sleep 302.25 & sleep 301.25 & echo on > ready; sleep 300.25" } }
		end`)
	cmd := b.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command to run", func() bool {
		_, err := os.Stat(filepath.Join(b.dir, "ready"))
		return err == nil && len(sleepers(b.dir)) == 3
	})
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	killed := time.Now()
	until(t, "the commands to end", func() bool { return len(sleepers(b.dir)) == 0 })
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("they ended after %v", took)
	}
	if out, err := b.command().CombinedOutput(); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
}

func until(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !there(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// sleepers are the commands of this test that run in a folder.
func sleepers(dir string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range files {
		line, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(line), "sleep\x0030") {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join(filepath.Dir(path), "cwd")); err == nil && cwd == dir {
			found = append(found, string(line))
		}
	}
	return found
}
