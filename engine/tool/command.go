package tool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Command is a command line that a program, not a model, wants run with the
// care of the Bash tool: a group of its own, ended whole, without secrets in its
// environment, its output bounded.
type Command struct {
	Line    string
	Dir     string        // absolute; empty means the workspace
	Timeout time.Duration // 0 means Limits.Timeout
}

// Exit is how a Command ended.
type Exit struct {
	Code     int    // of the shell; -1 when a signal or the time-out ended it
	Signal   string // the signal that ended the shell, if one did
	TimedOut bool
	// Output is what it printed on both channels, cut in the middle to
	// Limits.OutputChars; File is where the whole is when it was cut.
	Output string
	File   string
}

// Command runs a command and waits for it. A command that fails is no error; one
// that cannot be started, or that ctx ended, is. Permission modes do not apply.
func (s *Set) Command(ctx context.Context, c Command) (Exit, error) {
	if !s.begin() {
		return Exit{}, errors.New("no command can be started any more")
	}
	defer s.calls.Done()
	dir := c.Dir
	if dir == "" {
		dir = s.o.Workspace
	}
	j, err := s.launch(bashInput{Command: c.Line}, dir, "")
	if err != nil {
		return Exit{}, err
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = s.lim.Timeout
	}
	why := s.await(ctx, j, limit)
	if !j.isGone() {
		s.add(j) // what it left behind ends with the Set
	}
	if why == cancelled {
		return Exit{}, fmt.Errorf("the command was ended with all it started: %w", context.Cause(ctx))
	}
	exit := Exit{Code: -1, TimedOut: why == timedOut}
	exit.Output, exit.File = j.out.text(s.lim.OutputChars)
	if _, code, signal := exitOf(j); code != nil && !exit.TimedOut {
		exit.Code = *code
	} else {
		exit.Signal = signal
	}
	return exit, nil
}
