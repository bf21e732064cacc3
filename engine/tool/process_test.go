package tool_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/tool"
)

// program is a shell that runs a script.
func program(t *testing.T, script string) tool.Program {
	t.Helper()
	return tool.Program{Command: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Grace: 200 * time.Millisecond}
}

func TestProcess_talks_and_ends_with_its_input(t *testing.T) {
	p, err := program(t, `while read line; do echo "got $line"; done; echo over >&2`).Start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Input, "one\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Output).ReadString('\n'); line != "got one\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
	select {
	case <-p.Exited():
	default:
		t.Error("it has not exited")
	}
	if got := p.Errors(); got != "over\n" {
		t.Errorf("standard error: %q", got)
	}
	if err := p.End(); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestProcess_that_does_not_want_to_end_is_forced_with_all_it_started(t *testing.T) {
	p, err := program(t, `trap '' TERM; sleep 3600 & setsid sleep 3600 & echo ready; while :; do sleep 1; done`).Start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(p.Output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
	// TestMain looks for what is left.
}

func TestProcess_keeps_the_end_of_its_standard_error_alone(t *testing.T) {
	p, err := program(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i of many" >&2; i=$((i+1)); done; printf '\377last' >&2`).Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if got := p.Errors(); len(got) > 5000 || !strings.HasSuffix(got, "line 2999 of many\n\uFFFDlast") {
		t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-60):])
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

func TestProcess_environment_is_ours_without_secrets_and_with_what_is_given(t *testing.T) {
	t.Setenv("SOME_API_KEY", "hidden")
	t.Setenv("HOUSE", "hidden")
	t.Setenv("OPEN", "shown")
	p := program(t, "env")
	p.SecretEnv = []string{"HOUSE"}
	p.Env = map[string]string{"GIVEN_API_KEY": "given", "OPEN": "replaced", "FLOWER_JOB": "ours"}
	r, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r.Output)
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + string(raw)
	if strings.Contains(env, "hidden") || strings.Contains(env, "=ours") || !strings.Contains(env, "\nGIVEN_API_KEY=given\n") || !strings.Contains(env, "\nOPEN=replaced\n") {
		t.Errorf("environment:%s", env)
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

func TestProcess_that_is_not_there_is_an_error(t *testing.T) {
	if _, err := (tool.Program{Command: "no-such-command-here", Dir: os.TempDir()}).Start(); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("err = %v", err)
	}
}
