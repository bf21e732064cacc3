package main

import (
	"context"
	"errors"
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
// others. The Ctrl-C after that does not wait for anything.
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

// sameKey is how long after a Ctrl-C another one is the same press of the key: it
// can arrive twice when a command is being started in that moment.
const sameKey = 100 * time.Millisecond

func (s *signals) watch() {
	defer close(s.done)
	leaving := false
	var last time.Time
	for sig := range s.ch {
		again := time.Since(last) < sameKey
		if sig == os.Interrupt {
			last = time.Now()
		}
		switch {
		case sig != os.Interrupt:
			s.raise(sig)
		case again:
		case leaving:
			s.exit()
		case s.handled():
		default:
			leaving = true
			s.cancel(errInterrupted)
		}
	}
}

func (s *signals) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.atExit != nil {
		s.atExit()
	}
	os.Exit(exitInterrupted)
}

func (s *signals) handled() bool {
	s.mu.Lock()
	interrupt := s.interrupt
	s.mu.Unlock()
	return interrupt != nil && interrupt()
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
