package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// F-046
func TestStream_that_breaks_before_a_call_is_complete_is_sent_again(t *testing.T) {
	for _, at := range []int{-1, 0, 10, 700} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			broken := says("A text that is long enough to be cut somewhere in the middle of it, which is what happens here.")
			broken.Faults = []api.Fault{{Kind: api.Cut, At: at}}
			b := newBench(t, nil, broken, says("Whole."))
			out := b.mustRun(harness.EndTurn)
			if out.Text != "Whole." {
				t.Errorf("text = %q: the broken answer must leave nothing behind", out.Text)
			}
			if got := kinds(b.memory.entries(key(out.SessionID))); got != "flower_prefix user assistant" {
				t.Errorf("stored: %s", got)
			}
			r := b.requests()
			if len(r) != 2 || string(r[0].Body) != string(r[1].Body) {
				t.Errorf("%d requests; the second must equal the first", len(r))
			}
		})
	}
}

func TestStream_retries_are_bounded(t *testing.T) {
	b := newBench(t, &api.Options{Script: func(api.Request) api.Turn { return refuses(529) }})
	_, err := b.run()
	if err == nil || failure.Classify(err) != failure.Transient {
		t.Fatalf("err = %v", err)
	}
	if n := len(b.requests()); n != 3 {
		t.Errorf("%d requests, want the first and two more", n)
	}
	if n := len(b.of(event.System)); n != 2 {
		t.Errorf("%d notices of a repetition, want 2", n)
	}
}

func TestStream_fatal_errors_are_not_repeated(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413} {
		b := newBench(t, nil, refuses(status), says("never"))
		out, err := b.run()
		if err == nil || out.Stop != harness.Failed || out.SessionID == "" {
			t.Fatalf("%d: %+v, %v", status, out, err)
		}
		if n := b.server.Queued(); n != 1 {
			t.Errorf("%d: the request was repeated", status)
		}
	}
}

func TestStream_the_same_refused_bytes_are_never_sent_again(t *testing.T) {
	b := newBench(t, nil, says("One."), refuses(400), says("never"))
	h := native.New(b.config)
	turn := b.turn
	turn.Store = b.store
	first, err := h.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	turn.Session, turn.Prompt = harness.Session{Resume: first.SessionID}, "Go on."
	if _, err := h.Run(t.Context(), turn); err == nil {
		t.Fatal("no error of the refused request")
	}
	// A copy of the session from before the refused prompt, with that prompt again,
	// is another transcript; the same one cannot come to the same bytes but by the
	// same entries.
	before := len(b.requests())
	refused := b.memory.entries(key(first.SessionID))
	b.memory.lists[key(first.SessionID)] = refused[:len(refused)-1]
	_, err = h.Run(t.Context(), turn)
	if err == nil || !strings.Contains(err.Error(), "refused before") {
		t.Errorf("err = %v", err)
	}
	if n := len(b.requests()); n != before {
		t.Errorf("the refused bytes were sent again")
	}
}

func TestStream_cut_behind_a_complete_call_keeps_it_and_runs_it_once(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	whole := api.Turn{Blocks: []api.Block{
		api.Thinking("think"),
		api.ToolUse("", "Bash", input("command", "echo x >> "+mark)),
		api.Text("and then a long text that never comes to its end because the connection breaks in it"),
	}}
	cut := whole
	cut.Faults = []api.Fault{{Kind: api.Fail, At: 15}}
	b := newBench(t, nil, cut, says("Done."))
	out := b.mustRun(harness.EndTurn)
	if content, err := os.ReadFile(mark); err != nil || string(content) != "x\n" {
		t.Errorf("the call ran %d times (%v)", strings.Count(string(content), "x"), err)
	}
	if got := kinds(b.memory.entries(key(out.SessionID))); got != "flower_prefix user calls(1) result assistant" {
		t.Errorf("stored: %s", got)
	}
	if out.Text != "Done." {
		t.Errorf("text = %q", out.Text)
	}
}

// Every way a stream of two calls can break: what follows is a whole turn, no
// call runs twice, and the server takes the next request.
func TestStream_cut_at_every_frame_and_many_bytes(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	faults := []api.Fault{}
	for at := 0; at < 16; at++ {
		for _, kind := range []api.FaultKind{api.Malform, api.Double, api.Drop, api.Fail} {
			faults = append(faults, api.Fault{Kind: kind, At: at})
		}
	}
	for at := 0; at < 2600; at += 97 {
		faults = append(faults, api.Fault{Kind: api.Cut, At: at}, api.Fault{Kind: api.End, At: at})
	}
	for _, f := range faults {
		t.Run(fmt.Sprintf("%d@%d", f.Kind, f.At), func(t *testing.T) {
			b := newBench(t, nil)
			log := filepath.Join(b.dir, "log")
			broken := api.Turn{Faults: []api.Fault{f}, Blocks: []api.Block{
				api.Thinking("Two calls."), api.Text("First one, then the other."),
				api.ToolUse("", "Bash", input("command", "echo first >> "+log)),
				api.ToolUse("", "Bash", input("command", "echo second >> "+log)),
			}}
			whole := broken
			whole.Faults = nil
			sent := 0
			b.config.Retries = 1
			// Thinking that was damaged on the way cannot be sent back: then the calls
			// and their results are told in words.
			done := func(r api.Request) bool { return len(r.Results()) > 0 || strings.Contains(r.Prompt(), "You called") }
			server, err := api.Start(&api.Options{Script: func(r api.Request) api.Turn {
				sent++
				switch {
				case done(r):
					return says("Done.")
				case sent == 1:
					return broken
				}
				return whole
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			b.server = server
			b.config.Model = client(server)
			if _, err := b.run(); err != nil && failure.Classify(err) != failure.Transient {
				t.Fatalf("an error that nobody would repeat: %v", err)
			}
			content, _ := os.ReadFile(log)
			if n := strings.Count(string(content), "first"); n > 1 {
				t.Errorf("the first call ran %d times", n)
			}
			if n := strings.Count(string(content), "second"); n > 1 {
				t.Errorf("the second call ran %d times", n)
			}
		})
	}
}

func TestStream_paused_answers_go_on(t *testing.T) {
	paused := says("I search.")
	paused.StopReason = "pause_turn"
	b := newBench(t, nil, paused, says("Found."))
	out := b.mustRun(harness.EndTurn)
	if out.Text != "I search.\n\nFound." || out.Turns != 2 {
		t.Errorf("%+v", out)
	}
	b.resume(out.SessionID, "More.")
	b.server.Enqueue(says("Good."))
	b.mustRun(harness.EndTurn)
	if m := b.last().Messages; len(m) != 3 || len(m[1].Content) != 2 {
		t.Errorf("the two halves must be one message: %+v", m)
	}
}

func TestStream_an_answer_at_the_token_limit_goes_on_once(t *testing.T) {
	long := func(s string) api.Turn { x := says(s); x.StopReason = "max_tokens"; return x }
	b := newBench(t, nil, long("Half of"), says("the story."))
	out := b.mustRun(harness.EndTurn)
	if out.Text != "Half of\n\nthe story." {
		t.Errorf("text = %q", out.Text)
	}
	b = newBench(t, nil, long("a"), long("b"), says("never"))
	b.mustRun(harness.MaxTokens)
	if b.server.Queued() != 1 {
		t.Error("a third request was sent")
	}
}

func TestStream_a_half_call_at_the_token_limit_is_dropped_and_the_whole_ones_run(t *testing.T) {
	b := newBench(t, nil)
	cut := api.Turn{StopReason: "max_tokens", Blocks: []api.Block{
		api.ToolUse("", "Bash", input("command", "echo ran > ran.txt")),
		api.ToolUse("", "Write", `{}`),
	}}
	b.server.Enqueue(cut, says("Done."))
	b.mustRun(harness.EndTurn)
	if _, err := os.Stat(filepath.Join(b.dir, "ran.txt")); err != nil {
		t.Error("the complete call did not run")
	}
	r := b.last()
	if len(r.Results()) != 1 || !strings.Contains(r.Prompt(), "smaller pieces") {
		t.Errorf("results %d, note %q", len(r.Results()), r.Prompt())
	}
}

func TestStream_typed_endings(t *testing.T) {
	ends := func(reason string, blocks ...api.Block) api.Turn { return api.Turn{StopReason: reason, Blocks: blocks} }
	touch := api.ToolUse("", "Bash", input("command", "touch ran"))
	cases := map[string]struct {
		turn api.Turn
		want harness.Stop
	}{
		"refusal":              {ends("refusal", api.Text("No.")), harness.Refusal},
		"refusal with a call":  {ends("refusal", touch), harness.Refusal},
		"window exceeded":      {ends("model_context_window_exceeded", api.Text("x")), harness.WindowExceeded},
		"window exceeded call": {ends("model_context_window_exceeded", touch), harness.WindowExceeded},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, c.turn)
			out := b.mustRun(c.want)
			if out.Detail == "" {
				t.Error("no sentence for a person")
			}
			if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
				t.Error("a call of an answer that ended the turn was run")
			}
			b.resume(out.SessionID, "Once more.")
			b.server.Enqueue(says("Fine."))
			b.mustRun(harness.EndTurn) // the transcript is whole
		})
	}
}

func TestStream_a_refusal_says_why_where_the_provider_does(t *testing.T) {
	b := newBench(t, nil, api.Turn{StopReason: "refusal", Blocks: []api.Block{api.Text("No.")},
		StopDetails: json.RawMessage(`{"type":"refusal","category":"cyber","explanation":"This is not allowed here."}`)})
	if out := b.mustRun(harness.Refusal); !strings.Contains(out.Detail, "(cyber): This is not allowed here.") {
		t.Errorf("detail = %q", out.Detail)
	}
}

// F-012
func TestStream_an_empty_answer_is_asked_about_once(t *testing.T) {
	silent := api.Turn{Blocks: []api.Block{api.Thinking("nothing to say")}}
	b := newBench(t, nil, silent, says("Here it is."))
	out := b.mustRun(harness.EndTurn)
	if out.Text != "Here it is." || !strings.Contains(b.last().Prompt(), "neither text nor a tool call") {
		t.Errorf("text %q, asked %q", out.Text, b.last().Prompt())
	}
	b = newBench(t, nil, silent, api.Turn{Blocks: []api.Block{api.Text(" \n")}}, says("never"))
	b.mustRun(harness.Empty)
	if b.server.Queued() != 1 {
		t.Error("it was asked twice")
	}
}

// F-064
func TestStream_an_answer_of_calls_alone_goes_on(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "true")), calls("Bash", input("command", "echo 2")), says("End."))
	if out := b.mustRun(harness.EndTurn); out.Turns != 3 {
		t.Errorf("turns = %d", out.Turns)
	}
}

func TestStream_cancelled_context_ends_the_run_at_once(t *testing.T) {
	slow := says("x")
	slow.Faults = []api.Fault{{Kind: api.Stall, At: 10}}
	b := newBench(t, nil, slow)
	turn := b.turn
	turn.Store = b.store
	ctx, cancel := context.WithCancel(t.Context())
	turn.OnSession = func(string) { cancel() }
	out, err := native.New(b.config).Run(ctx, turn)
	if err == nil || out.Stop != harness.Failed || out.SessionID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
}

// F-055
func TestStream_that_stalls_is_sent_again(t *testing.T) {
	slow := says("This one stops in the middle of its way.")
	slow.Faults = []api.Fault{{Kind: api.Stall, At: 500}}
	b := newBench(t, nil, slow, says("Whole."))
	b.config.Model = anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: b.server.URL(), Idle: 100 * time.Millisecond})
	if out := b.mustRun(harness.EndTurn); out.Text != "Whole." {
		t.Errorf("text = %q", out.Text)
	}
}

func TestStream_retry_after_of_the_server_is_kept_to_and_a_long_one_left_to_the_caller(t *testing.T) {
	wait := func(d time.Duration) api.Turn {
		return api.Turn{Error: &api.Error{Status: 429, RetryAfter: d}}
	}
	b := newBench(t, nil, wait(time.Second), says("Now."))
	begin := time.Now()
	b.mustRun(harness.EndTurn)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("sent again after %s", took)
	}
	b = newBench(t, nil, wait(time.Hour), says("never"))
	if _, err := b.run(); failure.RetryAfter(err) != time.Hour || b.server.Queued() != 1 {
		t.Errorf("err = %v", err)
	}
}
