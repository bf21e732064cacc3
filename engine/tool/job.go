package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Commands and what becomes of them. A job is one command with all the processes
// it started. The shell leads a session and thus a process group of its own, and
// a mark in the environment finds those that left the group. The pipe is read by
// a goroutine of ours, not by os/exec: so a command is over when its shell has
// exited, even if a child holds the pipe, and what such a child prints later is
// still taken.
type job struct {
	id          string // given when it goes to the background
	command     string
	description string
	group       int
	mark        string
	started     time.Time
	out         *capture
	pipe        *os.File
	grace       time.Duration

	taken   chan struct{} // what was in the pipe when the shell exited
	settled chan struct{} // the shell has exited, its output is taken
	drained chan struct{} // nobody holds the pipe any more
	gone    chan struct{} // no process is left

	state   *os.ProcessState // of the shell; valid after settled
	ending  sync.Mutex       // held by the one that ends it
	killed  atomic.Bool      // ended by us
	tooMuch atomic.Bool      // it printed more than it may, and was ended for it
}

const (
	// markVariable names the job in the environment of all its processes.
	markVariable = "FLOWER_JOB"
	// lateWait is how long a command's result waits for what outlives its shell:
	// enough for the end of a process substitution, not felt otherwise.
	lateWait = 50 * time.Millisecond
	// deadWait is how long a killed process may take to be gone.
	deadWait = 2 * time.Second
)

var setCount atomic.Int64

// newMark makes a mark that no other process and no other Set uses.
func newMark() string {
	return fmt.Sprintf("%s-%d", token, setCount.Add(1))
}

// start runs a prepared command. The caller owns the job: it ends in gone.
func (j *job) start(cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		r.Close()
		return err
	}
	j.group, j.pipe = cmd.Process.Pid, r
	j.taken, j.settled = make(chan struct{}), make(chan struct{})
	j.drained, j.gone = make(chan struct{}), make(chan struct{})
	go j.drain()
	go j.watch(cmd)
	return nil
}

// drain takes the output until the last holder of the pipe is gone.
func (j *job) drain() {
	defer close(j.drained)
	defer j.pipe.Close()
	taken := sync.OnceFunc(func() { close(j.taken) })
	defer taken()
	buf := make([]byte, 32<<10)
	for {
		n, err := j.pipe.Read(buf)
		j.take(buf[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			// The shell has exited: its last words are in the pipe by now.
			_ = j.pipe.SetReadDeadline(time.Time{})
			j.takeRest(buf)
			taken()
		default:
			return
		}
	}
}

func (j *job) take(p []byte) {
	if len(p) > 0 && !j.out.write(p) && j.tooMuch.CompareAndSwap(false, true) {
		j.killed.Store(true)
		j.signal(syscall.SIGKILL)
	}
}

// takeRest reads what is in the pipe without waiting for more; bounded, as a
// child may go on printing.
func (j *job) takeRest(buf []byte) {
	raw, err := j.pipe.SyscallConn()
	if err != nil {
		return
	}
	for range 64 {
		var n int
		err := raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		j.take(buf[:n])
	}
}

// watch waits for the shell, the pipe and the group, in this order.
func (j *job) watch(cmd *exec.Cmd) {
	defer close(j.gone)
	defer j.out.close()
	_ = cmd.Wait() // the state says how it ended
	j.state = cmd.ProcessState
	_ = j.pipe.SetReadDeadline(time.Unix(1, 0))
	<-j.taken
	close(j.settled)
	<-j.drained
	// The group's number may be taken by others once it is empty, so it is looked
	// at often enough that nobody signals it after that.
	for wait := 2 * time.Millisecond; groupAlive(j.group); wait = min(2*wait, time.Second) {
		time.Sleep(wait)
	}
}

// isGone reports whether no process is left.
func (j *job) isGone() bool {
	select {
	case <-j.gone:
		return true
	default:
		return false
	}
}

// end asks all processes of the job to end, forces them after the grace, and
// returns when they are gone or cannot be ended.
func (j *job) end() error {
	j.ending.Lock()
	defer j.ending.Unlock()
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, j.grace}, {syscall.SIGKILL, deadWait}} {
		if j.isGone() {
			return nil
		}
		j.killed.Store(true)
		j.signal(step.signal)
		if j.waitGone(step.wait) {
			return nil
		}
	}
	// Somebody holds the pipe whom neither group nor mark reach.
	_ = j.pipe.Close()
	if j.waitGone(deadWait) {
		return nil
	}
	return fmt.Errorf("process group %d does not end", j.group)
}

func (j *job) waitGone(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-j.gone:
		return true
	case <-timer.C:
		return false
	}
}

// signal reaches the group and those that left it.
func (j *job) signal(sig syscall.Signal) {
	_ = syscall.Kill(-j.group, sig)
	signalMarked(j.mark, sig)
}

// signalMarked signals every process whose environment holds the mark.
func signalMarked(mark string, sig syscall.Signal) int {
	pids := marked(mark)
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
	return len(pids)
}

// add puts a job among the background ones and gives it its id.
func (s *Set) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastJob++
	j.id = "bash_" + strconv.Itoa(s.lastJob)
	s.jobs = append(s.jobs, j)
	s.forget()
}

// forget drops the oldest jobs that are over: their output need not be kept for
// ever. s.mu is held.
func (s *Set) forget() {
	const kept = 100
	for i := 0; len(s.jobs) > kept && i < len(s.jobs); {
		if s.jobs[i].isGone() {
			s.jobs = slices.Delete(s.jobs, i, i+1)
			continue
		}
		i++
	}
}

func (s *Set) jobByID(id string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

func jobNumber(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "bash_"))
	if err != nil {
		return 0
	}
	return n
}

func (s *Set) live() []Live {
	s.mu.Lock()
	jobs := slices.Clone(s.jobs)
	s.mu.Unlock()
	var out []Live
	for _, j := range jobs {
		if !j.isGone() {
			out = append(out, Live{ID: j.id, Command: j.command, Description: j.description, Group: j.group, Started: j.started})
		}
	}
	return out
}

func (s *Set) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	// Calls that run end their commands themselves, at the same time as we end
	// the jobs; one that started a job meanwhile is caught the second time.
	err := s.endJobs()
	s.calls.Wait()
	err = errors.Join(err, s.endJobs())
	s.endStrays()
	if s.unwatch != nil {
		s.unwatch()
	}
	return err
}

func (s *Set) endJobs() error {
	s.mu.Lock()
	jobs := slices.Clone(s.jobs)
	s.mu.Unlock()
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { errs[i] = j.end() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// endStrays ends the daemons: processes that left their group and let go of the
// pipe, and that only the mark still ties to this Set.
func (s *Set) endStrays() {
	mark := s.mark + "/"
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, s.lim.Grace}, {syscall.SIGKILL, deadWait}} {
		if signalMarked(mark, step.signal) == 0 {
			return
		}
		for end := time.Now().Add(step.wait); time.Now().Before(end) && len(marked(mark)) > 0; {
			time.Sleep(10 * time.Millisecond)
		}
	}
}
