package claudecode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/proxy"
)

// run is one turn of the harness: one process of the program.
type run struct {
	h       *Harness
	turn    harness.Turn
	path    string // of the program
	model   string
	patient context.Context

	talk    *conversation // once prepared
	session string
	early   *string  // a person's words from before the program was started
	unsaid  bool     // the session to resume has no message yet
	preface []string // to say in front of the prompt
	index   string   // the workbench block of the system prompt
	dir     string   // the workspace without links, as the program sees it
	temp    string   // of this turn
	config  string   // the program's folder, in temp
	mark    string   // in the environment of the program and all it starts
	unwatch func()   // of the mark; nil before there is one

	names    names
	offered  []string
	policy   policy
	servers  *servers
	agents   agents
	rewrites rewrites
	say      *speaker
	ledger   *ledger
	journal  *journal
	proxy    *proxy.Server
	upstream func() error // ends what stands in for the provider

	stopping  atomic.Bool // the work was told to stop: nothing new is let run
	excluding sync.Once
	failing   sync.Once
	failed    chan struct{} // closed when something of ours failed
	failure   error         // to be read when failed is closed
}

// newRun checks the order before anything is stored or spent.
func (h *Harness) newRun(ctx context.Context, t harness.Turn, path string) (*run, error) {
	dir, err := filepath.Abs(t.Agent.Workspace)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("agent %s: the workspace cannot be used: %w", t.Agent.Name, err)
	}
	t.HostTools = withSkills(t)
	r := &run{h: h, turn: t, path: path, dir: dir, model: h.resolve(t.Agent.Model), names: newNames(t.HostTools),
		offered: offered(t.Agent), policy: policy{t.Agent, h.config.Ephemeral}, failed: make(chan struct{}),
		say: &speaker{sink: t.Sink, run: t.Run, step: t.Step}}
	r.servers = newServers(r.names, r.offered, r.say)
	if _, err := r.args(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Agent.Name, err)
	}
	r.ledger = newLedger(t.Limits, func(name string) *model.Price { return h.info(ctx, name).Price })
	r.ledger.toolless = len(r.offered) == 0
	return r, nil
}

// fail ends the turn with an error of ours; the first one counts.
func (r *run) fail(err error) {
	r.failing.Do(func() {
		r.failure = err
		close(r.failed)
	})
}

// run works from the opening of the session to the outcome.
func (r *run) run(ctx context.Context) (harness.Outcome, error) {
	var done func()
	r.patient, done = patient(ctx)
	defer done()
	if r.journal != nil { // prepared ahead
		r.journal.mu.Lock()
		r.journal.patient = r.patient
		r.journal.mu.Unlock()
	}
	end, err := r.work(ctx)
	out := r.outcome(end, err)
	r.sayEnd(out, err)
	return out, err
}

// work prepares the program, unless that was done ahead, and holds the
// conversation.
func (r *run) work(ctx context.Context) (e ending, err error) {
	if r.talk == nil {
		err := r.prepare(ctx)
		if r.early != nil {
			return ending{stop: harness.Interrupted, detail: interruptedText, words: *r.early}, r.journal.close()
		}
		if err != nil {
			return e, err
		}
	}
	defer func() { err = errors.Join(err, r.release()) }()
	if r.turn.Session.Resume != "" {
		r.known()
	}
	e, err = r.talk.hold(ctx, withNews(r.preface, r.turn.Prompt))
	return e, errors.Join(err, r.journal.close())
}

// prepare makes the turn's folder, opens the session, and starts proxy and
// program. When it fails nothing is left; else release must be called.
func (r *run) prepare(ctx context.Context) (err error) {
	if r.temp, err = os.MkdirTemp(r.h.config.TempDir, "flower-claude-"); err != nil {
		return fmt.Errorf("no folder for claude code: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.release())
		}
	}()
	r.mark, r.unwatch = tool.Mark()
	r.mark = "cc" + r.mark
	r.config = filepath.Join(r.temp, "config")
	if err := os.MkdirAll(filepath.Join(r.temp, "home"), 0o700); err != nil {
		return fmt.Errorf("no folder for claude code: %w", err)
	}
	if r.preface, err = r.open(ctx); err != nil {
		return err
	}
	r.say.open(r.session)
	if err := r.connect(); err != nil {
		return err
	}
	c := &conversation{run: r}
	if err := c.start(ctx); err != nil {
		return err
	}
	r.talk = c
	return nil
}

// release undoes prepare, as far as that came; the program has ended.
func (r *run) release() (err error) {
	if r.unwatch != nil {
		r.unwatch()
	}
	if r.proxy != nil {
		err = r.proxy.Close()
	}
	if r.upstream != nil {
		err = errors.Join(err, r.upstream())
	}
	if gone := os.RemoveAll(r.temp); gone != nil {
		r.say.emit(event.Event{Kind: event.Error, Text: "the folder of a turn is left behind: " + gone.Error()})
	}
	return err
}

// known tells the session's id to whoever wants to know.
func (r *run) known() {
	if r.turn.OnSession != nil {
		r.turn.OnSession(r.session)
	}
}

// withNews puts what must be said in front of a prompt. The program takes a text
// that begins with a slash for a command of its own, so none ever does.
func withNews(news []string, prompt string) string {
	if strings.HasPrefix(strings.TrimSpace(prompt), "/") && len(news) == 0 {
		news = []string{"The message:"}
	}
	return strings.Join(append(news, prompt), "\n\n")
}

// connect starts the proxy, and in front of it what answers in the provider's
// place.
func (r *run) connect() error {
	o := proxy.Options{Upstream: r.h.config.BaseURL, Key: r.h.config.Key, Token: r.h.config.Token,
		Before: r.ledger.before, Done: r.ledger.done}
	if r.h.config.Model != nil {
		url, end, err := serveModel(r.h.config.Model, r.names, r.meta)
		if err != nil {
			return err
		}
		o.Upstream, o.Key, o.Token, r.upstream = url, "rehearsal", "", end
	}
	p, err := proxy.Start(o)
	r.proxy = p
	return err
}

// meta is who asks, for a model that wants to know.
func (r *run) meta(agent string) model.Meta {
	m := model.Meta{Step: r.turn.Step, Role: r.turn.Agent.Name, Session: r.session, Agent: agent}
	if agent != "" {
		m.Role = r.agents.role(agent)
	}
	return m
}

// agents are the subagents of the turn.
type agents struct {
	mu     sync.Mutex
	roles  map[string]string // id → worker
	byCall map[string]string // Agent call → id
}

func (a *agents) add(id, call, role string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.roles == nil {
		a.roles, a.byCall = map[string]string{}, map[string]string{}
	}
	a.roles[id], a.byCall[call] = role, id
}

func (a *agents) role(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.roles[id]
}

// of is the subagent that an Agent call dispatched; the call's id while the
// program has not named it.
func (a *agents) of(call string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id := a.byCall[call]; id != "" || call == "" {
		return id
	}
	return call
}

// rewrites are results that guards have replaced, until the program shows what it
// made of them.
type rewrites struct {
	mu   sync.Mutex
	list map[string]rewrite // by call
}

type rewrite struct{ tool, text string }

func (w *rewrites) expect(call, tool, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[string]rewrite{}
	}
	w.list[call] = rewrite{tool, text}
}

// take is what was expected of a call's result.
func (w *rewrites) take(call string) (rewrite, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.list[call]
	delete(w.list, call)
	return x, ok
}

// speaker sends the events of a turn, one at a time whoever speaks.
type speaker struct {
	mu                 sync.Mutex
	sink               event.Sink
	run, step, session string
}

func (s *speaker) open(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}

// adopt speaks for another run from now on.
func (s *speaker) adopt(o *speaker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink, s.run, s.step = o.sink, o.run, o.step
}

// sign says of a call whose it is.
func (s *speaker) sign(c tool.Call) tool.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Run, c.Step, c.Session = s.run, s.step, s.session
	return c
}

func (s *speaker) emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink == nil {
		return
	}
	e.Run, e.Step, e.Session = s.run, s.step, s.session
	s.sink.Emit(e)
}
