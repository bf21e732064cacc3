package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// hostile does to a terminal what output can.
const hostile = `
return function(turn)
  if #turn.messages == 1 then
    return { text = "\27[2J\27[H\27]0;a title\7before\rafter\27[31m red\27[0m\226\128\174 turned\8\155 " .. ("宽"):rep(400),
      tool = "Bash", input = { command = "printf '\\033[2J'; echo \27]0;x\7 done" } }
  end
  return "end of it"
end
`

func TestTerminal_81_what_a_model_writes_does_nothing_to_the_screen(t *testing.T) {
	t.Parallel()
	for _, cols := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			x := steer(t, cols, 60, "works", hostile)
			x.until("done in")
			if code := x.ends(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			x.golden(fmt.Sprintf("81_hostile_%d", cols))
			if n := strings.Count(x.screen(), "宽"); n != 400 {
				t.Errorf("%d of 400 wide characters are there", n)
			}
			for _, line := range strings.Split(x.screen(), "\n") {
				if w := ansi.StringWidth(line); w > min(cols, maxWidth)+1 { // 1 is the cursor
					t.Errorf("a line has %d columns: %s", w, line)
				}
			}
			for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x1b[31m", "\b", "\u202e", "\u009b"} {
				if strings.Contains(x.raw.String(), bad) {
					t.Errorf("the terminal was sent %q", bad)
				}
			}
		})
	}
}

func TestTerminal_colour_unless_it_is_not_wanted(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"flow.lua": steered, "model.lua": hostile})
	for env, want := range map[string]bool{"env -u NO_COLOR ": true, "env NO_COLOR=1 ": false, "env -u NO_COLOR TERM=dumb ": false} {
		x := onTerminal(t, dir, 60, 40, env+`"$FLOWER" --fresh --rehearse model.lua flow.lua works`)
		x.until("done in")
		x.ends()
		if got := strings.Contains(x.raw.String(), "\x1b[1m== talk"); got != want {
			t.Errorf("%s: colour is %v", env, got)
		}
		if strings.Contains(env, "dumb") && strings.Contains(x.raw.String(), "\x1b") {
			t.Errorf("a dumb terminal was sent a sequence: %q", x.raw.String())
		}
	}
}

// chatty prints while a person types.
const chatty = `
return function(turn)
  local n = 0
  for _, message in ipairs(turn.messages) do n = n + #message.results end
  if n == 8 then return { tool = "Bash", input = { command = "touch ready; while [ ! -e go ]; do sleep 0.05; done" } } end
  if n > 8 then return "over" end
  return { text = "Line " .. n .. " 你好", tool = "Bash", input = { command = "sleep 0.1; echo " .. n } }
end
`

// quiet waits until chatty has said all it has to say.
func (x *terminal) quiet() {
	x.t.Helper()
	x.until("touch ready")
}

func (x *terminal) goOn() {
	x.t.Helper()
	if err := os.WriteFile(x.dir+"/go", nil, 0o644); err != nil {
		x.t.Fatal(err)
	}
	x.until("done in")
	if code := x.ends(); code != 0 {
		x.t.Errorf("exit code %d", code)
	}
}

func TestTerminal_typed_text_stays_whole_while_output_comes(t *testing.T) {
	t.Parallel()
	x := steer(t, 40, 40, "works", chatty)
	x.until("Line 0")
	for _, r := range "wide 宽字 and 👩‍👩‍👧 é, so long that it takes a second row" {
		x.types(string(r))
		time.Sleep(10 * time.Millisecond)
	}
	x.quiet()
	x.types("\x1b[D\x1b[D\x1b[D!\x01>\x05<") // left, left, left, home, end
	x.until("<|")
	x.golden("typed_40")
	x.types("\x15") // gone
	x.until("> |")
	x.goOn()
}

func TestTerminal_resize_leaves_one_prompt(t *testing.T) {
	t.Parallel()
	x := steer(t, 100, 40, "works", chatty)
	x.types("a text that is longer than forty columns, so that a narrow terminal breaks it")
	x.quiet()
	x.until("breaks it|")
	x.resize(40, 40)
	x.until("breaks\n   it|")
	x.golden("resized_40")
	x.resize(120, 40)
	x.until("a narrow terminal breaks it|")
	x.golden("resized_120")
	x.goOn()
}

func TestTerminal_a_paste_is_one_line_until_enter(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 40, "works", chatty)
	x.quiet()
	x.types("\x1b[200~first line\rsecond\tline\x1b[31m\r第三行\x1b[201~")
	x.until("第三行|")
	x.golden("pasted")
	x.types("\n")
	x.until("* mail sent")
	x.types("\x1b[A") // up: it can be had again
	x.until("> first line\n  second    line\n  第三行|")
	x.types("\x15\n")
	x.goOn()
	if log := x.file("qa.md"); !strings.Contains(log, "first line\nsecond\tline\n第三行") {
		t.Errorf("the log is %s", log)
	}
}

func TestTerminal_the_starter_at_three_widths(t *testing.T) {
	t.Parallel()
	model, err := os.ReadFile("../../examples/starter.rehearsal.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, cols := range []int{40, 80, 110} {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			dir := folder(t, map[string]string{"model.lua": string(model)})
			x := onTerminal(t, dir, cols, 90, `exec "$FLOWER" --rehearse model.lua "a script that says hello"`)
			x.until("Which shell")
			x.types("1\n")
			x.until("by name?")
			x.types("yes\n")
			x.until("done in")
			if code := x.ends(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			x.golden(fmt.Sprintf("starter_%d", cols))
		})
	}
}

// piped starts flower without a terminal.
func piped(t *testing.T, model, shell string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", shell)
	cmd.Dir = folder(t, map[string]string{"flow.lua": steered, "model.lua": model})
	cmd.Env = append(os.Environ(), "FLOWER="+flowerCommand(t))
	return cmd
}

func TestHead_ends_the_run_quietly_with_its_accounts(t *testing.T) {
	t.Parallel()
	cmd := piped(t, chatty, `{ "$FLOWER" --rehearse model.lua flow.lua works; echo "status $?" >&2; } | head -1`)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "== talk") || strings.Count(out.String(), "\n") != 1 || errs.String() != "status 141\n" {
		t.Errorf("out %q, errors %q", out.String(), errs.String())
	}
	if raw, err := os.ReadFile(cmd.Dir + "/runs/manifest.json"); err != nil || !strings.Contains(string(raw), "killed-by-signal") {
		t.Errorf("the accounts are %s, %v", raw, err)
	}
}

func TestInterrupt_without_a_terminal_ends_the_run_at_once(t *testing.T) {
	t.Parallel()
	cmd := piped(t, chatty, `exec "$FLOWER" --rehearse model.lua flow.lua works`)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	untilThere(t, cmd.Dir+"/ready")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // an ended process says so in Wait
	defer timer.Stop()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v: %s", err, errs.String())
	}
	if raw, err := os.ReadFile(cmd.Dir + "/runs/manifest.json"); err != nil || !strings.Contains(string(raw), "talk") {
		t.Errorf("the accounts are %s, %v", raw, err)
	}
}

func TestHangup_under_nohup_is_nothing(t *testing.T) {
	t.Parallel()
	cmd := piped(t, chatty, `trap '' HUP; exec "$FLOWER" --rehearse model.lua flow.lua works`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	untilThere(t, cmd.Dir+"/ready")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // a hangup would end it now
	if err := os.WriteFile(cmd.Dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // an ended process says so in Wait
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// untilThere waits for a file.
func untilThere(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is never there", path)
		}
	}
}
