package engine

import (
	"context"
	"fmt"

	"github.com/flowerlua/flower/engine/event"
)

// stepRun is one step of one run of a workflow.
type stepRun struct {
	*runner
	Step
	index int
	asked string // a hash of the step's prompt
	now   flight // of the attempt at work
}

// stepEnd is how a step ended.
type stepEnd struct {
	ran     bool // an agent ran: result is real
	passed  bool
	aborted bool
	result  Result
	value   string // of a step that passed: what the context keeps
	reason  string // of a step that did not: for a person
}

// attemptPlan is what one attempt of a step sends, and where to.
type attemptPlan struct {
	label  string
	prompt string
	resume string
	fork   bool
	round  bool // continues the session of an attempt that was sent back
}

// wanted asks when.
func (s *stepRun) wanted(ctx context.Context) (bool, error) {
	if s.When == nil {
		return true, nil
	}
	return s.askWhen(ctx)
}

// broken is the end of a step one of whose callbacks did not work.
func (s *stepRun) broken(ctx context.Context, callback string, err error) stepEnd {
	if reason, ok := aborted(err); ok {
		return stepEnd{aborted: true, reason: reason}
	}
	text := fmt.Sprintf("%s of step %s is broken: %v", callback, s.Name, err)
	if ctx.Err() != nil {
		return stepEnd{reason: causeText(ctx)} // stopped from outside, not broken
	}
	s.rt.emit(event.Event{Kind: event.Error, Step: s.Name, Text: text, Payload: stackOf(err)})
	return stepEnd{reason: text}
}

// with keeps the result of the attempt that a callback broke on.
func (e stepEnd) with(r Result) stepEnd {
	e.ran, e.result = true, r
	return e
}

// run runs the step's attempts. An error is of the engine, not of the step.
func (s *stepRun) run(ctx context.Context) (stepEnd, error) {
	first, err := s.firstPlan()
	if err != nil {
		return stepEnd{reason: err.Error()}, nil
	}
	s.announce(first)
	if first.prompt, err = s.renderPrompt(ctx, first.resume != ""); err != nil {
		return s.broken(ctx, "prompt", err), nil
	}
	result, picked, err := s.pickUp(ctx, &first)
	if err != nil {
		return stepEnd{}, err
	}
	plan := first
	for n := 1; ; n++ {
		if !picked {
			if result, err = s.attempt(ctx, plan); err != nil {
				return stepEnd{}, err
			}
		}
		picked = false
		end, reason, decided := s.judge(ctx, result)
		if decided || ctx.Err() != nil {
			return end, nil
		}
		result = end.result // with what the gate made of it
		if n > s.Retries || result.hopeless {
			return end, nil // a wrong key is as wrong the next time
		}
		next, broken := s.nextPlan(ctx, first, plan, result, reason, n)
		if broken != nil {
			return broken.with(result), nil
		}
		s.sentBack(next, reason)
		plan = next
	}
}

// sentBack tells that another attempt follows, and why.
func (s *stepRun) sentBack(next attemptPlan, reason string) {
	how := "starts over"
	if next.resume != "" {
		how = "goes on in its session"
	}
	if reason == "" {
		reason = "no reason was given"
	}
	s.rt.emit(event.Event{Kind: event.Task, Step: next.label, Session: next.resume,
		Text:    fmt.Sprintf("did not pass; %s %s: %s", next.label, how, event.Cut(reason, event.MaxResultText)),
		Payload: map[string]any{"rejected": true, "next": next.label, "reason": reason, "prompt": next.prompt}})
}

// firstPlan chooses the session: resume_from, else the lineage, else a new one.
func (s *stepRun) firstPlan() (attemptPlan, error) {
	plan := attemptPlan{label: s.Name}
	switch {
	case s.ResumeFrom != "":
		id := s.sessions[s.ResumeFrom]
		if id == "" {
			return plan, fmt.Errorf("resume_from: step %s left no session to continue", s.ResumeFrom)
		}
		plan.resume, plan.fork = id, s.Fork
	case s.known[s.Name] != "":
		plan.resume, plan.fork = s.known[s.Name], s.Fork
	}
	return plan, nil
}

func (s *stepRun) announce(p attemptPlan) {
	s.rt.emit(event.Event{Kind: event.Step, Step: s.Name, Session: p.resume, Text: s.Name, Payload: map[string]any{
		"index": s.index + 1, "total": len(s.flat), "resumed": p.resume != "", "woke": s.woke, "restored": false}})
}

func (s *stepRun) renderPrompt(ctx context.Context, continued bool) (string, error) {
	if continued && s.ResumePrompt != nil {
		return s.askPrompt(ctx, s.ResumePrompt)
	}
	return s.askPrompt(ctx, s.Prompt)
}

// attempt runs the agent once. The lineage hears of the session while Run runs,
// and only under the step's plain name: a judge that a gate runs is never
// remembered.
func (s *stepRun) attempt(ctx context.Context, p attemptPlan) (Result, error) {
	if err := s.takeOff(ctx, p); err != nil {
		return Result{}, err
	}
	var hookErr error
	opts := RunOptions{StepName: p.label, Resume: p.resume, Fork: p.fork}
	if !s.flow.Once {
		opts.remember = func(id string) {
			if err := s.remember(ctx, id); err != nil && hookErr == nil {
				hookErr = err
			}
		}
	}
	s.mu.Unlock() // others may go on while the agent works
	result, err := s.rt.Run(ctx, s.Spec, p.prompt, opts)
	s.mu.Lock()
	if err == nil {
		err = hookErr
	}
	if err == nil && result.OK && (s.Gate != nil || s.Reduce != nil) {
		err = s.progress.landed(ctx, s.Name, result)
	}
	return result, err
}

// remember is called while the agent works, so it takes the lock itself.
func (s *stepRun) remember(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.enter(id)
	if err := s.progress.inFlight(ctx, s.Name, s.now); err != nil {
		return err
	}
	return s.lineage.rememberOf(s.identity, s.Name, id)
}

// judge asks the gate about a result, and reduce when it passes. decided means
// that no further attempt follows.
func (s *stepRun) judge(ctx context.Context, r Result) (end stepEnd, reason string, decided bool) {
	if !r.OK {
		return stepEnd{ran: true, result: r, reason: r.Error}, r.Error, false
	}
	if s.Gate != nil {
		pass, why, err := s.askGate(ctx, r)
		if err != nil {
			end = s.broken(ctx, "gate", err).with(r)
			return s.booked(r, end, "broken"), "", true
		}
		why = cutReason(why)
		if !pass {
			shown := why
			if shown == "" {
				shown = "the gate gave no reason"
			}
			end = stepEnd{ran: true, result: r, reason: shown}
			return s.booked(r, end, "rejected"), why, false
		}
		r = s.booked(r, stepEnd{}, "passed").result
	}
	end = stepEnd{ran: true, passed: true, result: r, value: r.Text}
	if s.Reduce != nil {
		value, err := s.askReduce(ctx, r)
		if err != nil {
			return s.broken(ctx, "reduce", err).with(r), "", true
		}
		end.value = value
	}
	return end, "", true
}

// booked notes in the result and in the manifest what the gate made of it.
func (s *stepRun) booked(r Result, end stepEnd, gate string) stepEnd {
	if end.aborted {
		gate = "aborted"
	}
	r.Gate, r.GateReason = gate, event.Cut(end.reason, event.MaxResultText)
	end.result = r
	if err := s.rt.judged(r.Step, gate, end.reason); err != nil {
		s.rt.emit(event.Event{Kind: event.Error, Step: r.Step, Text: err.Error()})
	}
	return end
}

// maxReason bounds a gate's reason, in characters: it becomes a prompt.
const maxReason = 64 << 10

// cutReason keeps beginning and end of a reason that is too long.
func cutReason(why string) string {
	runes := []rune(why)
	if len(runes) <= maxReason {
		return why
	}
	half := maxReason / 2
	return string(runes[:half]) + fmt.Sprintf("\n[… %d characters are left out …]\n", len(runes)-2*half) + string(runes[len(runes)-half:])
}

// nextPlan decides what attempt n+1 sends, and where to.
func (s *stepRun) nextPlan(ctx context.Context, first, last attemptPlan, r Result, reason string, n int) (attemptPlan, *stepEnd) {
	text := ""
	switch {
	case s.OnReject != nil:
		sent, err := s.askOnReject(ctx, r, reason)
		if err != nil {
			end := s.broken(ctx, "on_reject", err)
			return attemptPlan{}, &end
		}
		text = sent
	case r.OK:
		text = reason // the gate's own words
	}
	next := attemptPlan{label: fmt.Sprintf("%s#round%d", s.Name, n+1), prompt: text, resume: r.SessionID, round: true}
	switch {
	case !r.OK && r.SessionID == "":
		// Nothing was reached: the same again.
		next.prompt, next.resume, next.fork, next.round = last.prompt, last.resume, last.fork, last.round
	case text == "" || r.SessionID == "":
		next = attemptPlan{prompt: first.prompt, resume: first.resume, fork: first.fork}
		if s.ResumeFrom == "" && first.resume != "" {
			return s.scratchPlan(ctx, n)
		}
	}
	if !next.round {
		next.label = fmt.Sprintf("%s#retry%d", s.Name, n)
	}
	return next, nil
}

// scratchPlan starts over where the first attempt continued a remembered
// session: in a new one, with the whole prompt.
func (s *stepRun) scratchPlan(ctx context.Context, n int) (attemptPlan, *stepEnd) {
	prompt, err := s.askPrompt(ctx, s.Prompt)
	if err != nil {
		end := s.broken(ctx, "prompt", err)
		return attemptPlan{}, &end
	}
	return attemptPlan{label: fmt.Sprintf("%s#retry%d", s.Name, n), prompt: prompt}, nil
}
