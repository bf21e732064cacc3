package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/flowerlua/flower/engine"
)

// errInterrupted is the cause of a run that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// signals turns the process's signals into the end of a context.
type signals struct {
	ch   chan os.Signal
	done chan struct{}

	mu   sync.Mutex
	last os.Signal
}

// watchSignals gives a context that ends with the first signal: with
// errInterrupted for Ctrl-C, with engine.ErrKilled for the others. A second Ctrl-C
// does not wait for anything.
func watchSignals(parent context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancelCause(parent)
	s := &signals{ch: make(chan os.Signal, 4), done: make(chan struct{})}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go s.watch(cancel)
	return ctx, s
}

func (s *signals) watch(cancel context.CancelCauseFunc) {
	defer close(s.done)
	interrupts := 0
	for sig := range s.ch {
		if sig != os.Interrupt {
			s.mu.Lock()
			s.last = sig
			s.mu.Unlock()
			cancel(engine.ErrKilled)
			continue
		}
		if interrupts++; interrupts == 2 {
			os.Exit(exitInterrupted)
		}
		cancel(errInterrupted)
	}
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
