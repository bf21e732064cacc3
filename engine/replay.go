package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/internal/spell"
)

// ReplayOptions say which recorded results a workflow is replayed on.
type ReplayOptions struct {
	// Rows are the accounts, oldest first: those of a manifest.
	Rows []Result
	// Run is the id of the run whose results are taken; empty: for each step the
	// newest run in which its agent ended its turn, and where there is none the
	// newest run that has an account of it. Runs of other workflows count where there
	// is none of this one: scripts are copied and renamed.
	Run string
	// Step is the only step to evaluate; empty: all. Those before it are evaluated
	// too, since they fill the context, and left out of what is returned.
	Step string
}

// Verdict is what a step's callbacks make of a recorded result.
type Verdict string

// The verdicts.
const (
	VerdictPass   Verdict = "pass"
	VerdictReject Verdict = "reject"
	VerdictFail   Verdict = "fail"   // the agent had not ended its turn; no gate was asked
	VerdictAbort  Verdict = "abort"  // a callback stops the step
	VerdictBroken Verdict = "broken" // a callback does not work
	VerdictSkip   Verdict = "skip"   // when says no
	VerdictNone   Verdict = "none"   // nothing is recorded of the step
)

// Replayed is one recorded attempt of a step and what comes of it now.
type Replayed struct {
	Step    string
	Result  Result // as recorded; its Gate says what was made of it then. Empty for skip and none
	Verdict Verdict
	// Reason is why it does not pass.
	Reason string
	// Sent is what would be sent back to the session, "" when the step would start
	// over.
	Sent string
	// Value is what the context would keep of a result that passes.
	Value string
}

// Replay evaluates when, gate, on_reject and reduce of every step on the results
// that were recorded, in order, attempt by attempt, and runs no agent of a step.
// What a gate runs goes to rt's harness: see Recorded. A step that does not pass now
// leaves its recorded text in the context, so that those behind it find something.
// Callbacks are real: what they write and run is written and run, and they see the
// workspace as it is now. rt books what gates run, so its run directory should be
// a temporary one.
func (rt *Runtime) Replay(ctx context.Context, w *Workflow, o ReplayOptions) ([]Replayed, error) {
	if err := w.checkGiven(ctx); err != nil {
		return nil, err
	}
	flat := w.flat()
	if o.Run == "" {
		o.Rows = ofWorkflow(o.Rows, w.name())
	}
	if err := o.check(flat); err != nil {
		return nil, err
	}
	leave, err := w.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	quiet := *w
	quiet.Once, quiet.Channel, quiet.OnStep = true, nil, nil
	if quiet.Context == nil {
		quiet.Context = NewContext(nil)
	}
	r, err := rt.newRunner(ctx, &quiet, WorkflowOptions{Context: quiet.Context}, w.name())
	if err != nil {
		return nil, err
	}
	var all []Replayed
	for i := range flat {
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		found := r.replay(ctx, i, o)
		if o.Step == "" || o.Step == flat[i].Name {
			all = append(all, found...)
		}
		if o.Step == flat[i].Name {
			break
		}
	}
	return all, nil
}

func (o ReplayOptions) check(flat []Step) error {
	var names []string
	for _, s := range flat {
		names = append(names, s.Name)
	}
	if o.Step != "" && !slices.Contains(names, o.Step) {
		return fmt.Errorf("%w %q%s", ErrNoStep, o.Step, spell.Hint(o.Step, names))
	}
	if o.Run != "" && !slices.ContainsFunc(o.Rows, func(r Result) bool { return r.Run == o.Run }) {
		return fmt.Errorf("nothing is recorded of run %s", o.Run)
	}
	return nil
}

// attemptLabel is the label of a further attempt behind the step's name.
var attemptLabel = regexp.MustCompile(`^#(retry|round)\d+$`)

func isAttempt(label, step string) bool {
	rest, ok := strings.CutPrefix(label, step)
	return ok && (rest == "" || attemptLabel.MatchString(rest))
}

// attempts are the recorded results of a step, all of one run.
func (o ReplayOptions) attempts(step string) []Result {
	run := o.Run
	if run == "" {
		run = o.newest(step)
	}
	var rows []Result
	for _, row := range o.Rows {
		if row.Run == run && isAttempt(row.Step, step) {
			rows = append(rows, row)
		}
	}
	return rows
}

// ofWorkflow are the rows of a workflow and those that name none, or all where it
// has none.
func ofWorkflow(rows []Result, name string) []Result {
	if !slices.ContainsFunc(rows, func(r Result) bool { return r.Workflow == name }) {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r Result) bool { return r.Workflow != "" && r.Workflow != name })
}

// newest is the run whose results of a step are taken. One that only has requests
// that failed says nothing to a gate.
func (o ReplayOptions) newest(step string) (run string) {
	for _, row := range slices.Backward(o.Rows) {
		switch {
		case !isAttempt(row.Step, step):
		case row.OK:
			return row.Run
		case run == "":
			run = row.Run
		}
	}
	return run
}

// replay is one step.
func (r *runner) replay(ctx context.Context, i int, o ReplayOptions) []Replayed {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &stepRun{runner: r, Step: r.flat[i], index: i}
	wanted, err := s.wanted(ctx)
	switch {
	case err != nil:
		return []Replayed{s.replayed(Result{}, s.broken(ctx, "when", err), "")}
	case !wanted:
		return []Replayed{{Step: s.Name, Verdict: VerdictSkip}}
	}
	rows := o.attempts(s.Name)
	if len(rows) == 0 {
		return []Replayed{{Step: s.Name, Verdict: VerdictNone}}
	}
	var all []Replayed
	for n, row := range rows {
		all = append(all, s.replayAttempt(ctx, row, n+1))
	}
	r.recall(s, rows[len(rows)-1], all[len(all)-1])
	return all
}

// replayAttempt judges one recorded result, and asks what would be sent back.
func (s *stepRun) replayAttempt(ctx context.Context, row Result, n int) Replayed {
	end, reason, decided := s.judge(ctx, row)
	if decided {
		return s.replayed(row, end, "")
	}
	plan := attemptPlan{label: row.Step}
	next, broken := s.nextPlan(ctx, plan, plan, row, reason, n)
	if broken != nil {
		return s.replayed(row, *broken, "")
	}
	if !next.round {
		next.prompt = ""
	}
	found := s.replayed(row, end, next.prompt)
	found.Verdict = VerdictReject
	if !row.OK {
		found.Verdict = VerdictFail
	}
	return found
}

func (s *stepRun) replayed(row Result, end stepEnd, sent string) Replayed {
	v := Replayed{Step: s.Name, Result: row, Verdict: VerdictBroken, Reason: end.reason, Sent: sent, Value: end.value}
	switch {
	case end.passed:
		v.Verdict = VerdictPass
	case end.aborted:
		v.Verdict = VerdictAbort
	}
	return v
}

// recall leaves in the context what the steps behind may ask for.
func (r *runner) recall(s *stepRun, row Result, last Replayed) {
	r.results[s.Name] = row
	if row.SessionID != "" {
		r.sessions[s.Name] = row.SessionID
	}
	r.publish()
	value := last.Value
	if last.Verdict != VerdictPass {
		value = row.Text
	}
	r.ctx.Set(s.Name, value)
}

// Recorded is a harness that answers by what was recorded under the same label: the
// first time with the first result, and behind the last from the first again. So
// what a gate asks a judge is answered without a model. A label of which nothing is
// recorded is an error. Use it with Config.NoRetry.
func Recorded(rows []Result) harness.Harness {
	h := &recorded{rows: map[string][]Result{}, next: map[string]int{}}
	for _, row := range rows {
		h.rows[row.Step] = append(h.rows[row.Step], row)
	}
	return h
}

type recorded struct {
	rows map[string][]Result

	mu   sync.Mutex
	next map[string]int
}

// Name is recorded.
func (*recorded) Name() string { return "recorded" }

// Run gives the next result of the turn's step.
func (h *recorded) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rows := h.rows[t.Step]
	if len(rows) == 0 {
		return harness.Outcome{}, fmt.Errorf("nothing is recorded under the name %s, and a replay runs no agents", t.Step)
	}
	row := rows[h.next[t.Step]%len(rows)]
	h.next[t.Step]++
	out := harness.Outcome{SessionID: row.SessionID, Stop: row.Stop, Text: row.Text, LastMessage: row.LastMessage, Context: row.Context}
	if !row.OK && (out.Stop == "" || out.Stop == harness.EndTurn) {
		return out, errors.New(row.Error)
	}
	return out, nil
}

// Prices knows that nothing costs anything.
func (*recorded) Prices(context.Context, string) bool { return true }
