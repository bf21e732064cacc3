package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/flowerlua/flower/engine/event"
)

// panicError is what a callback of the embedding program panicked with. It is no
// more than an error of that callback: agents worked for hours before it.
type panicError struct {
	value any
	stack string // for whoever mends the callback, not for a screen
}

// Error says what the panic said.
func (e *panicError) Error() string { return fmt.Sprintf("it panicked: %v", e.value) }

// safely calls what the embedding program brought and makes a panic an error.
func safely(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: string(debug.Stack())}
		}
	}()
	return call()
}

// stackOf is the payload of an event about an error: the stack where it is a panic.
func stackOf(err error) map[string]any {
	var p *panicError
	if !errors.As(err, &p) {
		return nil
	}
	return map[string]any{"stack": p.stack}
}

// askWhen, askGate and the others call the callbacks of a step.
func (s *stepRun) askWhen(ctx context.Context) (run bool, err error) {
	err = safely(func() (err error) {
		run, err = s.When(ctx, s.ctx)
		return err
	})
	return run && err == nil, err
}

func (s *stepRun) askGate(ctx context.Context, r Result) (pass bool, reason string, err error) {
	err = safely(func() (err error) {
		pass, reason, err = s.Gate(ctx, r, s.ctx)
		return err
	})
	return pass && err == nil, reason, err
}

func (s *stepRun) askPrompt(ctx context.Context, p Prompt) (text string, err error) {
	err = safely(func() (err error) {
		text, err = p(ctx, s.ctx)
		return err
	})
	return text, err
}

func (s *stepRun) askReduce(ctx context.Context, r Result) (value string, err error) {
	err = safely(func() (err error) {
		value, err = s.Reduce(ctx, r, s.ctx)
		return err
	})
	return value, err
}

func (s *stepRun) askOnReject(ctx context.Context, r Result, reason string) (text string, err error) {
	err = safely(func() (err error) {
		text, err = s.OnReject(ctx, r, s.ctx, reason)
		return err
	})
	return text, err
}

// tellOnStep tells the workflow's OnStep; nobody waits for its answer, so a panic is
// an event.
func (r *runner) tellOnStep(step string, result Result) {
	if r.flow.OnStep == nil {
		return
	}
	err := safely(func() error {
		r.flow.OnStep(step, result)
		return nil
	})
	if err != nil {
		r.rt.emit(event.Event{Kind: event.Error, Step: step, Text: fmt.Sprintf("on_step, told of step %s, is broken: %v", step, err), Payload: stackOf(err)})
	}
}

// tellOnSession tells Config.OnSession.
func (a *activeRun) tellOnSession(id string) {
	if a.rt.config.OnSession == nil {
		return
	}
	err := safely(func() error {
		a.rt.config.OnSession(a.label, id)
		return nil
	})
	if err != nil {
		a.emit(event.Event{Kind: event.Error, Text: fmt.Sprintf("Config.OnSession, told of step %s, is broken: %v", a.label, err), Payload: stackOf(err)})
	}
}
