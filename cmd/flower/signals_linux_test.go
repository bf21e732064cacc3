package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSignals_the_second_ends_what_hangs: an output that nobody reads, a pipe that is
// full, holds up the end of the process; the second signal does not wait for it.
func TestSignals_the_second_ends_what_hangs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, second syscall.Signal }{
		{syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGTERM, syscall.SIGINT}, {syscall.SIGINT, syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGINT},
	} {
		t.Run(c.first.String()+", "+c.second.String(), func(t *testing.T) {
			t.Parallel()
			cmd, hung := hanging(t)
			for _, sig := range []syscall.Signal{c.first, c.second} {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * sameKey)
			}
			select {
			case <-hung:
			case <-time.After(5 * time.Second):
				_ = cmd.Process.Kill() // the test has failed
				t.Fatal("it still hangs")
			}
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if c.second == syscall.SIGINT && status.ExitStatus() != exitInterrupted || c.second != syscall.SIGINT && status.Signal() != c.second {
				t.Errorf("ended with %v", cmd.ProcessState)
			}
		})
	}
}

// hanging is a flower at work whose standard output is full; ended is closed when the
// process has ended.
func hanging(t *testing.T) (cmd *exec.Cmd, ended chan struct{}) {
	t.Helper()
	b := &crashBed{t: t, dir: t.TempDir(), bin: flowerCommand(t)}
	b.write("flow.lua", crashFlow)
	b.write("model.lua", `return function() return { tool = "Bash", input = { command = "echo $$ > pid; sleep 60" } } end`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	fill(t, w)
	cmd = b.command()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	waitFor(t, filepath.Join(b.dir, "pid"))
	ended = make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // its state is looked at
	return cmd, ended
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := w.Write(make([]byte, 1)); err != nil {
			return
		}
	}
}
