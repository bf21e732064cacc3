package playback_test

// Recordings of runs that were cut off and continued, played back by one that is not.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// process records requests as one process of several does.
func process(t *testing.T, dir string, last bool, script func(messagesapi.Request) messagesapi.Turn, requests ...model.Request) {
	t.Helper()
	r := record(t, dir, provider(t, script), nil)
	if r.Continues() != last { // the first of two does not
		t.Errorf("Continues is %v", r.Continues())
	}
	for _, q := range requests {
		_ = said(t, r, q)
	}
	if last {
		finish(t, r)
	}
	_ = r.Close()
}

// with is a request with messages behind its own.
func with(q model.Request, more ...model.Message) model.Request {
	q.Messages = slices.Concat(q.Messages, more)
	for _, m := range more {
		if m.Role == "assistant" {
			q.Meta.Turn++
		}
	}
	return q
}

func TestPlayer_passes_over_what_a_stop_within_an_answer_left(t *testing.T) {
	marked := func(s string) json.RawMessage {
		raw := text(s)
		return append(raw[:len(raw)-1:len(raw)-1], `,"cache_control":{"type":"ephemeral"}}`...)
	}
	dir := t.TempDir()
	// Half an answer comes, then the process is stopped.
	stalling := func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("half "), messagesapi.Text("an answer")},
			Faults: []messagesapi.Fault{{Kind: messagesapi.Stall, At: 1100}}}
	}
	r := record(t, dir, provider(t, stalling), nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := r.Stream(ctx, request("s", user(marked("Begin"))))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		var d model.Delta
		if d, err = stream.Recv(); d.Kind == model.BlockDone {
			cancel()
		}
	}
	if len(stream.Reply().Content) == 0 {
		t.Fatal("nothing had come")
	}
	_ = stream.Close()
	_ = r.Close()

	resumed := request("s", user(text("Begin")), assistant(text("half ")), user(marked("You were stopped.")))
	process(t, dir, true, echo, resumed, with(resumed, assistant(text("done")), user(text("Next"))))

	p := open(t, dir)
	plain := request("t", user(marked("Begin")))
	if got := said(t, p, plain); got != "You said: You were stopped." {
		t.Errorf("answer %q", got)
	}
	if got := said(t, p, with(plain, assistant(text("done")), user(text("Next")))); got != "You said: Next" {
		t.Errorf("answer %q", got)
	}
	p = open(t, dir)
	_ = said(t, p, plain)
	if _, err := ask(p, with(plain, assistant(text("done")), user(text("Another")))); err == nil {
		t.Error("a changed prompt passes behind a cut")
	}
}

// dispatching is a session whose subagents are a1, which had answered, a2, which had
// not, and a3, which had not been asked for anything.
func dispatching(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	main := request("s", user(text("Begin")))
	a2 := sub("s", "a2", "Look into y")
	work := func(r messagesapi.Request) messagesapi.Turn {
		if r.Prompt() == "Look into y" {
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("toolu_9", "Read", "{}")}}
		}
		return echo(r)
	}
	process(t, dir, false, work, main, sub("s", "a1", "Look into x"), a2)
	// The next process tells the main thread, which has a2 go on.
	told := with(main, assistant(text("I dispatch."), toolUse("toolu_1"), toolUse("toolu_2"), toolUse("toolu_3")),
		user(toolResult("toolu_1", `,"content":"x"`), toolResult("toolu_2", `,"content":"cut off","is_error":true`),
			toolResult("toolu_3", `,"content":"cut off","is_error":true`), text("You were cut off.")))
	a2 = with(a2, assistant(toolUse("toolu_9")), user(toolResult("toolu_9", `,"content":"lost","is_error":true`), text("Go on with y")))
	process(t, dir, true, echo, told, a2)
	return dir
}

func TestPlayer_ends_subagents_where_their_process_was_cut_off(t *testing.T) {
	p := open(t, dispatching(t))
	main := request("t", user(text("Begin")))
	_ = said(t, p, main)
	if got := said(t, p, sub("t", "a1", "Look into x")); got != "You said: Look into x" {
		t.Errorf("a1: %q", got)
	}
	_, err := ask(p, sub("t", "a2", "Look into y"))
	if err != nil {
		t.Fatal(err)
	}
	further := with(sub("t", "a2", "Look into y"), assistant(toolUse("toolu_9")), user(toolResult("toolu_9", `,"content":"a"`)))
	for name, q := range map[string]model.Request{"a2": further, "a3": sub("t", "a3", "Look into z"), "a search": search("t", "", "c1", "x")} {
		_, err := ask(p, q)
		var e *playback.Error
		if !errors.As(err, &e) || e.Kind != playback.Cut || failure.Classify(err) != failure.Fatal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.Err() != nil {
		t.Errorf("the playback is over: %v", p.Err())
	}
	// What the main thread gets of them now is an error for other reasons.
	told := with(main, assistant(text("I dispatch."), toolUse("toolu_1"), toolUse("toolu_2"), toolUse("toolu_3")),
		user(toolResult("toolu_1", `,"content":"x"`), toolResult("toolu_2", `,"content":"failed","is_error":true`), toolResult("toolu_3", `,"content":"found z"`)))
	_ = said(t, p, told)
	resumed := with(sub("t", "a2", "Look into y"), assistant(toolUse("toolu_9")), user(toolResult("toolu_9", `,"content":"a"`), text("Go on with y")))
	if got := said(t, p, resumed); got != "You said: Go on with y" {
		t.Errorf("a2 resumed: %q", got)
	}
	if rest := p.Rest(); rest.Exchanges != 0 || p.Err() != nil {
		t.Errorf("rest %+v, %v", rest, p.Err())
	}
}

func TestPlayer_a_subagent_that_the_recording_lacks_is_an_error_where_nothing_was_cut(t *testing.T) {
	p := open(t, dispatching(t))
	main := request("t", user(text("Begin")))
	_ = said(t, p, main)
	_ = said(t, p, with(main, assistant(text("I dispatch."), toolUse("toolu_1"), toolUse("toolu_2"), toolUse("toolu_3")),
		user(toolResult("toolu_1", `,"content":"x"`), toolResult("toolu_2", ``), toolResult("toolu_3", ``))))
	_, err := ask(p, sub("t", "a3", "Look into z"))
	var e *playback.Error
	if !errors.As(err, &e) || e.Kind == playback.Cut || !errors.Is(p.Err(), err) {
		t.Errorf("error %v", err)
	}
}
