package proxy

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

const stream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3,"cache_read_input_tokens":2,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":4},"output_tokens":1}}}

data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"{\"type\":\"message_stop\"}"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}

data: {"type":"message_stop"}

`

func streaming() *listener {
	return newListener(&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}})
}

func TestListener_counts_a_stream_however_it_is_cut(t *testing.T) {
	want := Exchange{MessageID: "msg_1", StopReason: "end_turn", Complete: true, Usage: Usage{Input: 3, Output: 9, CacheRead: 2, CacheWrite: 5, CacheWrite1h: 4}}
	for n := 1; n < len(stream); n += 7 {
		l := streaming()
		for rest := stream; rest != ""; {
			piece := rest[:min(n, len(rest))]
			rest = rest[len(piece):]
			l.hear([]byte(piece))
		}
		var x Exchange
		if l.end(&x); !reflect.DeepEqual(x, want) {
			t.Fatalf("in pieces of %d: %+v", n, x)
		}
	}
}

func TestListener_keeps_no_long_line(t *testing.T) {
	l := streaming()
	l.hear([]byte("data: " + strings.Repeat("x", 3*maxLine)))
	if len(l.buf) > maxLine {
		t.Errorf("%d bytes are kept", len(l.buf))
	}
	l.hear([]byte("\n" + stream))
	var x Exchange
	if l.end(&x); !x.Complete {
		t.Error("what follows a long line is not counted")
	}
}

func FuzzListener(f *testing.F) {
	f.Add([]byte(stream), 5)
	f.Add([]byte(`data: {"type":"error","error":{"type":"overloaded_error"}}`+"\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		whole, pieces := streaming(), streaming()
		whole.hear(data)
		n = max(n, 1)
		for rest := data; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			pieces.hear(rest[:min(n, len(rest))])
		}
		var a, b Exchange
		whole.end(&a)
		pieces.end(&b)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("whole: %+v, in pieces of %d: %+v", a, n, b)
		}
	})
}

func FuzzWith(f *testing.F) {
	f.Add([]byte(`{"a":{"max_tokens":1},"max_tokens": 4000 ,"b":[]}`))
	f.Add([]byte(`{"max_tokens":1e3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		if json.Unmarshal(body, &before) != nil {
			return
		}
		changed := with(body, "max_tokens", "7")
		if err := json.Unmarshal(changed, &after); err != nil {
			t.Fatalf("%s became %s: %v", body, changed, err)
		}
		if len(before) != len(after) {
			t.Errorf("%s became %s", body, changed)
		}
		for name, value := range before {
			if name != "max_tokens" && string(value) != string(after[name]) {
				t.Errorf("%s: %s became %s", name, value, after[name])
			}
		}
	})
}
