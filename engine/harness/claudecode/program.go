package claudecode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long the program has to end, at each step of asking it more firmly.
const (
	closeGrace  = 5 * time.Second // after the end of its input
	signalGrace = 2 * time.Second // after each signal
	pipeGrace   = 2 * time.Second // for its output, when it is gone
)

// maxPending is how many frames wait for the program to take them.
const maxPending = 256

// start says what to start.
type start struct {
	path string
	args []string
	env  []string
	dir  string
	mark string // in the environment of the program and all it starts
}

// program is the running program. It has a process group of its own.
type program struct {
	cmd    *exec.Cmd
	mark   string
	out    *os.File // its output, to read from
	stderr *tail
	input  chan []byte
	ended  chan struct{} // the process is gone
	err    error         // how it ended; to be read when ended is closed

	closing sync.Once
	noMore  chan struct{} // closed: no more input
	wait    sync.WaitGroup
}

// launch starts the program and what feeds it. close must be called.
func launch(s start) (*program, error) {
	p := &program{mark: s.mark, stderr: &tail{limit: 8 << 10}, input: make(chan []byte, maxPending),
		ended: make(chan struct{}), noMore: make(chan struct{})}
	p.cmd = exec.Command(s.path, s.args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = s.dir, s.env, p.stderr
	p.cmd.WaitDelay = pipeGrace
	ownGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("claude code could not be started: %w", err)
	}
	out, far, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("claude code could not be started: %w", err)
	}
	p.out, p.cmd.Stdout = out, far
	err = p.cmd.Start()
	far.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claude code could not be started: %w", err), out.Close(), in.Close())
	}
	p.wait.Go(func() {
		p.err = p.cmd.Wait()
		close(p.ended)
		// What the program left running may hold the pipe: its frames are not ours.
		_ = p.out.SetReadDeadline(time.Now().Add(pipeGrace))
	})
	p.wait.Go(func() { p.feed(in) })
	return p, nil
}

// feed writes the input, so that nobody else ever waits for the program to read.
func (p *program) feed(in io.WriteCloser) {
	defer in.Close()
	for {
		select {
		case line := <-p.input:
			if _, err := in.Write(line); err != nil {
				return // the program is gone; its end says more
			}
		case <-p.noMore:
			for len(p.input) > 0 {
				if _, err := in.Write(<-p.input); err != nil {
					return
				}
			}
			return
		case <-p.ended:
			return
		}
	}
}

// send gives the program a line. It reports whether the line will be written.
func (p *program) send(line []byte) bool {
	select {
	case <-p.noMore:
		return false
	default:
	}
	select {
	case p.input <- line:
		return true
	case <-p.noMore:
	case <-p.ended:
	}
	return false
}

// closeInput tells the program that nothing more comes.
func (p *program) closeInput() { p.closing.Do(func() { close(p.noMore) }) }

// gone waits for the end of the process.
func (p *program) gone(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// close ends the program and everything that it started, and waits until they
// are gone. patience is how long the program may take to end by itself. The
// interrupt comes first: only that makes it end its own commands.
func (p *program) close(patience time.Duration) {
	p.closeInput()
	if !p.gone(patience) {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			signalGroup(p.cmd.Process.Pid, sig)
			if p.gone(signalGrace) {
				break
			}
		}
	}
	<-p.ended
	sweep(p.mark)
	p.wait.Wait()
}

// last closes the output; nobody reads any more.
func (p *program) last() { _ = p.out.Close() }

// end is how the program ended as an error, nil when it ended well.
func (p *program) end() error {
	if p.err == nil {
		return nil
	}
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		return fmt.Errorf("claude code ended: %w", p.err)
	}
	return fmt.Errorf("claude code ended: %w: %s", p.err, text)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.buf, []byte("\uFFFD")))
}

// version asks the program for its version: a word such as 2.1.197.
func version(ctx context.Context, path string, env []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = env, pipeGrace
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s does not tell its version: %w", path, err)
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return word, nil
}
