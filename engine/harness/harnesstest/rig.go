package harnesstest

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// rig is one harness with everything around it.
type rig struct {
	*testing.T
	suite   Suite
	server  *api.Server
	store   transcript.Store
	dir     string
	turn    harness.Turn
	retries int
	abroad  bool          // the next turn is the other harness's
	ahead   time.Duration // of the harness's clock

	mu     sync.Mutex
	script func(api.Request) api.Turn
	events []event.Event
	onCall func(event.Event) // told of every tool call
}

const (
	project = "demo"
	key     = "test-key"
	modelID = "claude-sonnet-4-5"
)

func newRig(t *testing.T, s Suite) *rig {
	t.Helper()
	r := &rig{T: t, suite: s, retries: -1}
	server, err := api.Start(&api.Options{Keys: []string{key}, Script: func(q api.Request) api.Turn {
		r.mu.Lock()
		script := r.script
		r.mu.Unlock()
		if script == nil {
			return api.Turn{Error: &api.Error{Status: 400, Message: "the test has no answer for this request"}}
		}
		return script(q)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r.server, r.store = server, s.Store(t)
	if r.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r.turn = harness.Turn{
		Agent:  harness.Agent{Name: "tester", Workspace: r.dir, AllowedTools: []string{"Bash", "Read", "Write"}},
		Prompt: "Do it.", Project: project, Run: "run-1", Step: "step-1", Sink: event.SinkFunc(r.collect),
		View: transcript.Policy{Prune: transcript.PrunePolicy{DropAPIErrors: true, NeutralizeInterrupts: true, HealOrphans: true, KeepDenials: 1}},
	}
	return r
}

// prices: a million tokens of input cost a dollar, of output ten.
func prices(_ context.Context, name string) (model.Info, error) {
	return model.Info{Name: name, Window: 200_000, Price: &model.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 1.25, CacheWrite1h: 2}}, nil
}

func (r *rig) collect(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if r.onCall != nil && e.Kind == event.ToolCall {
		r.onCall(e)
	}
}

// of are the events of a kind.
func (r *rig) of(kind event.Kind) []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e event.Event) bool { return e.Kind != kind })
}

// answers queues what the provider says next.
func (r *rig) answers(turns ...api.Turn) { r.server.Enqueue(turns...) }

// says answers every request by a function, once the queue is empty.
func (r *rig) says(script func(api.Request) api.Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = script
}

// run runs a turn with a harness of its own, as another process would.
func (r *rig) run() (harness.Outcome, error) {
	r.Helper()
	return r.runUnder(r.Context())
}

func (r *rig) runUnder(ctx context.Context) (harness.Outcome, error) {
	r.Helper()
	turn := r.turn
	if turn.Store == nil {
		turn.Store = r.store
	}
	make := r.suite.New
	if r.abroad {
		make = r.suite.Other
	}
	h := make(r, Provider{URL: r.server.URL(), Key: key, Model: modelID, Retries: r.retries, Info: prices,
		Now: func() time.Time { return time.Now().Add(r.ahead) }})
	return h.Run(ctx, turn)
}

// mustRun runs a turn that has to end in the given way.
func (r *rig) mustRun(want harness.Stop) harness.Outcome {
	r.Helper()
	out, err := r.run()
	if err != nil {
		r.Fatalf("Run: %v\n%s", err, r.log())
	}
	if out.Stop != want {
		r.Fatalf("stop = %q (%s), want %q\n%s", out.Stop, out.Detail, want, r.log())
	}
	return out
}

// log are the exchanges so far, for a failed test.
func (r *rig) log() string {
	var s strings.Builder
	for _, x := range r.server.Log() {
		s.WriteString(strings.Join([]string{x.Method, x.Path, x.Type, x.Message}, " ") + "\n")
	}
	return s.String()
}

// resume makes the next turn continue a session.
func (r *rig) resume(s harness.Session, prompt string) {
	r.turn.Session, r.turn.Prompt = s, prompt
}

// requests are the requests for answers that were taken, in order.
func (r *rig) requests() []api.Request {
	var out []api.Request
	for _, x := range r.server.Log() {
		if x.Path == "/v1/messages" && len(x.Request.Messages) > 0 {
			out = append(out, x.Request)
		}
	}
	slices.SortFunc(out, func(a, b api.Request) int { return a.Number - b.Number })
	return out
}

// last is the newest request's conversation as text.
func (r *rig) last() string {
	r.Helper()
	all := r.requests()
	if len(all) == 0 {
		r.Fatalf("no request arrived\n%s", r.log())
	}
	return conversation(all[len(all)-1])
}

// conversation is a request's messages as text.
func conversation(q api.Request) string {
	var s strings.Builder
	for _, m := range q.Messages {
		for _, b := range m.Content {
			s.WriteString(m.Role + ": " + b.Text + b.Name + string(b.Input))
			for _, inner := range b.Content {
				s.WriteString(inner.Text)
			}
			if b.IsError {
				s.WriteString(" (error)")
			}
			s.WriteString("\n")
		}
	}
	return s.String()
}

// system is a request's system prompt.
func system(q api.Request) string {
	var s strings.Builder
	for _, b := range q.System {
		s.WriteString(b.Text + "\n")
	}
	return s.String()
}

// has checks that a text holds some words.
func (r *rig) has(text string, words ...string) {
	r.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			r.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

// hasNot checks that it holds none of them.
func (r *rig) hasNot(text string, words ...string) {
	r.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			r.Errorf("%q is in:\n%s", w, text)
		}
	}
}

// entries are what is stored of a session.
func (r *rig) entries(session string) []transcript.Entry {
	r.Helper()
	var out []transcript.Entry
	for e, err := range r.store.Load(r.Context(), transcript.Key{Project: project, Session: session}, 0) {
		if err != nil {
			r.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// within runs f and fails the test when it takes longer than a harness may take to
// stop; the bound is wide, since the machine may be busy.
func (r *rig) within(what string, f func()) {
	r.Helper()
	begin := time.Now()
	f()
	if d := time.Since(begin); d > 25*time.Second {
		r.Errorf("%s took %s", what, d)
	}
}

func text(s string) api.Turn { return api.Turn{Blocks: []api.Block{api.Text(s)}} }

// calls is a turn with tool calls, given as name and input in turn.
func calls(pairs ...string) api.Turn {
	var t api.Turn
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Blocks = append(t.Blocks, api.ToolUse("", pairs[i], pairs[i+1]))
	}
	return t
}

func refuses(status int, message string) api.Turn {
	return api.Turn{Error: &api.Error{Status: status, Message: message}}
}

// bash is a call's input.
func bash(command string) string { return object("command", command, "description", "test") }

// object is an object as JSON.
func object(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, _ := json.Marshal(m) // strings always marshal
	return string(raw)
}

// guards makes guards of functions.
func guards(gs ...guard.Guard) guard.Chain { return guard.Chain{Guards: gs} }

// before is a guard that looks at calls.
type before func(c guard.Call) (guard.Decision, error)

func (before) Name() string { return "before" }

func (f before) Before(_ context.Context, c guard.Call) (guard.Decision, error) { return f(c) }

func (before) After(_ context.Context, _ guard.Call, r guard.Reply) (guard.Reply, error) {
	return r, nil
}

// denies is a guard against some calls.
func denies(what func(c guard.Call) bool, why string) guard.Guard {
	return before(func(c guard.Call) (guard.Decision, error) {
		if what(c) {
			return guard.Decision{Action: guard.Deny, Reason: why}, nil
		}
		return guard.Decision{}, nil
	})
}
