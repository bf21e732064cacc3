package messagesapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flowerlua/flower/internal/messagesapi"
)

// object is a JSON object of a test.
type object = map[string]any

// start starts a server that ends with the test.
func start(t *testing.T, o *messagesapi.Options) *messagesapi.Server {
	t.Helper()
	s, err := messagesapi.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// hello is the smallest request; changes replace or, when nil, remove fields.
func hello(changes object) object {
	o := object{"model": "claude-test", "max_tokens": 100, "messages": []object{user("hi")}}
	for k, v := range changes {
		if v == nil {
			delete(o, k)
		} else {
			o[k] = v
		}
	}
	return o
}

func user(content any) object      { return object{"role": "user", "content": content} }
func assistant(content any) object { return object{"role": "assistant", "content": content} }
func text(s string) object         { return object{"type": "text", "text": s} }
func call(id string) object {
	return object{"type": "tool_use", "id": id, "name": "Bash", "input": object{}}
}
func result(id string) object {
	return object{"type": "tool_result", "tool_use_id": id, "content": "ok"}
}

// marked is a block with a breakpoint.
func marked(block object, ttl string) object {
	block["cache_control"] = object{"type": "ephemeral", "ttl": ttl}
	return block
}

// request makes a POST with the headers of a client of the newest version.
func request(t *testing.T, url string, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("x-api-key", "test-key")
	req.Header.Set("anthropic-version", messagesapi.Version2026)
	return req
}

// do sends a request and reads the answer; err is that of reading its body.
func do(t *testing.T, req *http.Request) (*http.Response, []byte, error) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// post sends a message request.
func post(t *testing.T, s *messagesapi.Server, body object) (int, []byte) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, answer, err := do(t, request(t, s.URL()+"/v1/messages", raw))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// ask sends a message request that must be answered, and reads the message.
func ask(t *testing.T, s *messagesapi.Server, body object) answer {
	t.Helper()
	status, raw := post(t, s, body)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, raw)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return a
}

// answer is a message as a client reads it.
type answer struct {
	ID          string            `json:"id"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason"`
	Diagnostics struct {
		Reason struct {
			Type string `json:"type"`
		} `json:"cache_miss_reason"`
	} `json:"diagnostics"`
	Usage struct {
		Input    int `json:"input_tokens"`
		Output   int `json:"output_tokens"`
		Read     int `json:"cache_read_input_tokens"`
		Write    int `json:"cache_creation_input_tokens"`
		Creation struct {
			Short int `json:"ephemeral_5m_input_tokens"`
			Long  int `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
	} `json:"usage"`
}

// refusal reads an error answer.
func refusal(t *testing.T, raw []byte) (kind, message string) {
	t.Helper()
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Type != "error" || e.RequestID == "" {
		t.Fatalf("not an error answer (%v): %s", err, raw)
	}
	return e.Error.Type, e.Error.Message
}

// sse is an event of a stream.
type sse struct {
	name string
	data string
}

func events(t *testing.T, body []byte) []sse {
	t.Helper()
	var out []sse
	for _, frame := range strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(frame, "\n")
		if !ok || !strings.HasPrefix(name, "event: ") || !strings.HasPrefix(data, "data: ") {
			t.Fatalf("not an event: %q", frame)
		}
		out = append(out, sse{strings.TrimPrefix(name, "event: "), strings.TrimPrefix(data, "data: ")})
	}
	return out
}

// say is a turn of one text.
func say(s string) messagesapi.Turn {
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(s)}}
}

// always answers every request alike.
func always(turn messagesapi.Turn) *messagesapi.Options {
	return &messagesapi.Options{Script: func(messagesapi.Request) messagesapi.Turn { return turn }}
}
