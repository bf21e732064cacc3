package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

func TestSh_gives_code_output_and_signal(t *testing.T) {
	p := play(t, &echo{}, `
		local r = flower.sh("echo out; echo err >&2; exit 3")
		assert(r.code == 3 and r.output:find("out") and r.output:find("err") and r.timed_out == false and r.signal == nil and r.file == nil)
		local killed = flower.sh("kill -9 $$")
		assert(killed.code == -1 and killed.signal ~= nil, killed.code)
		assert(flower.sh("true").code == 0 and flower.sh("true").output == "")
		assert(flower.sh("no-such-command-anywhere").code == 127)
		assert(flower.sh("cat").output == "", "it waits for input")`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestSh_stops_at_its_timeout_with_all_it_started(t *testing.T) {
	start := time.Now()
	p := play(t, &echo{}, `
		local r = flower.sh("echo before; sleep 60 & echo $! > pid; sleep 60", { timeout = 0.3 })
		assert(r.timed_out and r.code == -1 and r.output:find("before"))`, nil)
	if p.err != nil || time.Since(start) > 30*time.Second {
		t.Fatal(p.err)
	}
	pid := processOf(t, filepath.Join(p.dir, "pid"))
	for syscall.Kill(pid, 0) == nil && time.Since(start) < 30*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("what the command started is alive")
	}
}

func processOf(t *testing.T, path string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, c := range strings.TrimSpace(string(raw)) {
		pid = pid*10 + int(c-'0')
	}
	return pid
}

func TestSh_has_a_default_timeout(t *testing.T) {
	p := play(t, &echo{}, `assert(flower.sh("sleep 60").timed_out)`, &luabind.Options{CommandLimit: 100 * time.Millisecond})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestSh_runs_in_the_workspace_or_a_folder_of_it(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	p := playIn(t, dir, &echo{}, `
		local here = flower.sh("pwd -P").output:gsub("%s+$", "")
		assert(flower.sh("pwd -P", { dir = "sub/deep" }).output == here .. "/sub/deep\n")
		assert(flower.sh("pwd -P", { dir = flower.runtime.workspace .. "/sub" }).output == here .. "/sub\n")
		assert(flower.sh("pwd -P", { dir = "." }).output == here .. "\n")
		for _, dir in ipairs{ "..", "sub/../..", "/", "out", "out/x", "missing", "file" } do
			local ok, err = pcall(flower.sh, "touch touched", { dir = dir })
			assert(not ok and tostring(err):find("dir: "), dir)
		end`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
	if _, err := os.Stat(filepath.Join(outside, "touched")); err == nil {
		t.Error("a command ran outside")
	}
}

func TestSh_shows_no_secrets(t *testing.T) {
	for name, value := range map[string]string{"ANTHROPIC_API_KEY": "test-key", "CLAUDE_TOKEN": "test-key", "MY_SECRET": "test-key", "PLAIN": "plain"} {
		t.Setenv(name, value)
	}
	p := play(t, &echo{}, `
		local env = flower.sh("env").output
		assert(not env:find("test%-key"), env)
		assert(env:find("PLAIN=plain"))`, &luabind.Options{SecretEnv: []string{"MY_SECRET"}})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestSh_cuts_long_output_and_keeps_the_whole(t *testing.T) {
	p := play(t, &echo{}, `
		local r = flower.sh("yes line | head -c 200000")
		assert(#r.output < 40000 and r.file, #r.output)
		print(r.file)`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	defer os.Remove(p.printed[0])
	if info, err := os.Stat(p.printed[0]); err != nil || info.Size() != 200000 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestSh_ends_with_the_context(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	program, err := luabind.Load("test.lua", "flower.fs.write('started', '') flower.sh('sleep 60')", nil)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(rt.Workspace(), "started")); err == nil {
				cancel(stop)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	start := time.Now()
	if _, err := program.Run(ctx, rt, nil); !errors.Is(err, stop) || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestSh_leaves_nothing_behind_the_script(t *testing.T) {
	p := play(t, &echo{}, `flower.sh("sleep 60 > /dev/null 2>&1 & echo $! > pid")`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	pid, start := processOf(t, filepath.Join(p.dir, "pid")), time.Now()
	for syscall.Kill(pid, 0) == nil && time.Since(start) < 30*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("a command that was left in the background is alive")
	}
}

func TestSh_in_a_coroutine_waits_like_anywhere(t *testing.T) {
	p := play(t, &echo{}, `
		local co = coroutine.wrap(function()
			local first = flower.sh("echo one").output
			coroutine.yield(first)
			return flower.sh("echo two").output .. flower.runtime:run(flower.agent{ name = "a" }, "three").text
		end)
		assert(co() == "one\n" and co() == "two\nthree")`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}
