package native

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/model"
)

// Whoever answers may be a program of somebody else's: what breaks the contract of
// package model is an error that says so, and never ends the process.

// modelFault is what a model did that its contract rules out. The same request brings
// the same again.
type modelFault struct{ what string }

func (e *modelFault) Error() string {
	return "the model breaks its contract: " + e.what + "; mend the program that answers (package engine/model says what it owes)"
}

// Final says that nothing mends it; see failure.Final.
func (e *modelFault) Final() bool { return true }

func faulty(format string, args ...any) error { return &modelFault{fmt.Sprintf(format, args...)} }

// modelPanic is a panic of a model: an error of the attempt, which another may not
// meet.
type modelPanic struct {
	in    string
	cause any
	stack []byte
}

func (e *modelPanic) Error() string {
	return fmt.Sprintf("the model panicked in %s: %v", e.in, e.cause)
}

// caught makes an error of a panic; it is deferred.
func caught(in string, err *error) {
	if p := recover(); p != nil {
		*err = &modelPanic{in, p, debug.Stack()}
	}
}

// sayPanic tells a person where a model panicked.
func (t *thread) sayPanic(p *modelPanic) {
	t.say(event.Event{Kind: event.Error, Text: p.Error(), Payload: map[string]any{"stack": string(p.stack)}})
}

func openStream(ctx context.Context, m model.Model, req model.Request) (s model.Stream, err error) {
	defer caught("Stream", &err)
	if s, err = m.Stream(ctx, req); err == nil && s == nil {
		err = faulty("Stream of %T returned neither a stream nor an error", m)
	}
	return s, err
}

func infoOf(ctx context.Context, m model.Model, name string) (info model.Info, err error) {
	defer caught("Info", &err)
	return m.Info(ctx, name)
}

// nextOf reads one piece.
func nextOf(s model.Stream) (err error) {
	defer caught("Recv", &err)
	_, err = s.Recv()
	return err
}

func replyOf(s model.Stream) (r model.Reply, err error) {
	defer caught("Reply", &err)
	r = s.Reply()
	return r, checkReply(r)
}

func closeStream(s model.Stream) {
	var err error // a reply that is there is not lost by it
	defer caught("Close", &err)
	_ = s.Close()
}

// checkReply holds a reply against the contract, so far as the loop relies on it.
func checkReply(r model.Reply) error {
	u := r.Usage
	if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h) < 0 {
		return faulty("a reply counts tokens below zero: %+v", u)
	}
	for i, raw := range r.Content {
		kind := text(member(raw, "type"))
		if kind == "tool_use" && r.StopReason == "max_tokens" && i == len(r.Content)-1 {
			continue // a call that the limit cut off, which is dropped
		}
		if !isObject(raw) || kind == "" {
			return faulty("block %d of a reply is no JSON object with a type, such as {\"type\":\"text\",\"text\":…}, but %s", i, event.Cut(string(raw), event.MaxCallText))
		}
	}
	return nil
}
