package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/tool"
)

func TestBash_tells_output_exit_code_and_signal_apart(t *testing.T) {
	s := newSet(t, tool.Options{})
	for _, c := range []struct {
		command, want string
		failed        bool
		key           string
		value         any
	}{
		{"echo out; echo err >&2", "out\nerr", false, "exit_code", 0.0},
		{"true", "(no output)", false, "exit_code", 0.0},
		{"echo half; exit 3", "exit code 3\nhalf", true, "exit_code", 3.0},
		{"kill -9 $$", "ended by signal 9 (killed)", true, "signal", "killed"},
		{"sh -c 'kill -9 $$'", "exit code 137 (128 + signal 9, killed)", true, "exit_code", 137.0},
		{"no-such-command-here", "exit code 127", true, "exit_code", 127.0},
		{"if then", "line 1: syntax error", true, "exit_code", 2.0},
		{"echo \"[$1] [$#]\"", "[] [0]", false, "exit_code", 0.0},
		{"set -x; echo traced", "+ echo traced\ntraced", false, "exit_code", 0.0},
		{"set -euo pipefail; echo strict", "strict", false, "exit_code", 0.0},
	} {
		r := run(t, s, "Bash", in{"command": c.command})
		if r.IsError != c.failed {
			t.Errorf("%s: error = %v, want %v", c.command, r.IsError, c.failed)
		}
		wants(t, r.Text(), c.want)
		lacks(t, r.Text(), "__flower", "pwd -P")
		if got := structured(t, r)[c.key]; got != c.value {
			t.Errorf("%s: %s = %v, want %v", c.command, c.key, got, c.value)
		}
	}
}

func TestBash_has_no_input_and_no_terminal(t *testing.T) {
	s := newSet(t, tool.Options{})
	wants(t, good(t, s, "Bash", in{"command": "cat; echo end"}), "end")
	wants(t, good(t, s, "Bash", in{"command": "test -t 0 || test -t 1 || test -t 2 || echo none"}), "none")
	wants(t, bad(t, s, "Bash", in{"command": "read answer < /dev/tty"}), "exit code")
}

func TestBash_time_out_ends_the_whole_group(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{Grace: 100 * time.Millisecond}})
	r := run(t, s, "Bash", in{"command": "trap '' TERM; echo before; sleep 600 & echo $! ; sleep 600", "timeout": 200})
	if !r.IsError || structured(t, r)["timed_out"] != true {
		t.Errorf("result = %+v", r)
	}
	wants(t, r.Text(), "timed out after 200ms", "before", "run_in_background")
	if live := s.Live(); len(live) > 0 {
		t.Errorf("live: %v", live)
	}
	fields := strings.Fields(r.Text())
	if pid, err := strconv.Atoi(fields[len(fields)-1]); err == nil && alive(pid) {
		t.Errorf("child %d is alive", pid)
	}
}

func TestBash_longest_time_out_is_held(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{MaxTimeout: 100 * time.Millisecond, Grace: 50 * time.Millisecond}})
	wants(t, bad(t, s, "Bash", in{"command": "sleep 600", "timeout": "999999999"}), "timed out after 100ms")
}

func TestBash_cancelled_call_ends_at_once(t *testing.T) {
	s := newSet(t, tool.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	r := runCtx(t, ctx, s, "Bash", in{"command": "echo started; sleep 600"})
	if !r.IsError {
		t.Error("no error")
	}
	wants(t, r.Text(), "cancelled", "started")
}

func TestF036_a_silent_background_child_does_not_hold_the_call(t *testing.T) {
	s := newSet(t, tool.Options{})
	done := make(chan tool.Result, 1)
	go func() { done <- run(t, s, "Bash", in{"command": "sleep 600 & echo done", "timeout": 60_000}) }()
	select {
	case r := <-done:
		wants(t, r.Text(), "done", "still running", "bash_1")
		if r.IsError {
			t.Error("it is an error")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call waits for the child")
	}
	live := s.Live()
	if len(live) != 1 || live[0].ID != "bash_1" {
		t.Fatalf("live = %v", live)
	}
	wants(t, good(t, s, "KillBash", in{"id": "bash_1"}), "bash_1 has ended")
	if len(s.Live()) != 0 {
		t.Error("still live after KillBash")
	}
}

func TestF037_a_detached_child_with_the_pipe_does_not_hold_the_call(t *testing.T) {
	s := newSet(t, tool.Options{})
	// A session of its own, as a detached container client has: not in the group.
	r := run(t, s, "Bash", in{"command": "setsid sleep 600 & echo detached", "timeout": 60_000})
	wants(t, r.Text(), "detached", "bash_1")
	wants(t, good(t, s, "KillBash", in{"id": "bash_1"}), "has ended")
}

func TestF038_killing_reaches_grandchildren_that_hold_the_output(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{Grace: 100 * time.Millisecond}})
	good(t, s, "Bash", in{"command": "(trap '' TERM; while :; do echo tick; sleep 0.05; done) & sleep 600", "run_in_background": true})
	waitFor(t, func() bool { return strings.Contains(good(t, s, "BashOutput", in{"id": "bash_1"}), "tick") })
	wants(t, good(t, s, "KillBash", in{"id": "bash_1"}), "it was killed")
	if len(s.Live()) != 0 {
		t.Error("still live")
	}
}

func TestF040_close_ends_every_process(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{Grace: 100 * time.Millisecond}})
	var pids []int
	for _, command := range []string{
		"sleep 600 & echo $!",
		"setsid sleep 600 >/dev/null 2>&1 & echo $!",
		"(trap '' TERM; sleep 600; sleep 600) & echo $!",
	} {
		first, _, _ := strings.Cut(good(t, s, "Bash", in{"command": command}), "\n")
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	good(t, s, "Bash", in{"command": "sleep 600", "run_in_background": true})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is alive after Close", pid)
		}
	}
	wants(t, bad(t, s, "Bash", in{"command": "true"}), "the session has ended")
	wants(t, bad(t, s, "Read", in{"file_path": "x"}), "the session has ended")
}

func TestBash_close_ends_a_call_in_progress(t *testing.T) {
	s := newSet(t, tool.Options{})
	mark := filepath.Join(tempDir(t), "started")
	done := make(chan tool.Result, 1)
	go func() { done <- run(t, s, "Bash", in{"command": "touch " + mark + "; sleep 600"}) }()
	waitFor(t, func() bool { _, err := os.Stat(mark); return err == nil })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-done; !r.IsError {
		t.Error("the call did not fail")
	}
}

func TestF045_a_background_loop_is_listed_and_stopped(t *testing.T) {
	s := newSet(t, tool.Options{Now: func() time.Time { return time.Unix(1000, 0) }})
	good(t, s, "Bash", in{"command": "while :; do sleep 0.05; done", "run_in_background": true, "description": "a loop"})
	live := s.Live()
	if len(live) != 1 || live[0].Command != "while :; do sleep 0.05; done" || live[0].Description != "a loop" || !live[0].Started.Equal(time.Unix(1000, 0)) {
		t.Fatalf("live = %+v", live)
	}
	if err := syscall.Kill(-live[0].Group, 0); err != nil {
		t.Errorf("group %d: %v", live[0].Group, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(live[0].Group) {
		t.Errorf("group %d lives", live[0].Group)
	}
}

func TestF016_F017_output_that_is_not_UTF8(t *testing.T) {
	s := newSet(t, tool.Options{})
	for command, want := range map[string]string{
		`printf '\xf0'`:                   "\uFFFD",
		`printf 'a\xff\xfeb'`:             "a\uFFFDb",
		`printf '\xed\xa0\x80'`:           "\uFFFD", // a lone surrogate
		`printf 'a\0b'`:                   "a\uFFFDb",
		`printf 'gr\xc3\xbcn \xe4\xb8'`:   "grün \uFFFD",
		`printf '\xef\xbb\xbftext\r\n\n'`: "\ufefftext\r",
	} {
		got := good(t, s, "Bash", in{"command": command})
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestF018_cut_output_is_cut_between_characters(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{OutputChars: 101}})
	for _, n := range []int{101, 102, 500, 5000} {
		r := run(t, s, "Bash", in{"command": fmt.Sprintf("for i in $(seq %d); do printf '🌼'; done", n)})
		text := r.Text()
		if !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") {
			t.Errorf("%d flowers: broken text %q", n, text)
		}
		file, _ := structured(t, r)["output_file"].(string)
		if n == 101 {
			if text != strings.Repeat("🌼", n) || file != "" {
				t.Errorf("it was cut: %q", text)
			}
			continue
		}
		if got := strings.Count(text, "🌼"); got != 101 {
			t.Errorf("%d flowers shown, want 101", got)
		}
		if got := content(t, file); got != strings.Repeat("🌼", n) {
			t.Errorf("the file has %d bytes", len(got))
		}
		wants(t, text, file)
	}
}

func TestBash_long_output_keeps_head_and_tail_and_the_whole_in_a_file(t *testing.T) {
	s := newSet(t, tool.Options{})
	r := run(t, s, "Bash", in{"command": "seq 200000; exit 4"})
	text := r.Text()
	wants(t, text, "exit code 4\n1\n2\n", "\n199999\n200000", "the whole (1.2 MiB) is in")
	if n := utf8.RuneCountInString(text); n > 30_500 {
		t.Errorf("%d characters", n)
	}
	file := structured(t, r)["output_file"].(string)
	if got := content(t, file); !strings.HasPrefix(got, "1\n") || !strings.HasSuffix(got, "\n200000\n") || strings.Count(got, "\n") != 200_000 {
		t.Errorf("the file is not whole: %d bytes", len(got))
	}
	wants(t, good(t, s, "Read", in{"file_path": file, "offset": 199_999}), "199999\t199999")
}

func TestBash_more_than_it_may_print_ends_it(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{OutputBytes: 1 << 20}})
	r := run(t, s, "Bash", in{"command": "yes"})
	if !r.IsError {
		t.Error("no error")
	}
	wants(t, r.Text(), "printed more than")
	info, err := os.Stat(structured(t, r)["output_file"].(string))
	if err != nil || info.Size() != 1<<20 {
		t.Errorf("the file: %v, %v", info.Size(), err)
	}
	// The same in the background, where nobody waits for it.
	good(t, s, "Bash", in{"command": "yes", "run_in_background": true})
	waitFor(t, func() bool { return len(s.Live()) == 0 })
	wants(t, good(t, s, "BashOutput", in{"id": "bash_1"}), "printed more than")
}

func TestBash_output_that_cannot_be_kept_is_said(t *testing.T) {
	blocked := put(t, tempDir(t), "file", "")
	s := newSet(t, tool.Options{OutputDir: filepath.Join(blocked, "below a file")})
	text := good(t, s, "Bash", in{"command": "seq 100000"})
	wants(t, text, "could not be kept", "\n100000")
}

func TestBash_working_directory_carries_over_within_the_workspace(t *testing.T) {
	ws, more := tempDir(t), tempDir(t)
	s := newSet(t, tool.Options{Workspace: ws, AddDirs: []string{more}})
	sub := filepath.Join(ws, "a b'c")
	r := run(t, s, "Bash", in{"command": "mkdir \"a b'c\"; cd \"a b'c\"; exit 2"})
	if got := structured(t, r)["cwd"]; got != sub || s.Dir() != sub {
		t.Errorf("cwd = %v, Dir = %s, want %s", got, s.Dir(), sub)
	}
	wants(t, good(t, s, "Bash", in{"command": "pwd"}), sub)
	wants(t, good(t, s, "Bash", in{"command": "cd /"}), "stays "+sub, "/ is outside")
	wants(t, good(t, s, "Bash", in{"command": "pwd; (cd ..); cd .. | cat"}), sub)
	good(t, s, "Bash", in{"command": "cd " + more})
	if s.Dir() != more {
		t.Errorf("Dir = %s, want %s", s.Dir(), more)
	}
	// Relative paths of the other tools begin there.
	put(t, more, "here.txt", "found")
	wants(t, good(t, s, "Read", in{"file_path": "here.txt"}), "1\tfound")

	again := newSet(t, tool.Options{Workspace: ws, AddDirs: []string{more}})
	again.Restore(r.Structured)
	if again.Dir() != sub {
		t.Errorf("restored Dir = %s, want %s", again.Dir(), sub)
	}
	elsewhere := newSet(t, tool.Options{})
	elsewhere.Restore(r.Structured)
	if elsewhere.Dir() == sub {
		t.Error("a directory of another workspace was restored")
	}
}

func TestBash_subagents_start_in_the_workspace(t *testing.T) {
	ws := tempDir(t)
	s := newSet(t, tool.Options{Workspace: ws, Subagent: true})
	good(t, s, "Bash", in{"command": "mkdir sub; cd sub"})
	if got := good(t, s, "Bash", in{"command": "pwd"}); got != ws {
		t.Errorf("pwd = %s, want %s", got, ws)
	}
}

func TestBash_deleted_working_directory_is_named(t *testing.T) {
	ws := tempDir(t)
	s := newSet(t, tool.Options{Workspace: ws})
	good(t, s, "Bash", in{"command": "mkdir gone; cd gone"})
	if err := os.Remove(filepath.Join(ws, "gone")); err != nil {
		t.Fatal(err)
	}
	wants(t, bad(t, s, "Bash", in{"command": "pwd"}), filepath.Join(ws, "gone"), "does not exist", "call again")
	if got := good(t, s, "Bash", in{"command": "pwd"}); got != ws {
		t.Errorf("pwd = %s, want %s", got, ws)
	}
	good(t, s, "Bash", in{"command": "mkdir here; cd here; rmdir ../here"})
	if got := good(t, s, "Bash", in{"command": "pwd"}); got != ws {
		t.Errorf("pwd = %s, want %s", got, ws)
	}
	if err := os.RemoveAll(ws); err != nil {
		t.Fatal(err)
	}
	wants(t, bad(t, s, "Bash", in{"command": "pwd"}), ws, "does not exist")
}

func TestBash_hides_secrets_from_commands(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "1", "ANTHROPIC_BASE_URL": "1", "CLAUDE_CODE_OAUTH_TOKEN": "1", "CLAUDECODE": "1",
		"OPENAI_API_KEY": "1", "SOME_AUTH_TOKEN": "1", "HOUSE_SECRET": "1", "HARMLESS": "1", "FLOWER_JOB": "parent/1;",
	} {
		t.Setenv(name, value)
	}
	s := newSet(t, tool.Options{
		SecretEnv: []string{"HOUSE_SECRET", "GIVEN_SECRET"},
		Env:       map[string]string{"GIVEN": "yes", "WANTED_API_KEY": "yes", "GIVEN_SECRET": "yes", "ANTHROPIC_AUTH_TOKEN": "yes", "TERM": "xterm"},
	})
	env := "\n" + good(t, s, "Bash", in{"command": "env"}) + "\n"
	lacks(t, env, "ANTHROPIC_", "CLAUDE", "OPENAI", "SOME_AUTH", "SECRET=")
	wants(t, env, "\nHARMLESS=1\n", "\nGIVEN=yes\n", "\nWANTED_API_KEY=yes\n", "\nTERM=xterm\n", "\nFLOWER_JOB=parent/1;")
}

func TestBash_plan_mode_runs_only_what_changes_nothing(t *testing.T) {
	ephemeral := func(command string) bool { return strings.HasPrefix(command, "ls") }
	for _, mode := range []string{"plan", "unheard-of"} {
		s := newSet(t, tool.Options{PermissionMode: mode, Ephemeral: ephemeral})
		good(t, s, "Bash", in{"command": "ls"})
		wants(t, bad(t, s, "Bash", in{"command": "touch x"}), "permission_mode is "+mode)
		none := newSet(t, tool.Options{PermissionMode: mode})
		bad(t, none, "Bash", in{"command": "ls"})
	}
}

func TestBash_refuses_what_is_no_command_line(t *testing.T) {
	s := newSet(t, tool.Options{})
	wants(t, bad(t, s, "Bash", in{"command": "echo a\x00b"}), "NUL")
	wants(t, bad(t, s, "Bash", in{"cmd": "ls"}), "command is missing (given: cmd)")
	wants(t, bad(t, s, "Bash", in{"command": 7}), "command cannot be a number")
	wants(t, bad(t, s, "Bash", in{"command": "x", "timeout": "soon"}), "not a whole number")
	wants(t, bad(t, s, "Bash", in{"command": ": " + strings.Repeat("x", 200_000)}), "too long", "write it to a file")
}

func TestBashOutput_gives_what_is_new(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	r := run(t, s, "Bash", in{"command": "echo one; until test -e go; do sleep 0.01; done; printf 'tw\\xc3'; until test -e on; do sleep 0.01; done; printf '\\xb6\\n'; exit 5", "run_in_background": true})
	if got := structured(t, r)["job"]; got != "bash_1" {
		t.Fatalf("job = %v", got)
	}
	waitFor(t, func() bool {
		text := good(t, s, "BashOutput", in{"bash_id": "bash_1"})
		return strings.Contains(text, "is running") && strings.Contains(text, "one")
	})
	wants(t, good(t, s, "BashOutput", in{"id": "bash_1"}), "(nothing new)")
	put(t, dir, "go", "")
	waitFor(t, func() bool { return strings.Contains(good(t, s, "BashOutput", in{"id": "bash_1"}), "tw") })
	put(t, dir, "on", "")
	// The character that came in two parts is whole.
	end := good(t, s, "BashOutput", in{"id": "bash_1", "wait": 60_000})
	wants(t, end, "bash_1 has ended: exit code 5", "\nö")
	lacks(t, end, "tw", "\uFFFD")
	wants(t, good(t, s, "KillBash", in{"shell_id": "bash_1"}), "bash_1 has ended: exit code 5", "(nothing new)")
	wants(t, bad(t, s, "BashOutput", in{"id": "bash_9"}), "no background command \"bash_9\"")
}

func TestBashOutput_cuts_a_flood_and_names_the_file(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{OutputChars: 1000}})
	good(t, s, "Bash", in{"command": "seq 20000", "run_in_background": true})
	text := good(t, s, "BashOutput", in{"id": "bash_1", "wait": 60_000})
	wants(t, text, "\n20000", "is in ")
	if n := utf8.RuneCountInString(text); n > 1500 {
		t.Errorf("%d characters", n)
	}
}

func TestBashOutput_keeps_the_whole_of_what_it_cut_while_it_went_on(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir, Limits: tool.Limits{OutputChars: 100}})
	good(t, s, "Bash", in{"command": "seq 60; until test -e go; do sleep 0.01; done; seq 61 100; until test -e on; do sleep 0.01; done; seq 101 300", "run_in_background": true})
	var file string
	waitFor(t, func() bool {
		text := good(t, s, "BashOutput", in{"id": "bash_1"})
		_, file, _ = strings.Cut(text, " is in ")
		file, _, _ = strings.Cut(file, " …]")
		return file != ""
	})
	for _, name := range []string{"go", "on"} {
		put(t, dir, name, "")
		good(t, s, "BashOutput", in{"id": "bash_1", "wait": 200})
	}
	good(t, s, "BashOutput", in{"id": "bash_1", "wait": 60_000})
	var want strings.Builder
	for i := 1; i <= 300; i++ {
		fmt.Fprintln(&want, i)
	}
	if got := content(t, file); got != want.String() {
		t.Errorf("the file has %d bytes, want %d:\n%s", len(got), want.Len(), short(got))
	}
}

func TestBash_only_so_many_run_in_the_background(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{Jobs: 2}})
	for range 2 {
		good(t, s, "Bash", in{"command": "sleep 600", "run_in_background": true})
	}
	wants(t, bad(t, s, "Bash", in{"command": "sleep 600", "run_in_background": true}), "2 background commands", "KillBash", "bash_1")
	good(t, s, "KillBash", in{"id": "bash_1"})
	good(t, s, "Bash", in{"command": "sleep 600", "run_in_background": true})
}

func TestRestore_does_not_use_an_id_twice(t *testing.T) {
	s := newSet(t, tool.Options{})
	s.Restore([]byte(`{"job":"bash_7"}`))
	s.Restore([]byte(`{"job":"bash_3"}`))
	s.Restore([]byte(`"a text of another tool"`))
	s.Restore(nil)
	wants(t, good(t, s, "Bash", in{"command": "true", "run_in_background": true}), "bash_8")
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := string(b[strings.LastIndexByte(string(b), ')')+2:])
	return state[0] != 'Z'
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
