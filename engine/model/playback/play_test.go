package playback_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

func TestPlayer_gives_what_was_recorded(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close() // nobody listens there any more
	call := messagesapi.ToolUse("", "Read", `{"file_path": "a",  "limit": 3}`)
	for _, c := range []struct {
		name string
		turn messagesapi.Turn
		m    model.Model // nil: a provider that answers with turn
		left int         // blocks that a broken reply has all the same; -1: it is no error
	}{
		{name: "text", turn: messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("<b>é & \u2028")}}, left: -1},
		{name: "thinking and a call", turn: messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Thinking("hm"), call}}, left: -1},
		{name: "refusal", turn: messagesapi.Turn{StopReason: "refusal", StopDetails: json.RawMessage(`{"category":"cyber"}`)}, left: -1},
		{name: "overloaded", turn: messagesapi.Turn{Error: &messagesapi.Error{Status: 529, RetryAfter: 7 * time.Second}}},
		{name: "wrong", turn: messagesapi.Turn{Error: &messagesapi.Error{Status: 400, Message: "prompt is too long"}}},
		{name: "cut behind a call", turn: messagesapi.Turn{Blocks: []messagesapi.Block{call, messagesapi.Text("and then")},
			Faults: []messagesapi.Fault{{Kind: messagesapi.Cut, At: 1200}}}, left: 1},
		{name: "error in the stream", turn: messagesapi.Turn{Blocks: []messagesapi.Block{call, messagesapi.Text("and then")},
			Faults: []messagesapi.Fault{{Kind: messagesapi.Fail, At: 6}}}, left: 1},
		{name: "nobody there", m: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: "http://" + refused.Addr().String()})},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.m
			if m == nil {
				m = provider(t, func(messagesapi.Request) messagesapi.Turn { return c.turn })
			}
			dir := t.TempDir()
			r := record(t, dir, m, nil)
			req := request("s1", user(text("Hello")))
			want, wantErr := ask(r, req)
			finish(t, r)
			if (wantErr == nil) != (c.left < 0) || wantErr != nil && len(want.Content) != c.left {
				t.Fatalf("the exchange is not what it should be: %v, %+v", wantErr, want)
			}
			req.Meta.Session = "s2"
			got, gotErr := ask(open(t, dir), req)
			if diff := cmp.Diff(compact(t, want), compact(t, got)); diff != "" {
				t.Errorf("reply (-recorded +played):\n%s", diff)
			}
			sameError(t, wantErr, gotErr)
		})
	}
}

// compact leaves white space between the tokens of JSON out.
func compact(t *testing.T, r model.Reply) model.Reply {
	t.Helper()
	for i, raw := range r.Content {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		r.Content[i] = out
	}
	return r
}

func sameError(t *testing.T, want, got error) {
	t.Helper()
	if (want == nil) != (got == nil) {
		t.Fatalf("error %v, recorded %v", got, want)
	}
	if want == nil {
		return
	}
	if got.Error() != want.Error() {
		t.Errorf("error %q, recorded %q", got, want)
	}
	if failure.Classify(got) != failure.Classify(want) || failure.RetryAfter(got) != failure.RetryAfter(want) {
		t.Errorf("class %v, retry after %v; recorded %v, %v", failure.Classify(got), failure.RetryAfter(got), failure.Classify(want), failure.RetryAfter(want))
	}
	for _, kind := range []error{model.ErrCut, model.ErrStalled, io.ErrUnexpectedEOF} {
		if errors.Is(got, kind) != errors.Is(want, kind) {
			t.Errorf("errors.Is(%v) is %v", kind, errors.Is(got, kind))
		}
	}
	var a, b *model.Error
	if errors.As(want, &a) != errors.As(got, &b) {
		t.Errorf("%T, recorded %T", got, want)
	} else if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func TestPlayer_stream_tells_each_block_and_holds_no_more_than_it_told(t *testing.T) {
	dir := recording(t, func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Thinking("hm"), messagesapi.Text("one"), messagesapi.ToolUse("", "Read", "{}")}}
	}, request("s", user(text("Hello"))))
	stream, err := open(t, dir).Stream(context.Background(), request("s", user(text("Hello"))))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for {
		d, err := stream.Recv()
		if r := stream.Reply(); err == nil && (r.Complete || r.StopReason != "" || len(r.Content) > len(kinds)) {
			t.Errorf("after %v the reply is %+v", kinds, r)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, string(d.Kind)+" "+d.Text)
	}
	if got, want := strings.Join(kinds, ", "), "thinking hm, done , text one, done , tool Read, done "; got != want {
		t.Errorf("pieces %q, want %q", got, want)
	}
	if r := stream.Reply(); !r.Complete || r.StopReason != "tool_use" || len(r.Content) != 3 {
		t.Errorf("in the end %+v", r)
	}
	if err := errors.Join(stream.Close(), stream.Close()); err != nil {
		t.Error(err)
	}
}

func TestPlayer_costs_nothing_and_knows_the_windows(t *testing.T) {
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	known, err := r.Info(context.Background(), "claude-sonnet-5-5")
	if err != nil {
		t.Fatal(err)
	}
	_ = said(t, r, request("s", user(text("Hello"))))
	finish(t, r)
	p := open(t, dir)
	for name, want := range map[string]model.Info{
		"claude-sonnet-5-5": {Name: "claude-sonnet-5-5", Window: known.Window, MaxOutput: known.MaxOutput, Price: &model.Price{}},
		"another":           {Name: "another", Price: &model.Price{}},
	} {
		got, err := p.Info(context.Background(), name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if known.Window == 0 {
		t.Error("the model's window was not known")
	}
}

func TestPlayer_keeps_the_order_of_a_conversation_with_its_errors(t *testing.T) {
	n := 0
	script := func(r messagesapi.Request) messagesapi.Turn {
		if n++; n == 2 {
			return messagesapi.Turn{Error: &messagesapi.Error{Status: 529}}
		}
		return echo(r)
	}
	first, second := user(text("one")), user(text("two"))
	two := func(session string) model.Request {
		return request(session, first, assistant(text("You said: one")), second)
	}
	dir := recording(t, script, request("s", first), two("s"), two("s"))
	p := open(t, dir)
	if got := said(t, p, request("t", first)); got != "You said: one" {
		t.Errorf("first answer %q", got)
	}
	var overloaded *model.Error
	if _, err := ask(p, two("t")); !errors.As(err, &overloaded) || overloaded.Status != 529 {
		t.Errorf("the error was not repeated: %v", err)
	}
	if got := said(t, p, two("t")); got != "You said: two" {
		t.Errorf("second answer %q", got)
	}
	if rest := p.Rest(); rest.Exchanges != 0 || p.Err() != nil {
		t.Errorf("rest %+v, error %v", rest, p.Err())
	}
}

// sub is a request of a subagent.
func sub(session, agent string, content string) model.Request {
	q := request(session, user(text(content)))
	q.Meta.Agent, q.Meta.Role = agent, "worker"
	return q
}

// search is a request beside a conversation.
func search(session, agent, call, query string) model.Request {
	q := request(session, user(text(query)))
	q.System, q.Meta.Agent, q.Meta.Call = nil, agent, call
	return q
}

func numbered() func(messagesapi.Request) messagesapi.Turn {
	var mu sync.Mutex
	n := 0
	return func(messagesapi.Request) messagesapi.Turn {
		mu.Lock()
		defer mu.Unlock()
		n++
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("answer " + string(rune('0'+n)))}}
	}
}

func TestPlayer_finds_conversations_side_by_side(t *testing.T) {
	main := request("s", user(text("Begin")))
	other := request("s2", user(text("Begin")))
	other.Meta.Step = "step#retry1"
	dir := recording(t, numbered(), main,
		sub("s", "a1", "Look into x"), sub("s", "a2", "Look into y"), sub("s", "a3", "Look into x"),
		search("s", "", "c1", "find p"), search("s", "", "c2", "find q"), search("s", "a1", "c3", "find p"),
		other, sub("s2", "a4", "Look into x"))
	moved := func(q model.Request, agent, call string) model.Request {
		q.Meta.Session = "new " + q.Meta.Session
		q.Meta.Agent, q.Meta.Call = agent, call
		return q
	}
	for _, c := range []struct {
		name string
		ask  []model.Request // the last one's answer counts
		want string
	}{
		{"by the label of the step", []model.Request{moved(other, "", "")}, "answer 8"},
		{"by the same call", []model.Request{moved(main, "", ""), moved(sub("s", "a3", "Look into x"), "a3", "")}, "answer 4"},
		{"by the first words", []model.Request{moved(main, "", ""), moved(sub("s", "", "Look into y"), "b9", "")}, "answer 3"},
		{"by the first words, in order", []model.Request{moved(main, "", ""), moved(sub("s", "", "Look into x"), "b8", ""),
			moved(sub("s", "", "Look into x"), "b9", "")}, "answer 4"},
		{"within the conversation they belong to", []model.Request{moved(main, "", ""), moved(other, "", ""), moved(sub("s2", "", "Look into x"), "b1", "")}, "answer 9"},
		{"searches by their words", []model.Request{moved(main, "", ""), moved(search("s", "", "", "find q"), "", "d1"),
			moved(search("s", "", "", "find p"), "", "d2")}, "answer 5"},
		{"searches of a subagent", []model.Request{moved(main, "", ""), moved(sub("s", "a1", "Look into x"), "a1", ""),
			moved(search("s", "", "", "find p"), "a1", "d1")}, "answer 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, dir)
			got := ""
			for _, q := range c.ask {
				got = said(t, p, q)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlayer_and_Recorder_serve_many_at_a_time(t *testing.T) {
	const agents, turns = 12, 5
	drive := func(m model.Model, session string) {
		_ = said(t, m, request(session, user(text("Begin"))))
		var wait sync.WaitGroup
		for i := range agents {
			wait.Go(func() {
				name := string(rune('a' + i))
				q := sub(session, "agent"+name, "Count for "+name)
				for range turns {
					reply, err := ask(m, q)
					if err != nil || len(reply.Content) != 1 {
						t.Errorf("agent %s: %v", name, err)
						return
					}
					q.Messages = append(q.Messages, assistant(reply.Content...), user(text("And on, "+name)))
					q.Meta.Turn++
				}
			})
		}
		wait.Wait()
	}
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	drive(r, "s")
	finish(t, r)
	p := open(t, dir)
	drive(p, "t")
	if rest := p.Rest(); rest.Exchanges != 0 || p.Err() != nil {
		t.Errorf("rest %+v, error %v", rest, p.Err())
	}
}

func TestPlayer_tells_what_was_not_asked_for(t *testing.T) {
	first := user(text("one"))
	dir := recording(t, echo, request("s", first), request("s", first, assistant(text("You said: one")), user(text("two"))), sub("s", "a1", "x"))
	p := open(t, dir)
	_ = said(t, p, request("t", first))
	want := playback.Rest{Exchanges: 2, Where: []string{"step step, agent agent, from turn 2 on", "step step, agent worker (subagent a1), from turn 1 on"}}
	if diff := cmp.Diff(want, p.Rest()); diff != "" {
		t.Error(diff)
	}
}

func TestPlayer_ends_with_its_context(t *testing.T) {
	dir := recording(t, echo, request("s", user(text("one"))))
	p := open(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Stream(ctx, request("t", user(text("one")))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if p.Err() != nil || said(t, p, request("t", user(text("one")))) != "You said: one" {
		t.Errorf("an ended request counts: %v", p.Err())
	}
}
