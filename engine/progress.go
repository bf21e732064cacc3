package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// progress is what a workflow leaves behind for the next run of the same name in
// the same directory: the steps that passed, and the one in flight. It is kept as
// small values of the store, one for each step and one that counts them.
type progress struct {
	store transcript.Store
	name  string
	off   bool           // a workflow that leaves nothing behind
	full  bool           // a step could not be kept
	saved progressRecord // as it was found
	next  progressRecord // as this run writes it
	// seen is the context as the steps so far left it, each value as JSON: a step
	// is booked with what it changed, not with everything again.
	seen map[string]string
	// given are the keys that were there before the run, told those of which a person
	// was told that they are not kept; tell tells it.
	given map[string]bool
	told  map[string]bool
	tell  func(event.Event)
}

type progressRecord struct {
	Finished bool `json:"finished"`
	Passed   int  `json:"passed"` // how many steps are kept
	// Lineage is the run that began the lineage that the record belongs to: where that
	// was begun anew, so is everything.
	Lineage string       `json:"lineage,omitempty"`
	Steps   []passedStep `json:"-"`
	// InFlight are the steps at work: their sessions, and what they were asked.
	InFlight map[string]flight `json:"in_flight,omitempty"`
}

// passedStep is one step that passed and what it left in the context.
type passedStep struct {
	Name    string                     `json:"name"`
	Result  Result                     `json:"result"`
	Value   string                     `json:"value"`
	Context map[string]json.RawMessage `json:"context,omitempty"`
	// Types are the Go types in Context that JSON does not tell, by place.
	Types map[string]string `json:"types,omitempty"`
}

func newProgress(rt *Runtime, identity string, w *Workflow, c Context) *progress {
	p := &progress{store: rt.config.Store, name: "progress/" + rt.project + "/" + promptHash(identity), off: w.Once, tell: rt.emit,
		seen: map[string]string{}, given: map[string]bool{}, told: map[string]bool{}, next: progressRecord{InFlight: map[string]flight{}}}
	for _, key := range c.Keys() {
		p.given[key] = true
	}
	return p
}

func (p *progress) load(ctx context.Context) error {
	if found, err := p.read(ctx, p.name, &p.saved); !found || err != nil {
		return err
	}
	if p.saved.Lineage != p.next.Lineage {
		p.saved = progressRecord{}
		return nil
	}
	for i := range p.saved.Passed {
		var step passedStep
		found, err := p.read(ctx, p.stepName(i), &step)
		if err != nil {
			return err
		}
		if !found {
			break // what follows would be restored on a gap
		}
		p.saved.Steps = append(p.saved.Steps, step)
	}
	return nil
}

func (p *progress) stepName(i int) string { return fmt.Sprintf("%s/%d", p.name, i) }

func (p *progress) read(ctx context.Context, name string, into any) (found bool, err error) {
	raw, _, err := p.store.Get(ctx, name)
	if errors.Is(err, transcript.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what the last run left: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("what the last run left cannot be read (%v): run with --fresh to begin anew", err)
	}
	return true, nil
}

// unfinished: the last run did not reach its end.
func (p *progress) unfinished() bool {
	return !p.saved.Finished && (len(p.saved.Steps) > 0 || len(p.saved.InFlight) > 0)
}

// passed finds what the last run kept of a step: the i-th that passed, so that a
// step that runs twice is found twice.
func (p *progress) passed(name string, i int) (passedStep, bool) {
	for _, s := range p.saved.Steps {
		if s.Name != name {
			continue
		}
		if i == 0 {
			return s, true
		}
		i--
	}
	return passedStep{}, false
}

// ended notes that a step in flight came to its end without passing: its session
// was not cut off.
func (p *progress) ended(ctx context.Context, step string) error {
	delete(p.next.InFlight, step)
	return p.save(ctx)
}

func (p *progress) pass(ctx context.Context, s passedStep, c Context) error {
	left := p.changed(c, s.Name)
	s.Context, s.Types = left.values, left.types
	err := p.add(ctx, s)
	if err != nil && !errors.Is(err, errTooLarge) {
		return err
	}
	return errors.Join(p.ended(ctx, s.Name), err)
}

// trimmed is a step whose result fits into a small value; what the context keeps
// of it stays whole.
func (s passedStep) trimmed() passedStep {
	s.Result.Text = event.Cut(s.Result.Text, maxKept)
	s.Result.LastMessage = event.Cut(s.Result.LastMessage, maxKept)
	s.Result.Errors = slices.Clone(s.Result.Errors[max(0, len(s.Result.Errors)-100):])
	for i, text := range s.Result.Errors {
		s.Result.Errors[i] = event.Cut(text, event.MaxResultText)
	}
	return s
}

// keep takes over a step that was restored.
func (p *progress) keep(ctx context.Context, s passedStep, c Context) error {
	p.changed(c, s.Name)
	return p.add(ctx, s)
}

func (p *progress) add(ctx context.Context, s passedStep) error {
	if p.full {
		return nil
	}
	if err := p.write(ctx, p.stepName(len(p.next.Steps)), s.trimmed()); err != nil {
		p.full = errors.Is(err, errTooLarge)
		return err
	}
	p.next.Steps = append(p.next.Steps, s)
	return nil
}

func (p *progress) finish(ctx context.Context) error {
	p.next.Finished = true
	return p.save(ctx)
}

func (p *progress) save(ctx context.Context) error {
	p.next.Passed = len(p.next.Steps)
	return p.write(ctx, p.name, p.next)
}

// write puts one value. Of two processes that run the same workflow in the same
// directory the last to write is what the next run finds.
func (p *progress) write(ctx context.Context, name string, value any) error {
	if p.off {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(raw) > maxValue {
		return errTooLarge
	}
	// It must be written also when the run is being stopped.
	ctx = context.WithoutCancel(ctx)
	for range 16 {
		_, rev, err := p.store.Get(ctx, name)
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return fmt.Errorf("note the workflow's progress: %w", err)
		}
		if _, err = p.store.Put(ctx, name, raw, rev); err == nil {
			return nil
		}
		if !errors.Is(err, transcript.ErrConflict) {
			return fmt.Errorf("note the workflow's progress: %w", err)
		}
	}
	return fmt.Errorf("note the workflow's progress: another process keeps writing it")
}

func promptHash(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:8])
}

// restore takes a step's outcome from what the last run left; false when the step
// must run.
func (r *runner) restore(ctx context.Context, i int) (bool, error) {
	s := r.flat[i]
	if s.Name == r.from {
		return false, nil
	}
	nth := 0
	for _, earlier := range r.flat[:i] {
		if earlier.Name == s.Name {
			nth++
		}
	}
	kept, ok := r.progress.passed(s.Name, nth)
	if !ok && r.from != "" {
		return false, fmt.Errorf("cannot begin at step %s: step %s before it has no recorded result; run from there, or everything", r.from, s.Name)
	}
	if !ok {
		return false, nil
	}
	for key, raw := range kept.Context {
		value, err := restoreValue(raw, url.PathEscape(key), kept.Types)
		if err != nil {
			return false, fmt.Errorf("what step %s left in the context under %q cannot be read (%v): run with --fresh to begin anew", s.Name, key, err)
		}
		r.ctx.Set(key, value)
	}
	r.ctx.Set(s.Name, kept.Value)
	r.results[s.Name] = kept.Result
	if kept.Result.SessionID != "" {
		r.sessions[s.Name] = kept.Result.SessionID
	}
	r.publish()
	if err := r.progress.keep(ctx, kept, r.ctx); err != nil {
		return false, err
	}
	r.rt.emit(event.Event{Kind: event.Step, Step: s.Name, Text: s.Name, Session: kept.Result.SessionID, Payload: map[string]any{
		"index": i + 1, "total": len(r.flat), "resumed": false, "woke": r.woke, "restored": true}})
	return true, nil
}

// storedSessions keeps the remembered sessions that the store still has, and tells
// once which are not there.
func (rt *Runtime) storedSessions(ctx context.Context, steps map[string]string) (map[string]string, error) {
	known := map[string]string{}
	var gone []string
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		session := steps[step]
		_, err := rt.config.Store.Head(ctx, transcript.Key{Project: rt.project, Session: session})
		switch {
		case err == nil:
			known[step] = session
		case errors.Is(err, transcript.ErrNotFound):
			gone = append(gone, fmt.Sprintf("%s (%s)", step, session))
		case errors.Is(err, transcript.ErrDamaged):
			return nil, fmt.Errorf("look for the session of step %s: %w; to have the step begin anew: flower sessions delete %s --yes, or run with --fresh, which begins everything anew", step, err, session)
		default:
			return nil, fmt.Errorf("look for the session of step %s: %w", step, err)
		}
	}
	rt.tellGone(gone)
	return known, nil
}

// tellGone tells of steps whose sessions, which the lineage names, are not in the store.
func (rt *Runtime) tellGone(gone []string) {
	const most = 5
	if len(gone) == 0 || rt.freshID { // then that is what is told
		return
	}
	text := strings.Join(gone[:min(len(gone), most)], ", ")
	if len(gone) > most {
		text += fmt.Sprintf(" and %d more", len(gone)-most)
	}
	rt.emit(event.Event{Kind: event.Task, Payload: map[string]any{"steps": len(gone)},
		Text: fmt.Sprintf("the store does not have the sessions that %s names for these steps, which begin anew: %s", filepath.Join(rt.runDir, "lineage.json"), text)})
}

// maxSnapshot bounds what one step leaves in the record, in bytes of JSON; what
// is beyond it comes back only when the step runs again.
const maxSnapshot = 256 << 10

// maxKept bounds the texts of a result in the record, in characters: the whole is
// in the transcript. maxValue is the largest value the store takes.
const (
	maxKept  = 16 << 10
	maxValue = 1 << 20
)

// errTooLarge: a step's value cannot be kept, so it and those behind it will run
// again.
var errTooLarge = errors.New("too large to be kept")
