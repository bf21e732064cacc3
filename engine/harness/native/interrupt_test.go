package native_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// interruptible gives the bench a channel for a person's words.
func (b *bench) interruptible() chan string {
	words := make(chan string, 1)
	b.turn.Interrupt = words
	return words
}

func TestInterrupt_closes_the_open_stream(t *testing.T) {
	words := make(chan string, 1)
	slow := says("This never comes to its end.")
	slow.Faults = []api.Fault{{Kind: api.Stall, At: 300}}
	first := true
	b := newBench(t, &api.Options{Script: func(api.Request) api.Turn {
		if !first {
			return says("Fine.")
		}
		first = false
		words <- "stop that"
		return slow
	}})
	b.turn.Interrupt = words
	out := b.mustRun(harness.Interrupted)
	if out.Words != "stop that" || out.SessionID == "" {
		t.Errorf("%+v", out)
	}
	b.resume(out.SessionID, "Do something else.")
	b.mustRun(harness.EndTurn)
}

func TestInterrupt_ends_commands_and_answers_every_call(t *testing.T) {
	b := newBench(t, nil)
	words := b.interruptible()
	pid := filepath.Join(b.dir, "pid")
	b.turn.Sink = event.SinkFunc(func(e event.Event) {
		b.collect(e)
		if e.Kind == event.ToolCall && strings.Contains(e.Text, "sleep") {
			go func() {
				for range 200 {
					if _, err := os.Stat(pid); err == nil {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				words <- "enough"
			}()
		}
	})
	b.server.Enqueue(calls(
		"Bash", input("command", "echo first"),
		"Bash", input("command", "sleep 1000 & echo $! > pid; wait"),
		"Bash", input("command", "touch third"),
	))
	out := b.mustRun(harness.Interrupted)
	stored := b.memory.entries(key(out.SessionID))
	if got := kinds(stored); got != "flower_prefix user calls(3) result result result" {
		t.Fatalf("stored: %s", got)
	}
	for i, want := range []string{"first", "interrupted from outside", "interrupted from outside"} {
		if !strings.Contains(string(stored[3+i].Raw), want) {
			t.Errorf("result %d: %s", i, stored[3+i].Raw)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "third")); err == nil {
		t.Error("a call behind the interrupted one was run")
	}
	assertGone(t, pid)
	b.resume(out.SessionID, "Now this.")
	b.server.Enqueue(says("Yes."))
	b.mustRun(harness.EndTurn)
	if got := results(b.last()); len(got) != 3 {
		t.Errorf("results sent: %q", got)
	}
}

// assertGone fails when the process whose id the file holds is alive.
func assertGone(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(content))
	for range 100 {
		// A process that has ended but that nobody has waited for is gone too.
		stat, err := os.ReadFile(filepath.Join("/proc", id, "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s is still alive", id)
}

func TestInterrupt_keeps_what_had_arrived_whole(t *testing.T) {
	half := api.Turn{Blocks: []api.Block{api.Text("I begin with the first part."), api.Text(strings.Repeat("more ", 400))}}
	half.Faults = []api.Fault{{Kind: api.Stall, At: 1400}}
	b := newBench(t, nil, half)
	words := b.interruptible()
	time.AfterFunc(300*time.Millisecond, func() { words <- "stop" })
	out := b.mustRun(harness.Interrupted)
	if out.Text != "I begin with the first part." {
		t.Errorf("text = %q", out.Text)
	}
	b.resume(out.SessionID, "Go on.")
	b.server.Enqueue(says("Fine."))
	b.mustRun(harness.EndTurn)
}

func TestInterrupt_question_gets_a_result_but_stays_open_when_the_process_is_ended(t *testing.T) {
	for _, byPerson := range []bool{true, false} {
		b := newBench(t, nil, calls("mcp__human__ask", input("question", "Which?")))
		ctx, cancel := context.WithCancel(t.Context())
		words := b.interruptible()
		b.turn.HostTools = append(b.turn.HostTools, tool.Func{
			Def: tool.Definition{Name: "mcp__human__ask", Description: "asks"},
			Call: func(ctx context.Context, c tool.Call) tool.Result {
				if byPerson {
					words <- "later"
				} else {
					cancel()
				}
				<-ctx.Done()
				return tool.ErrorResult("nobody answered")
			},
		})
		b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "mcp__human__ask")
		turn := b.turn
		turn.Store = b.store
		out, err := native.New(b.config).Run(ctx, turn)
		if (err == nil) != byPerson {
			t.Fatalf("byPerson %v: %v", byPerson, err)
		}
		want := "flower_prefix user calls(1)"
		if byPerson {
			want += " result"
		}
		if got := kinds(b.memory.entries(key(out.SessionID))); got != want {
			t.Errorf("byPerson %v: stored %s", byPerson, got)
		}
		cancel()
	}
}

// F-045
func TestInterrupt_background_commands_end_with_the_turn(t *testing.T) {
	b := newBench(t, nil, calls("Bash", `{"command":"echo $$ > pid; sleep 1000","run_in_background":true}`),
		calls("Bash", input("command", "while ! test -s pid; do sleep 0.01; done")), says("Started."))
	b.mustRun(harness.EndTurn)
	assertGone(t, filepath.Join(b.dir, "pid"))
}
