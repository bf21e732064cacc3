package native_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run when a process that a test started outlives it (F-040).
func TestMain(m *testing.M) {
	if mode := os.Getenv(mcpEnv); mode != "" {
		serveMCP(mode)
	}
	if script := os.Getenv(serverEnv); script != "" {
		serveScript(script)
	}
	code := m.Run()
	if left := leftOver(5 * time.Second); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes left behind by the tests: %v\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftOver waits for the processes that tools of this process have started, and
// returns those that are still there.
func leftOver(wait time.Duration) []string {
	mark := []byte("FLOWER_JOB=" + strconv.Itoa(os.Getpid()) + "-")
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

// covered names the test file of every known fault of such loops that concerns
// this package. What they are is said at the tests.
var covered = map[string]string{
	"F-002": "session_test.go", "F-003": "session_test.go", "F-004": "session_test.go", "F-005": "session_test.go",
	"F-007": "calls_test.go", "F-008": "gate_test.go", "F-009": "gate_test.go", "F-012": "stream_test.go",
	"F-013": "gate_test.go", "F-014": "gate_test.go", "F-015": "gate_test.go", "F-016": "gate_test.go", "F-018": "gate_test.go",
	"F-028": "session_test.go", "F-030": "outage_test.go", "F-040": "main_test.go", "F-045": "interrupt_test.go", "F-046": "stream_test.go",
	"F-049": "subagent_test.go", "F-050": "subagent_test.go", "F-055": "stream_test.go", "F-064": "stream_test.go",
	"F-065": "subagent_test.go", "F-066": "subagent_test.go", "F-067": "subagent_test.go", "F-072": "stuck_test.go",
	"F-074": "subagent_test.go", "F-075": "subagent_test.go", "F-076": "calls_test.go", "F-077": "calls_test.go",
	"F-079": "calls_test.go", "F-080": "session_test.go", "F-081": "session_test.go", "F-084": "gate_test.go",
	"F-091": "worktree_test.go", "F-092": "worktree_test.go", "F-096": "limits_test.go",
}

func TestFaults_every_one_has_its_test(t *testing.T) {
	for id, file := range covered {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Contains(content, []byte(id)) {
			t.Errorf("%s is said to be tested in %s, which does not name it", id, file)
		}
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`F-[0-9]{3}`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range form.FindAllString(string(content), -1) {
			if covered[id] != file && file != "main_test.go" && !slices.Contains(strings.Split(covered[id], " "), file) {
				t.Errorf("%s names %s, the table says %q", file, id, covered[id])
			}
		}
	}
}
