package messagesapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/internal/messagesapi"
)

// fullTurn has a block of every kind.
var fullTurn = messagesapi.Turn{Blocks: []messagesapi.Block{
	messagesapi.Thinking("I should look – carefully."),
	messagesapi.Redacted("hidden"),
	messagesapi.Text("Schöne neue <Welt>, long enough for several pieces of a stream."),
	messagesapi.ToolUse("toolu_1", "Bash", `{"command": "ls  -l",  "n": 1.0}`),
	messagesapi.Raw(`{"type":"something_new","x": [1,  2]}`),
}}

// assemble does what a client does with the deltas of a stream.
func assemble(t *testing.T, list []sse) (blocks []map[string]string, stop string) {
	t.Helper()
	for _, e := range list {
		var d struct {
			Type  string
			Index int
			Delta map[string]any
		}
		if err := json.Unmarshal([]byte(e.data), &d); err != nil || d.Type != e.name {
			t.Fatalf("%v: event %s with data %s", err, e.name, e.data)
		}
		switch d.Type {
		case "content_block_start":
			if d.Index != len(blocks) {
				t.Fatalf("block %d starts as number %d", d.Index, len(blocks))
			}
			blocks = append(blocks, map[string]string{})
		case "content_block_delta":
			for _, name := range []string{"text", "thinking", "signature", "partial_json"} {
				if piece, ok := d.Delta[name].(string); ok {
					blocks[d.Index][name] += piece
				}
			}
		case "message_delta":
			stop, _ = d.Delta["stop_reason"].(string)
		}
	}
	return blocks, stop
}

func TestStream_pieces_add_up_to_the_turn(t *testing.T) {
	turn := fullTurn
	for _, piece := range []int{0, 1, 7} {
		turn.Piece = piece
		s := start(t, always(turn))
		status, body := post(t, s, hello(object{"stream": true}))
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, body)
		}
		list := events(t, body)
		if list[0].name != "message_start" || list[1].name != "ping" || list[len(list)-1].name != "message_stop" {
			t.Errorf("the stream begins or ends wrongly: %v", list)
		}
		blocks, stop := assemble(t, list)
		if stop != "tool_use" || len(blocks) != 5 {
			t.Fatalf("stop %q, %d blocks", stop, len(blocks))
		}
		for i, want := range []struct{ name, value string }{
			{"thinking", "I should look – carefully."}, {}, {"text", fullTurn.Blocks[2].Text}, {"partial_json", string(fullTurn.Blocks[3].Input)},
		} {
			if got := blocks[i][want.name]; got != want.value {
				t.Errorf("piece %d, block %d: got %q, want %q", piece, i, got, want.value)
			}
		}
		if blocks[0]["signature"] == "" {
			t.Error("the thinking is not signed")
		}
		if !strings.Contains(string(body), `"content_block":{"type":"something_new","x": [1,  2]}`) {
			t.Error("the raw block was not sent as it is")
		}
	}
}

func TestMessage_not_streamed_holds_the_same_blocks(t *testing.T) {
	s := start(t, always(fullTurn))
	a := ask(t, s, hello(nil))
	if a.StopReason != "tool_use" || len(a.Content) != 5 {
		t.Fatalf("got %+v", a)
	}
	if got := string(a.Content[3]); !strings.Contains(got, `"input":{"command": "ls  -l",  "n": 1.0}`) {
		t.Errorf("the tool input was re-encoded: %s", got)
	}
	if a.Usage.Input == 0 || a.Usage.Output == 0 {
		t.Errorf("usage %+v", a.Usage)
	}
}

func TestVersions_differ_in_the_fields_they_send(t *testing.T) {
	s := start(t, always(say("hi")))
	for version, want := range map[string]bool{messagesapi.Version2023: false, messagesapi.Version2026: true} {
		for _, stream := range []bool{false, true} {
			raw, _ := json.Marshal(hello(object{"stream": stream}))
			req := request(t, s.URL()+"/v1/messages", raw)
			req.Header.Set("anthropic-version", version)
			_, body, err := do(t, req)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(body), `"stop_details"`); got != want {
				t.Errorf("%s, stream %v: stop_details there: %v, want %v", version, stream, got, want)
			}
		}
	}
}

func TestTurns_come_from_the_queue_then_from_the_script(t *testing.T) {
	s := start(t, &messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		return say(fmt.Sprintf("request %d, turn %d, %q, %d results, %d tools", r.Number, r.Turn(), r.Prompt(), len(r.Results()), len(r.Tools)))
	}})
	s.Enqueue(say("first"), say("second"))
	var got []string
	for _, body := range []object{
		hello(nil), hello(nil), hello(nil),
		hello(object{
			"messages": []object{user("hi"), assistant([]object{call("a")}), user([]object{result("a"), text("go on")})},
			"tools":    []object{{"name": "Bash", "input_schema": object{"type": "object"}}},
		}),
	} {
		var block struct{ Text string }
		if err := json.Unmarshal(ask(t, s, body).Content[0], &block); err != nil {
			t.Fatal(err)
		}
		got = append(got, block.Text)
	}
	want := []string{"first", "second", `request 3, turn 1, "hi", 0 results, 0 tools`, `request 4, turn 2, "go on", 1 results, 1 tools`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTurn_missing_is_told_to_the_client(t *testing.T) {
	s := start(t, nil)
	status, body := post(t, s, hello(nil))
	if _, message := refusal(t, body); status != 400 || !strings.Contains(message, "no turn is scripted") {
		t.Errorf("%d %s", status, body)
	}
}

func TestTurn_that_cannot_be_sent_is_told_to_the_client(t *testing.T) {
	for name, b := range map[string]messagesapi.Block{
		"type without fields": {Type: "image"},
		"raw that is no JSON": messagesapi.Raw("{"),
		"raw of wrong types":  messagesapi.Raw(`{"type":1}`),
	} {
		s := start(t, always(messagesapi.Turn{Blocks: []messagesapi.Block{b}}))
		status, body := post(t, s, hello(nil))
		if _, message := refusal(t, body); status != 500 || !strings.HasPrefix(message, "messagesapi: ") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestIds_left_empty_are_made_and_differ_between_servers(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		s := start(t, always(messagesapi.Turn{Blocks: []messagesapi.Block{
			messagesapi.ToolUse("", "Bash", ""), messagesapi.ToolUse("", "Bash", "{}"),
		}}))
		for _, raw := range ask(t, s, hello(nil)).Content {
			var b struct{ ID string }
			if err := json.Unmarshal(raw, &b); err != nil || b.ID == "" || seen[b.ID] {
				t.Errorf("%v: id %q in %s", err, b.ID, raw)
			}
			seen[b.ID] = true
		}
	}
}

func TestErrors_are_answered_as_the_API_does(t *testing.T) {
	for _, c := range []struct {
		err    messagesapi.Error
		status int
		kind   string
		part   string
		header map[string]string
	}{
		{messagesapi.Error{}, 500, "api_error", "Internal server error", nil},
		{messagesapi.Error{Status: 529}, 529, "overloaded_error", "Overloaded", nil},
		{messagesapi.Error{Status: 429, RetryAfter: 3e9}, 429, "rate_limit_error", "rate limit", map[string]string{"retry-after": "3"}},
		{messagesapi.Error{Status: 429, RetryAfter: 5e6}, 429, "rate_limit_error", "", map[string]string{"retry-after-ms": "5", "retry-after": "1"}},
		{messagesapi.Error{Status: 402}, 402, "billing_error", "credit", nil},
		{messagesapi.Error{Status: 418, Type: "odd", Message: "teapot"}, 418, "odd", "teapot", nil},
		{messagesapi.Error{Status: 418}, 418, "api_error", "teapot", nil},
		{messagesapi.Error{Status: 429, Code: "enforced_spend_limit_reached"}, 429, "rate_limit_error", "", nil},
	} {
		s := start(t, always(messagesapi.Turn{Error: &c.err}))
		raw, _ := json.Marshal(hello(nil))
		resp, body, err := do(t, request(t, s.URL()+"/v1/messages", raw))
		if err != nil {
			t.Fatal(err)
		}
		kind, message := refusal(t, body)
		if resp.StatusCode != c.status || kind != c.kind || !strings.Contains(message, c.part) || message == "" {
			t.Errorf("%+v: got %d %s %q", c.err, resp.StatusCode, kind, message)
		}
		for name, want := range c.header {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%+v: %s is %q, want %q", c.err, name, got, want)
			}
		}
		if strings.Contains(string(body), `"error_code":"`+c.err.Code+`"`) != (c.err.Code != "") {
			t.Errorf("%+v: code in %s", c.err, body)
		}
		if got := (&c.err).Error(); !strings.Contains(got, c.kind) {
			t.Errorf("as a Go error: %q", got)
		}
	}
}

func TestModels_are_listed_and_described(t *testing.T) {
	s := start(t, &messagesapi.Options{
		Models: []messagesapi.Model{{ID: "claude-a", Window: 1000, MaxOutput: 50}, {ID: "claude-b", DisplayName: "B"}},
		Window: 7, MaxOutput: 8,
	})
	get := func(path string) (int, object) {
		req := request(t, s.URL()+path, nil)
		req.Method = http.MethodGet
		resp, body, err := do(t, req)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := json.Unmarshal(body, &o); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, o
	}
	if _, o := get("/v1/models/claude-a"); o["max_input_tokens"] != 1000.0 || o["max_tokens"] != 50.0 || o["display_name"] != "claude-a" {
		t.Errorf("claude-a: %v", o)
	}
	if _, o := get("/v1/models/claude-b"); o["max_input_tokens"] != 7.0 || o["max_tokens"] != 8.0 || o["display_name"] != "B" {
		t.Errorf("claude-b: %v", o)
	}
	if status, _ := get("/v1/models/claude-c"); status != 404 {
		t.Errorf("an unknown model: %d", status)
	}
	if _, o := get("/v1/models"); o["first_id"] != "claude-a" || o["last_id"] != "claude-b" || len(o["data"].([]any)) != 2 {
		t.Errorf("list: %v", o)
	}
	if status, _ := get("/v1/nothing"); status != 404 {
		t.Errorf("an unknown path: %d", status)
	}
}

func TestCountTokens_counts_what_a_message_would_use(t *testing.T) {
	s := start(t, always(say("hi")))
	body := hello(object{"system": "be brief"})
	want := ask(t, s, body).Usage.Input
	delete(body, "max_tokens")
	raw, _ := json.Marshal(body)
	_, answer, err := do(t, request(t, s.URL()+"/v1/messages/count_tokens", raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(answer); got != fmt.Sprintf(`{"input_tokens":%d}`, want) {
		t.Errorf("got %s, want %d", got, want)
	}
}

func TestServer_serves_many_at_once(t *testing.T) {
	s := start(t, always(fullTurn))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 4 {
				if status, body := post(t, s, hello(object{"stream": true})); status != 200 {
					t.Errorf("%d %s", status, body)
				}
			}
		})
	}
	all.Wait()
	if n := len(s.Log()); n != 64 {
		t.Errorf("%d exchanges in the log", n)
	}
}
