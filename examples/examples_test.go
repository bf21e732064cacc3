// Package examples runs every example as a user would.
package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is the flower command, built once.
var program string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flower-examples-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "flower")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/flower").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// rehearse runs an example in an empty workspace and gives what it printed.
func rehearse(t *testing.T, name string) (workspace, output string) {
	t.Helper()
	workspace = t.TempDir()
	cmd := exec.Command(program, "-w", workspace, "--rehearse", name+".rehearsal.lua", name+".lua")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return workspace, string(out)
}

type row struct {
	Step      string `json:"step"`
	SessionID string `json:"session_id"`
	OK        bool   `json:"ok"`
	Text      string `json:"text"`
}

func manifest(t *testing.T, workspace string) (rows []row) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(workspace, "runs", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestHello(t *testing.T) {
	workspace, out := rehearse(t, "hello")
	poem, err := os.ReadFile(filepath.Join(workspace, "poem.txt"))
	if err != nil || !strings.Contains(string(poem), "bee") {
		t.Errorf("poem %q, %v", poem, err)
	}
	last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
	if !strings.Contains(last, "$0.0000") || !strings.Contains(last, filepath.Join("runs", "manifest.json")) {
		t.Errorf("closing line %q", last)
	}
	if rows := manifest(t, workspace); len(rows) != 2 || rows[0].Text != "a bee" {
		t.Errorf("manifest %+v", rows)
	}
}

func TestFixTest_is_sent_back_once_and_then_right(t *testing.T) {
	workspace, out := rehearse(t, "fix_test")
	rows := manifest(t, workspace)
	if len(rows) != 2 || rows[0].Step != "fix" || rows[1].Step != "fix#round2" || rows[0].SessionID != rows[1].SessionID {
		t.Errorf("manifest %+v", rows)
	}
	if !strings.Contains(out, "did not pass") {
		t.Errorf("the output does not tell of the rejection:\n%s", out)
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = filepath.Join(workspace, "calc")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the module is not mended: %v\n%s", err, out)
	}
}

func TestEmbed(t *testing.T) {
	cmd := exec.Command("go", "run", "./examples/embed", t.TempDir())
	cmd.Dir = ".."
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "text answer Thank you; we will mend this: The greeting lacks a name") {
		t.Errorf("output:\n%s", &out)
	}
}

func TestReview_in_a_fork(t *testing.T) {
	workspace, _ := rehearse(t, "review")
	rows := manifest(t, workspace)
	if len(rows) != 3 || rows[1].SessionID == rows[0].SessionID || rows[2].SessionID != rows[0].SessionID {
		t.Errorf("manifest %+v", rows)
	}
}

func TestGuard_denies_and_shortens(t *testing.T) {
	workspace, _ := rehearse(t, "guard")
	if rows := manifest(t, workspace); len(rows) != 1 || !strings.Contains(rows[0].Text, "95 more lines") {
		t.Errorf("manifest %+v", rows)
	}
}

func TestResearch_side_by_side(t *testing.T) {
	workspace, _ := rehearse(t, "research")
	answer, err := os.ReadFile(filepath.Join(workspace, "answer.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"what", "how", "who"} {
		if !strings.Contains(string(answer), "Found out about "+name) {
			t.Errorf("the answer lacks %s:\n%s", name, answer)
		}
	}
}

func TestTests_of_the_examples_pass(t *testing.T) {
	out, err := exec.Command(program, "test", "--timeout", "5m").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fix_test.test.lua") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStarter_is_sent_back_and_then_achieved(t *testing.T) {
	workspace := t.TempDir()
	cmd := exec.Command(program, "-w", workspace, "--rehearse", "starter.rehearsal.lua", "--timeout", "0", "a script that says hello")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script, err := os.ReadFile(filepath.Join(workspace, "hello.sh"))
	if err != nil || !strings.Contains(string(script), "${1:-world}") {
		t.Errorf("hello.sh %q, %v", script, err)
	}
	if !strings.Contains(string(out), "work#round2") {
		t.Errorf("output:\n%s", out)
	}
}
