package anthropic_test

// What takes minutes and hours, in virtual time: the server's part is played by a
// transport, since a real connection knows only real time.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
)

// piece is a part of an answer and the time that passes before it.
type piece struct {
	wait time.Duration // negative = for ever
	data string
}

// script is an answer in pieces, after a time of its own.
type script struct {
	wait   time.Duration
	pieces []piece
}

// pass waits; false when ctx ended first.
func pass(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d >= 0 {
		over = time.After(d)
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s script) RoundTrip(req *http.Request) (*http.Response, error) {
	if !pass(req.Context(), s.wait) {
		return nil, req.Context().Err()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(&scriptBody{req.Context(), s.pieces}),
	}, nil
}

type scriptBody struct {
	ctx    context.Context
	pieces []piece
}

func (b *scriptBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	if !pass(b.ctx, b.pieces[0].wait) {
		return 0, b.ctx.Err()
	}
	b.pieces[0].wait = 0
	n := copy(p, b.pieces[0].data)
	if b.pieces[0].data = b.pieces[0].data[n:]; b.pieces[0].data == "" {
		b.pieces = b.pieces[1:]
	}
	return n, nil
}

// scripted is a client whose server is s.
func scripted(s script, o anthropic.Options) *anthropic.Client {
	o.Key, o.Client = "test-key", &http.Client{Transport: s}
	return anthropic.New(&o)
}

func TestStall_is_recognised_wherever_it_happens(t *testing.T) {
	for n := 1; n < len(recorded); n += 100 {
		synctest.Test(t, func(t *testing.T) {
			c := scripted(script{wait: time.Minute, pieces: []piece{{time.Minute, recorded[:n]}, {-1, "x"}}}, anthropic.Options{})
			start := time.Now()
			_, r, err := read(t, c, hello())
			if !errors.Is(err, model.ErrStalled) || !errors.Is(err, os.ErrDeadlineExceeded) || r.Complete {
				t.Fatalf("stalled at %d: %v", n, err)
			}
			if passed := time.Since(start); passed != 2*time.Minute+anthropic.DefaultIdle {
				t.Errorf("stalled at %d: told after %v", n, passed)
			}
			if got, want := content(r), strings.Join(recordedBlocks[:completeAt(n)], " "); got != want {
				t.Errorf("stalled at %d: got %s, want %s", n, got, want)
			}
		})
	}
}

func TestStall_before_the_answer_is_recognised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, _, err := read(t, scripted(script{wait: -1}, anthropic.Options{}), hello())
		if passed := time.Since(start); !errors.Is(err, model.ErrStalled) || passed != anthropic.DefaultWait {
			t.Errorf("after %v: %v", passed, err)
		}
	})
}

func TestStall_is_not_a_stream_that_trickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pieces []piece
		for i := range len(recorded) {
			pieces = append(pieces, piece{anthropic.DefaultIdle - time.Second, recorded[i : i+1]})
		}
		_, r, err := read(t, scripted(script{anthropic.DefaultWait - time.Second, pieces}, anthropic.Options{}), hello())
		if err != nil || !r.Complete {
			t.Errorf("got %v", err)
		}
	})
}

func TestStall_is_not_the_caller_being_slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pieces []piece
		for _, frame := range strings.SplitAfter(recorded, "\n\n") {
			pieces = append(pieces, piece{time.Second, frame})
		}
		stream, err := scripted(script{pieces: pieces}, anthropic.Options{}).Stream(t.Context(), hello())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		for err == nil {
			time.Sleep(time.Hour)
			_, err = stream.Recv()
		}
		if !stream.Reply().Complete {
			t.Errorf("got %v", err)
		}
	})
}

func TestStall_can_be_allowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{wait: 24 * time.Hour, pieces: []piece{{24 * time.Hour, recorded}}}
		if _, _, err := read(t, scripted(s, anthropic.Options{Idle: -1, Wait: -1}), hello()); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancel_at_any_time_ends_what_waits(t *testing.T) {
	for _, s := range []script{
		{wait: -1},
		{pieces: []piece{{-1, "x"}}},
		{pieces: []piece{{0, recorded[:1500]}, {-1, "x"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			stream, err := scripted(s, anthropic.Options{}).Stream(ctx, hello())
			if err == nil {
				defer stream.Close()
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, model.ErrStalled) || errors.Is(err, model.ErrCut) {
				t.Errorf("got %v", err)
			}
		})
	}
}
