package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/flowerlua/flower/engine"
)

// errInterrupted is the cause of a run that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// signals turns the process's signals into the end of a context.
type signals struct {
	ch     chan os.Signal
	done   chan struct{}
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	last      os.Signal
	interrupt func() bool // handles a Ctrl-C; nil, or false: the process leaves
	atExit    func()      // before the process ends without waiting; nil: nothing
}

// watchSignals gives a context that ends with the first signal: with
// errInterrupted for Ctrl-C that nobody handles, with engine.ErrKilled for the
// others. The process then ends in its own time, but within leaveWithin; the signal
// after that, whichever it is, waits for nothing.
func watchSignals(parent context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancelCause(parent)
	s := &signals{ch: make(chan os.Signal, 4), done: make(chan struct{}), cancel: cancel}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(s.ch, sig)
		}
	}
	go s.watch()
	return ctx, s
}

const (
	// sameKey is how long after a signal another one of the kind is the same: a Ctrl-C
	// can arrive twice when a command is being started in that moment, and some programs
	// send theirs to the process and to its group.
	sameKey = 250 * time.Millisecond
	// leaveWithin is how long everything may take to end after a signal: agents, their
	// programs and commands, the last events, the store. It is longer than their own
	// limits for it, which are seconds each.
	leaveWithin = 15 * time.Second
	// lastMoment is how long what is done before leaving at once may take.
	lastMoment = 500 * time.Millisecond
	// handleWithin is how long handling a Ctrl-C may take.
	handleWithin = 2 * time.Second
)

func (s *signals) watch() {
	defer close(s.done)
	var late <-chan time.Time // runs from the first signal that ends the process
	at := map[os.Signal]time.Time{}
	for {
		select {
		case <-late:
			s.exit(nil)
		case sig, more := <-s.ch:
			if !more {
				return
			}
			again := time.Since(at[sig]) < sameKey
			at[sig] = time.Now()
			switch {
			case again:
			case late != nil:
				s.exit(sig)
			case sig != os.Interrupt:
				late = time.After(leaveWithin)
				s.raise(sig)
			case s.handled():
				at[sig] = time.Now() // what came meanwhile is the same key
			default:
				late = time.After(leaveWithin)
				s.cancel(errInterrupted)
			}
		}
	}
}

// exit ends the process without waiting for anything: because of sig, or, where that is
// nil, because the end takes too long.
func (s *signals) exit(sig os.Signal) {
	late := sig == nil
	s.mu.Lock()
	if late {
		sig = s.last
	}
	atExit := s.atExit
	s.mu.Unlock()
	inMoment(func() {
		if atExit != nil {
			atExit()
		}
		if late {
			fmt.Fprintf(os.Stderr, "flower: not everything ended within %s; the process ends all the same, and what it started with it. What agents did is kept: run the same command to go on\n", leaveWithin)
		}
	})
	if sig == nil || sig == os.Interrupt {
		os.Exit(exitInterrupted)
	}
	dieBy(sig)
}

// inMoment runs f, and does not wait for it longer than lastMoment: it may need what
// hangs.
func inMoment(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(lastMoment):
	}
}

// handled has a Ctrl-C handled. A handler that hangs does not keep later signals from
// ending the process.
func (s *signals) handled() bool {
	s.mu.Lock()
	interrupt := s.interrupt
	s.mu.Unlock()
	if interrupt == nil {
		return false
	}
	answer := make(chan bool, 1)
	go func() { answer <- interrupt() }()
	select {
	case ok := <-answer:
		return ok
	case <-time.After(handleWithin):
		return false
	}
}

// handle makes Ctrl-C go to a function first; nil takes that back.
func (s *signals) handle(interrupt func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = interrupt
}

// before names what is done before the process ends without waiting.
func (s *signals) before(exit func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atExit = exit
}

// raise ends the run as the signal sig does.
func (s *signals) raise(sig os.Signal) {
	s.mu.Lock()
	s.last = sig
	s.mu.Unlock()
	s.cancel(engine.ErrKilled)
}

// fatal is the signal by which the process should end, nil when none came.
func (s *signals) fatal() os.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.ch)
	<-s.done
}

// guarded is an output whose reader may go away (flower … | head): the run then
// ends, with its accounts, and the process dies of the signal it would have died
// of at once.
type guarded struct {
	out     io.Writer
	signals *signals
}

func (g guarded) Write(p []byte) (int, error) {
	n, err := g.out.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		g.signals.raise(syscall.SIGPIPE)
	}
	return n, err
}

// keepPipes makes writes to a broken pipe fail instead of killing the process,
// until restore is called.
func keepPipes() (restore func()) {
	ch := make(chan os.Signal, 1) // the failed write says which pipe it was
	signal.Notify(ch, syscall.SIGPIPE)
	return func() { signal.Stop(ch) }
}
