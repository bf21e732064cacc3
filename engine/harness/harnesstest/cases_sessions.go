package harnesstest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
)

func aSessionIsResumed(r *rig) {
	r.answers(calls("Bash", bash("echo kept-$((6*7))")), text("First answer."))
	first := r.mustRun(harness.EndTurn)
	r.resume(harness.Session{Resume: first.SessionID}, "And then?")
	r.answers(text("Second answer."))
	second := r.mustRun(harness.EndTurn)
	if second.SessionID != first.SessionID {
		r.Errorf("the session changed from %s to %s", first.SessionID, second.SessionID)
	}
	r.has(r.last(), "Do it.", "kept-42", "First answer.", "And then?")
	if second.Text != "Second answer." || second.Turns != 1 {
		r.Errorf("outcome = %+v", second)
	}
	r.resume(harness.Session{Resume: first.SessionID}, "And now?")
	r.answers(text("Third answer."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "First answer.", "And then?", "Second answer.", "And now?")
}

func aSessionGoesAbroad(r *rig) {
	if r.suite.Other == nil {
		r.Skip("there is no other harness")
	}
	r.answers(calls("Bash", bash("echo kept-$((6*7))")), text("First answer."))
	first := r.mustRun(harness.EndTurn)
	r.abroad = true
	r.resume(harness.Session{Resume: first.SessionID}, "Abroad.")
	r.answers(calls("Bash", bash("echo away-$((6*8))")), text("Answer from abroad."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "Do it.", "kept-42", "First answer.", "Abroad.", "away-48")
	r.abroad = false
	r.resume(harness.Session{Resume: first.SessionID}, "Home again.")
	r.answers(text("Done."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "Do it.", "kept-42", "First answer.", "Abroad.", "away-48", "Answer from abroad.", "Home again.")
}

func aForkLeavesItsOrigin(r *rig) {
	r.answers(text("First answer."))
	first := r.mustRun(harness.EndTurn)
	before := len(r.entries(first.SessionID))
	r.resume(harness.Session{Resume: first.SessionID, Fork: true}, "In the copy.")
	r.answers(text("Answer in the copy."))
	fork := r.mustRun(harness.EndTurn)
	r.has(r.last(), "First answer.", "In the copy.")
	if fork.SessionID == first.SessionID || fork.SessionID == "" {
		r.Errorf("the copy's id is %q", fork.SessionID)
	}
	if after := len(r.entries(first.SessionID)); after != before {
		r.Errorf("the origin had %d entries and has %d", before, after)
	}
	r.resume(harness.Session{Resume: fork.SessionID}, "Again in the copy.")
	r.answers(text("Second answer in the copy."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "First answer.", "Answer in the copy.", "Again in the copy.")
}

func resumeAtGoesBack(r *rig) {
	r.answers(text("First answer."))
	first := r.mustRun(harness.EndTurn)
	at := ""
	for _, e := range r.entries(first.SessionID) {
		if e.Type == "assistant" {
			at = e.UUID
		}
	}
	r.resume(harness.Session{Resume: first.SessionID}, "The wrong way.")
	r.answers(text("Lost."))
	r.mustRun(harness.EndTurn)
	r.resume(harness.Session{Resume: first.SessionID, At: at}, "The right way.")
	r.answers(text("Found."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "First answer.", "The right way.")
	r.hasNot(r.last(), "The wrong way.", "Lost.")
	r.resume(harness.Session{Resume: first.SessionID}, "On from there.")
	r.answers(text("Done."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "First answer.", "The right way.", "Found.", "On from there.")
	r.hasNot(r.last(), "The wrong way.", "Lost.")
}

func aMissingSession(r *rig) {
	r.resume(harness.Session{Resume: "00000000-0000-4000-8000-000000000000"}, "Go on.")
	out, err := r.run()
	if !errors.Is(err, transcript.ErrNotFound) || out.Stop != harness.Failed {
		r.Errorf("%+v, %v", out, err)
	}
	r.resume(harness.Session{Fork: true}, "Go on.")
	if _, err := r.run(); err == nil {
		r.Error("a fork of nothing was made")
	}
}

// onBash calls f when the command of a Bash call is running: it has then made the
// file started.
func (r *rig) onBash(f func()) {
	var once atomic.Bool
	r.onCall = func(e event.Event) {
		if e.Tool != "Bash" || !once.CompareAndSwap(false, true) {
			return
		}
		go func() {
			for range 1000 {
				if _, err := os.Stat(filepath.Join(r.dir, "started")); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			f()
		}()
	}
}

// sleeps is a command that tells its process and sleeps.
const sleeps = "echo $$ > started.tmp; mv started.tmp started; sleep 300"

func aPersonInterrupts(r *rig) {
	words := make(chan string, 1)
	r.turn.Interrupt = words
	r.onBash(func() { words <- "Stop, the other file." })
	r.answers(calls("Bash", bash(sleeps)))
	var out harness.Outcome
	r.within("the interrupt", func() { out = r.mustRun(harness.Interrupted) })
	if out.Words != "Stop, the other file." || out.SessionID == "" {
		r.Errorf("outcome = %+v", out)
	}
	r.gone()
	r.turn.Interrupt = nil
	r.resume(harness.Session{Resume: out.SessionID}, "Now the other file.")
	r.answers(text("Done."))
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "Now the other file.", "sleep 300")
}

// gone checks that the command that sleeps is no more.
func (r *rig) gone() {
	r.Helper()
	raw, err := os.ReadFile(filepath.Join(r.dir, "started"))
	if err != nil {
		r.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		r.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		r.Errorf("the command is still there (%v)", err)
	}
}

func aCancelledTurn(r *rig) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r.onBash(cancel)
	r.answers(calls("Bash", bash(sleeps)))
	r.within("the end", func() {
		out, err := r.runUnder(ctx)
		if !errors.Is(err, context.Canceled) || out.Stop != harness.Failed || out.SessionID == "" {
			r.Errorf("%+v, %v", out, err)
		}
	})
	r.gone()
}

// dying is a store whose process is about to die: from then on nothing is written.
type dying struct {
	transcript.Store
	dead atomic.Bool
}

func (d *dying) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	if d.dead.Load() {
		return 0, transcript.ErrUnavailable
	}
	return d.Store.Append(ctx, key, expect, es)
}

func (d *dying) Put(ctx context.Context, name string, value []byte, rev uint64) (uint64, error) {
	if d.dead.Load() {
		return 0, transcript.ErrUnavailable
	}
	return d.Store.Put(ctx, name, value, rev)
}

func aCrashInACall(r *rig) {
	d := &dying{Store: r.store}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r.turn.Store = d
	r.turn.HostTools = []tool.Tool{tool.Func{
		Def: tool.Definition{Name: "launch", Description: "Launch it.", Schema: []byte(`{"type":"object"}`)},
		Call: func(context.Context, tool.Call) tool.Result {
			d.dead.Store(true)
			cancel()
			return tool.TextResult("never seen")
		},
	}}
	r.turn.Agent.AllowedTools = []string{"launch"}
	r.says(func(q request) turn {
		if q.Turn() == 1 {
			return calls(q.Tools[0].Name, `{"rocket":"number 7"}`)
		}
		return text("Done.")
	})
	session := ""
	r.turn.OnSession = func(id string) { session = id }
	if _, err := r.runUnder(ctx); err == nil || session == "" {
		r.Fatalf("session %q, error %v", session, err)
	}
	r.turn.Store = r.store
	r.resume(harness.Session{Resume: session}, "Go on.")
	r.says(func(request) turn { return text("Done.") })
	r.mustRun(harness.EndTurn)
	r.has(r.last(), "Go on.", "number 7", "may or may not have taken effect")
	r.resume(harness.Session{Resume: session}, "And on.")
	r.mustRun(harness.EndTurn)
	if n := strings.Count(r.last(), "may or may not have taken effect"); n != 1 {
		r.Errorf("the lost call is told %d times:\n%s", n, r.last())
	}
}

func aSlashIsNoCommand(r *rig) {
	r.turn.Prompt = "/compact everything"
	r.answers(text("As you wish."))
	out := r.mustRun(harness.EndTurn)
	r.has(r.last(), "/compact everything")
	if out.Text != "As you wish." {
		r.Errorf("text = %q", out.Text)
	}
}
