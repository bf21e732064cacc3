package claudecode_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// bench is what a test of a turn needs: the double of the API over HTTP, a store,
// a folder, and the real program between them.
type bench struct {
	t      testing.TB
	server *api.Server
	store  transcript.Store
	dir    string
	config claudecode.Config
	turn   harness.Turn

	mu     sync.Mutex
	events []event.Event
}

const project = "demo"

// realKey is what the program must never see.
const realKey = "real-test-key"

func newBench(t testing.TB, turns ...api.Turn) *bench {
	t.Helper()
	if program == "" {
		t.Skip("the Claude Code CLI is not installed: run npm ci in testdata/cli")
	}
	if testing.Short() {
		t.Skip("starts the Claude Code CLI")
	}
	server, err := api.Start(&api.Options{Keys: []string{realKey}})
	if err != nil {
		t.Fatal(err)
	}
	server.Enqueue(turns...)
	db, err := store.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: server, store: db, dir: dir}
	b.config = claudecode.Config{Command: program, BaseURL: server.URL(), Key: realKey, DefaultModel: "claude-sonnet-4-5",
		TempDir: t.TempDir(), Retries: 1, Info: prices}
	b.turn = harness.Turn{
		Agent:  harness.Agent{Name: "tester", Workspace: dir, AllowedTools: []string{"Read", "Write", "Edit", "Bash"}},
		Prompt: "Do it.", Project: project, Run: "run-1", Step: "step-1", Sink: event.SinkFunc(b.collect),
		View: transcript.Policy{Prune: transcript.PrunePolicy{DropAPIErrors: true, HealOrphans: true, KeepDenials: 1}},
	}
	return b
}

// prices knows the price of every model: a million tokens of input cost a dollar,
// of output ten.
func prices(_ context.Context, name string) (model.Info, error) {
	return model.Info{Name: name, Window: 200_000, Price: &model.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 1.25, CacheWrite1h: 2}}, nil
}

func (b *bench) collect(e event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

// of are the events of a kind.
func (b *bench) of(kind event.Kind) []event.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []event.Event
	for _, e := range b.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (b *bench) run() (harness.Outcome, error) {
	b.t.Helper()
	return b.runUnder(b.t.Context())
}

func (b *bench) runUnder(ctx context.Context) (harness.Outcome, error) {
	b.t.Helper()
	turn := b.turn
	turn.Store = b.store
	return claudecode.New(b.config).Run(ctx, turn)
}

func (b *bench) mustRun(want harness.Stop) harness.Outcome {
	b.t.Helper()
	out, err := b.run()
	if err != nil {
		b.t.Fatalf("Run: %v", err)
	}
	if out.Stop != want {
		b.t.Fatalf("stop = %q (%s), want %q", out.Stop, out.Detail, want)
	}
	return out
}

func (b *bench) resume(session, prompt string) {
	b.turn.Session = harness.Session{Resume: session}
	b.turn.Prompt = prompt
}

// requests are the requests for answers that passed the server's checks.
func (b *bench) requests() []api.Request {
	var out []api.Request
	for _, x := range b.server.Log() {
		if x.Path == "/v1/messages" && len(x.Request.Messages) > 0 {
			out = append(out, x.Request)
		}
	}
	slices.SortFunc(out, func(a, b api.Request) int { return a.Number - b.Number })
	return out
}

func (b *bench) last() api.Request {
	b.t.Helper()
	all := b.requests()
	if len(all) == 0 {
		b.t.Fatal("no request arrived")
	}
	return all[len(all)-1]
}

// said is the whole conversation of a request as text.
func said(r api.Request) string {
	var s strings.Builder
	for _, m := range r.Messages {
		for _, c := range m.Content {
			s.WriteString(m.Role + ": " + c.Text + string(c.Input))
			for _, inner := range c.Content {
				s.WriteString(inner.Text)
			}
			s.WriteString("\n")
		}
	}
	return s.String()
}

// stored are the entries of a session.
func (b *bench) stored(session, sub string) []transcript.Entry {
	b.t.Helper()
	var out []transcript.Entry
	for e, err := range b.store.Load(b.t.Context(), transcript.Key{Project: project, Session: session, Sub: sub}, 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func says(s string) api.Turn { return api.Turn{Blocks: []api.Block{api.Text(s)}} }

// calls is a turn with tool calls, given as name and input in turn.
func calls(pairs ...string) api.Turn {
	var t api.Turn
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Blocks = append(t.Blocks, api.ToolUse("", pairs[i], pairs[i+1]))
	}
	return t
}

// input is an object as JSON.
func input(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// judge is a guard of two functions, each may be nil.
type judge struct {
	before func(c guard.Call) guard.Decision
	after  func(c guard.Call, r guard.Reply) guard.Reply
}

func (judge) Name() string { return "judge" }

func (j judge) Before(_ context.Context, c guard.Call) (guard.Decision, error) {
	if j.before == nil {
		return guard.Decision{}, nil
	}
	return j.before(c), nil
}

func (j judge) After(_ context.Context, c guard.Call, r guard.Reply) (guard.Reply, error) {
	if j.after == nil {
		return r, nil
	}
	return j.after(c, r), nil
}

func chain(gs ...guard.Guard) guard.Chain { return guard.Chain{Guards: gs} }
