package luabind_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// shared is one real store for all tests: opening one takes longer than most of
// them. Every runtime has a folder, and so a project, of its own.
var shared struct {
	once sync.Once
	db   transcript.Store
	err  error
	dir  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.db != nil {
		if err := shared.db.Close(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.RemoveAll(shared.dir)
	}
	if left := leftovers(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftovers are the goroutines of this package that do not end soon.
func leftovers() (left string) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "flower/luabind.") && !strings.Contains(g, "leftovers(") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			return ""
		}
	}
	return left
}

func sharedStore(t testing.TB) transcript.Store {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "luabind-"); shared.err == nil {
			shared.db, shared.err = store.Open(filepath.Join(shared.dir, "sessions"), nil)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.db
}

// echo is a harness without a model: it answers with what it is asked, or with
// what reply makes of it.
type echo struct {
	reply func(harness.Turn) string

	mu    sync.Mutex
	turns []harness.Turn
	count int
}

func (*echo) Name() string                        { return "echo" }
func (*echo) Prices(context.Context, string) bool { return true }

func (e *echo) Run(_ context.Context, t harness.Turn) (harness.Outcome, error) {
	e.mu.Lock()
	e.turns = append(e.turns, t)
	e.count++
	id := t.Session.Resume
	if id == "" || t.Session.Fork {
		id = fmt.Sprintf("session-%d", e.count)
	}
	e.mu.Unlock()
	text := t.Prompt
	if e.reply != nil {
		text = e.reply(t)
	}
	if t.OnSession != nil {
		t.OnSession(id)
	}
	free := 0.0
	return harness.Outcome{SessionID: id, Stop: harness.EndTurn, Text: text, LastMessage: text, CostUSD: &free, Turns: 1}, nil
}

// asked is what the harness was asked: label and prompt, and the session it was
// to continue.
func (e *echo) asked() (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.turns {
		line := t.Step + ": " + t.Prompt
		if t.Session.Resume != "" {
			line += " [" + t.Session.Resume + "]"
		}
		list = append(list, line)
	}
	return list
}

// events collects what a run tells.
type events struct {
	mu   sync.Mutex
	list []event.Event
}

func (l *events) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *events) texts(kind event.Kind) (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

func newRuntime(t testing.TB, h harness.Harness) (*engine.Runtime, *events) {
	t.Helper()
	return runtimeIn(t, t.TempDir(), h)
}

// runtimeIn is a runtime in a folder that may have been used before.
func runtimeIn(t testing.TB, dir string, h harness.Harness) (*engine.Runtime, *events) {
	t.Helper()
	seen := &events{}
	rt, err := engine.New(engine.Config{Workspace: dir, Store: sharedStore(t), Harness: h, Sink: seen, NoRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	return rt, seen
}

// run runs a script and gives what it printed, one line an event.
func run(t *testing.T, source string, o *luabind.Options) (printed []string, err error) {
	t.Helper()
	p := play(t, &echo{}, source, o)
	return p.printed, p.err
}

// played is how a script's run went.
type played struct {
	ending  engine.Ending
	err     error
	printed []string // by print and flower.log
	errors  []string // events
	dir     string   // the workspace
}

// play runs a script with a harness, in a folder of its own.
func play(t *testing.T, h harness.Harness, source string, o *luabind.Options, args ...string) played {
	t.Helper()
	return playIn(t, t.TempDir(), h, source, o, args...)
}

func playIn(t *testing.T, dir string, h harness.Harness, source string, o *luabind.Options, args ...string) played {
	t.Helper()
	rt, seen := runtimeIn(t, dir, h)
	program, err := luabind.Load("test.lua", source, o)
	if err != nil {
		return played{err: err}
	}
	p := played{dir: dir}
	p.ending, p.err = program.Run(context.Background(), rt, args)
	rt.Close() // all events are delivered
	p.printed, p.errors = seen.texts(event.Task), seen.texts(event.Error)
	return p
}
