package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// completeAt is how many blocks of recorded are complete after n bytes of it.
func completeAt(n int) int {
	return strings.Count(recorded[:n], `{"type":"content_block_stop"`) - unfinished(n)
}

// unfinished is 1 when the n bytes end within a content_block_stop.
func unfinished(n int) int {
	last := strings.LastIndex(recorded[:n], `{"type":"content_block_stop"`)
	if last >= 0 && !strings.Contains(recorded[last:n], "\n\n") {
		return 1
	}
	return 0
}

// checkCut checks what is left of recorded after n bytes of it.
func checkCut(t *testing.T, n int, r model.Reply, err error) {
	t.Helper()
	if whole := n == len(recorded); whole != (err == nil) || whole != r.Complete {
		t.Fatalf("cut at %d: %v, complete %v", n, err, r.Complete)
	}
	if err != nil && !errors.Is(err, model.ErrCut) {
		t.Fatalf("cut at %d: %v", n, err)
	}
	if got, want := content(r), strings.Join(recordedBlocks[:completeAt(n)], " "); got != want {
		t.Fatalf("cut at %d:\n got %s\nwant %s", n, got, want)
	}
}

func TestCut_at_every_byte_keeps_the_complete_blocks(t *testing.T) {
	s := serve(t, nil)
	c := client(s)
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n <= len(recorded); n += step {
		s.Enqueue(messagesapi.Turn{Body: []byte(recorded), Faults: []messagesapi.Fault{{Kind: messagesapi.Cut, At: n}}})
		_, r, err := read(t, c, hello())
		checkCut(t, n, r, err)
	}
}

func TestEnd_at_every_byte_is_no_end_of_the_message(t *testing.T) {
	var sent body
	c := anthropic.New(&anthropic.Options{Key: "test-key", Client: &http.Client{Transport: &sent}})
	for n := 0; n <= len(recorded); n++ {
		sent = body(recorded[:n])
		_, r, err := read(t, c, hello())
		checkCut(t, n, r, err)
	}
	s := serve(t, always(messagesapi.Turn{Body: []byte(recorded), Faults: []messagesapi.Fault{{Kind: messagesapi.End, At: 1500}}}))
	_, r, err := read(t, client(s), hello())
	checkCut(t, 1500, r, err)
}

func TestCut_before_any_answer_is_an_error_of_the_connection(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Faults: []messagesapi.Fault{{Kind: messagesapi.Cut, At: -1}}}))
	_, _, err := read(t, client(s), hello())
	var answer *model.Error
	if err == nil || errors.As(err, &answer) || !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestServer_that_is_not_there(t *testing.T) {
	s := serve(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := read(t, client(s), hello())
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestStall_is_recognised_over_a_real_connection(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Body: []byte(recorded), Faults: []messagesapi.Fault{{Kind: messagesapi.Stall, At: 1500}}}))
	c := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL(), Idle: 50 * time.Millisecond})
	if _, r, err := read(t, c, hello()); !errors.Is(err, model.ErrStalled) || r.Complete {
		t.Errorf("got %v", err)
	}
	s.Enqueue(messagesapi.Turn{Delay: time.Hour})
	c = anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL(), Wait: 50 * time.Millisecond})
	if _, _, err := read(t, c, hello()); !errors.Is(err, model.ErrStalled) {
		t.Errorf("got %v", err)
	}
}

func TestCancel_ends_the_wait_for_an_answer(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Delay: time.Hour}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := client(s).Stream(ctx, hello()); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, model.ErrStalled) {
		t.Errorf("got %v", err)
	}
}

func TestCancel_ends_a_stream(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Body: []byte(recorded), Faults: []messagesapi.Fault{{Kind: messagesapi.Stall, At: 1500}}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client(s).Stream(ctx, hello())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for err == nil {
		var d model.Delta
		d, err = stream.Recv()
		if d.Kind == model.BlockDone && d.Index == 0 {
			cancel()
		}
	}
	if !errors.Is(err, context.Canceled) || errors.Is(err, model.ErrCut) {
		t.Errorf("got %v", err)
	}
	if r := stream.Reply(); r.Complete || len(r.Content) == 0 || string(r.Content[0]) != recordedBlocks[0] {
		t.Errorf("reply %+v", r)
	}
}

// frameTurn has the frames 0 message_start, 1 ping, 2–5 text, 6–9 tool call with
// an empty first piece, 10 message_delta, 11 message_stop.
func frameTurn(f messagesapi.Fault) messagesapi.Turn {
	t := turn(messagesapi.Text("some text"), messagesapi.ToolUse("toolu_1", "Bash", `{"command":"ls"}`))
	t.Piece = 5
	t.Faults = []messagesapi.Fault{f}
	return t
}

func TestFrames_that_are_wrong_never_give_a_wrong_complete_reply(t *testing.T) {
	s := serve(t, nil)
	c := client(s)
	s.Enqueue(frameTurn(messagesapi.Fault{}))
	_, good, err := read(t, c, hello())
	if err != nil {
		t.Fatal(err)
	}
	const frames = 15
	for _, kind := range []messagesapi.FaultKind{messagesapi.Malform, messagesapi.Double, messagesapi.Drop} {
		for at := range frames {
			s.Enqueue(frameTurn(messagesapi.Fault{Kind: kind, At: at}))
			deltas, r, err := read(t, c, hello())
			if err != nil {
				if !errors.Is(err, model.ErrCut) || r.Complete {
					t.Errorf("kind %d at %d: %v", kind, at, err)
				}
				for _, b := range r.Content {
					if !json.Valid(b) {
						t.Errorf("kind %d at %d: a kept block is no JSON: %s", kind, at, b)
					}
				}
				continue
			}
			// Text has no check sum: a piece of it doubled or lost cannot be seen.
			lost := kind != messagesapi.Malform && len(deltas) > 0 && strings.Contains(content(r), `"text"`)
			if content(r) != content(good) && !lost || r.StopReason != good.StopReason {
				t.Errorf("kind %d at %d: a complete reply with %s", kind, at, content(r))
			}
			if !strings.Contains(content(r), `{"command":"ls"}`) {
				t.Errorf("kind %d at %d: another tool call: %s", kind, at, content(r))
			}
		}
	}
}

func TestStreams_that_break_the_protocol_are_cut_off(t *testing.T) {
	begin := frame("message_start", `,"message":{"id":"m","usage":{}}`)
	open := frame("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	stop := frame("content_block_stop", `,"index":0`)
	end := frame("message_delta", `,"delta":{"stop_reason":"end_turn"}`) + frame("message_stop", "")
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"nothing":                {"", "cut off"},
		"a block first":          {open, "before the message began"},
		"begun twice":            {begin + begin, "began twice"},
		"no message":             {frame("message_start", `,"message":7`), "cannot be read"},
		"a gap between blocks":   {begin + frame("content_block_start", `,"index":1,"content_block":{"type":"text"}`), "block 1 began after block -1"},
		"a block without type":   {begin + frame("content_block_start", `,"index":0,"content_block":{"text":""}`), "without a type"},
		"a block that is none":   {begin + frame("content_block_start", `,"index":0,"content_block":[]`), "cannot be read"},
		"a piece of no block":    {begin + frame("content_block_delta", `,"index":0,"delta":{}`), "block 0, which is not open"},
		"a piece of block -1":    {begin + frame("content_block_delta", `,"index":-1,"delta":{}`), "not open"},
		"a piece of a done one":  {begin + open + stop + frame("content_block_delta", `,"index":0,"delta":{}`), "not open"},
		"a piece that is none":   {begin + open + frame("content_block_delta", `,"index":0,"delta":[]`), "piece of a block cannot be read"},
		"a piece without text":   {begin + open + frame("content_block_delta", `,"index":0,"delta":{"type":"text_delta"}`), "text_delta is empty"},
		"stopped twice":          {begin + open + stop + stop, "not open"},
		"an end that is none":    {begin + frame("message_delta", `,"delta":[]`), "end of the message cannot be read"},
		"no reason":              {begin + open + stop + frame("message_stop", ""), "without a reason"},
		"an open block":          {begin + open + end, "before its block 0"},
		"not UTF-8":              {begin + open + frame("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+"\xf0"+`"}`), "not UTF-8"},
		"no JSON":                {begin + "event: message_stop\ndata: {\n\n", "cannot be read"},
		"tool input that is cut": {begin + frame("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"a","name":"B","input":{}}`) + frame("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}`) + stop + frame("message_delta", `,"delta":{"stop_reason":"tool_use"}`) + frame("message_stop", ""), "input of block 0 is not JSON"},
	} {
		s := serve(t, always(messagesapi.Turn{Body: append([]byte{}, c.body...)}))
		_, r, err := read(t, client(s), hello())
		if !errors.Is(err, model.ErrCut) || !strings.Contains(err.Error(), c.want) || r.Complete {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMaxTokens_in_a_tool_call_drops_the_partial_call(t *testing.T) {
	cut := turn(messagesapi.Text("I look."), messagesapi.ToolUse("toolu_1", "Bash", `{"command":"l`))
	cut.StopReason = "max_tokens"
	s := serve(t, always(cut))
	_, r, err := read(t, client(s), hello())
	if err != nil || !r.Complete || content(r) != `{"type":"text","text":"I look."}` {
		t.Errorf("%v: %s", err, content(r))
	}
}

func TestErrors_of_the_API_are_typed(t *testing.T) {
	for _, c := range []struct {
		err    messagesapi.Error
		status int
		kind   string
		retry  time.Duration
		text   string
	}{
		{messagesapi.Error{Status: 400, Message: "prompt is too long: 5 tokens > 4 maximum"}, 400, "invalid_request_error", 0, "prompt is too long: 5 tokens > 4 maximum"},
		{messagesapi.Error{Status: 401}, 401, "authentication_error", 0, "invalid x-api-key"},
		{messagesapi.Error{Status: 402}, 402, "billing_error", 0, "credit"},
		{messagesapi.Error{Status: 403}, 403, "permission_error", 0, "permission"},
		{messagesapi.Error{Status: 404}, 404, "not_found_error", 0, "Not found"},
		{messagesapi.Error{Status: 413}, 413, "request_too_large", 0, "maximum size"},
		{messagesapi.Error{Status: 429, RetryAfter: 7 * time.Second}, 429, "rate_limit_error", 7 * time.Second, "rate limit"},
		{messagesapi.Error{Status: 429, RetryAfter: 5 * time.Millisecond}, 429, "rate_limit_error", 5 * time.Millisecond, ""},
		{messagesapi.Error{Status: 429, Code: "enforced_spend_limit_reached"}, 429, "rate_limit_error", 0, "[enforced_spend_limit_reached]"},
		{messagesapi.Error{Status: 500}, 500, "api_error", 0, "Internal server error"},
		{messagesapi.Error{Status: 529, RetryAfter: time.Minute}, 529, "overloaded_error", time.Minute, "Overloaded"},
	} {
		s := serve(t, always(messagesapi.Turn{Error: &c.err}))
		_, _, err := read(t, client(s), hello())
		var typed interface {
			error
			StatusCode() int
			ErrorType() string
			RetryAfter() time.Duration
		}
		if !errors.As(err, &typed) {
			t.Fatalf("%+v: %v", c.err, err)
		}
		if typed.StatusCode() != c.status || typed.ErrorType() != c.kind || typed.RetryAfter() != c.retry || !strings.Contains(typed.Error(), c.text) || !strings.Contains(typed.Error(), "(request req_") {
			t.Errorf("%+v: %d %s %v %v", c.err, typed.StatusCode(), typed.ErrorType(), typed.RetryAfter(), typed)
		}
		if n := len(s.Log()); n != 1 {
			t.Errorf("%+v: sent %d times", c.err, n)
		}
	}
}

func TestErrors_within_a_stream_are_typed_and_keep_the_blocks(t *testing.T) {
	s := serve(t, always(frameTurn(messagesapi.Fault{Kind: messagesapi.Fail, At: 7})))
	_, r, err := read(t, client(s), hello())
	var typed *model.Error
	if !errors.As(err, &typed) || typed.Status != 0 || typed.Type != "overloaded_error" || typed.RequestID == "" {
		t.Errorf("got %v", err)
	}
	if r.Complete || content(r) != `{"type":"text","text":"some text"}` {
		t.Errorf("kept %s", content(r))
	}
	// A gateway may leave the names of events out.
	s = serve(t, always(messagesapi.Turn{Body: []byte("data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"down\"}}\n\n")}))
	if _, _, err := read(t, client(s), hello()); !errors.As(err, &typed) || typed.Type != "api_error" || typed.Message != "down" {
		t.Errorf("got %v", err)
	}
}

// answer starts a plain HTTP server, for what no API would say.
func answer(t *testing.T, h http.HandlerFunc) *anthropic.Client {
	t.Helper()
	return anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: plainServer(t, h)})
}

func TestAnswers_that_are_no_stream_are_explained(t *testing.T) {
	page := "<html>" + strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		want   model.Error
	}{
		"a message, not streamed":  {200, "application/json", `{"type":"message","content":[]}`, model.Error{Status: 200, Type: anthropic.WrongAddress, Message: `the answer is application/json instead of a stream of events: {"type":"message","content":[]}`}},
		"an error with status 200": {200, "application/json", `{"type":"error","error":{"type":"api_error","message":"down"},"request_id":"req_x"}`, model.Error{Status: 200, Type: "api_error", Message: "down", RequestID: "req_x"}},
		"a page":                   {200, "text/html; charset=utf-8", page, model.Error{Status: 200, Type: anthropic.WrongAddress, Message: "the answer is text/html instead of a stream of events: a page of HTML, from a proxy or a wrong base URL"}},
		"a page with an error":     {502, "text/html", page, model.Error{Status: 502, Message: "a page of HTML, from a proxy or a wrong base URL"}},
		"an empty error":           {503, "text/plain", "", model.Error{Status: 503, Message: "Service Unavailable"}},
		"a long text":              {500, "text/plain", "a\x00\n b" + strings.Repeat("é", 5000), model.Error{Status: 500, Message: "a b" + strings.Repeat("é", 148) + "…"}},
		"no content":               {204, "", "", model.Error{Status: 204, Type: anthropic.WrongAddress, Message: "unexpected status"}},
		"nothing":                  {200, "", "", model.Error{Status: 200, Type: anthropic.WrongAddress, Message: "the answer is empty: is the base URL right?"}},
		"nothing of a kind":        {200, "text/plain", "\n", model.Error{Status: 200, Type: anthropic.WrongAddress, Message: "the answer is empty: is the base URL right?"}},
		"another service":          {200, "text/plain", "It works!", model.Error{Status: 200, Type: anthropic.WrongAddress, Message: "the answer is text/plain instead of a stream of events: It works!"}},
		"a huge error":             {500, "text/plain", strings.Repeat("x", 3<<20), model.Error{Status: 500, Message: strings.Repeat("x", 300) + "…"}},
	} {
		client := answer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("content-type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, _, err := read(t, client, hello())
		var got *model.Error
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, &c.want)
		}
	}
}

// TestWrongAddress: nobody repeats a request to what is not the API; when the API has
// answered there before, something on the way has, and it may go.
func TestWrongAddress_is_not_repeated_unless_the_API_has_answered_there(t *testing.T) {
	page := false
	server := serve(t, always(messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("hi")}}))
	target, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	api := httputil.NewSingleHostReverseProxy(target)
	client := answer(t, func(w http.ResponseWriter, r *http.Request) {
		if page {
			http.Redirect(w, r, "https://portal.example/", http.StatusFound)
			return
		}
		api.ServeHTTP(w, r)
	})
	page = true
	if _, _, err := read(t, client, hello()); failure.Classify(err) != failure.Fatal {
		t.Errorf("%v is %v", err, failure.Classify(err))
	}
	page = false
	if _, _, err := read(t, client, hello()); err != nil {
		t.Fatal(err)
	}
	page = true
	if _, _, err := read(t, client, hello()); failure.Classify(err) != failure.Unknown {
		t.Errorf("%v is %v", err, failure.Classify(err))
	}
}

func TestRetryAfter_is_read_in_every_form(t *testing.T) {
	for header, want := range map[string]func(time.Duration) bool{
		"2":     func(d time.Duration) bool { return d == 2*time.Second },
		"0.5":   func(d time.Duration) bool { return d == 500*time.Millisecond },
		"-3":    func(d time.Duration) bool { return d == 0 },
		"soon":  func(d time.Duration) bool { return d == 0 },
		"1e300": func(d time.Duration) bool { return d == 24*time.Hour },
		"NaN":   func(d time.Duration) bool { return d == 0 },
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  func(d time.Duration) bool { return d > 59*time.Minute && d <= time.Hour },
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): func(d time.Duration) bool { return d == 0 },
	} {
		client := answer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("retry-after", header)
			w.WriteHeader(429)
		})
		_, _, err := read(t, client, hello())
		var got *model.Error
		if !errors.As(err, &got) || !want(got.Retry) {
			t.Errorf("%q: %+v", header, got)
		}
	}
}

func TestRedirects_are_not_followed(t *testing.T) {
	reached := false
	elsewhere := plainServer(t, func(http.ResponseWriter, *http.Request) { reached = true })
	for _, status := range []int{301, 302, 307, 308} {
		target := elsewhere + "/v1/messages?key=test-key"
		client := anthropic.New(&anthropic.Options{
			Key: "test-key", Client: &http.Client{}, // a client of its own changes nothing
			BaseURL: plainServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, status) }),
		})
		_, _, err := read(t, client, hello())
		var got *model.Error
		if !errors.As(err, &got) || got.Status != status || !strings.Contains(got.Message, strings.TrimPrefix(elsewhere, "http://")) || strings.Contains(err.Error(), "test-key") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if reached {
		t.Error("the key was sent to another host")
	}
}

func TestSecrets_stay_out_of_every_error(t *testing.T) {
	const key, password = "test-key", "hidden-word"
	echo := func(status int, kind, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("content-type", kind)
			w.Header().Set("request-id", r.Header.Get("x-api-key"))
			w.WriteHeader(status)
			fmt.Fprintf(w, format, r.Header.Get("x-api-key"))
		}
	}
	servers := map[string]string{
		"error":       plainServer(t, echo(401, "application/json", `{"type":"error","error":{"type":"authentication_error","message":"bad key %s"}}`)),
		"text":        plainServer(t, echo(500, "text/plain", "key %s "+password)),
		"type":        plainServer(t, echo(400, "application/json", `{"error":{"type":"%s","message":"x"}}`)),
		"stream":      plainServer(t, echo(200, "text/event-stream", "event: error\ndata: {\"error\":{\"type\":\"x\",\"message\":\"%s\"}}\n\n")),
		"no stream":   plainServer(t, echo(200, "application/json", `"%s"`)),
		"status line": rawServer(t, "HTTP/1.1 "+key+" "+password+"\r\n\r\n"),
		"nobody":      "http://127.0.0.1:1",
	}
	for name, base := range servers {
		base = strings.Replace(base, "http://", "http://user:"+password+"@", 1)
		c := anthropic.New(&anthropic.Options{Key: key, BaseURL: base})
		_, _, err := read(t, c, hello())
		_, infoErr := c.Info(t.Context(), "claude-new")
		for _, err := range []error{err, infoErr} {
			if err == nil {
				continue // a model described by nothing
			}
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err)} {
				if strings.Contains(text, key) || strings.Contains(text, password) {
					t.Errorf("%s: %s", name, text)
				}
			}
		}
	}
}
