package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/trace"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/engine/workbench"
)

// ErrKilled is the cause to cancel a Run's context with when a signal ends the
// process: the step in flight is then booked with MarkKilled.
var ErrKilled = errors.New(MarkKilled)

// activeRun is one Run while it works: everything between start and result.
type activeRun struct {
	rt     *Runtime
	spec   Spec
	agent  harness.Agent
	label  string
	opts   RunOptions
	words  chan string // a person's interrupt, at most one waiting
	holds  []*held     // not waited for yet; under the runtime's lock
	sink   event.Sink
	task   string // the prompt of the order, for a handoff
	prompt string
	next   harness.Session
	bench  *workbench.Bench // nil: none
	line   handoffLine
	warned atomic.Bool // the line was said to be near, in this generation
	own    bool        // a session of this run's own is known
	// session is the id for events, which subagents raise on goroutines of theirs.
	session atomic.Pointer[string]

	notes  []string // of what plugins hold that is not used
	leases []*lease // of the sessions this run uses
	result Result
	cost   float64
	priced bool
}

// leaseSession keeps other processes from writing to a session while this run
// does.
func (a *activeRun) leaseSession(id string) error {
	l, err := a.rt.lease("session " + id)
	if err == nil {
		a.leases = append(a.leases, l)
	}
	return err
}

func (a *activeRun) releaseSessions() {
	for _, l := range a.leases {
		l.release()
	}
}

func (rt *Runtime) run(ctx context.Context, spec Spec, prompt string, o RunOptions) (Result, error) {
	if ctx == nil {
		return Result{}, errNoContext
	}
	if rt.closed.Load() {
		return Result{}, ErrClosed
	}
	a, err := rt.newActiveRun(ctx, spec, prompt, o)
	if err != nil {
		return Result{}, err
	}
	defer a.releaseSessions()
	if o.Resume != "" && !o.Fork {
		if err := a.leaseSession(o.Resume); err != nil {
			return Result{}, fmt.Errorf("step %s: session %s is %w", a.label, o.Resume, err)
		}
	}
	rt.enter(a)
	defer rt.leave(a)
	if o.OnEvent != nil {
		private := event.NewFanout(&event.Options{Now: rt.now})
		private.Add(event.SinkFunc(o.OnEvent))
		defer rt.closePrivate(private)
		a.sink = private
	}
	a.tellNotes()
	a.emit(event.Event{Kind: event.Prompt, Text: prompt})
	ctx, end := trace.Agent(ctx, spec.Name, a.label, rt.id)
	err = a.work(ctx)
	end(trace.Outcome{Session: a.result.SessionID, Stop: string(a.result.Stop), OK: err == nil && a.result.OK,
		Usage: a.result.Usage.Main.Tokens.Add(a.result.Usage.Sub.Tokens)})
	if err != nil {
		return Result{}, err
	}
	a.finish()
	return a.result, rt.keep(a.result)
}

// work makes attempts until the run is over, in a copy where the spec wants one.
func (a *activeRun) work(ctx context.Context) error {
	if !a.spec.InCopy {
		for !a.attempt(ctx) {
		}
		return nil
	}
	t, err := a.rt.newThrowaway(ctx)
	if err != nil {
		return fmt.Errorf("step %s: %w", a.label, err)
	}
	a.agent.Workspace = t.copy
	for !a.attempt(ctx) {
	}
	if err := t.end(); err != nil {
		a.result.OK = false
		a.fail(err.Error())
	}
	return nil
}

// newActiveRun checks the order before anything is spent.
func (rt *Runtime) newActiveRun(ctx context.Context, spec Spec, prompt string, o RunOptions) (*activeRun, error) {
	agent, brought, err := rt.compile(spec)
	if err != nil {
		return nil, err
	}
	a := &activeRun{rt: rt, spec: spec, agent: agent, label: o.StepName, opts: o, task: prompt, prompt: prompt,
		bench: rt.benchFor(spec), line: rt.handoffLine(ctx, agent), words: make(chan string, 1), sink: event.Discard, priced: true,
		next: harness.Session{Resume: o.Resume, Fork: o.Fork, At: o.ResumeAt}, notes: brought.notes}
	if a.label == "" {
		a.label = spec.Name
	}
	if err := a.next.Check(); err != nil {
		return nil, fmt.Errorf("step %s: %w", a.label, err)
	}
	if spec.MaxBudgetUSD > 0 && !rt.config.Harness.Prices(ctx, agent.Model) {
		return nil, fmt.Errorf("step %s: max_budget_usd is set, but the price of model %q is not known, so the budget cannot be held: name a model with a known price, or remove the budget",
			a.label, agent.Model)
	}
	a.result = Result{Run: rt.id, Workflow: rt.flow, Step: a.label, SessionID: o.Resume, StartedAt: rt.now(), Errors: []string{}, Retired: []string{}}
	if o.Fork {
		a.result.SessionID = "" // the copy's id comes from the harness
	}
	return a, nil
}

// attempt gives the harness one turn and decides what follows; it reports
// whether the run is over.
func (a *activeRun) attempt(ctx context.Context) (done bool) {
	a.result.Attempts++
	out, err := a.rt.config.Harness.Run(ctx, a.turn())
	a.book(out)
	switch {
	case err == nil && out.Stop == harness.EndTurn:
		if words := a.hear(ctx, ""); words != "" {
			return a.resumeWithWords(words)
		}
		a.result.OK = true
		return true
	case ctx.Err() != nil:
		return a.fail(causeText(ctx))
	case err != nil:
		return a.retry(ctx, err)
	case out.Stop == harness.Interrupted:
		words := a.hear(ctx, out.Words)
		if ctx.Err() != nil {
			return a.fail(causeText(ctx))
		}
		return a.resumeWithWords(words)
	case out.Stop == harness.ContextFull && a.canHandOver():
		return a.handOver(ctx, "")
	case out.Stop == harness.WindowExceeded && a.canHandOver():
		return a.handOver(ctx, stopText(out))
	case out.Stop == harness.WindowExceeded:
		return a.fail(a.full(stopText(out)))
	default:
		return a.fail(stopText(out))
	}
}

// full says what to do about a context that is full and stays so.
func (a *activeRun) full(text string) string {
	if a.line.on {
		return text
	}
	return text + "; the context is full and handoff is off: turn it on and run again, or begin the step in a new session with less to read"
}

// viewOf is the view of a session, with the denials that a harness without marks
// in its transcripts kept beside it.
func (rt *Runtime) viewOf(s harness.Session) transcript.Policy {
	view := rt.view
	if s.Resume == "" {
		return view
	}
	raw, _, err := rt.config.Store.Get(context.Background(), "denials/"+rt.project+"/"+s.Resume)
	var ids []string
	if err != nil || json.Unmarshal(raw, &ids) != nil {
		return view // none were kept
	}
	view.Denied = map[string]bool{}
	for _, id := range ids {
		view.Denied[id] = true
	}
	return view
}

// canHandOver: handoff is on, and there is a session to take over from.
func (a *activeRun) canHandOver() bool { return a.line.on && a.result.SessionID != "" }

func (a *activeRun) turn() harness.Turn {
	rt := a.rt
	limits := harness.Limits{Turns: a.spec.MaxTurns, USD: a.spec.MaxBudgetUSD, SpentUSD: a.cost}
	agent := a.agent
	if a.line.on && agent.Compact.Mode == "" {
		agent.Compact.Mode = harness.CompactNoSummary // who hands over keeps what there is to hand over
	}
	if a.line.watched() {
		limits.ContextLine = a.line.at
	}
	return harness.Turn{
		Agent:     agent,
		Prompt:    a.prompt,
		Session:   a.next,
		Store:     rt.config.Store,
		Project:   rt.project,
		View:      rt.viewOf(a.next),
		Guards:    rt.guards(a.spec, a.agent, a.emit),
		HostTools: rt.hostTools(&a.spec),
		Limits:    limits,
		OnSession: a.onSession,
		Interrupt: a.words,
		Sink:      event.SinkFunc(a.fromHarness),
		Run:       rt.id,
		Step:      a.label,
	}
}

func (a *activeRun) onSession(id string) {
	if id != a.result.SessionID {
		_ = a.leaseSession(id) // a session that is new is nobody else's
	}
	a.result.SessionID = id
	a.session.Store(&id)
	a.own = true
	if a.opts.remember != nil {
		a.opts.remember(id)
	}
	a.tellOnSession(id)
}

// fromHarness passes on what the harness tells, save its accounts of a turn of
// the main thread: those of the whole run come at its end.
func (a *activeRun) fromHarness(e event.Event) {
	if e.Kind == event.Result && e.Subagent == "" {
		return
	}
	a.emit(e)
}

func (a *activeRun) emit(e event.Event) {
	a.emitPlain(e)
	a.watch(e)
}

func (a *activeRun) emitPlain(e event.Event) {
	e.Step = a.label
	if id := a.session.Load(); e.Session == "" && id != nil {
		e.Session = *id
	}
	e.Run = a.rt.id
	a.rt.emit(e)
	a.sink.Emit(e)
}

// book adds what an attempt used and said.
func (a *activeRun) book(out harness.Outcome) {
	r := &a.result
	if out.SessionID != "" {
		r.SessionID = out.SessionID
	}
	r.Stop = out.Stop
	r.Context = out.Context
	a.bookCost(out)
	if out.Text != "" {
		r.Text = out.Text
	}
	if out.LastMessage != "" {
		r.LastMessage = out.LastMessage
	}
}

func (a *activeRun) bookCost(out harness.Outcome) {
	a.result.NumTurns += out.Turns
	a.result.Usage = a.result.Usage.Add(out.Usage)
	if out.CostUSD == nil {
		a.priced = a.priced && out.Turns == 0
		return
	}
	a.cost += *out.CostUSD
}

// resumeWithWords goes on after a person's interrupt, which is no attempt.
func (a *activeRun) resumeWithWords(words string) (done bool) {
	a.result.Attempts--
	a.result.Errors = append(a.result.Errors, MarkInterrupted)
	if a.result.SessionID == "" {
		return a.end(MarkInterrupted)
	}
	a.continueOwn(interruptNote(a.rt.lang(), words))
	a.emit(event.Event{Kind: event.Task, Text: "interrupted by a person; the session goes on", Payload: map[string]any{"words": words}})
	return false
}

// retry decides whether a failed attempt is repeated, and waits until it is time.
func (a *activeRun) retry(ctx context.Context, err error) (done bool) {
	text := err.Error()
	class := failure.Classify(err)
	var order *harness.OrderError
	if errors.As(err, &order) || ofStore(err) {
		class = failure.Fatal
	}
	a.result.hopeless = class == failure.Fatal
	a.result.Errors = append(a.result.Errors, text)
	a.emit(event.Event{Kind: event.Error, Text: text, Payload: map[string]any{"class": class.String()}})
	if failure.Overflow(text) && !failure.Final(err) {
		if a.canHandOver() {
			a.result.Errors = a.result.Errors[:len(a.result.Errors)-1] // the mark says it
			return a.handOver(ctx, text)
		}
		a.result.Stop = harness.WindowExceeded
		return a.end(a.full(text)) // what was too long is too long again
	}
	if a.rt.config.NoRetry || !a.rt.retry.Again(a.result.Attempts, class) {
		return a.end(text)
	}
	delay := a.rt.retry.Delay(a.result.Attempts, a.rt.float, failure.RetryAfter(err))
	a.emit(event.Event{Kind: event.Retry, Text: text, Payload: map[string]any{
		"attempt": a.result.Attempts + 1, "delay_s": delay.Seconds(), "class": class.String()}})
	if !a.rt.sleep(ctx, delay) || !a.waitOnline(ctx) {
		return a.fail(causeText(ctx))
	}
	if a.result.SessionID != "" && a.own {
		a.continueOwn(a.afterFailure(ctx))
	}
	return false
}

// afterFailure is what a session is told whose turn failed: that it was cut off, or
// the prompt again where that never reached it.
func (a *activeRun) afterFailure(ctx context.Context) string {
	if told, err := a.rt.wasTold(ctx, a.result.SessionID, 0, a.prompt); err == nil && !told {
		return a.prompt
	}
	return cutOffNote.in(a.rt.lang())
}

// ofStore: the store has failed, not the model, and the harness has waited for it as
// long as it does. What cannot be recorded is not done again elsewhere.
func ofStore(err error) bool {
	for _, cause := range []error{transcript.ErrUnavailable, transcript.ErrDamaged, transcript.ErrConflict, transcript.ErrNotFound} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// waitOnline returns when the endpoint can be reached; false means that ctx
// ended.
func (a *activeRun) waitOnline(ctx context.Context) bool {
	if a.rt.watch == nil {
		return ctx.Err() == nil
	}
	if err := a.rt.watch.WaitOnline(ctx); err != nil && ctx.Err() == nil {
		// The wait is over without the network; the next attempt says what is wrong.
		a.emit(event.Event{Kind: event.Error, Text: err.Error()})
	}
	return ctx.Err() == nil
}

// continueOwn makes the next attempt resume this run's own session.
func (a *activeRun) continueOwn(prompt string) {
	a.next = harness.Session{Resume: a.result.SessionID}
	a.prompt = prompt
	a.result.Resumed = true
}

// fail ends the run with an error that was not noted yet.
func (a *activeRun) fail(text string) (done bool) {
	a.result.Errors = append(a.result.Errors, text)
	return a.end(text)
}

func (a *activeRun) end(text string) (done bool) {
	a.result.Error = text
	return true
}

func (a *activeRun) finish() {
	r := &a.result
	r.EndedAt = a.rt.now()
	r.DurationS = r.EndedAt.Sub(r.StartedAt).Seconds()
	if a.priced {
		cost := a.cost
		r.CostUSD = &cost
	}
	payload := map[string]any{"ok": r.OK, "turns": r.NumTurns, "attempts": r.Attempts, "duration_s": r.DurationS}
	if r.CostUSD != nil {
		payload["cost_usd"] = *r.CostUSD
	}
	a.emit(event.Event{Kind: event.Result, Text: r.Error, Context: r.Context, Payload: payload})
}

func (rt *Runtime) enter(a *activeRun) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.active[a] = struct{}{}
}

func (rt *Runtime) leave(a *activeRun) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.active, a)
}

func (rt *Runtime) interrupt(words string) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for a := range rt.active {
		a.interrupt(words)
	}
	return len(rt.active) > 0
}

// causeText says why a context ended: a mark where somebody set one.
func causeText(ctx context.Context) string { return context.Cause(ctx).Error() }

// stopText says why a turn that did not fail is not a success either.
func stopText(out harness.Outcome) string {
	text := strings.ReplaceAll(string(out.Stop), "_", " ")
	if out.Detail != "" {
		text += ": " + out.Detail
	}
	return text
}

// sleep waits for d; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
