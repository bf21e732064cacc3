package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
)

func TestStream_sends_the_bytes_of_the_request(t *testing.T) {
	// None of these may have any effect.
	t.Setenv("ANTHROPIC_API_KEY", "environment-key")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "environment-token")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Odd: 1")

	s := serve(t, always(turn(messagesapi.Text("ok"))))
	req := hello()
	req.System = []json.RawMessage{raw(`{ "text" : "<s>\u0026" ,"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"}}`)}
	req.Tools = []json.RawMessage{raw(`{"input_schema":{"type":"object"},  "name":"Bash"}`)}
	req.Extra = map[string]json.RawMessage{"thinking": raw(`{"type":"adaptive"}`)}
	req.Meta = model.Meta{Step: "secret-step"}
	if _, _, err := read(t, client(s), req); err != nil {
		t.Fatal(err)
	}
	e := s.Log()[0].Request
	if got, want := string(e.Body), string(req.Body(true)); got != want {
		t.Errorf("body:\n got %s\nwant %s", got, want)
	}
	for name, want := range map[string]string{
		"X-Api-Key": messagesapi.Mask("test-key"), "Authorization": "", "X-Odd": "",
		"Anthropic-Version": anthropic.DefaultVersion, "Content-Type": "application/json",
	} {
		if got := e.Header.Get(name); got != want {
			t.Errorf("header %s: %q, want %q", name, got, want)
		}
	}
}

func TestOptions_choose_credential_version_and_headers(t *testing.T) {
	s := serve(t, always(turn(messagesapi.Text("ok"))))
	c := anthropic.New(&anthropic.Options{
		Token: "test-token", BaseURL: s.URL() + "/", Version: messagesapi.Version2023,
		Header: http.Header{"Anthropic-Beta": {"a", "b"}, "User-Agent": {"flower"}},
	})
	if _, _, err := read(t, c, hello()); err != nil {
		t.Fatal(err)
	}
	h := s.Log()[0].Request.Header
	if h.Get("authorization") != messagesapi.Mask("Bearer test-token") || h.Get("x-api-key") != "" {
		t.Errorf("credential: %v", h)
	}
	if h.Get("anthropic-version") != messagesapi.Version2023 || fmt.Sprint(h.Values("anthropic-beta")) != "[a b]" || fmt.Sprint(h.Values("user-agent")) != "[flower]" {
		t.Errorf("headers: %v", h)
	}
}

func TestOptions_that_cannot_work_are_told_by_the_first_request(t *testing.T) {
	for name, c := range map[string]struct {
		opts *anthropic.Options
		want string
	}{
		"nothing":       {nil, anthropic.ErrNoCredentials.Error()},
		"no credential": {&anthropic.Options{BaseURL: "http://127.0.0.1:1"}, anthropic.ErrNoCredentials.Error()},
		"no URL":        {&anthropic.Options{Key: "test-key", BaseURL: "api.example.com"}, "base URL"},
		"odd scheme":    {&anthropic.Options{Key: "test-key", BaseURL: "ftp://user:hidden-word@example.com"}, "base URL"},
		"unreadable":    {&anthropic.Options{Key: "test-key", BaseURL: "http://user:hidden-word@exa mple.com"}, "base URL"},
	} {
		client := anthropic.New(c.opts)
		_, err := client.Stream(t.Context(), hello())
		_, infoErr := client.Info(t.Context(), "claude-new")
		for _, err := range []error{err, infoErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden-word") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestReply_is_the_message_as_it_was_sent(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Body: []byte(recorded)}))
	deltas, r, err := read(t, client(s), hello())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := content(r), strings.Join(recordedBlocks, " "); got != want {
		t.Errorf("content:\n got %s\nwant %s", got, want)
	}
	want := model.Usage{Input: 9, Output: 33, CacheRead: 7, CacheWrite: 30, CacheWrite1h: 20}
	if r.ID != "msg_1" || r.Model != "claude-sonnet-5-5" || r.StopReason != "tool_use" || r.Usage != want || !r.Complete || r.RequestID == "" {
		t.Errorf("reply %+v", r)
	}
	pieces := []model.Delta{
		{Kind: model.ThinkingDelta, Text: "Hm <\uFFFD"},
		{Kind: model.ThinkingDelta, Text: "\uFFFD é/"},
		{Kind: model.BlockDone},
		{Kind: model.TextDelta, Index: 1, Text: "I look."},
		{Kind: model.BlockDone, Index: 1},
		{Kind: model.ToolStart, Index: 2, Text: "Bash"},
		{Kind: model.BlockDone, Index: 2},
	}
	if !reflect.DeepEqual(deltas, pieces) {
		t.Errorf("pieces:\n got %+v\nwant %+v", deltas, pieces)
	}
}

func TestReply_can_be_sent_back(t *testing.T) {
	first := turn(
		messagesapi.Thinking("Schöne <Gedanken> \u2028 and \"quotes\""), messagesapi.Redacted("hidden"),
		messagesapi.Text("I look."), messagesapi.ToolUse("", "Bash", `{"command": "ls",  "deep": {"n": 1e3}}`),
	)
	for _, piece := range []int{1, 5, 1000} {
		first.Piece = piece
		s := serve(t, nil)
		s.Enqueue(first, turn(messagesapi.Text("Done.")))
		c := client(s)
		_, r, err := read(t, c, hello())
		if err != nil {
			t.Fatal(err)
		}
		var call struct{ ID string }
		if err := json.Unmarshal(r.Content[3], &call); err != nil {
			t.Fatal(err)
		}
		next := hello()
		next.Messages = append(next.Messages,
			model.Message{Role: "assistant", Content: r.Content},
			model.Message{Role: "user", Content: []json.RawMessage{raw(`{"type":"tool_result","tool_use_id":"` + call.ID + `"}`)}})
		// The server refuses thinking that is not what it sent.
		if _, r, err = read(t, c, next); err != nil || r.StopReason != "end_turn" {
			t.Errorf("pieces of %d: %v, %+v", piece, err, r)
		}
	}
}

func TestUsage_counts_what_the_cache_did(t *testing.T) {
	o := always(turn(messagesapi.Text("ok")))
	o.MinCache = -1
	c := client(serve(t, o))
	req := hello()
	req.System = []json.RawMessage{raw(`{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}`)}
	req.Messages[0].Content = []json.RawMessage{raw(`{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`), raw(`{"type":"text","text":"now"}`)}
	_, first, err := read(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := read(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	u, v := first.Usage, second.Usage
	if u.CacheWrite1h == 0 || u.CacheWrite <= u.CacheWrite1h || u.CacheRead != 0 || u.Input == 0 || u.Output == 0 {
		t.Errorf("first %+v", u)
	}
	if v.CacheRead != u.CacheWrite || v.CacheWrite != 0 || v.Input != u.Input || v.Context() != u.Context() {
		t.Errorf("first %+v, second %+v", u, v)
	}
}

// frame is an event of a stream.
func frame(kind, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
}

func TestUnknown_things_are_kept_or_passed_over(t *testing.T) {
	body := frame("message_start", `,"message":{"id":"msg_1","usage":{"input_tokens":1}}`) +
		frame("something_new", `,"x":1`) + ": a comment\n\n" + "event: odd\ndata\n\n" +
		frame("content_block_start", `,"index":0,"content_block":{"type":"new_block","a": [1,  2],"note":null}`) +
		frame("content_block_delta", `,"index":0,"delta":{"type":"new_delta","note":"one "}`) +
		frame("content_block_delta", `,"index":0,"delta":{"type":"new_delta","note":"two","a":3,"b":{"c":1}}`) +
		frame("content_block_stop", `,"index":0`) +
		frame("content_block_start", `,"index":1,"content_block":{"type":"text","text":"a","citations":null}`) +
		frame("content_block_delta", `,"index":1,"delta":{"type":"citations_delta","citation":{"n":1}}`) +
		frame("content_block_delta", `,"index":1,"delta":{"type":"text_delta","text":"b"}`) +
		frame("content_block_delta", `,"index":1,"delta":{"type":"citations_delta","citation":{"n":2}}`) +
		frame("content_block_stop", `,"index":1`) +
		frame("content_block_start", `,"index":2,"content_block":{"type":"server_tool_use","id":"s","name":"web_search"}`) +
		frame("content_block_delta", `,"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}`) +
		frame("content_block_stop", `,"index":2`) +
		frame("message_delta", `,"delta":{"stop_reason":"new_reason"},"new":{}`) + frame("message_stop", "")
	s := serve(t, always(messagesapi.Turn{Body: []byte(body)}))
	_, r, err := read(t, client(s), hello())
	want := `{"type":"new_block","a":3,"note":"one two","b":{"c":1}} ` +
		`{"type":"text","text":"ab","citations":[{"n":1},{"n":2}]} ` +
		`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}`
	if err != nil || content(r) != want || r.StopReason != "new_reason" || !r.Complete {
		t.Errorf("%v\n got %s\nwant %s", err, content(r), want)
	}
}

func TestStream_takes_what_the_format_allows(t *testing.T) {
	body := strings.ReplaceAll(recorded, "\n", "\r\n")
	s := serve(t, always(messagesapi.Turn{Body: []byte(body), ContentType: "application/octet-stream"}))
	_, r, err := read(t, client(s), hello())
	if err != nil || len(r.Content) != 3 {
		t.Errorf("%v: %s", err, content(r))
	}
}

func TestConnection_is_used_again_after_a_reply(t *testing.T) {
	s := serve(t, always(turn(messagesapi.Text("ok"))))
	var dials atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	defer transport.CloseIdleConnections()
	c := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL(), Client: &http.Client{Transport: transport}})
	for range 5 {
		if _, _, err := read(t, c, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for 5 replies", n)
	}
}

func TestStream_reasons_of_refusals_and_cache_misses_are_passed_on(t *testing.T) {
	s := serve(t, &messagesapi.Options{MinCache: -1, Script: func(r messagesapi.Request) messagesapi.Turn {
		if strings.Contains(r.Prompt(), "bad") {
			return messagesapi.Turn{StopReason: "refusal", Blocks: []messagesapi.Block{messagesapi.Text("No.")},
				StopDetails: raw(`{"type":"refusal","category":"cyber","explanation":"It is not allowed."}`)}
		}
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("Yes.")}}
	}})
	c := client(s)
	ask := func(prompt, system string, before model.Reply) model.Reply {
		t.Helper()
		req := hello()
		req.Previous = before.ID
		req.System = []json.RawMessage{raw(`{"type":"text","text":"` + system + `"}`)}
		req.Messages[0].Content[0] = raw(`{"type":"text","text":"` + prompt + `"}`)
		_, reply, err := read(t, c, req)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	one := ask("good", "a", model.Reply{ID: "msg_of_another"})
	if one.CacheMiss != "previous_message_not_found" || one.StopDetails != nil {
		t.Errorf("%+v", one)
	}
	two := ask("good", "b", one)
	if two.CacheMiss != "system_changed" {
		t.Errorf("cache miss = %q", two.CacheMiss)
	}
	three := ask("bad", "b", model.Reply{})
	if three.CacheMiss != "" || three.StopReason != "refusal" || !strings.Contains(string(three.StopDetails), `"category":"cyber"`) {
		t.Errorf("%+v", three)
	}
	old := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL(), Version: "2023-06-01"})
	req := hello()
	req.Previous = two.ID
	if _, reply, err := read(t, old, req); err != nil || reply.CacheMiss != "" {
		t.Errorf("a version that cannot tell was asked: %+v, %v", reply, err)
	}
}

func TestClient_serves_many_at_once(t *testing.T) {
	s := serve(t, always(turn(messagesapi.Thinking("hm"), messagesapi.Text("ok"))))
	c := client(s)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 5 {
				if _, r, err := read(t, c, hello()); err != nil || len(r.Content) != 2 {
					t.Errorf("%v: %s", err, content(r))
				}
			}
		})
	}
	all.Wait()
}

func TestClose_leaves_a_reply_at_any_time(t *testing.T) {
	s := serve(t, always(messagesapi.Turn{Body: []byte(recorded), Faults: []messagesapi.Fault{{Kind: messagesapi.Stall, At: 1500}}}))
	stream, err := client(s).Stream(t.Context(), hello())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("a closed stream goes on")
	}
	if r := stream.Reply(); r.Complete {
		t.Errorf("reply %+v", r)
	}
}

func TestInfo_comes_from_the_table_then_from_the_API(t *testing.T) {
	o := &messagesapi.Options{Models: []messagesapi.Model{
		{ID: "claude-new", Window: 123, MaxOutput: 45}, {ID: "claude-priced"},
	}}
	s := serve(t, o)
	c := anthropic.New(&anthropic.Options{
		Key: "test-key", BaseURL: s.URL(),
		Prices: map[string]model.Price{"claude-priced": {Input: 1}, "claude-haiku-4-5": {Input: 2}},
	})
	for _, want := range []struct {
		name   string
		window int64
		output int
		input  float64 // -1: not known
		asked  int     // requests so far
	}{
		{anthropic.DefaultModel, 1_000_000, 128_000, 2, 0},
		{"claude-opus-4-5-20251101", 200_000, 64_000, 5, 0},
		{"claude-haiku-4-5", 200_000, 64_000, 2, 0},
		{"claude-new", 123, 45, -1, 1},
		{"claude-new", 123, 45, -1, 1},
		{"claude-priced", 200_000, 128_000, 1, 2},
	} {
		info, err := c.Info(t.Context(), want.name)
		if err != nil {
			t.Fatal(err)
		}
		input := -1.0
		if info.Price != nil {
			input = info.Price.Input
		}
		if info.Name != want.name || info.Window != want.window || info.MaxOutput != want.output || input != want.input {
			t.Errorf("%s: %+v, input %v", want.name, info, input)
		}
		if n := len(s.Log()); n != want.asked {
			t.Errorf("%s: %d requests", want.name, n)
		}
	}
}

func TestInfo_of_a_model_nobody_knows(t *testing.T) {
	s := serve(t, &messagesapi.Options{Models: []messagesapi.Model{{ID: "claude-new"}}})
	_, err := client(s).Info(t.Context(), "claude-none")
	var refusal *model.Error
	if !errors.Is(err, model.ErrUnknownModel) || !errors.As(err, &refusal) || !strings.Contains(err.Error(), "claude-none") {
		t.Errorf("got %v", err)
	}
	refused := serve(t, &messagesapi.Options{Keys: []string{"other-key"}})
	if _, err := client(refused).Info(t.Context(), "claude-new"); errors.Is(err, model.ErrUnknownModel) || !errors.As(err, &refusal) || refusal.Status != 401 {
		t.Errorf("got %v", err)
	}
}

func ExampleClient() {
	s, err := messagesapi.Start(nil) // in place of the provider
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	s.Enqueue(messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("Hello to you.")}})

	client := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL()})
	stream, err := client.Stream(context.Background(), model.Request{
		Model:     anthropic.DefaultModel,
		MaxTokens: 1024,
		Messages:  []model.Message{{Role: "user", Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"Hello."}`)}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for {
		delta, err := stream.Recv()
		if err != nil {
			break // io.EOF when the reply is complete
		}
		fmt.Print(delta.Text)
	}
	fmt.Println("", stream.Reply().StopReason)
	// Output: Hello to you. end_turn
}
