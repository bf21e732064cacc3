package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/scripts"
	"github.com/flowerlua/flower/store"
)

// errDied is why a process that dies in these tests ends.
var errDied = errors.New("the process died")

// mortal is a store whose process dies at its n-th write: that write and whatever
// follows does not happen, and the process's context ends.
type mortal struct {
	transcript.Store
	left atomic.Int64
	die  context.CancelCauseFunc
}

func (m *mortal) write() error {
	if m.left.Add(-1) < 0 {
		m.die(errDied)
		return transcript.ErrUnavailable
	}
	return nil
}

func (m *mortal) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	if err := m.write(); err != nil {
		return 0, err
	}
	return m.Store.Append(ctx, key, expect, es)
}

func (m *mortal) Put(ctx context.Context, name string, value []byte, rev uint64) (uint64, error) {
	if err := m.write(); err != nil {
		return 0, err
	}
	return m.Store.Put(ctx, name, value, rev)
}

func (m *mortal) Fork(ctx context.Context, src transcript.Key, at string, dst transcript.Key) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Store.Fork(ctx, src, at, dst)
}

// life is a studio whose processes die, and what was seen over all of them.
type life struct {
	studio
	mu    sync.Mutex
	asked map[string]int // how often each question was asked, not reopened
}

// dyingModel is studioModel whose work leaves a line, so that an effect done twice
// shows.
var dyingModel = strings.Replace(studioModel, `return "worked: " .. turn.prompt`, `
  if turn.agent ~= "" then
    if #turn.messages[#turn.messages].results > 0 then return "Conclusion: done" end
    return { tool = "Bash", input = { command = "echo " .. turn.prompt .. " >> effects.txt" } }
  end
  local dispatched = 0
  for _, m in ipairs(turn.messages) do dispatched = dispatched + #m.calls end
  if turn.prompt:find("Conclusion", 1, true) then return "done" end
  if #turn.messages[#turn.messages].results > 0 then return "the round is done" end
  return { tool = "Agent", input = { description = "d", subagent_type = "coder", prompt = "dispatch" .. dispatched } }
`, 1)

// run is one process; it dies at write n, 0 lets it live.
func (l *life) run(n int64, db transcript.Store) (ending engine.Ending, writes int64, err error) {
	l.t.Helper()
	modelFile := filepath.Join(l.t.TempDir(), "model.lua")
	if err := os.WriteFile(modelFile, []byte(dyingModel), 0o644); err != nil {
		l.t.Fatal(err)
	}
	rehearsal, err := luabind.LoadRehearsal(modelFile)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rehearsal.Close()
	ctx, die := context.WithCancelCause(context.Background())
	defer die(nil)
	const immortal = 1 << 40
	m := &mortal{Store: db, die: die}
	m.left.Store(immortal)
	if n > 0 {
		m.left.Store(n - 1)
	}
	before := m.left.Load()
	var rt *engine.Runtime
	rt, err = engine.New(engine.Config{Workspace: l.dir, Store: m, NoRetry: true,
		Harness: native.New(native.Config{Model: rehearsal}),
		Sink: event.SinkFunc(func(e event.Event) {
			if e.Kind != event.Ask || e.Payload["state"] != "asked" || m.left.Load() < 0 {
				return // a dead process shows nothing
			}
			if e.Payload["again"] == nil {
				l.mu.Lock()
				l.asked[e.Text]++
				l.mu.Unlock()
			}
			rt.Channel().Answer(e.Payload["id"].(string), "two")
		})})
	if err != nil {
		l.t.Fatal(err)
	}
	defer rt.Close()
	p, err := luabind.Load("starter.lua", scripts.Starter, &luabind.Options{Values: map[string]any{"ask": "make me a page"}})
	if err != nil {
		l.t.Fatal(err)
	}
	ending, err = p.Run(ctx, rt, nil)
	return ending, before - m.left.Load(), err
}

// TestStarter_dies_at_every_write lets the process die at each write in turn and
// runs it again: it ends as if nothing had happened, no question is asked twice,
// no command runs twice.
func TestStarter_dies_at_every_write(t *testing.T) {
	every := int64(9)
	if os.Getenv("FLOWER_TEST_LONG") != "" {
		every = 1
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begin := func(t *testing.T) *life {
		return &life{studio: studio{t: t, dir: t.TempDir()}, asked: map[string]int{}}
	}
	whole := begin(t)
	ending, writes, err := whole.run(0, db)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	t.Logf("%d writes", writes)
	want := whole.state()
	survived := 0
	for n := int64(1); n <= writes; n += every {
		l := begin(t)
		ending, _, _ := l.run(n, db) // it dies
		if ending.OK {               // how often the last values are written varies by a write or two
			survived++
		}
		if ending, _, err = l.run(0, db); err != nil || !ending.OK {
			t.Errorf("write %d: the next process ended with %+v, %v", n, ending, err)
			continue
		}
		if got := l.state(); got != want {
			t.Errorf("write %d: left\n%s\nwant\n%s", n, got, want)
		}
		for question, times := range l.asked {
			if times > 1 {
				t.Errorf("write %d: %q was asked %d times", n, question, times)
			}
		}
	}
	if survived > 2 {
		t.Errorf("%d processes did not die", survived)
	}
}

// state is what the processes left: brief, goal, and each effect once.
func (l *life) state() string {
	effects := strings.Fields(l.read("effects.txt"))
	seen := map[string]bool{}
	for _, line := range effects {
		if seen[line] {
			l.t.Errorf("%s was done twice", line)
		}
		seen[line] = true
	}
	return l.read(".flower/notes/brief.md") + l.read(".flower/notes/goal.md")
}
