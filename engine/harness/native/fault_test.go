package native_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// small is an answer with thinking and two calls of a tool with an effect.
func small(faults ...api.Fault) api.Turn {
	return api.Turn{Faults: faults, Piece: 1 << 10, Blocks: []api.Block{
		api.Thinking("é"), api.ToolUse("", "act", `{"n":1}`), api.ToolUse("", "act", `{"n":2}`)}}
}

// effects counts what a tool did, by prompt and input.
type effects struct {
	mu   sync.Mutex
	done map[string]int
}

func (e *effects) tool(prompt string) tool.Tool {
	return tool.Func{Def: tool.Definition{Name: "act", Description: "acts"}, Call: hostCall(func(c tool.Call) tool.Result {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.done[prompt+string(c.Input)]++
		return tool.TextResult("done")
	})}
}

// A stream is cut at literally every one of its bytes, by a broken connection or by
// an end that looks whole (by both where FLOWER_TEST_LONG is set): the turn ends in one of the ways there are, nothing is done
// twice, and the strict server takes the next request of the session.
func TestFaults_cut_at_every_byte(t *testing.T) {
	var sent sync.Map // prompt → *atomic.Int64
	fault := map[string]api.Fault{}
	b := newBench(t, &api.Options{Script: func(r api.Request) api.Turn {
		prompt := r.Messages[0].Content[0].Text
		n, _ := sent.LoadOrStore(prompt, new(atomic.Int64))
		switch {
		case r.Turn() > 1 || strings.HasPrefix(r.Prompt(), "Go on") || strings.Contains(r.Prompt(), "You called"):
			return says("Done.")
		case n.(*atomic.Int64).Add(1) == 1:
			if f, ok := fault[prompt]; ok {
				return small(f)
			}
		}
		return small()
	}})
	acts := &effects{done: map[string]int{}}
	b.turn.Agent.AllowedTools = []string{"act"}
	h := native.New(b.config)
	run := func(session harness.Session, prompt string) (harness.Outcome, error) {
		turn := b.turn
		turn.Prompt, turn.Session, turn.Store, turn.Sink = prompt, session, b.store, nil
		turn.HostTools = []tool.Tool{acts.tool(prompt)}
		return h.Run(t.Context(), turn)
	}
	if out, err := run(harness.Session{}, "whole"); err != nil || out.Stop != harness.EndTurn {
		t.Fatalf("%+v, %v", out, err)
	}
	length := b.server.Log()[0].Sent
	before := "" // what the last cut left in the transcript
	step := 1
	if testing.Short() {
		step = 53
	}
	for at := 0; at <= length; at += step {
		ways := []api.FaultKind{api.Cut, api.End}
		if os.Getenv("FLOWER_TEST_LONG") == "" {
			ways = ways[at%2:][:1]
		}
		for _, kind := range ways {
			prompt := fmt.Sprintf("%d at %d", kind, at)
			fault[prompt] = api.Fault{Kind: kind, At: at}
			out, err := run(harness.Session{}, prompt)
			if err != nil && failure.Classify(err) != failure.Transient || err == nil && out.Stop != harness.EndTurn {
				t.Fatalf("%s: %+v, %v", prompt, out, err)
			}
			for _, call := range []string{`{"n":1}`, `{"n":2}`} {
				if n := acts.done[prompt+call]; n > 1 || n == 0 && call == `{"n":1}` && err == nil {
					t.Errorf("%s: call %s ran %d times", prompt, call, n)
				}
			}
			left := kinds(b.memory.entries(key(out.SessionID)))
			if left == before && at%50 != 0 {
				continue
			}
			before = left
			if out, err = run(harness.Session{Resume: out.SessionID}, "Go on."); err != nil || out.Stop != harness.EndTurn {
				t.Fatalf("%s: the next request: %+v, %v", prompt, out, err)
			}
		}
	}
	if length < 500 {
		t.Errorf("the stream has %d bytes: that is not the one that was meant", length)
	}
}

// front passes connections on to a server, but the first ones, which it treats as
// it is told to.
func front(t *testing.T, server *api.Server, treat ...func(conn, to net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wait.Go(func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
			if err != nil {
				conn.Close()
				continue
			}
			mu.Lock()
			open = append(open, conn, to)
			mu.Unlock()
			f := pass
			if n < len(treat) {
				f = treat[n]
			}
			wait.Go(func() { f(conn, to) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range slices.Clone(open) {
			c.Close()
		}
		mu.Unlock()
		wait.Wait()
	})
	return "http://" + l.Addr().String()
}

func pass(conn, to net.Conn) {
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(to, conn); to.Close() }()
	_, _ = io.Copy(conn, to)
	conn.Close()
	<-done
}

// half passes n bytes of the answer and then nothing, with both sockets open.
func half(n int64) func(conn, to net.Conn) {
	return func(conn, to net.Conn) {
		go func() { _, _ = io.Copy(to, conn) }()
		_, _ = io.CopyN(conn, to, n)
		_, _ = io.Copy(io.Discard, to)
	}
}

// trickle sends an endless head, a byte at a time.
func trickle(conn, _ net.Conn) {
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Long: ")
	for {
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestFaults_sockets_that_are_half_open_or_slow_are_left_and_asked_again(t *testing.T) {
	for name, treat := range map[string]func(conn, to net.Conn){
		"no answer at all":        func(conn, _ net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"an endless head":         trickle,
		"half a status line":      half(5),
		"half a head":             half(60),
		"half a body":             half(700),
		"a connection that broke": func(conn, to net.Conn) { conn.Close(); to.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			acts := &effects{done: map[string]int{}}
			b.turn.HostTools = []tool.Tool{acts.tool("")}
			b.turn.Agent.AllowedTools = []string{"act"}
			b.server.Enqueue(small(), small(), says("Done."), says("Done."))
			url := front(t, b.server, treat)
			b.config.Model = anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: url, Idle: 300 * time.Millisecond, Wait: 300 * time.Millisecond})
			out := b.mustRun(harness.EndTurn)
			for call, n := range acts.done {
				if n > 1 && out.Turns < 3 {
					t.Errorf("%s ran %d times", call, n)
				}
			}
			if got := kinds(b.memory.entries(key(out.SessionID))); !strings.HasPrefix(got, "flower_prefix user calls(2) result result") {
				t.Errorf("stored: %s", got)
			}
		})
	}
}

func TestFaults_a_slow_answer_is_waited_for_as_long_as_anything_comes(t *testing.T) {
	slow := says("A slow answer.")
	slow.Piece, slow.Pause = 1, 40*time.Millisecond
	b := newBench(t, nil, slow)
	b.config.Model = anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: b.server.URL(), Idle: 300 * time.Millisecond})
	if out := b.mustRun(harness.EndTurn); out.Text != "A slow answer." || len(b.requests()) != 1 {
		t.Errorf("%q after %d requests", out.Text, len(b.requests()))
	}
}

// Errors that come when a call has been done: they are typed, sent again or not as
// their class says, the call is not done again, and the session can go on.
func TestFaults_errors_behind_a_call(t *testing.T) {
	many := func(n int, e api.Error) []api.Turn { return slices.Repeat([]api.Turn{{Error: &e}}, n) }
	const over = failure.Class(-1) // the turn gets over it
	for name, c := range map[string]struct {
		turns []api.Turn
		class failure.Class
		asked int // requests, the first one and the last one counted
	}{
		"401":                        {many(9, api.Error{Status: 401}), failure.Fatal, 2},
		"413":                        {many(9, api.Error{Status: 413}), failure.Fatal, 2},
		"429 with a short wait":      {many(2, api.Error{Status: 429, RetryAfter: 20 * time.Millisecond}), over, 4},
		"429 with a long wait":       {many(9, api.Error{Status: 429, RetryAfter: time.Hour}), failure.Transient, 2},
		"a short storm of 529":       {many(2, api.Error{Status: 529}), over, 4},
		"a long storm of 529":        {many(9, api.Error{Status: 529}), failure.Transient, 4},
		"500 and 529 in turn":        {slices.Concat(many(1, api.Error{Status: 500}), many(1, api.Error{Status: 529})), over, 4},
		"an error within the stream": {[]api.Turn{{Blocks: []api.Block{api.Text("half")}, Faults: []api.Fault{{Kind: api.Fail, At: 3}}}}, over, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			var calm atomic.Bool
			b := newBench(t, &api.Options{Script: func(api.Request) api.Turn {
				switch i := int(n.Add(1)); {
				case i == 1:
					return small()
				case !calm.Load() && i-2 < len(c.turns):
					return c.turns[i-2]
				}
				return says("Done.")
			}})
			acts := &effects{done: map[string]int{}}
			b.turn.HostTools = []tool.Tool{acts.tool("")}
			b.turn.Agent.AllowedTools = []string{"act"}
			out, err := b.run()
			if c.class == over && (err != nil || out.Stop != harness.EndTurn) || c.class != over && (err == nil || failure.Classify(err) != c.class) {
				t.Errorf("%+v, %v (%s)", out, err, failure.Classify(err))
			}
			if got := int(n.Load()); got != c.asked {
				t.Errorf("%d requests, want %d", got, c.asked)
			}
			calm.Store(true)
			b.resume(out.SessionID, "Go on.")
			b.mustRun(harness.EndTurn)
			if acts.done[`{"n":1}`] != 1 || acts.done[`{"n":2}`] != 1 {
				t.Errorf("done: %v", acts.done)
			}
		})
	}
}
