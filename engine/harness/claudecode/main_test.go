package claudecode_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// program is the CLI that the tests drive; empty where it is not installed.
var program = findProgram()

// findProgram looks where npm puts the program of this machine.
func findProgram() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path, err := filepath.Abs(filepath.Join("testdata", "cli", "node_modules", "@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude"))
	if err != nil {
		return ""
	}
	if path, err = exec.LookPath(path); err != nil {
		return ""
	}
	return path
}

// TestMain fails the run when a process that a test started outlives it.
func TestMain(m *testing.M) {
	if os.Getenv("FLOWER_TEST_SERVER") != "" {
		serveWord()
		return
	}
	code := m.Run()
	if left := leftOver(5 * time.Second); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes left behind by the tests: %v\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftOver waits for the processes that turns of this process have started, and
// returns those that are still there.
func leftOver(wait time.Duration) []string {
	mark := []byte("cc" + strconv.Itoa(os.Getpid()) + "-")
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, mark) {
				left = append(left, filepath.Base(filepath.Dir(file)))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}
