package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/internal/proxy"
)

// rig is a proxy in front of a double of the API.
type rig struct {
	t     *testing.T
	api   *api.Server
	proxy *proxy.Server

	mu   sync.Mutex
	done []proxy.Exchange
}

func newRig(t *testing.T, before func(context.Context, *proxy.Request) error, turns ...api.Turn) *rig {
	t.Helper()
	server, err := api.Start(&api.Options{Keys: []string{"real-test-key"}, MinCache: -1})
	if err != nil {
		t.Fatal(err)
	}
	server.Enqueue(turns...)
	r := &rig{t: t, api: server}
	r.proxy, err = proxy.Start(proxy.Options{Upstream: server.URL() + "/", Key: "real-test-key", Before: before, Done: func(x proxy.Exchange) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done = append(r.done, x)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.proxy.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

const body = `{"max_tokens": 4000, "messages": [{"role":"user","content":"say max_tokens: 1"}], "model":"m", "stream": %t}`

// post asks for an answer with the given token.
func (r *rig) post(token, body string, header ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.proxy.URL()+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range map[string]string{"X-Api-Key": token, "Content-Type": "application/json", "Anthropic-Version": api.Version2023, "Accept-Encoding": "gzip"} {
		req.Header.Set(name, value)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(got)
}

// exchange waits for the first exchange to be reported: that happens when the
// request's goroutine ends, a moment after the answer is read.
func (r *rig) exchange() proxy.Exchange {
	r.t.Helper()
	for range 500 {
		r.mu.Lock()
		if len(r.done) > 0 {
			defer r.mu.Unlock()
			return r.done[0]
		}
		r.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("no exchange was reported")
	return proxy.Exchange{}
}

func TestServer_puts_the_real_key_in_place_of_the_token(t *testing.T) {
	r := newRig(t, nil, api.Turn{Blocks: []api.Block{api.Text("hello")}})
	status, got := r.post(r.proxy.Token(), fmt.Sprintf(body, true))
	if status != 200 || !strings.Contains(got, "hello") {
		t.Fatalf("%d %s", status, got)
	}
	if strings.Contains(got, "real-test-key") {
		t.Error("the key is in the answer")
	}
	x := r.exchange()
	if !x.Complete || x.Usage.Output == 0 || x.Usage.Input == 0 || x.StopReason != "end_turn" || !strings.HasPrefix(x.MessageID, "msg_") {
		t.Errorf("exchange = %+v", x)
	}
}

func TestServer_counts_an_answer_that_is_not_streamed(t *testing.T) {
	r := newRig(t, nil, api.Turn{Blocks: []api.Block{api.Text("hello")}, Usage: &api.Usage{Input: 7, Output: 5, CacheRead: 3, CacheWrite5m: 2, CacheWrite1h: 1}})
	if status, got := r.post(r.proxy.Token(), fmt.Sprintf(body, false), proxy.AgentHeader, "a1"); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	x := r.exchange()
	if want := (proxy.Usage{Input: 7, Output: 5, CacheRead: 3, CacheWrite: 3, CacheWrite1h: 1}); x.Usage != want || !x.Complete || x.Agent != "a1" {
		t.Errorf("exchange = %+v, want usage %+v", x, want)
	}
}

func TestServer_lets_nobody_in_without_the_token(t *testing.T) {
	r := newRig(t, nil)
	for _, token := range []string{"", "real-test-key", r.proxy.Token() + "x"} {
		if status, got := r.post(token, fmt.Sprintf(body, true)); status != 401 {
			t.Errorf("token %q: %d %s", token, status, got)
		}
	}
	if n := len(r.api.Log()); n != 0 {
		t.Errorf("%d requests reached the provider", n)
	}
}

func TestServer_passes_on_the_api_alone(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]int{"/v1/models": 200, "/api/event_logging": 404, "/": 404} {
		req, _ := http.NewRequest(http.MethodGet, r.proxy.URL()+path, nil)
		req.Header.Set("Authorization", "Bearer "+r.proxy.Token())
		req.Header.Set("Anthropic-Version", api.Version2023)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	resp, err := http.Head(r.proxy.URL())
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("HEAD /: %v %v", resp, err)
	}
}

func TestServer_sends_each_piece_at_once(t *testing.T) {
	r := newRig(t, nil, api.Turn{Blocks: []api.Block{api.Text("hello")}, Faults: []api.Fault{{Kind: api.Stall, At: 400, For: time.Hour}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.proxy.URL()+"/v1/messages", strings.NewReader(fmt.Sprintf(body, true)))
	req.Header = http.Header{"X-Api-Key": {r.proxy.Token()}, "Content-Type": {"application/json"}, "Anthropic-Version": {api.Version2023}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	// The provider has stalled for an hour: what it sent before must be here.
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "event: message_start") {
		t.Errorf("first line = %q, %v", line, err)
	}
	cancel()
	if x := r.exchange(); x.Complete || x.Err == nil {
		t.Errorf("exchange = %+v, want one that broke", x)
	}
}

func TestServer_breaks_where_the_provider_breaks(t *testing.T) {
	r := newRig(t, nil, api.Turn{Blocks: []api.Block{api.Text("hello")}, Faults: []api.Fault{{Kind: api.Cut, At: 300}}})
	if _, got := r.post(r.proxy.Token(), fmt.Sprintf(body, true)); !strings.Contains(got, "EOF") {
		t.Errorf("a cut stream looks whole: %q", got)
	}
	if x := r.exchange(); x.Complete || x.Err == nil {
		t.Errorf("exchange = %+v", x)
	}
}

func TestServer_tells_of_errors_and_how_long_to_wait(t *testing.T) {
	r := newRig(t, nil, api.Turn{Error: &api.Error{Status: 429, RetryAfter: 7 * time.Second, Message: "slow down"}})
	if status, _ := r.post(r.proxy.Token(), fmt.Sprintf(body, true)); status != 429 {
		t.Fatalf("status %d", status)
	}
	if x := r.exchange(); x.Status != 429 || x.ErrorType != "rate_limit_error" || x.Message != "slow down" || x.RetryAfter != 7*time.Second {
		t.Errorf("exchange = %+v", x)
	}
}

func TestServer_tells_of_an_error_inside_a_stream(t *testing.T) {
	r := newRig(t, nil, api.Turn{Blocks: []api.Block{api.Text("hello")}, Faults: []api.Fault{{Kind: api.Fail, At: 2}}})
	r.post(r.proxy.Token(), fmt.Sprintf(body, true))
	if x := r.exchange(); x.ErrorType != "overloaded_error" || x.Complete {
		t.Errorf("exchange = %+v", x)
	}
}

func TestBefore_refuses_without_asking_the_provider(t *testing.T) {
	r := newRig(t, func(context.Context, *proxy.Request) error { return &proxy.Refusal{Message: "no money"} })
	if status, got := r.post(r.proxy.Token(), fmt.Sprintf(body, true)); status != 400 || !strings.Contains(got, "no money") {
		t.Errorf("%d %s", status, got)
	}
	if len(r.api.Log()) != 0 || len(r.done) != 0 {
		t.Error("a refused request was passed on")
	}
}

func TestBefore_lowers_the_limit_and_changes_no_other_byte(t *testing.T) {
	r := newRig(t, func(_ context.Context, q *proxy.Request) error {
		if q.MaxTokens != 4000 || q.Model != "m" || q.Bytes == 0 {
			t.Errorf("request = %+v", q)
		}
		q.MaxTokens = 50
		q.Held = "mine"
		return nil
	}, api.Turn{Blocks: []api.Block{api.Text("hello")}})
	r.post(r.proxy.Token(), fmt.Sprintf(body, true))
	want := strings.Replace(fmt.Sprintf(body, true), "4000", "50", 1)
	if got := string(r.api.Log()[0].Request.Body); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if x := r.exchange(); x.Held != "mine" {
		t.Errorf("held = %v", x.Held)
	}
}

func TestBefore_lowers_what_is_set_aside_for_thinking(t *testing.T) {
	r := newRig(t, func(_ context.Context, q *proxy.Request) error {
		if q.Thinking != 3000 {
			t.Errorf("request = %+v", q)
		}
		q.MaxTokens, q.Thinking = 2048, 1024
		return nil
	}, api.Turn{Blocks: []api.Block{api.Text("hello")}})
	asked := `{"thinking":{"budget_tokens":3000,"type":"enabled"},"max_tokens":4000,"messages":[{"role":"user","content":"x"}],"model":"m"}`
	if status, got := r.post(r.proxy.Token(), asked); status != 200 {
		t.Fatal(status, got)
	}
	want := `{"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2048,"messages":[{"role":"user","content":"x"}],"model":"m"}`
	if got := string(r.api.Log()[0].Request.Body); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestServer_does_not_follow_a_redirect_with_the_key(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the key was sent elsewhere") }))
	defer elsewhere.Close()
	provider := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer provider.Close()
	p, err := proxy.Start(proxy.Options{Upstream: provider.URL, Token: "real-test-key"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	req, _ := http.NewRequest(http.MethodPost, p.URL()+"/v1/messages", strings.NewReader("{}"))
	req.Header.Set("X-Api-Key", p.Token())
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestServer_says_when_the_provider_cannot_be_reached(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	done := make(chan proxy.Exchange, 1)
	p, err := proxy.Start(proxy.Options{Upstream: gone.URL, Key: "test-key", Done: func(x proxy.Exchange) { done <- x }})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, proxy: p}
	if status, got := r.post(p.Token(), fmt.Sprintf(body, true)); status != 502 || !strings.Contains(got, "could not be reached") {
		t.Errorf("%d %s", status, got)
	}
	if x := <-done; x.Err == nil {
		t.Errorf("exchange = %+v", x)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if status, _ := r.post(p.Token(), "{}"); status != 0 {
		t.Error("a closed proxy answers")
	}
}

func TestStart_refuses_a_base_URL_that_is_none(t *testing.T) {
	for _, bad := range []string{"", "api.example.com", "ftp://host", "http://"} {
		if _, err := proxy.Start(proxy.Options{Upstream: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
