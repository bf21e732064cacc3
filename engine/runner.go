package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/trace"
	"github.com/flowerlua/flower/internal/spell"
)

// runner is one run of a workflow.
type runner struct {
	rt   *Runtime // of this run
	flow *Workflow
	// identity tells whose sessions and results this run continues.
	identity string
	flat     []Step // all steps, those of parallel groups in their order

	// mu is held by whoever runs the code or a callback of a step, and given up
	// while an agent works: steps side by side meet only there.
	mu       sync.Mutex
	ctx      Context
	lineage  *Lineage
	progress *progress
	woke     int
	known    map[string]string // remembered sessions that the store still has
	sessions map[string]string
	results  map[string]Result
	// restoring: the steps so far are taken from what the last run left.
	restoring bool
	ran       bool // a step was run, not restored
	from      string
	fresh     bool
	ending    Ending
}

func (rt *Runtime) runWorkflow(ctx context.Context, w *Workflow, o WorkflowOptions) (Ending, error) {
	if err := rt.checkStart(ctx, w, o); err != nil {
		return Ending{}, err
	}
	if o.Context == nil {
		leave, err := w.enter()
		if err != nil {
			return Ending{}, err
		}
		defer leave()
		if w.Context == nil {
			w.Context = NewContext(nil)
		}
		o.Context = w.Context
	}
	identity := rt.identity(w, o)
	if !w.Once {
		l, err := rt.lease("workflow " + identity)
		var held *heldError
		if errors.As(err, &held) {
			return Ending{}, fmt.Errorf("workflow %s runs in this directory already, %w: wait for it, or give this run a run directory of its own", w.name(), err)
		}
		if err != nil {
			return Ending{}, err
		}
		defer l.release()
	}
	r, err := rt.newRunner(ctx, w, o, identity)
	if err != nil {
		return Ending{}, err
	}
	defer r.rt.attach()()
	ctx, done := trace.Workflow(ctx, w.name(), r.rt.id)
	err = r.steps(ctx)
	ending := r.end()
	rt.tellLost()
	ending.OK = ending.OK && err == nil
	done(ending.FailedAt)
	return ending, err
}

// checkStart reports what keeps a workflow from starting.
func (rt *Runtime) checkStart(ctx context.Context, w *Workflow, o WorkflowOptions) error {
	if err := w.checkGiven(ctx); err != nil {
		return err
	}
	if err := checkFrom(w, o); err != nil {
		return err
	}
	for _, s := range w.flat() {
		if err := rt.CheckIn(w, s.Spec); err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
	}
	if rt.closed.Load() {
		return ErrClosed
	}
	return nil
}

// checkGiven is Check of what somebody gave, which may be nothing.
func (w *Workflow) checkGiven(ctx context.Context) error {
	switch {
	case ctx == nil:
		return errNoContext
	case w == nil:
		return errNoWorkflow
	}
	return w.Check()
}

// inUse are the workflows that are run with their own Context.
var inUse sync.Map

// enter keeps the workflow's own Context for the caller until leave is called.
func (w *Workflow) enter() (leave func(), err error) {
	if _, taken := inUse.LoadOrStore(w, true); taken {
		return nil, fmt.Errorf("workflow %s is running already, with the context that this run would use: give one of them WorkflowOptions.Context, or make a Workflow of its own for each run", w.name())
	}
	return func() { inUse.Delete(w) }, nil
}

// identity tells whose sessions and results a run continues.
func (rt *Runtime) identity(w *Workflow, o WorkflowOptions) string {
	identity := w.name()
	realm := rt.config.Realm
	if rt.apart != nil {
		realm = strings.TrimSpace(realm + " " + rt.apart.id)
	}
	if realm != "" {
		identity = realm + ": " + identity
	}
	if o.Origin != "" {
		identity += " (" + promptHash(o.Origin) + ")"
	}
	return identity
}

func checkFrom(w *Workflow, o WorkflowOptions) error {
	if o.From == "" {
		return nil
	}
	if o.Fresh {
		return errors.New("fresh and from exclude each other: fresh runs every step, from begins at one")
	}
	var names []string
	for _, s := range w.flat() {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, o.From) {
		return fmt.Errorf("%w %q%s; there are %s", ErrNoStep, o.From, spell.Hint(o.From, names), strings.Join(names, ", "))
	}
	return nil
}

func (rt *Runtime) newRunner(ctx context.Context, w *Workflow, o WorkflowOptions, identity string) (*runner, error) {
	child, err := rt.child()
	if err != nil {
		return nil, err
	}
	child.flow = w.name()
	if w.Workbench != nil {
		child.bench = w.Workbench
	}
	if w.Plugins != nil {
		child.plugins = w.Plugins
	}
	if w.Channel != nil {
		rt.channel.Store(w.Channel)
		child.asks, child.human = w.Channel, tool.HumanTools(w.Channel)
	}
	r := &runner{rt: child, flow: w, identity: identity, flat: w.flat(), ctx: o.Context, from: o.From, fresh: o.Fresh,
		known: map[string]string{}, sessions: map[string]string{}, results: map[string]Result{}}
	r.progress = newProgress(child, identity, w, o.Context)
	if !w.Once && ctx.Err() == nil {
		if err := r.openContinuity(ctx); err != nil && ctx.Err() == nil { // the first step says that it ended
			return nil, err
		}
	}
	r.fillContext()
	return r, nil
}

// openContinuity reads what earlier runs left and counts this one.
func (r *runner) openContinuity(ctx context.Context) error {
	r.lineage = OpenLineage(r.rt.runDir, r.rt.workspace)
	r.lineage.now, r.lineage.memory = r.rt.now, r.rt.apart
	steps, broken := r.lineage.stepsOf(r.identity)
	if broken {
		r.rt.emit(event.Event{Kind: event.Task, Text: r.lineage.path + " cannot be read: the sessions of earlier runs are not continued; the file is kept aside"})
	}
	if !r.fresh {
		known, err := r.rt.storedSessions(ctx, steps)
		if err != nil {
			return err
		}
		r.known = known
	}
	woke, began, err := r.lineage.bump(r.rt.id)
	if err != nil {
		return err
	}
	r.woke, r.progress.next.Lineage = woke, began
	if err := r.progress.load(ctx); err != nil {
		return err
	}
	r.restoring = !r.fresh && (r.from != "" || r.progress.unfinished())
	return nil
}

// fillContext sets what the runner owns and clears what an earlier run left.
func (r *runner) fillContext() {
	for _, key := range []string{KeyFailedAt, KeyAborted, KeyGoalRounds} {
		r.ctx.Delete(key)
	}
	r.ctx.Set(KeyRuntime, r.rt)
	r.ctx.Set(KeyOnEvent, func(e event.Event) { r.rt.emit(e) })
	r.ctx.Set(KeyLineage, maps.Clone(r.known))
	r.ctx.Set(KeyWoke, r.woke)
	r.publish()
}

// publish gives the context fresh copies of sessions and results.
func (r *runner) publish() {
	r.ctx.Set(KeySessions, maps.Clone(r.sessions))
	results := make(map[string]Result, len(r.results))
	for step, result := range r.results {
		results[step] = result.clone()
	}
	r.ctx.Set(KeyResults, results)
}

// steps runs all steps; an error is of the store, not of a step.
func (r *runner) steps(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := 0
	for _, s := range r.flow.Steps {
		n := len(s.group())
		goOn, err := r.group(ctx, at, n)
		if err != nil || !goOn {
			return err
		}
		if r.ran {
			r.restoring = false
		}
		at += n
	}
	r.ending.OK = true
	return r.progress.finish(ctx)
}

// group runs n steps from the one at index on, side by side. All come to their
// end, also when one of them stops the workflow.
func (r *runner) group(ctx context.Context, at, n int) (goOn bool, err error) {
	if n == 1 {
		return r.step(ctx, at)
	}
	goOns, errs := make([]bool, n), make([]error, n)
	var wg sync.WaitGroup
	r.mu.Unlock()
	for i := range n {
		wg.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			goOns[i], errs[i] = r.step(ctx, at+i)
		})
	}
	wg.Wait()
	r.mu.Lock()
	return !slices.Contains(goOns, false), errors.Join(errs...)
}

// step runs or restores one step and reports whether the workflow goes on.
func (r *runner) step(ctx context.Context, i int) (goOn bool, err error) {
	if ctx.Err() != nil {
		return r.interrupted(ctx), nil
	}
	s := &stepRun{runner: r, Step: r.flat[i], index: i}
	run, err := s.wanted(ctx)
	if err != nil {
		return r.settle(ctx, s, s.broken(ctx, "when", err))
	}
	if !run {
		return true, nil
	}
	if r.restoring {
		restored, err := r.restore(ctx, i)
		if restored || err != nil {
			return err == nil, err
		}
	}
	r.ran = true
	out, err := s.run(ctx)
	if err != nil {
		return false, err
	}
	return r.settle(ctx, s, out)
}

// settle books how a step ended and applies its OnFail.
func (r *runner) settle(ctx context.Context, s *stepRun, out stepEnd) (goOn bool, err error) {
	if out.ran {
		r.results[s.Name] = out.result
		if out.result.SessionID != "" {
			r.sessions[s.Name] = out.result.SessionID
		}
		r.publish()
		r.tellOnStep(s.Name, out.result.clone())
	}
	if ctx.Err() != nil && !out.passed {
		return r.interrupted(ctx), nil
	}
	if out.passed {
		r.ctx.Set(s.Name, out.value)
		err := r.progress.pass(ctx, passedStep{Name: s.Name, Result: out.result, Value: out.value}, r.ctx)
		if errors.Is(err, errTooLarge) {
			r.rt.emit(event.Event{Kind: event.Task, Step: s.Name, Text: fmt.Sprintf(
				"what step %s leaves is too large to be kept: if this run is cut off, the next one runs the step again; reduce it, or put it into a file", s.Name)})
			err = nil
		}
		return true, err
	}
	if out.ran {
		if err := r.progress.ended(ctx, s.Name); err != nil {
			return false, err
		}
	}
	if out.aborted {
		r.ending.Aborted = out.reason
		r.ctx.Set(KeyAborted, out.reason)
	}
	return r.onFail(s, out), nil
}

func (r *runner) onFail(s *stepRun, out stepEnd) (goOn bool) {
	switch s.OnFail {
	case Skip:
		r.ctx.Delete(s.Name)
	case Continue:
		r.ctx.Set(s.Name, out.result.Text)
	default:
		r.ending.FailedAt, r.ending.Reason = s.Name, out.reason
		r.ctx.Set(KeyFailedAt, s.Name)
		return false
	}
	r.rt.emit(event.Event{Kind: event.Task, Step: s.Name, Text: fmt.Sprintf("step %s did not pass; on_fail = %s goes on: %s", s.Name, s.OnFail, out.reason)})
	return true
}

func (r *runner) interrupted(ctx context.Context) (goOn bool) {
	r.ending.Interrupted = true
	r.ending.Reason = causeText(ctx)
	return false
}

func (r *runner) end() Ending {
	e := &r.ending
	e.Run = r.rt.id
	e.Context = r.ctx
	e.Results = r.rt.Results()
	if usd, ok := sumCost(e.Results); ok {
		e.CostUSD = &usd
	}
	return *e
}
