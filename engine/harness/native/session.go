package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
)

// opening is what a thread is opened with.
type opening struct {
	resume bool   // the transcript exists
	at     string // uuid of the message to go back to

	static      string
	environment string
	index       string // the workbench block
	model       string
	effort      string
	agent       *dispatch
}

// open opens the main thread: a new session, one to continue, or a copy of one.
func (r *run) open(ctx context.Context) (*thread, error) {
	a := r.turn.Agent
	key := transcript.Key{Project: r.turn.Project, Session: r.turn.Session.Resume}
	o := opening{
		resume: key.Session != "", at: r.turn.Session.At,
		static: static(systemPrompt, a.Instructions), environment: environment(a.Workspace, a.AddDirs), index: a.Index,
		model: r.h.resolve(a.Model), effort: r.effort(),
	}
	switch {
	case r.turn.Session.Fork:
		copied, err := r.fork(ctx, key, o.at)
		if err != nil {
			return nil, err
		}
		key, o.at = copied, ""
	case !o.resume:
		key.Session = r.h.config.NewID()
	}
	r.session, r.say.session = key.Session, key.Session
	t := &thread{run: r, role: a.Name, dir: a.Workspace, turns: r.turn.Limits.Turns, journal: r.journal(key, "", a.Workspace)}
	t.equip(a.AllowedTools, a.PermissionMode, a.Skills)
	if err := t.open(ctx, o); err != nil {
		t.close()
		if !o.resume {
			r.session = "" // nothing of it was stored
		}
		return nil, err
	}
	if o.resume {
		r.known()
	}
	return t, nil
}

// known tells the session's id to whoever wants to know: a new one's when its
// first entries are stored.
func (r *run) known() {
	if r.turn.OnSession != nil {
		r.turn.OnSession(r.session)
	}
}

// fork copies a session, its subagents too, and returns the copy's key.
func (r *run) fork(ctx context.Context, src transcript.Key, at string) (transcript.Key, error) {
	if at != "" {
		entries, err := r.load(ctx, src)
		if err != nil {
			return src, err
		}
		if at, err = withResults(entries, at); err != nil {
			return src, fmt.Errorf("session %s: fork at: %w", src.Session, err)
		}
	}
	dst := transcript.Key{Project: src.Project, Session: r.h.config.NewID()}
	if err := r.turn.Store.Fork(ctx, src, at, dst); err != nil {
		return src, fmt.Errorf("session %s could not be forked: %w", src.Session, err)
	}
	for info, err := range r.turn.Store.List(ctx, src) {
		if err != nil {
			return src, fmt.Errorf("session %s: the subagents could not be forked: %w", src.Session, err)
		}
		if info.Key.Session != src.Session || info.Key.Sub == "" {
			continue
		}
		sub := transcript.Key{Project: dst.Project, Session: dst.Session, Sub: info.Key.Sub}
		if err := r.turn.Store.Fork(ctx, info.Key, "", sub); err != nil {
			return src, fmt.Errorf("session %s: subagent %s could not be forked: %w", src.Session, info.Key.AgentID(), err)
		}
	}
	return dst, nil
}

// load reads a whole transcript.
func (r *run) load(ctx context.Context, key transcript.Key) ([]transcript.Entry, error) {
	entries, err := transcript.LoadAll(ctx, r.turn.Store, key)
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return nil, fmt.Errorf("session %s is not in the store, so it cannot be continued: %w", key, err)
	case err != nil:
		return nil, fmt.Errorf("session %s could not be read: %w", key, err)
	}
	return entries, nil
}

// withResults is the uuid of the last entry that belongs to the message at: that
// of its results when it has calls, so that going back to it does not lose them.
func withResults(entries []transcript.Entry, at string) (string, error) {
	i := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.UUID == at })
	if i < 0 {
		return "", fmt.Errorf("message %s: %w", at, transcript.ErrNotFound)
	}
	calls := entries[i].ToolUses
	for _, e := range entries[i+1:] {
		if len(e.ToolResults) == 0 || !slices.ContainsFunc(e.ToolResults, func(id string) bool { return slices.Contains(calls, id) }) {
			break
		}
		at = e.UUID
	}
	return at, nil
}

// open reads the transcript, mends what a crash left, and makes the history. A new
// one has nothing yet: its first entries come with the prompt.
func (t *thread) open(ctx context.Context, o opening) error {
	extra, tokens, err := thinking(o.effort)
	if err != nil {
		return fmt.Errorf("agent %s: %w", t.role, err)
	}
	t.info = t.run.info(ctx, o.model)
	t.maxTokens, t.thinking = t.run.h.config.MaxTokens, tokens
	if most := t.info.MaxOutput; most > 0 {
		t.maxTokens = min(t.maxTokens, most)
	}
	if t.maxTokens <= tokens {
		return &harness.OrderError{Err: fmt.Errorf("agent %s: effort sets %d tokens aside for thinking, and an answer may have %d in all: lower it",
			t.role, tokens, t.maxTokens)}
	}
	fresh := prefix{Model: o.model, Tools: t.tools.definitions(), Extra: extra, Agent: o.agent}
	if !t.sub() {
		fresh.Remote = t.run.servers.tools
	}
	fresh.seal(o.static, o.environment)
	if !o.resume {
		fresh.System, fresh.Index = systemBlocks(o.static, o.environment, o.index), hashText(o.index)
		t.pending = append(t.pending, fresh.draft())
		t.prefix = fresh
		t.history.spans = span{current: fresh.Model, starts: []spanStart{{0, fresh.Model}}}
		return nil
	}
	return t.reopen(ctx, o, fresh)
}

// finishOpen asks again what was asked before the process ended; the answer
// becomes the call's result.
func (t *thread) finishOpen(ctx context.Context) error {
	calls := t.questions
	t.questions = nil
	_, err := t.answer(ctx, calls)
	return err
}

// begin stores the prompt, with the workbench block in front where that has
// changed. A new session's prefix goes with it: there is no session without its
// prompt.
func (t *thread) begin(ctx context.Context, prompt string) error {
	if err := t.finishOpen(ctx); err != nil {
		return err
	}
	if _, byPerson := t.run.words.taken(); ctx.Err() != nil && !byPerson {
		return context.Cause(ctx)
	}
	var blocks []json.RawMessage
	drafts := t.pending
	if t.news != "" {
		blocks = append(blocks, textBlock(noteIndex+"\n\n"+t.news))
		drafts = append(drafts, amendment(field{"index", quote(hashText(t.news))}))
	}
	drafts = append(drafts, userDraft(append(blocks, textBlock(prompt))...))
	fresh := len(t.pending) > 0
	t.pending, t.news = nil, ""
	entries, err := t.journal.write(drafts...)
	for _, e := range entries {
		t.history.add(e)
	}
	switch {
	case !fresh || t.sub():
	case err != nil:
		t.run.session = "" // nothing of it was stored
	default:
		t.run.known()
	}
	return err
}
