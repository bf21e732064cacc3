// Command flower runs workflows of agents that are written in Lua.
//
//	flower script.lua [args…]
//
// See flower --help.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/flowerlua/flower/internal/live"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
	exitBrokenPipe  = 141 // what a shell says of a process that SIGPIPE ended
)

func main() {
	code, sig := run(os.Args[1:], os.Stdout, os.Stderr)
	if sig != nil {
		dieBy(sig)
	}
	os.Exit(code)
}

// app is one call of the program.
type app struct {
	in       io.Reader
	out, err io.Writer

	signals *signals
	end     *end         // how a run ended; nil: the command runs no agents
	streams []*stream    // that are written to
	live    *live.Server // nil: nobody can attach
	console *console     // nil until something is printed for a run
	typed   input
	drained bool  // standard input was read as an ask
	lost    error // why something that was to be printed was not
}

// Write writes to standard output what a command is asked for. A failure is reported
// when the command has ended.
func (a *app) Write(p []byte) (int, error) {
	n, err := a.out.Write(p)
	if a.lost == nil && err != nil {
		a.lost = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}

// run does what the words ask for and gives the exit code, or the signal to
// leave by.
func run(words []string, out, errOut io.Writer) (code int, sig os.Signal) {
	a := &app{in: os.Stdin, out: out, err: errOut}
	var ctx context.Context
	ctx, a.signals = watchSignals(context.Background())
	defer a.signals.stop()
	err := a.dispatch(ctx, words)
	if err == nil {
		err = cmp.Or(a.lost, a.console.failed())
	}
	if a.console != nil {
		a.console.close()
	}
	code, text := a.explainEnd(err)
	if text != "" {
		a.complain(text)
	}
	if a.end != nil {
		code = a.finish(code, a.signals.fatal(), text)
	}
	return code, a.signals.fatal()
}

// report prints an error for the person who reads it.
func (a *app) report(err error) {
	if _, text := a.explainEnd(err); text != "" {
		a.complain(text)
	}
}

const runAgain = "; the accounts are written, run the same command to go on"

// explainEnd gives the exit code and what a person is told.
func (a *app) explainEnd(err error) (code int, text string) {
	var usage *usageError
	sig := a.signals.fatal()
	switch {
	case sig == syscall.SIGPIPE:
		return exitFailed, "" // nobody reads any more
	case sig != nil && a.end == nil:
		return exitFailed, ""
	case sig != nil:
		return exitFailed, "ended by a signal (" + sig.String() + ")" + runAgain
	case err == nil:
		return exitDone, ""
	case errors.Is(err, errLeft):
		return exitInterrupted, ""
	case errors.Is(err, errInterrupted):
		return exitInterrupted, "interrupted" + runAgain
	case errors.As(err, &usage):
		return exitUsage, usage.text
	}
	return exitFailed, strings.TrimSpace(err.Error())
}

// complain prints a message, on a terminal within its width.
func (a *app) complain(text string) {
	text = "flower: " + clean(text)
	if f, ok := a.err.(*os.File); ok && term.IsTerminal(f.Fd()) {
		text = (&screen{width: newPage(a.err).width}).wrap("", text)
	}
	fmt.Fprintln(a.err, text)
}

// usageError is a wrong use of the program.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func wrongUse(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// dieBy ends the process by a signal's default action, so that whoever started us
// sees what happened.
func dieBy(sig os.Signal) {
	if sig == syscall.SIGPIPE { // the runtime takes it only from a write
		os.Exit(exitBrokenPipe)
	}
	signal.Reset(sig)
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), s) // on failure the exit below says it
		time.Sleep(time.Second)          // the signal comes when it comes
	}
	os.Exit(exitFailed)
}
