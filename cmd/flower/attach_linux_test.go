package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// beside is another terminal in the folder of a run.
func (x *terminal) beside(cols, rows int, shell string) *terminal {
	x.t.Helper()
	return onTerminal(x.t, x.dir, cols, rows, shell)
}

const attachShell = `exec "$FLOWER" attach`

func TestAttach_shows_the_run_and_answers_as_its_own_terminal_does(t *testing.T) {
	t.Parallel()
	run := steer(t, 60, 40, "asks", asking)
	run.until("Question 1?")
	for cols, name := range map[int]string{80: "attach_80", 40: "attach_40"} {
		late := run.beside(cols, 30, attachShell)
		late.until("to the agent)")
		late.golden(name)
		late.types("\x03")
		late.until("interrupt> |")
		time.Sleep(2 * sameKey)
		late.types("\x03")
		if code := late.ends(); code != 0 || !late.says("detached; the run goes on") {
			t.Errorf("exit code %d, screen\n%s", code, late.screen())
		}
	}
	x := run.beside(80, 40, attachShell)
	x.until("Question 1?")
	x.types("? where are we\n")
	x.until("aside: The run is asking.")
	x.types("2\n")
	run.until("answered: green")
	x.until("Question 2?")
	run.types("7\n")
	x.until("answered: 7")
	x.until("Question 3?")
	x.golden("attach_answered")
	x.types("\n")
	run.until("skipped: the agent decides")
	if code := run.ends(); code != 0 || !run.says("I heard: green / 7 / The person leaves this to you.") || run.says("where are we") {
		t.Errorf("exit code %d, screen\n%s", code, run.screen())
	}
	if code := x.ends(); code != 0 || !x.says("done in") || !x.says("(rehearsed), accounts in runs/manifest.json") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestAttach_interrupts_with_words(t *testing.T) {
	t.Parallel()
	run := steer(t, 60, 30, "works", working)
	run.until("sleep 1000")
	x := run.beside(60, 30, attachShell)
	x.until("sleep 1000")
	x.types("\x03")
	x.until("interrupt> |")
	x.types("\n") // nothing
	x.until("nothing was said; the run goes on")
	time.Sleep(2 * sameKey)
	x.types("\x03")
	x.until("interrupt> |")
	x.golden("attach_interrupt")
	x.types("use the other file\n")
	if code := x.ends(); code != 0 || !x.says("the session goes on, told: use the other file") || !x.says("They say: use the other file done in") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
	if code := run.ends(); code != 0 || !run.says("the session goes on, told: use the other file") || !run.says("They say: use the other file done in") {
		t.Errorf("exit code %d, screen\n%s", code, run.screen())
	}
}

func TestAttach_mail_has_a_receipt_here_and_shows_there(t *testing.T) {
	t.Parallel()
	run := steer(t, 60, 30, "works", working)
	run.until("sleep 1000")
	x := run.beside(60, 30, attachShell)
	x.until("sleep 1000")
	x.types("tabs, please\n")
	x.until("* mail sent")
	run.until("* mail: tabs, please")
	run.types("and no spaces\n")
	run.until("* mail sent")
	x.until("* mail: and no spaces")
	if x.says("mail: tabs, please") || run.says("mail: and no spaces") {
		t.Errorf("the screens are\n%s\n%s", x.screen(), run.screen())
	}
}

func TestAttach_a_killed_run_is_gone_and_leaves_nothing_that_misleads(t *testing.T) {
	t.Parallel()
	run := steer(t, 60, 30, "works", working)
	run.until("sleep 1000")
	x := run.beside(60, 30, attachShell)
	x.until("sleep 1000")
	if err := run.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := x.ends(); code != 1 || !x.says("the run is gone and said nothing") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
	left, err := filepath.Glob(filepath.Join(run.dir, "runs/live/*.json"))
	if err != nil || len(left) != 1 {
		t.Fatalf("left: %v, %v", left, err)
	}
	late := run.beside(60, 30, attachShell)
	if code := late.ends(); code != 1 || !late.says("no run is at work in runs") {
		t.Errorf("exit code %d, screen\n%s", code, late.screen())
	}
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("what the run left is there still: %v", err)
	}
}

func TestAttach_goes_on_when_the_run_does_after_ctrl_z(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"flow.lua": steered, "model.lua": asking})
	run := onTerminal(t, dir, 60, 30, `set -m; stty -a >before; "$FLOWER" --rehearse model.lua flow.lua asks; stty -a >after; echo stopped; read line; fg >/dev/null`)
	run.until("Question 1?")
	x := run.beside(60, 30, attachShell)
	x.until("Question 1?")
	run.types("half of an ans\x1a")
	run.untilNot("[1/1]")
	run.until("stopped")
	run.golden("stopped")
	run.types("\n")
	run.until("half of an ans|")
	if n := strings.Count(run.screen(), "[1/1]"); n != 1 {
		t.Errorf("%d status lines:\n%s", n, run.screen())
	}
	run.types("wer\n")
	x.until("answered: half of an answer")
	for _, question := range []string{"Question 2?", "Question 3?"} {
		run.until(question)
		run.types("\n")
	}
	if code := run.ends(); code != 0 || !run.says("I heard: half of an answer / ") {
		t.Errorf("exit code %d, screen\n%s", code, run.screen())
	}
	if run.file("before") != run.file("after") {
		t.Errorf("the terminal was %s and is %s", run.file("before"), run.file("after"))
	}
}

func TestTerminal_with_json_typed_lines_answer_too(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"flow.lua": steered, "model.lua": asking, "stream": ""})
	x := onTerminal(t, dir, 120, 60, `exec "$FLOWER" --json --rehearse model.lua flow.lua asks >stream`)
	for i, answer := range []string{"2\n", "seven\n", "\n"} {
		asked := fmt.Sprintf(`"id":"q%d"`, i+1)
		for end := time.Now().Add(patience); !strings.Contains(x.file("stream"), asked) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		x.types(answer)
	}
	if code := x.ends(); code != 0 || !strings.Contains(x.file("stream"), "I heard: green / seven / The person leaves this to you.") {
		t.Errorf("exit code %d, stream\n%s", code, x.file("stream"))
	}
	if s := x.screen(); strings.Contains(s, "==") || strings.Contains(s, "[1/1]") {
		t.Errorf("the screen is\n%s", s)
	}
}

// handing fills its context with one answer.
const handing = `
return function(turn)
  if turn.step == "clarify" then
    return "## Goal\na page\n\n## Acceptance criteria\nit opens\n\n## Boundaries\nnone\n\n## Unknowns and assumptions\nnone known\n"
  elseif turn.prompt:find("Write the handoff document", 1, true) then
    return "## In progress\nthe page\n\n## Next step\nclose the tag\n"
  elseif turn.prompt:find("You take over work in progress", 1, true) then
    return "The next step is: " .. (turn.prompt:match("## Next step\n+([^\n]+)") or "none")
  end
  return { thinking = string.rep("word ", 12000), text = "I begin.", tool = "Read", input = { file_path = "model.lua" } }
end
`

const handShell = `exec "$FLOWER" --rehearse model.lua --no-goal --timeout 0 --window 20000 --pause-on-handoff "make a page"`

func handOver(t *testing.T) *terminal {
	t.Helper()
	x := onTerminal(t, folder(t, map[string]string{"model.lua": handing}), 70, 40, handShell)
	x.until("Enter goes on")
	return x
}

func TestTerminal_pause_on_handoff_waits_for_enter(t *testing.T) {
	t.Parallel()
	x := handOver(t)
	x.golden("paused")
	path := filepath.Join(".flower/notes", "handoff-work.md")
	edited := strings.Replace(x.file(path), "close the tag", "open the tag", 1)
	if err := os.WriteFile(filepath.Join(x.dir, path), []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if x.says("a new session takes over") {
		t.Errorf("it did not wait:\n%s", x.screen())
	}
	x.types("\n")
	x.until("done in")
	if code := x.ends(); code != 0 || !x.says("The next step is: open the tag") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestAttach_enter_ends_the_pause_at_a_handoff(t *testing.T) {
	t.Parallel()
	run := handOver(t)
	x := run.beside(70, 40, attachShell)
	x.until("Enter goes on")
	x.until("> |")
	x.types("\n")
	x.until("done in")
	if code := x.ends(); code != 0 || !x.says("The next step is: close the tag") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
	if code := run.ends(); code != 0 {
		t.Errorf("exit code %d, screen\n%s", code, run.screen())
	}
}
