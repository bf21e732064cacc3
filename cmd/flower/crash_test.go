package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// Three steps of three commands each. Every command leaves a line, so that a
// command that ran twice shows.
const crashFlow = `
local worker = flower.agent{ name = "worker", allowed_tools = { "Bash" } }
local steps = {}
for i = 1, 3 do
  steps[i] = flower.step{ name = "step" .. i, spec = worker, prompt = "Do part " .. i,
    gate = function(result) return result.text == "finished", "say finished" end, retries = 2 }
end
return flower.workflow{ name = "crash", steps = steps }
`

// The model of crashFlow: it counts what it has asked for in its transcript, so
// that it goes on where it was.
const crashModel = `
return function(turn)
  local done = 0
  for _, message in ipairs(turn.messages) do done = done + #message.calls end
  if done >= 3 then return "finished" end
  local line = turn.step:match("^step%d") .. "-" .. (done + 1)
  return { tool = "Bash", input = { command = "sleep 0.02; echo " .. line .. " >> effects.txt" } }
end
`

// crashBed is a directory in which a process is killed and run again.
type crashBed struct {
	t   *testing.T
	dir string
	bin string
}

func (b *crashBed) write(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *crashBed) command() *exec.Cmd {
	cmd := exec.Command(b.bin, "--rehearse", "model.lua", "flow.lua")
	cmd.Dir = b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// kill starts the workflow and kills it, and the commands it started, after d. It
// reports whether the process had ended by itself.
func (b *crashBed) kill(d time.Duration) (ended bool) {
	b.t.Helper()
	cmd := b.command()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	time.Sleep(d)
	_ = cmd.Process.Signal(syscall.SIGKILL) // an ended process says so in Wait
	return cmd.Wait() == nil
}

func (b *crashBed) effects() []string {
	raw, err := os.ReadFile(filepath.Join(b.dir, "effects.txt"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

type crashRow struct {
	Step      string `json:"step"`
	SessionID string `json:"session_id"`
	OK        bool   `json:"ok"`
}

func (b *crashBed) rows() (rows []crashRow) {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, "runs", "manifest.json"))
	if err != nil {
		return nil
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		b.t.Fatalf("the manifest is broken: %v", err)
	}
	return rows
}

func (b *crashBed) lineage() map[string]string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, "runs", "lineage.json"))
	if err != nil {
		return nil
	}
	var file struct{ Steps map[string]string }
	if err := json.Unmarshal(raw, &file); err != nil {
		b.t.Fatalf("the lineage is broken: %v", err)
	}
	return file.Steps
}

// stored are the commands in the transcripts.
func (b *crashBed) stored() map[string]bool {
	b.t.Helper()
	db, err := store.Open(filepath.Join(b.dir, "runs", "sessions"), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	found := map[string]bool{}
	for info, err := range db.List(context.Background(), transcript.Key{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		for e, err := range db.Load(context.Background(), info.Key, 0) {
			if err != nil {
				b.t.Fatal(err)
			}
			for _, word := range strings.Fields(string(e.Raw)) {
				if strings.HasPrefix(word, "step") && strings.Contains(word, "-") {
					found[word] = true
				}
			}
		}
	}
	return found
}

// TestCrash_kill_at_random_moments kills the process twenty times and lets it end:
// what was acknowledged is there, finished steps are not run again, no command is
// run twice, and a step in flight goes on in its session.
func TestCrash_kill_at_random_moments(t *testing.T) {
	bin := flowerCommand(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 20
	if os.Getenv("FLOWER_TEST_LONG") != "" {
		kills = 200
	}
	for kills > 0 {
		b := &crashBed{t: t, dir: t.TempDir(), bin: bin}
		b.write("flow.lua", crashFlow)
		b.write("model.lua", crashModel)
		for kills > 0 {
			before := b.rows()
			kills--
			ended := b.kill(time.Duration(random.IntN(500)) * time.Millisecond)
			b.checkKept(before)
			if ended {
				break
			}
		}
		b.finish()
	}
}

// checkKept: no row of a finished step went away or came twice.
func (b *crashBed) checkKept(before []crashRow) {
	b.t.Helper()
	after := b.rows()
	if len(after) < len(before) {
		b.t.Fatalf("the manifest lost rows: %v, then %v", before, after)
	}
	for i, row := range before {
		if after[i] != row {
			b.t.Errorf("row %d was %v and is %v", i, row, after[i])
		}
	}
}

func (b *crashBed) finish() {
	b.t.Helper()
	sessions := b.lineage()
	if out, err := b.command().CombinedOutput(); err != nil {
		b.t.Fatalf("the last run: %v\n%s", err, out)
	}
	for step, id := range b.lineage() {
		if sessions[step] != "" && sessions[step] != id {
			b.t.Errorf("%s went on in session %s instead of %s", step, id, sessions[step])
		}
	}
	count := map[string]int{}
	stored := b.stored()
	for _, line := range b.effects() {
		count[line]++
		if !stored[line] {
			b.t.Errorf("%s took effect and is in no transcript", line)
		}
	}
	for line, n := range count {
		if n > 1 {
			b.t.Errorf("%s ran %d times", line, n)
		}
	}
	passed := map[string]int{}
	for _, row := range b.rows() {
		if name, _, _ := strings.Cut(row.Step, "#"); row.OK {
			passed[name]++
		}
	}
	for i := 1; i <= 3; i++ {
		if name := fmt.Sprintf("step%d", i); passed[name] == 0 {
			b.t.Errorf("%s has no row that passed", name)
		}
	}
}

// flowerCommand is the flower that testscript.Main put on the PATH: this test
// binary.
func flowerCommand(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("flower")
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestSignals: a signal that ends the process is booked first, and ends it.
func TestSignals_terminate_books_the_step_in_flight(t *testing.T) {
	b := &crashBed{t: t, dir: t.TempDir(), bin: flowerCommand(t)}
	b.write("flow.lua", crashFlow)
	b.write("model.lua", `return function() return { tool = "Bash", input = { command = "echo $$ > pid; sleep 60" } } end`)
	for _, c := range []struct {
		sig  syscall.Signal
		mark string
	}{{syscall.SIGTERM, "killed-by-signal"}, {syscall.SIGHUP, "killed-by-signal"}, {syscall.SIGINT, "interrupted"}} {
		pid := filepath.Join(b.dir, "pid")
		if err := os.Remove(pid); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		cmd := b.command()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, pid)
		if err := cmd.Process.Signal(c.sig); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if c.sig == syscall.SIGINT && status.ExitStatus() != exitInterrupted || c.sig != syscall.SIGINT && status.Signal() != c.sig {
			t.Errorf("%v: ended with %v", c.sig, err)
		}
		rows := b.rows()
		if last := rows[len(rows)-1]; last.OK || last.Step != "step1" {
			t.Errorf("%v: last row %+v", c.sig, last)
		}
		raw, _ := os.ReadFile(filepath.Join(b.dir, "runs", "manifest.json"))
		if !strings.Contains(string(raw), c.mark) {
			t.Errorf("%v: the manifest does not say %s", c.sig, c.mark)
		}
		if alive(t, pid) {
			t.Errorf("%v: the command is still running", c.sig)
		}
	}
}

// waitFor returns when a file has content.
func waitFor(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		} else if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: %v", path, fs.ErrNotExist)
}

func alive(t *testing.T, pidFile string) bool {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(raw), &pid); err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(pid, 0) == nil
}
