package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// bench is what a test of the loop needs: the double of the API over HTTP, a
// store, a folder, and the harness between them.
type bench struct {
	t      testing.TB
	server *api.Server
	store  transcript.Store
	memory *memory
	dir    string
	config native.Config
	turn   harness.Turn

	mu     sync.Mutex
	events []event.Event
}

// project is the first part of every key in these tests.
const project = "demo"

// newBench starts a server; nil options are the defaults.
func newBench(t testing.TB, o *api.Options, turns ...api.Turn) *bench {
	t.Helper()
	server, err := api.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	server.Enqueue(turns...)
	b := &bench{t: t, server: server, memory: newMemory(), dir: t.TempDir()}
	b.store = b.memory
	b.config = native.Config{
		Model:      client(server),
		RetryDelay: time.Millisecond, Version: "test", OutputDir: t.TempDir(),
	}
	b.turn = harness.Turn{
		Agent:   harness.Agent{Name: "tester", Workspace: b.dir, AllowedTools: []string{"Read", "Write", "Edit", "Bash"}},
		Prompt:  "Do it.",
		Project: project,
		Run:     "run-1",
		Step:    "step-1",
		Sink:    event.SinkFunc(b.collect),
	}
	return b
}

func (b *bench) collect(e event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

// run runs one turn of the bench with a harness of its own, as another process
// would.
func (b *bench) run() (harness.Outcome, error) {
	b.t.Helper()
	turn := b.turn
	turn.Store = b.store
	return native.New(b.config).Run(b.t.Context(), turn)
}

// mustRun runs a turn that has to end in the given way.
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

// resume makes the next turn of the bench continue a session.
func (b *bench) resume(session, prompt string) {
	b.turn.Session = harness.Session{Resume: session}
	b.turn.Prompt = prompt
}

// key is the main transcript of a session.
func key(session string) transcript.Key { return transcript.Key{Project: project, Session: session} }

// requests are the requests that passed the server's checks, in the order of
// their arrival.
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

// last is the newest request.
func (b *bench) last() api.Request {
	b.t.Helper()
	all := b.requests()
	if len(all) == 0 {
		b.t.Fatal("no request arrived")
	}
	return all[len(all)-1]
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

// says is a turn that ends with a text.
func says(s string) api.Turn { return api.Turn{Blocks: []api.Block{api.Text(s)}} }

// calls is a turn with tool calls, given as name and input in turn.
func calls(pairs ...string) api.Turn {
	var t api.Turn
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Blocks = append(t.Blocks, api.ToolUse("", pairs[i], pairs[i+1]))
	}
	return t
}

// refuses is a turn that is an error.
func refuses(status int) api.Turn { return api.Turn{Error: &api.Error{Status: status}} }

// results are the texts of the results in a request's last message.
func results(r api.Request) []string {
	var out []string
	for _, b := range r.Results() {
		var texts []string
		for _, c := range b.Content {
			texts = append(texts, c.Text)
		}
		out = append(out, strings.Join(texts, "\n"))
	}
	return out
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

// host offers a tool of the embedding program and allows it.
func (b *bench) host(name string, readOnly bool, f func(c tool.Call) tool.Result) {
	b.turn.HostTools = append(b.turn.HostTools, tool.Func{
		Def:  tool.Definition{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: readOnly},
		Call: hostCall(f),
	})
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, name)
}

// kinds are the types and roles of a transcript's entries, a word each.
func kinds(es []transcript.Entry) string {
	var out []string
	for _, e := range es {
		switch {
		case e.Subtype != "":
			out = append(out, e.Subtype)
		case len(e.ToolResults) > 0:
			out = append(out, "result")
		case len(e.ToolUses) > 0:
			out = append(out, fmt.Sprintf("calls(%d)", len(e.ToolUses)))
		case e.Flags.Has(transcript.Meta):
			out = append(out, "note")
		default:
			out = append(out, e.Type)
		}
	}
	return strings.Join(out, " ")
}

// denies is a guard that denies calls of one tool.
type denies struct{ tool, reason string }

// prices knows the price of every model, dollar by dollar: a million tokens of
// input cost one, of output ten.
type priced struct{ model.Model }

func (p priced) Info(_ context.Context, name string) (model.Info, error) {
	return model.Info{Name: name, Price: &model.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 1.25, CacheWrite1h: 2}}, nil
}

func hostCall(f func(c tool.Call) tool.Result) func(context.Context, tool.Call) tool.Result {
	return func(_ context.Context, c tool.Call) tool.Result { return f(c) }
}

func (d denies) Name() string { return "denies" }

func (d denies) Before(_ context.Context, c guard.Call) (guard.Decision, error) {
	if c.Tool == d.tool {
		return guard.Decision{Action: guard.Deny, Reason: d.reason}, nil
	}
	return guard.Decision{}, nil
}

func (d denies) After(_ context.Context, _ guard.Call, r guard.Reply) (guard.Reply, error) {
	return r, nil
}

// client is a model that asks the server.
func client(s *api.Server) model.Model {
	return anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL(), Idle: 5 * time.Second})
}
