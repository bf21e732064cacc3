package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is flower on a pseudo-terminal, and what a person sees there.
type terminal struct {
	t      *testing.T
	dir    string
	master *os.File
	cmd    *exec.Cmd
	gone   chan struct{} // closed when the terminal has nothing more to show

	mu   sync.Mutex
	seen *emulator
	raw  bytes.Buffer
}

// openTerminal gives both ends of a pseudo-terminal.
func openTerminal(t *testing.T, cols, rows int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	setSize(t, master, cols, rows)
	return master, slave
}

func setSize(t *testing.T, master *os.File, cols, rows int) {
	t.Helper()
	size := &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
}

// onTerminal starts a command line in dir. FLOWER in it is the program.
func onTerminal(t *testing.T, dir string, cols, rows int, shell string) *terminal {
	t.Helper()
	master, slave := openTerminal(t, cols, rows)
	defer slave.Close()
	cmd := exec.Command("sh", "-c", shell)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "FLOWER=" + flowerCommand(t), "NO_COLOR=1"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, dir: dir, master: master, cmd: cmd, gone: make(chan struct{}), seen: newEmulator(cols, rows)}
	go x.watch()
	t.Cleanup(func() {
		if x.cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // an ended process says so in Wait
			_ = cmd.Wait()
		}
		_ = master.Close() // twice where the test closed it
		<-x.gone
	})
	return x
}

func (x *terminal) watch() {
	defer close(x.gone)
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.raw.Write(buf[:n])
		x.seen.write(buf[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// screen is what is on the screen now.
func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// settle is how long a screen may take until it is as it should be.
const settle = 2 * time.Second

// until waits until the screen shows a text.
func (x *terminal) until(text string) {
	x.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(x.screen(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("the screen never shows %q:\n%s", text, x.screen())
		}
	}
}

// untilNot waits until the screen does not show a text any more.
func (x *terminal) untilNot(text string) {
	x.t.Helper()
	for end := time.Now().Add(patience); strings.Contains(x.screen(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("the screen always shows %q:\n%s", text, x.screen())
		}
	}
}

// line is the line of the screen that begins so.
func (x *terminal) line(beginning string) string {
	x.t.Helper()
	for line := range strings.Lines(x.screen()) {
		if strings.HasPrefix(line, beginning) {
			return line
		}
	}
	x.t.Fatalf("no line begins with %q:\n%s", beginning, x.screen())
	return ""
}

func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := x.master.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) resize(cols, rows int) {
	x.t.Helper()
	x.mu.Lock()
	x.seen.resize(cols, rows)
	x.mu.Unlock()
	setSize(x.t, x.master, cols, rows)
}

// ends waits for the end and gives the exit code.
func (x *terminal) ends() int {
	x.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = x.cmd.Process.Kill() }) // an ended process says so in Wait
	defer timer.Stop()
	err := x.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		x.t.Fatal(err)
	}
	<-x.gone
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen.unknown != "" {
		x.t.Errorf("the program sent what the tests do not know: %s", x.seen.unknown)
	}
	return x.cmd.ProcessState.ExitCode()
}

// varies is what no two runs have in common.
var varies = regexp.MustCompile(`\d+\.\d s|\d+:\d\d`)

// golden compares the screen with testdata/screens/NAME.txt; with UPDATE_SCREENS
// set it writes that file.
func (x *terminal) golden(name string) {
	x.t.Helper()
	shown := func() string { return varies.ReplaceAllString(x.screen(), "T s") + "\n" }
	path := filepath.Join("testdata", "screens", name+".txt")
	if os.Getenv("UPDATE_SCREENS") != "" {
		if err := os.WriteFile(path, []byte(shown()), 0o644); err != nil {
			x.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	// It may be in the middle of being drawn.
	for end := time.Now().Add(settle); shown() != string(want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Errorf("the screen is\n%s\nand should be\n%s", shown(), want)
			return
		}
	}
}
