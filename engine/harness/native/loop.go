package native

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// take stores an answer, does what it asks for and decides how to go on.
func (t *thread) take(ctx context.Context, a answer) (end ending, done bool, err error) {
	broken := a.reply.StopReason == "max_tokens"
	if broken {
		dropHalfCall(&a.reply)
	}
	t.book(a.reply)
	calls, err := t.record(a.reply)
	if err != nil {
		return ending{}, false, err
	}
	t.state.asked++
	if end, done := t.final(a, len(calls) > 0); done {
		return end, true, t.decline(calls)
	}
	results, err := t.answer(ctx, calls)
	if err != nil || ctx.Err() != nil {
		return ending{}, false, err
	}
	return t.proceed(a, results, broken)
}

// final tells whether an answer ends the turn whatever it asks for.
func (t *thread) final(a answer, calls bool) (ending, bool) {
	switch reason := a.reply.StopReason; {
	case reason == "refusal":
		return ending{stop: harness.Refusal, detail: declined(a.reply.StopDetails)}, true
	case reason == "model_context_window_exceeded":
		return ending{stop: harness.WindowExceeded, detail: "the answer did not fit into the model's window any more"}, true
	case reason == "max_tokens" && a.short:
		return ending{stop: harness.Budget, detail: "the budget covered only a part of the answer"}, true
	case reason == "max_tokens" && t.state.cut:
		return ending{stop: harness.MaxTokens, detail: fmt.Sprintf("the answer reached its limit of %d tokens twice", t.maxTokens)}, true
	case reason == "pause_turn" && t.state.pauses >= maxPauses:
		return ending{stop: harness.Stuck, detail: fmt.Sprintf("the provider paused the answer %d times", maxPauses)}, true
	case t.state.full && calls:
		return ending{stop: harness.ContextFull, detail: "the context is full, and the agent went on instead of reporting"}, true
	}
	return ending{}, false
}

// declined says that the model declined, and why where the provider tells.
func declined(details json.RawMessage) string {
	why := "the model declined to answer"
	if category := text(member(details, "category")); category != "" {
		why += " (" + cutText(category, 100) + ")"
	}
	if words := text(member(details, "explanation")); words != "" {
		why += ": " + cutText(words, 500)
	}
	return why
}

// proceed decides what follows an answer whose calls have been run.
func (t *thread) proceed(a answer, results []*result, broken bool) (ending, bool, error) {
	s := &t.state
	said := t.said(a.reply)
	empty := !said && len(results) == 0
	wasEmpty, paused := s.empty, a.reply.StopReason == "pause_turn"
	s.empty, s.cut = empty && !broken && !paused, broken
	if paused {
		s.pauses++
	} else {
		s.pauses = 0
	}
	switch {
	case broken:
		return ending{}, false, t.note(noteCut)
	case paused && len(results) == 0:
		return ending{}, false, nil
	case empty && wasEmpty:
		return ending{stop: harness.Empty, detail: "the model answered twice with neither text nor a call"}, true, nil
	case empty:
		return ending{}, false, t.note(noteEmpty)
	case len(results) == 0:
		return ending{stop: harness.EndTurn}, true, nil
	}
	if pattern, end := s.stuck.watch(results); end {
		return ending{stop: harness.Stuck, detail: pattern}, true, nil
	} else if pattern != "" {
		t.say(event.Event{Kind: event.Task, Text: "going in circles: " + pattern, Payload: map[string]any{"stuck": pattern}})
		return ending{}, false, t.note(noteStuck(pattern))
	}
	return ending{}, false, t.wrapUp()
}

// reserveTokens is what a subagent's window keeps free for its report.
const reserveTokens = 40_000

// wrapUp tells a subagent whose window is nearly full to report: nobody hands its
// work over to a fresh one.
func (t *thread) wrapUp() error {
	if !t.sub() || t.state.full || t.info.Window == 0 {
		return nil
	}
	if old, fresh := t.inputTokens(); old+fresh < t.info.Window-min(reserveTokens, t.info.Window/4) {
		return nil
	}
	t.state.full = true
	return t.note(noteFull)
}

// note tells the model something on the engine's own account.
func (t *thread) note(s string) error {
	entries, err := t.journal.write(noteDraft(s))
	for _, e := range entries {
		t.history.add(e)
	}
	return err
}

// record stores an answer, before anything it asks for is done, and returns its
// calls.
func (t *thread) record(r model.Reply) ([]call, error) {
	r.Content = t.nameCalls(r.Content)
	entries, err := t.journal.write(replyDraft(r))
	if err != nil {
		return nil, err
	}
	var calls []call
	for _, e := range entries {
		t.history.add(e)
	}
	t.answers++
	var prose []string
	for _, raw := range r.Content {
		switch kind := text(member(raw, "type")); kind {
		case "text":
			if s := text(member(raw, "text")); strings.TrimSpace(s) != "" {
				prose = append(prose, s)
				t.say(event.Event{Kind: event.Text, Text: s})
			}
		case "thinking":
			if s := text(member(raw, "thinking")); s != "" {
				t.say(event.Event{Kind: event.Thinking, Text: s})
			}
		case "redacted_thinking":
		case "tool_use":
			calls = append(calls, call{id: text(member(raw, "id")), name: text(member(raw, "name")), input: member(raw, "input")})
		default:
			t.say(event.Event{Kind: event.Unknown, Text: kind, Payload: map[string]any{"block": json.RawMessage(raw)}})
		}
	}
	t.texts = append(t.texts, prose...)
	if len(prose) > 0 {
		t.last = strings.Join(prose, "\n\n")
	}
	return calls, nil
}

// callID is what providers take as the id of a call.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// nameCalls gives calls another id where theirs is none or was used before in this
// transcript: results are found by it, and a provider refuses it twice.
func (t *thread) nameCalls(content []json.RawMessage) []json.RawMessage {
	out := slices.Clone(content)
	for i, raw := range out {
		if text(member(raw, "type")) != "tool_use" {
			continue
		}
		id := text(member(raw, "id"))
		if t.callIDs[id] || !callID.MatchString(id) {
			id = "toolu_" + strings.ReplaceAll(t.run.h.config.NewID(), "-", "")
			out[i] = withMember(raw, "id", quote(id))
		}
		if t.callIDs == nil {
			t.callIDs = map[string]bool{}
		}
		t.callIDs[id] = true
	}
	return out
}

// said reports whether a reply has words for a reader.
func (t *thread) said(r model.Reply) bool {
	for _, raw := range r.Content {
		if text(member(raw, "type")) == "text" && !blank(member(raw, "text")) {
			return true
		}
	}
	return false
}

// dropHalfCall removes a last call that the limit of tokens cut off: its input is
// not whole, or had not begun.
func dropHalfCall(r *model.Reply) {
	n := len(r.Content)
	if n == 0 || text(member(r.Content[n-1], "type")) != "tool_use" {
		return
	}
	input := member(r.Content[n-1], "input")
	empty := true
	members(input, func(string, json.RawMessage) bool { empty = false; return false })
	if empty || !json.Valid(r.Content[n-1]) {
		r.Content = r.Content[:n-1]
	}
}

// book takes note of what a request used and of what the cache made of it.
func (t *thread) book(r model.Reply) {
	u := r.Usage
	t.context, t.previous = u.Context(), r.ID
	t.requests++
	was := t.cached
	t.cached = u.CacheRead+u.CacheWrite > 0
	if t.requests >= 3 && was && u.CacheRead == 0 && !t.cacheStarts {
		t.sayMiss(r.CacheMiss)
	}
	t.cacheStarts = false
}

// sayMiss reports that the cache was missed, with the provider's reason where it
// gives one.
func (t *thread) sayMiss(reason string) {
	payload := map[string]any{"cache_miss": true, "tokens": t.context, "idle_s": t.idle.Seconds()}
	words := fmt.Sprintf("the provider's cache was missed %s after the request before: %d tokens were read anew", t.idle.Round(time.Second), t.context)
	if reason != "" {
		payload["reason"] = reason
		words += " (" + reason + ")"
	}
	t.say(event.Event{Kind: event.System, Text: words, Payload: payload})
}
