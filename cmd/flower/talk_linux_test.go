package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// steered is a workflow of one agent with a channel.
const steered = `
local channel = flower.channel{ log_path = "qa.md" }
local agents = {
  asks = flower.clarifier{ name = "asks", channel = channel },
  works = flower.agent{ name = "works", allowed_tools = { "Bash" } },
}
return flower.workflow{ name = "steered", channel = channel, steps = {
  flower.step{ name = "talk", spec = agents[...], prompt = "Begin." },
} }
`

// asking asks three questions and tells the answers.
const asking = `
return function(turn)
  if turn.step == "aside" then return "The run is asking." end
  local answers = {}
  for _, message in ipairs(turn.messages) do
    for _, result in ipairs(message.results) do table.insert(answers, result.text) end
  end
  if #answers == 3 then return "I heard: " .. table.concat(answers, " / ") end
  return { tool = "mcp__human__ask", input = { question = "Question " .. #answers + 1 .. "?", options = { "red", "green", "蓝色" } } }
end
`

// working runs a command that takes for ever, and says what it was told then.
const working = `
return function(turn)
  if turn.step == "aside" then return "The run is working." end
  if turn.prompt == "Begin." then return { tool = "Bash", input = { command = "sleep 1000" } } end
  return "told: " .. turn.prompt:gsub("\n", " "):sub(-60)
end
`

// folder is a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const runSteered = `exec "$FLOWER" --rehearse model.lua flow.lua `

func steer(t *testing.T, cols, rows int, agent, model string) *terminal {
	t.Helper()
	return onTerminal(t, folder(t, map[string]string{"flow.lua": steered, "model.lua": model}), cols, rows, runSteered+agent)
}

// says reports whether the screen has a text, wherever its lines are broken.
func (x *terminal) says(text string) bool {
	return strings.Contains(strings.Join(strings.Fields(x.screen()), " "), text)
}

func (x *terminal) file(name string) string {
	x.t.Helper()
	raw, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil {
		x.t.Fatal(err)
	}
	return string(raw)
}

func TestTerminal_75_digits_text_enter_and_a_question_from_the_side(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 40, "asks", asking)
	x.until("Question 1?")
	x.types("? where are we\n")
	x.until("aside: The run is asking.")
	x.types("2\n")
	x.until("Question 2?")
	x.types("7\n")
	x.until("Question 3?")
	x.golden("75_questions")
	x.types("\n")
	x.until("done in")
	if code := x.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := x.screen(); !strings.Contains(s, "I heard: green / 7 / The person leaves this to you.") {
		t.Errorf("the screen is\n%s", s)
	}
	if strings.Contains(x.file("qa.md"), "where are we") {
		t.Error("the question from the side is in the log of the run")
	}
}

func TestTerminal_a_full_width_question_mark_and_digit(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 40, "asks", asking)
	x.until("Question 1?")
	x.types("？到哪了\n")
	x.until("aside: The run is asking.")
	x.types("３\n")
	x.until("answered: 蓝色")
	x.until("Question 2?")
	x.types("\x03")
	x.until("say>")
	time.Sleep(2 * sameKey)
	x.types("\x03")
	if code := x.ends(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func TestTerminal_77_words_after_an_interrupt_reach_the_agent(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 30, "works", working)
	x.until("sleep 1000")
	x.types("use the ")
	x.until("> use the |")
	x.types("\x03")
	x.until("say> use the |")
	x.types("other file\n")
	x.until("done in")
	if code := x.ends(); code != 0 || !x.says("They say: use the other file done in") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestTerminal_77_enter_alone_goes_on_without_words(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 30, "works", working)
	x.until("sleep 1000")
	x.types("\x03")
	x.until("say>")
	x.until("! failed: The call was interrupted")
	x.types("? where are we\n") // does not end the wait
	x.until("aside: The run is working.")
	x.golden("77_interrupted")
	x.types("\n")
	x.until("done in")
	if code := x.ends(); code != 0 || !x.says("no message: go on.") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestTerminal_77_a_second_interrupt_leaves_with_the_accounts(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 30, "works", working)
	x.until("sleep 1000")
	x.types("\x03")
	x.until("say>")
	time.Sleep(2 * sameKey)
	x.types("\x03")
	if code := x.ends(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if s := x.screen(); !strings.Contains(s, "flower: interrupted; the accounts are written") || strings.Contains(s, "goroutine") {
		t.Errorf("the screen is\n%s", s)
	}
	if rows := x.file("runs/manifest.json"); !strings.Contains(rows, `"step": "talk"`) {
		t.Errorf("the accounts are %s", rows)
	}
}

func TestTerminal_77_time_and_questions_go_on_while_words_are_typed(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 30, "works", working)
	x.until("sleep 1000")
	x.types("\x03")
	x.until("say>")
	x.types("? where are we\nhalf of the wo")
	x.until("aside: The run is working.")
	for range 2 {
		x.untilNot(x.line("[1/1]")) // its clock goes on
		x.until("say> half of the wo|")
	}
	x.types("rds\n")
	x.until("done in")
	if code := x.ends(); code != 0 || !x.says("They say: half of the words done in") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestTerminal_an_interrupt_at_the_start_prompt_leaves(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, t.TempDir(), 60, 20, `exec "$FLOWER"`)
	x.until("What is to be made?")
	x.types("half a thought\x03")
	if code := x.ends(); code != 130 || strings.Contains(x.screen(), "flower:") {
		t.Errorf("exit code %d, screen\n%s", code, x.screen())
	}
}

func TestTerminal_the_first_question_names_what_is_there_within_the_width(t *testing.T) {
	t.Parallel()
	for begun, want := range map[string]string{
		".flower/scripts/s": "What is to be made?\n> |",
		".flower/notes/n":   "What is to be made? (Enter alone goes on\nwith what is there)\n> |",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, begun), 0o755); err != nil {
			t.Fatal(err)
		}
		x := onTerminal(t, dir, 40, 20, `exec "$FLOWER"`)
		x.until(want)
		x.types("\x03")
		x.ends()
	}
}

func TestTerminal_the_terminal_is_given_back(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"flow.lua": steered, "model.lua": `return function() return "ok" end`})
	x := onTerminal(t, dir, 60, 20, `stty -a > before; "$FLOWER" --rehearse model.lua flow.lua works; stty -a > after`)
	if code := x.ends(); code != 0 || x.file("before") != x.file("after") {
		t.Errorf("exit code %d, before\n%s\nafter\n%s", code, x.file("before"), x.file("after"))
	}
}

func TestTerminal_hangup_ends_with_the_accounts(t *testing.T) {
	t.Parallel()
	x := steer(t, 60, 20, "works", working)
	x.until("sleep 1000")
	_ = x.master.Close() // the cleanup closes it again
	timer := time.AfterFunc(patience, func() { _ = x.cmd.Process.Kill() })
	defer timer.Stop()
	_ = x.cmd.Wait() // the state says how it ended
	if status := x.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGHUP {
		t.Errorf("it ended by %v", x.cmd.ProcessState)
	}
	if rows := x.file("runs/manifest.json"); !strings.Contains(rows, "killed-by-signal") {
		t.Errorf("the accounts are %s", rows)
	}
}
