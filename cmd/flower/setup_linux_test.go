package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSetup_a_secret_is_not_shown_while_it_is_typed(t *testing.T) {
	dir := t.TempDir()
	x := onTerminal(t, dir, 80, 24, `exec "$FLOWER" setup --no-probe`)
	x.until("[key]")
	x.types("\r")
	x.until("(it is not shown):")
	untilHidden(t, x)
	x.types("typed-secret\r")
	x.until("Address")
	x.types("http://127.0.0.1:1\r")
	x.until("Model")
	x.types("\r")
	if code := x.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(x.raw.String(), "typed-secret") {
		t.Errorf("the secret is on the screen:\n%s", x.screen())
	}
	raw, err := os.ReadFile(filepath.Join(dir, ".config", "flower", ".env"))
	if err != nil || !strings.Contains(string(raw), "typed-secret") {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestSetup_ctrl_c_while_a_secret_is_typed_gives_the_terminal_back(t *testing.T) {
	dir := t.TempDir()
	x := onTerminal(t, dir, 80, 24, `trap : INT; "$FLOWER" setup; echo code $?; stty -a | tr ' ;' '\n\n' | grep -x -e '-\?echo'; sleep 0.1`)
	x.until("[key]")
	x.types("\r")
	x.until("(it is not shown):")
	untilHidden(t, x)
	x.types("half-a-secret\x03")
	x.until("code 130")
	x.ends()
	if got := x.line("echo"); strings.TrimSpace(got) != "echo" {
		t.Errorf("the terminal is left with %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, ".config")); err == nil {
		t.Error("something was written")
	}
}

// untilHidden waits until the terminal does not echo: the question is printed just
// before.
func untilHidden(t *testing.T, x *terminal) {
	t.Helper()
	for range 2000 {
		state, err := unix.IoctlGetTermios(int(x.master.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if state.Lflag&unix.ECHO == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatal("the terminal always echoes")
}
