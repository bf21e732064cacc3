package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// sent is what the harness was ordered to do.
type sent struct {
	Label  string
	Prompt string
	Resume string
	Fork   bool
}

type harnessTurn = harness.Turn

// answer is what a turn comes to. A session named "-" is none.
type answer struct {
	text    string
	session string
	err     error
	stop    harness.Stop
	words   string
	context int64
	do      func(context.Context, harness.Turn)
}

// script is a harness that plays answers in order and keeps a real transcript
// for every session, so that continuity finds what it looks for. It takes the
// place of a model that would have to be steered to fail on cue.
type script struct {
	mu      sync.Mutex
	answers []answer
	sent    []sent
	made    int
	// before sees, and may change, each turn; nil: nobody does.
	before func(*harness.Turn)
	// compacts: it can shorten conversations by itself.
	compacts bool
}

func (s *script) Compacts() bool { return s.compacts }

func (*script) Name() string                               { return "script" }
func (*script) Prices(_ context.Context, name string) bool { return name != "unpriced" }

func (s *script) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	s.mu.Lock()
	s.sent = append(s.sent, sent{t.Step, t.Prompt, t.Session.Resume, t.Session.Fork})
	a := answer{}
	if len(s.answers) > 0 {
		a, s.answers = s.answers[0], s.answers[1:]
	}
	id := t.Session.Resume
	if a.session != "" {
		id = a.session
	}
	if id == "" || t.Session.Fork && a.session == "" {
		s.made++
		id = fmt.Sprintf("s%d", s.made)
	}
	s.mu.Unlock()
	if s.before != nil {
		s.before(&t)
	}
	cost := 0.25
	out := harness.Outcome{Stop: harness.EndTurn, Text: a.text, LastMessage: a.text, CostUSD: &cost, Turns: 1, Words: a.words, Context: a.context}
	if a.stop != "" {
		out.Stop = a.stop
	}
	if id != "-" {
		out.SessionID = id
		if err := keepSession(ctx, t, id); err != nil {
			return out, err
		}
		if t.OnSession != nil {
			t.OnSession(id)
		}
	}
	if a.do != nil {
		a.do(ctx, t)
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	return out, a.err
}

func keepSession(ctx context.Context, t harness.Turn, id string) error {
	key := transcript.Key{Project: t.Project, Session: id}
	head, err := t.Store.Head(ctx, key)
	if err != nil {
		head = transcript.Head{}
	}
	raw, err := json.Marshal(map[string]any{"type": "user", "uuid": fmt.Sprintf("%s-%d", id, head.Last), "message": map[string]any{"role": "user", "content": t.Prompt}})
	if err != nil {
		return err
	}
	e, err := transcript.Parse(raw)
	if err != nil {
		return err
	}
	_, err = t.Store.Append(ctx, key, head.Last, []transcript.Entry{e})
	return err
}

func (s *script) orders() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// labels are the labels of the orders so far.
func (s *script) labels() string {
	var out []string
	for _, o := range s.orders() {
		out = append(out, o.Label)
	}
	return strings.Join(out, " ")
}

// bench is one directory in which processes run one after the other.
type bench struct {
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench { return &bench{t: t, dir: t.TempDir()} }

// process is one Runtime with its store and what it told.
type process struct {
	*engine.Runtime
	script *script
	seen   *eventLog
	close  func()
}

func (b *bench) start(answers ...answer) *process {
	return b.startWith(engine.Config{}, answers...)
}

func (b *bench) startWith(c engine.Config, answers ...answer) *process {
	b.t.Helper()
	if c.Workspace == "" {
		c.Workspace = b.dir
	}
	runDir := c.RunDir
	if runDir == "" {
		runDir = filepath.Join(c.Workspace, "runs")
	}
	db, err := store.Open(filepath.Join(runDir, "sessions"), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	p := &process{script: &script{answers: answers}, seen: &eventLog{}}
	p.script.made = 100 * b.sessions(db)
	c.Store, c.Harness, c.Sink = db, p.script, p.seen
	if p.Runtime, err = engine.New(c); err != nil {
		b.t.Fatal(err)
	}
	closed := false
	p.close = func() {
		if closed {
			return
		}
		closed = true
		p.Runtime.Close()
		if err := db.Close(); err != nil {
			b.t.Error(err)
		}
	}
	b.t.Cleanup(p.close)
	return p
}

// sessions counts what is stored, so that a second process makes other ids.
func (b *bench) sessions(db transcript.Store) (n int) {
	for _, err := range db.List(context.Background(), transcript.Key{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		n++
	}
	return n
}

func (p *process) run(t *testing.T, w *engine.Workflow, o engine.WorkflowOptions) engine.Ending {
	t.Helper()
	ending, err := p.RunWorkflow(context.Background(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	return ending
}

// eventLog keeps events.
type eventLog struct {
	mu   sync.Mutex
	list []event.Event
}

func (l *eventLog) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *eventLog) of(kind event.Kind) (list []event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// step is a step named like its spec.
func step(name string) engine.Step {
	return engine.Step{Name: name, Spec: engine.Spec{Name: name}, Prompt: engine.Text("do " + name)}
}

func flow(steps ...engine.Step) *engine.Workflow { return &engine.Workflow{Name: "test", Steps: steps} }

func value(t *testing.T, c engine.Context, key string) any {
	t.Helper()
	v, ok := c.Get(key)
	if !ok {
		t.Errorf("the context has no %s", key)
	}
	return v
}

func absent(t *testing.T, c engine.Context, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if v, ok := c.Get(key); ok {
			t.Errorf("the context has %s = %v", key, v)
		}
	}
}
