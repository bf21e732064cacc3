package anthropic_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// plainServer starts an HTTP server that is no API and returns its URL.
func plainServer(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// rawServer answers every connection with the same bytes.
func rawServer(t *testing.T, bytes string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<16))
			_, _ = io.WriteString(conn, bytes)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// body answers with a body, without a network.
type body []byte

func (b body) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(&chunks{b}),
	}, nil
}

// chunks reads a few bytes at a time.
type chunks struct{ rest []byte }

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 100)], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(recorded))
	f.Add([]byte(frame("message_start", `,"message":{"usage":{"cache_creation":{}}}`) + frame("content_block_start", `,"content_block":{"type":"x","text":null}`) +
		frame("content_block_delta", `,"delta":{"type":"y","text":"\u00e9","n":[]}`) + frame("content_block_stop", "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := anthropic.New(&anthropic.Options{Key: "test-key", Client: &http.Client{Transport: body(b)}})
		_, r, err := read(t, c, hello())
		if r.Complete != (err == nil) {
			t.Errorf("complete %v with %v", r.Complete, err)
		}
		req := hello()
		req.Messages[0].Content = r.Content
		if !isJSON(req.Body(true)) {
			t.Errorf("the blocks %s do not make a request", r.Content)
		}
	})
}

// BenchmarkStream reads a long reply over HTTP; the server's work is in it.
func BenchmarkStream(b *testing.B) {
	text := make([]byte, 256<<10)
	for i := range text {
		text[i] = "some words of text "[i%19]
	}
	s := serve(b, always(turn(messagesapi.Text(string(text)))))
	c := client(s)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, err := read(b, c, hello()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode reads the same reply without a network or a server.
func BenchmarkDecode(b *testing.B) {
	var stream []byte
	stream = append(stream, frame("message_start", `,"message":{"id":"m","usage":{}}`)...)
	stream = append(stream, frame("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)...)
	for range 5000 {
		stream = append(stream, frame("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"some words of text that are a piece of a reply"}`)...)
	}
	stream = append(stream, frame("content_block_stop", `,"index":0`)...)
	stream = append(stream, frame("message_delta", `,"delta":{"stop_reason":"end_turn"}`)+frame("message_stop", "")...)
	c := anthropic.New(&anthropic.Options{Key: "test-key", Client: &http.Client{Transport: body(stream)}})
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if _, _, err := read(b, c, hello()); err != nil {
			b.Fatal(err)
		}
	}
}
