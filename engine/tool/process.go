package tool

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program is a program that runs beside an agent and talks over its standard
// input and output, such as an MCP server. It gets the care of the Bash tool: a
// group of its own, ended whole, and no secrets in its environment.
type Program struct {
	Command string // a name on the PATH, or a path
	Args    []string
	Dir     string // absolute
	// Env is added to our environment, whatever its names; what is inherited and
	// looks like a secret, or is named by SecretEnv, is left out.
	Env       map[string]string
	SecretEnv []string
	// Grace passes between the closing of its input, the asking and the forcing
	// end; 0 means 2 s.
	Grace time.Duration
}

// Process is a running Program. Whoever started it reads Output, writes Input and
// calls End.
type Process struct {
	Input  io.WriteCloser // its standard input; a write ends with End at the latest
	Output io.ReadCloser  // its standard output; a read ends with End at the latest

	cmd     *exec.Cmd
	mark    string
	grace   time.Duration
	unwatch func()
	errors  tail
	exited  chan struct{} // the program itself
	gone    chan struct{} // and all it started
	ending  sync.Mutex
}

// Start starts the program.
func (p Program) Start() (*Process, error) {
	in, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	output, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, input.Close())
	}
	defer out.Close()
	r := &Process{Input: input, Output: output, mark: newMark() + "/1;", grace: p.Grace, exited: make(chan struct{}), gone: make(chan struct{})}
	if r.grace <= 0 {
		r.grace = 2 * time.Second
	}
	r.cmd = exec.Command(p.Command, p.Args...)
	r.cmd.Dir, r.cmd.Env = p.Dir, p.environ(r.mark)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = in, out, &r.errors
	r.cmd.WaitDelay = time.Second // for children that hold its standard error
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r.unwatch = watchOver()
	if err := r.cmd.Start(); err != nil {
		r.unwatch()
		return nil, errors.Join(err, input.Close(), output.Close())
	}
	go r.watch()
	return r, nil
}

func (p Program) environ(mark string) []string {
	s := &Set{o: Options{SecretEnv: p.SecretEnv}}
	env := s.environ(lastChars(os.Getenv(markVariable), 500)+mark, p.Dir)
	env = slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, given := p.Env[name]
		return given && name != markVariable
	})
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if name != markVariable {
			env = append(env, name+"="+p.Env[name])
		}
	}
	return env
}

// watch waits for the program, then for its group. The group's number may be
// taken by others once it is empty, so nobody signals it after that.
func (r *Process) watch() {
	defer close(r.gone)
	_ = r.cmd.Wait() // what matters is that it is over
	close(r.exited)
	for wait := 2 * time.Millisecond; groupAlive(r.cmd.Process.Pid); wait = min(2*wait, time.Second) {
		time.Sleep(wait)
	}
}

// Errors is the end of what the program printed on its standard error.
func (r *Process) Errors() string { return r.errors.String() }

// Exited is closed when the program has ended by itself or was ended.
func (r *Process) Exited() <-chan struct{} { return r.exited }

// End closes the program's input, which asks it to end, then ends it with all it
// started, and returns when they are gone. It may be called more than once.
func (r *Process) End() error {
	r.ending.Lock()
	defer r.ending.Unlock()
	_ = r.Input.Close() // the second time it is closed already
	defer r.Output.Close()
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{0, r.grace}, {syscall.SIGTERM, r.grace}, {syscall.SIGKILL, deadWait}} {
		if step.signal != 0 {
			_ = syscall.Kill(-r.cmd.Process.Pid, step.signal)
			signalMarked(r.mark, step.signal)
		}
		if r.waitGone(step.wait) {
			signalMarked(r.mark, syscall.SIGKILL) // those that left the group
			r.unwatch()
			return nil
		}
	}
	return fmt.Errorf("process group %d does not end", r.cmd.Process.Pid)
}

func (r *Process) waitGone(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.gone:
		return true
	case <-timer.C:
		return false
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.b) - tailBytes; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "\uFFFD")
}
