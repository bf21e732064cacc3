package messagesapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/flowerlua/flower/internal/messagesapi"
)

func tool(name string) object {
	return object{"name": name, "input_schema": object{"type": "object"}}
}

func picture(t *testing.T, side int) object {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, 1))); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(b.Bytes())
	return object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": data}}
}

func times(n int, b object) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = b
	}
	return list
}

func TestRequests_are_refused_as_the_API_does(t *testing.T) {
	talk := func(messages ...object) object { return object{"messages": messages} }
	for name, c := range map[string]struct {
		changes object
		message string // empty: accepted
	}{
		"fine":                           {nil, ""},
		"no model":                       {object{"model": nil}, "model: Field required"},
		"no max_tokens":                  {object{"max_tokens": nil}, "max_tokens: Field required"},
		"no output":                      {object{"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"},
		"too much output":                {object{"max_tokens": 128_001}, "max_tokens: 128001 > 128000"},
		"thinking more than output":      {object{"max_tokens": 2000, "thinking": object{"type": "enabled", "budget_tokens": 2000}}, "`max_tokens` must be greater"},
		"thinking too little":            {object{"max_tokens": 2000, "thinking": object{"type": "enabled", "budget_tokens": 10}}, "budget_tokens: Input should be"},
		"thinking enabled":               {object{"max_tokens": 2000, "thinking": object{"type": "enabled", "budget_tokens": 1024}}, ""},
		"wrong type":                     {object{"max_tokens": "many"}, "max_tokens: Input should be a valid value"},
		"unknown field":                  {object{"max_token": 5}, "max_token: Extra inputs are not permitted"},
		"field of the old version":       {object{"temperature": 1}, "temperature: Extra inputs are not permitted"},
		"no messages":                    {object{"messages": []object{}}, "messages: at least one message is required"},
		"messages no list":               {object{"messages": "hi"}, "messages: Input should be a valid list"},
		"assistant first":                {talk(assistant("hi")), `first message must use the "user" role`},
		"two users":                      {talk(user("a"), user("b")), "roles must alternate"},
		"two assistants":                 {talk(user("a"), assistant("b"), assistant("c"), user("d")), "roles must alternate"},
		"system between":                 {talk(user("a"), assistant("b"), object{"role": "system", "content": "c"}, user("d")), ""},
		"unknown role":                   {talk(object{"role": "tool", "content": "a"}), "messages.0.role: Input should be"},
		"prefill":                        {talk(user("a"), assistant("b")), "does not support assistant message prefill"},
		"empty content":                  {talk(user([]object{})), "messages.0: all messages must have non-empty content"},
		"content of a wrong type":        {talk(user(5)), "messages.0.content: Input should be a valid string or a valid list"},
		"no content":                     {talk(object{"role": "user"}), "messages.0.content: Input should be"},
		"block without type":             {talk(user([]object{{"text": "a"}})), "messages.0.content.0.type: Field required"},
		"empty text":                     {talk(user([]object{text("")})), "text content blocks must be non-empty"},
		"blank text":                     {talk(user(" \n")), "must contain non-whitespace text"},
		"empty text of a breakpoint":     {talk(user([]object{marked(text(""), "5m")})), "cache_control cannot be set for empty text blocks"},
		"empty system":                   {object{"system": []object{text("")}}, "system: text content blocks must be non-empty"},
		"tool_use of the user":           {talk(user([]object{call("a")})), `"tool_use" blocks are not permitted`},
		"image of the assistant":         {talk(user("a"), assistant([]object{picture(t, 1)}), user("b")), `"image" blocks are not permitted`},
		"image of 8000":                  {talk(user([]object{picture(t, 8000)})), ""},
		"image of 8001":                  {talk(user([]object{picture(t, 8001)})), "image dimensions exceed max allowed size: 8000"},
		"20 images of 2001":              {talk(user(times(20, picture(t, 2001)))), ""},
		"21 images of 2001":              {talk(user(times(21, picture(t, 2001)))), "many-image requests: 2000"},
		"image over 5 MB":                {talk(user([]object{{"type": "image", "source": object{"type": "base64", "data": strings.Repeat("A", 5<<20+4)}}})), "image exceeds 5 MB maximum"},
		"image that is no base64":        {talk(user([]object{{"type": "image", "source": object{"type": "base64", "data": "?"}}})), "valid base64"},
		"image without source":           {talk(user([]object{{"type": "image"}})), "source: Field required"},
		"image by reference":             {talk(user([]object{{"type": "image", "source": object{"type": "url", "url": "https://example.com"}}})), ""},
		"image in a result":              {talk(user("a"), assistant([]object{call("a")}), user([]object{{"type": "tool_result", "tool_use_id": "a", "content": []object{picture(t, 8001)}}})), "image dimensions exceed"},
		"tool input no object":           {talk(user("a"), assistant([]object{{"type": "tool_use", "id": "a", "name": "B", "input": "x"}}), user([]object{result("a")})), "tool_use.input: Input should be a valid dictionary"},
		"tool name of the history":       {talk(user("a"), assistant([]object{{"type": "tool_use", "id": "a", "name": "B b", "input": object{}}}), user([]object{result("a")})), "tool_use.name: String should match"},
		"tools":                          {object{"tools": []object{tool("A"), tool("mcp__human__ask")}}, ""},
		"tool twice":                     {object{"tools": []object{tool("A"), tool("A")}}, "Tool names must be unique"},
		"tool name with a space":         {object{"tools": []object{tool("A"), tool("B b")}}, "tools.1.custom.name: String should match"},
		"tool name too long":             {object{"tools": []object{tool(strings.Repeat("a", 129))}}, "tools.0.custom.name"},
		"tool without schema":            {object{"tools": []object{{"name": "A"}}}, "tools.0.custom.input_schema: Field required"},
		"server tool without schema":     {object{"tools": []object{{"name": "web_search", "type": "web_search_20260209"}}}, ""},
		"tools no list":                  {object{"tools": object{}}, "tools: Input should be a valid list"},
		"breakpoint of unknown life":     {talk(user([]object{marked(text("a"), "1d")})), "ttl: Input should be '5m' or '1h'"},
		"breakpoint of unknown type":     {talk(user([]object{{"type": "text", "text": "a", "cache_control": object{"type": "x"}}})), "type: Input should be 'ephemeral'"},
		"four breakpoints":               {talk(user(times(4, marked(text("a"), "5m")))), ""},
		"five breakpoints":               {talk(user(times(5, marked(text("a"), "5m")))), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"five with that of the request":  {object{"messages": []object{user(times(4, marked(text("a"), "5m")))}, "cache_control": object{"type": "ephemeral"}}, "Found 5"},
		"1h before 5m":                   {object{"system": []object{marked(text("s"), "1h")}, "messages": []object{user([]object{marked(text("a"), "5m")})}}, ""},
		"1h after 5m":                    {object{"tools": []object{marked(tool("A"), "5m")}, "system": []object{marked(text("s"), "1h")}}, "a ttl='1h' cache_control block must not come after"},
		"prompt over the window":         {talk(user(strings.Repeat("x", 900_000))), "prompt is too long: 2250"},
		"call without result":            {talk(user("a"), assistant([]object{call("a")}), user("b")), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a."},
		"call at the end":                {talk(user("a"), assistant([]object{call("a")})), "prefill"},
		"one of two results":             {talk(user("a"), assistant([]object{call("a"), call("b")}), user([]object{result("a")})), "immediately after: b."},
		"result behind text":             {talk(user("a"), assistant([]object{call("a")}), user([]object{text("x"), result("a")})), "immediately after: a."},
		"result before text":             {talk(user("a"), assistant([]object{call("a")}), user([]object{result("a"), text("x")})), ""},
		"results in any order":           {talk(user("a"), assistant([]object{call("a"), call("b")}), user([]object{result("b"), result("a")})), ""},
		"result without call":            {talk(user([]object{result("a")})), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."},
		"result one message late":        {talk(user("a"), assistant([]object{call("a")}), user([]object{result("a")}), assistant("b"), user([]object{result("a")})), "messages.4.content.0: unexpected"},
		"result twice":                   {talk(user("a"), assistant([]object{call("a")}), user([]object{result("a"), result("a")})), "each tool_use must have a single result"},
		"call id twice in a message":     {talk(user("a"), assistant([]object{call("a"), call("a")}), user([]object{result("a")})), "`tool_use` ids must be unique"},
		"call id twice in the session":   {talk(user("a"), assistant([]object{call("a")}), user([]object{result("a")}), assistant([]object{call("a")}), user([]object{result("a")})), "`tool_use` ids must be unique"},
		"result with an empty text":      {talk(user("a"), assistant([]object{call("a")}), user([]object{{"type": "tool_result", "tool_use_id": "a", "content": []object{text("")}}})), "text content blocks must be non-empty"},
		"result without content":         {talk(user("a"), assistant([]object{call("a")}), user([]object{{"type": "tool_result", "tool_use_id": "a"}})), ""},
		"unknown block type":             {talk(user("a"), assistant([]object{{"type": "server_tool_use", "id": "s"}}), user("b")), ""},
		"thinking of somebody else":      {talk(user("a"), assistant([]object{{"type": "thinking", "thinking": "x", "signature": "y"}, text("b")}), user("c")), "cannot be modified"},
		"old thinking of somebody else":  {talk(user("a"), assistant([]object{{"type": "thinking", "thinking": "x", "signature": "y"}, text("b")}), user("c"), assistant("d"), user("e")), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		"old redacted thinking the same": {talk(user("a"), assistant([]object{{"type": "redacted_thinking", "data": "y"}, text("b")}), user("c"), assistant("d"), user("e")), "Invalid `data` in `redacted_thinking` block"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, always(say("ok")))
			status, body := post(t, s, hello(c.changes))
			if c.message == "" {
				if status != http.StatusOK {
					t.Errorf("refused: %s", body)
				}
				return
			}
			kind, message := refusal(t, body)
			if status != 400 || kind != "invalid_request_error" || !strings.Contains(message, c.message) {
				t.Errorf("got %d %s: %s", status, kind, message)
			}
			log := s.Log()
			if last := log[len(log)-1]; last.Status != 400 || last.Message != message {
				t.Errorf("the log says %d %q", last.Status, last.Message)
			}
		})
	}
}

func TestHeaders_are_checked(t *testing.T) {
	s := start(t, &messagesapi.Options{Keys: []string{"test-key"}, Script: func(messagesapi.Request) messagesapi.Turn { return say("ok") }})
	for name, c := range map[string]struct {
		set    map[string]string
		status int
	}{
		"key":               {nil, 200},
		"bearer":            {map[string]string{"x-api-key": "", "authorization": "Bearer test-key"}, 200},
		"neither":           {map[string]string{"x-api-key": ""}, 401},
		"other scheme":      {map[string]string{"x-api-key": "", "authorization": "Basic test-key"}, 401},
		"wrong key":         {map[string]string{"x-api-key": "other-key"}, 401},
		"no version":        {map[string]string{"anthropic-version": ""}, 400},
		"unknown version":   {map[string]string{"anthropic-version": "2020-01-01"}, 400},
		"old version":       {map[string]string{"anthropic-version": messagesapi.Version2023}, 200},
		"no content type":   {map[string]string{"content-type": ""}, 400},
		"type with charset": {map[string]string{"content-type": "application/json; charset=utf-8"}, 200},
		"form":              {map[string]string{"content-type": "multipart/form-data"}, 400},
	} {
		raw, _ := json.Marshal(hello(nil))
		req := request(t, s.URL()+"/v1/messages", raw)
		for k, v := range c.set {
			if v == "" {
				req.Header.Del(k)
			} else {
				req.Header.Set(k, v)
			}
		}
		if resp, body, err := do(t, req); err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v %s, want %d", name, err, body, c.status)
		}
	}
}

func TestBodies_that_Go_would_read_and_the_API_would_not(t *testing.T) {
	s := start(t, always(say("ok")))
	body := func(text string) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"` + text + `"}]}`
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"no JSON":                  {`{"model":`, 400},
		"no object":                {`[]`, 400},
		"not UTF-8":                {body("a\xf0"), 400},
		"high half":                {body(`a\ud83d`), 400},
		"high half before another": {body(`a\ud83d\u0041`), 400},
		"low half":                 {body(`a\ude00`), 400},
		"pair":                     {body(`a\ud83d\ude00`), 200},
		"escaped backslash":        {body(`a\\ud83d`), 200},
		"over 32 MB":               {body(strings.Repeat("x", 32<<20)), 413},
	} {
		resp, answer, err := do(t, request(t, s.URL()+"/v1/messages", []byte(c.body)))
		if err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v %s, want %d", name, err, answer, c.status)
		}
	}
}

func TestOptions_relax_what_some_clients_need(t *testing.T) {
	s := start(t, &messagesapi.Options{MergeRoles: true, Script: func(messagesapi.Request) messagesapi.Turn { return say("ok") }})
	ask(t, s, hello(object{"messages": []object{user("a"), user("b")}}))

	raw, _ := json.Marshal(hello(object{"context_management": object{}}))
	req := request(t, s.URL()+"/v1/messages", raw)
	req.Header.Set("anthropic-beta", "context-management-2025-06-27")
	if resp, body, err := do(t, req); err != nil || resp.StatusCode != 200 {
		t.Errorf("a field of a beta was refused: %v %s", err, body)
	}
}

func TestWindow_is_the_model_s_own(t *testing.T) {
	o := always(say("ok"))
	o.Window = 1000
	o.Models = []messagesapi.Model{{ID: "small", Window: 10, MaxOutput: 5}, {ID: "usual"}}
	s := start(t, o)
	long := []object{user(strings.Repeat("x", 200))}
	for _, c := range []struct {
		changes object
		status  int
	}{
		{object{"model": "usual", "messages": long}, 200},
		{object{"model": "small", "messages": long, "max_tokens": 5}, 400},
		{object{"model": "small", "max_tokens": 6}, 400},
		{object{"model": "other"}, 404},
	} {
		if status, body := post(t, s, hello(c.changes)); status != c.status {
			t.Errorf("%v: %d %s", c.changes["model"], status, body)
		}
	}
}

// thought is the first answer of a server whose turns think and call a tool.
func thought(t *testing.T) (*messagesapi.Server, []json.RawMessage) {
	t.Helper()
	s := start(t, always(messagesapi.Turn{Blocks: []messagesapi.Block{
		messagesapi.Thinking("first this"), messagesapi.Redacted("hidden"), messagesapi.ToolUse("", "Bash", `{}`),
	}}))
	return s, ask(t, s, hello(nil)).Content
}

func TestThinking_must_come_back_as_it_was(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]json.RawMessage) []json.RawMessage
		extra  object
		ok     bool
	}{
		"unchanged": {func(b []json.RawMessage) []json.RawMessage { return b }, nil, true},
		"other key order": {func(b []json.RawMessage) []json.RawMessage {
			var o object
			_ = json.Unmarshal(b[0], &o)
			b[0], _ = json.Marshal(o)
			return b
		}, nil, true},
		"text changed": {func(b []json.RawMessage) []json.RawMessage {
			b[0] = bytes.Replace(b[0], []byte("first"), []byte("then"), 1)
			return b
		}, nil, false},
		"one left out":   {func(b []json.RawMessage) []json.RawMessage { return b[1:] }, nil, false},
		"all left out":   {func(b []json.RawMessage) []json.RawMessage { return b[2:] }, nil, false},
		"other order":    {func(b []json.RawMessage) []json.RawMessage { b[0], b[1] = b[1], b[0]; return b }, nil, false},
		"added":          {func(b []json.RawMessage) []json.RawMessage { return append(b[:1:1], b...) }, nil, false},
		"thinking off":   {func(b []json.RawMessage) []json.RawMessage { return b[2:] }, object{"thinking": object{"type": "disabled"}}, true},
		"breakpoint set": {func(b []json.RawMessage) []json.RawMessage { return append(b[:2:2], withBreakpoint(b[2])) }, nil, true},
		"breakpoint on thinking": {func(b []json.RawMessage) []json.RawMessage {
			return append([]json.RawMessage{withBreakpoint(b[0])}, b[1:]...)
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, blocks := thought(t)
			var use struct{ ID string }
			if err := json.Unmarshal(blocks[2], &use); err != nil {
				t.Fatal(err)
			}
			body := hello(c.extra)
			body["messages"] = []object{user("hi"), assistant(c.change(blocks)), user([]object{result(use.ID)})}
			if status, answer := post(t, s, body); (status == 200) != c.ok {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
}

func withBreakpoint(raw json.RawMessage) json.RawMessage {
	return append(bytes.TrimSuffix(bytes.Clone(raw), []byte("}")), `,"cache_control":{"type":"ephemeral"}}`...)
}

func TestThinking_of_an_earlier_server_is_known_again(t *testing.T) {
	_, blocks := thought(t)
	second := start(t, always(say("ok")))
	var use struct{ ID string }
	if err := json.Unmarshal(blocks[2], &use); err != nil {
		t.Fatal(err)
	}
	ask(t, second, hello(object{"messages": []object{user("hi"), assistant(blocks), user([]object{result(use.ID)})}}))
}

func TestPauseTurn_lets_the_answer_be_sent_back(t *testing.T) {
	s := start(t, nil)
	paused := say("searching")
	paused.StopReason = "pause_turn"
	s.Enqueue(paused, say("found"))
	blocks := ask(t, s, hello(nil)).Content
	a := ask(t, s, hello(object{"messages": []object{user("hi"), assistant(blocks)}}))
	if !strings.Contains(string(a.Content[0]), "found") {
		t.Errorf("got %s", a.Content)
	}
}
