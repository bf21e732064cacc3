package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/live"
)

// What a run tells other programs is one stream, described in docs/events.md: a
// hello, the events, an end. --events and --json write it, and flower attach reads it
// from the run's socket.

// stream is a stream that is written to a file or to standard output, each line at
// once, so that a reader can follow. After the first error it stops and reports it at
// the end.
type stream struct {
	name   string    // of the flag, for errors
	closer io.Closer // nil: not ours to close

	mu  sync.Mutex
	enc *json.Encoder
	err error
}

func newStream(name string, w io.Writer, c io.Closer) *stream {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &stream{name: name, enc: enc, closer: c}
}

func (s *stream) write(line any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.enc.Encode(line)
	}
}

// Emit writes an event.
func (s *stream) Emit(e event.Event) { s.write(e) }

func (s *stream) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	if s.closer != nil {
		if closeErr := s.closer.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// ownKinds are the kinds of lines that no event of a script may have.
var ownKinds = []event.Kind{live.KindHello, live.KindReply, live.KindAside, live.KindDropped, live.KindEnd}

// fromScript makes an event that looks like another line of the stream one that does
// not.
func fromScript(e event.Event) event.Event {
	if slices.Contains(ownKinds, e.Kind) {
		e.Kind = event.Unknown
	}
	return e
}

// end is the last line of a stream.
type end struct {
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	OK   bool      `json:"ok"`
	// ExitCode is the process's; where a signal ends it, what a shell says then.
	ExitCode    int     `json:"exit_code"`
	Error       string  `json:"error,omitempty"` // what a person is told
	Run         string  `json:"run,omitempty"`   // empty: nothing was begun
	FailedAt    string  `json:"failed_at,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	Aborted     string  `json:"aborted,omitempty"`
	Interrupted bool    `json:"interrupted,omitempty"`
	DurationS   float64 `json:"duration_s"`
	// CostUSD is null where a price is not known.
	CostUSD  *float64        `json:"cost_usd"`
	Steps    []engine.Result `json:"steps"` // rows of the manifest
	Manifest string          `json:"manifest,omitempty"`
}

// fill says how a run ended. The ending is empty where a script ended with an error.
func (e *end) fill(rt *engine.Runtime, ending engine.Ending, took time.Duration) {
	e.Run, e.Aborted = ending.Run, ending.Aborted
	if !ending.OK {
		e.FailedAt, e.Reason = ending.FailedAt, ending.Reason
	}
	if e.Run == "" {
		e.Run = rt.ID()
	}
	e.Interrupted, e.DurationS = ending.Interrupted, took.Seconds()
	if usd, known := rt.TotalCost(); known {
		e.CostUSD = &usd
	}
	if e.Steps = rt.Results(); len(e.Steps) > 0 {
		e.Manifest = rt.ManifestPath()
	}
}

// begin says hello on every stream and lets other processes attach.
func (a *app) begin(b *bed, script string) {
	hello := live.Hello{
		Kind: live.KindHello, V: live.Version, Flower: version(), Run: b.rt.ID(), PID: os.Getpid(), Script: script,
		Workspace: b.rt.Workspace(), RunDir: b.rt.RunDir(), Started: b.start, Rehearsed: b.src.rehearsal != nil,
	}
	for _, s := range a.streams {
		s.write(hello)
		b.sinks.fan.Add(s)
	}
	a.openLive(b, hello)
}

// finish ends every stream with how the process ends: the error was told already.
func (a *app) finish(code int, sig os.Signal, text string) int {
	a.end.Time, a.end.OK, a.end.ExitCode, a.end.Error = time.Now(), code == exitDone && sig == nil, code, text
	if s, ok := sig.(syscall.Signal); ok {
		a.end.ExitCode = 128 + int(s)
	}
	if a.end.Steps == nil {
		a.end.Steps = []engine.Result{}
	}
	for _, s := range a.streams {
		s.write(a.end)
		if err := s.close(); err != nil {
			a.complain(err.Error())
			if code == exitDone {
				code = exitFailed
			}
		}
	}
	if a.live != nil {
		a.live.Close(a.end)
	}
	return code
}

// runCommands run agents; of the sessions commands jsonSessions have --json.
var (
	runCommands  = []string{"run", "go", "once"}
	jsonSessions = []string{"list", "show", "check"}
)

// prepare makes what a run tells other programs ready, and reports --json where it
// means nothing.
func (a *app) prepare(c *cli, command, sub string) error {
	isRun := slices.Contains(runCommands, command)
	if isRun {
		a.end = &end{Kind: live.KindEnd}
	}
	switch {
	case !c.JSON:
		return nil
	case isRun && c.Events == "-":
		return wrongUse("--json and --events - both write to standard output: choose one, or give --events a file")
	case !means(command, "json"), command == "sessions" && !slices.Contains(jsonSessions, sub):
		return wrongUse("flower %s has no --json", strings.TrimSpace(command+" "+sub))
	case isRun:
		a.streams = append(a.streams, newStream("--json", guarded{a.out, a.signals}, nil))
	}
	return nil
}
