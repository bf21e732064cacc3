package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestRequest_Body_keeps_raw_pieces_byte_for_byte(t *testing.T) {
	odd := `{"type":"text",  "text":"\u003cb> é \ud83d"}` // spacing and escapes a re-encoding would change
	req := model.Request{
		Model: "m", MaxTokens: 10,
		System:   []json.RawMessage{raw(odd)},
		Tools:    []json.RawMessage{raw(`{"name":"Read"}`)},
		Messages: []model.Message{{Role: "user", Content: []json.RawMessage{raw(odd), raw(`{"type":"text","text":"x"}`)}}},
		Extra:    map[string]json.RawMessage{"thinking": raw(`{"type":"adaptive"}`), "metadata": raw(`{}`)},
	}
	want := `{"model":"m","max_tokens":10,"stream":true,"metadata":{},"thinking":{"type":"adaptive"},` +
		`"tools":[{"name":"Read"}],"system":[` + odd + `],` +
		`"messages":[{"role":"user","content":[` + odd + `,{"type":"text","text":"x"}]}]}`
	if got := string(req.Body(true)); got != want {
		t.Errorf("body:\n got %s\nwant %s", got, want)
	}
}

func TestRequest_Body_grows_only_at_its_end(t *testing.T) {
	req := model.Request{Model: "m", MaxTokens: 1, Messages: []model.Message{{Role: "user", Content: []json.RawMessage{raw(`{}`)}}}}
	first := req.Body(true)
	req.Messages = append(req.Messages, model.Message{Role: "assistant", Content: []json.RawMessage{raw(`{}`)}})
	second := req.Body(true)
	if !bytes.HasPrefix(second, bytes.TrimSuffix(first, []byte("]}"))) {
		t.Errorf("the second body does not begin with the first:\n%s\n%s", first, second)
	}
}

func TestPrice_Cost_counts_each_kind_once(t *testing.T) {
	p := model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, CacheWrite1h: 6}
	u := model.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 2e6, CacheWrite1h: 1e6}
	want := 3 + 15 + 0.3 + 3.75 + 6.0
	if got := p.Cost(u); got < want-1e-9 || got > want+1e-9 {
		t.Errorf("cost = %v, want %v", got, want)
	}
}

func TestUsage_Context_is_all_input(t *testing.T) {
	u := model.Usage{Input: 1, Output: 2, CacheRead: 4, CacheWrite: 8, CacheWrite1h: 8}
	if got := u.Context(); got != 13 {
		t.Errorf("context = %d, want 13", got)
	}
	if sum := u.Add(u); sum.Context() != 26 || sum.Output != 4 || sum.CacheWrite1h != 16 {
		t.Errorf("sum = %+v", sum)
	}
}

func TestError_tells_what_a_person_needs(t *testing.T) {
	err := &model.Error{Status: 529, Type: "overloaded_error", Message: "Overloaded", RequestID: "req_1"}
	for _, part := range []string{"529", "overloaded_error", "Overloaded", "req_1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestBroken_replies_look_transient_to_the_standard_library(t *testing.T) {
	if !errors.Is(model.ErrCut, io.ErrUnexpectedEOF) || !errors.Is(model.ErrStalled, os.ErrDeadlineExceeded) {
		t.Error("a cut or stalled reply cannot be recognised by its cause")
	}
}

// final is an error that says so itself.
type final struct{ error }

func (final) Final() bool { return true }

// TestErrors_are_tried_again_as_the_package_says: the promises to who writes a Model.
func TestErrors_are_tried_again_as_the_package_says(t *testing.T) {
	typed := func(status int, kind string) error { return &model.Error{Status: status, Type: kind, Message: "x"} }
	cases := map[failure.Class][]error{
		failure.Transient: {typed(529, "overloaded_error"), typed(429, "rate_limit_error"), typed(0, "timeout_error"), typed(500, "api_error"),
			typed(408, ""), typed(429, ""), typed(503, ""), io.ErrUnexpectedEOF, model.ErrCut, model.ErrStalled},
		failure.Fatal: {typed(400, "invalid_request_error"), typed(401, "authentication_error"), typed(403, "permission_error"),
			typed(404, "not_found_error"), typed(402, "billing_error"), typed(422, ""), context.Canceled, final{io.ErrUnexpectedEOF}},
		failure.Unknown: {errors.New("it did not want to")},
	}
	for want, errs := range cases {
		for _, err := range errs {
			if got := failure.Classify(err); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
	if err := (&model.Error{Status: 429, Retry: time.Minute}); failure.RetryAfter(err) != time.Minute {
		t.Error("RetryAfter is not heard")
	}
	if err := (&model.Error{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}); !failure.Overflow(err.Error()) {
		t.Error("a prompt that is too long is not seen as such")
	}
}
