package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// TestNetwork_that_goes_and_comes_back takes the provider away in the middle of a
// run, for real, and brings it back: the run waits and goes on, and no word of
// the trouble is in what the model is sent.
func TestNetwork_that_goes_and_comes_back(t *testing.T) {
	serve := func(addr string, script func(messagesapi.Request) messagesapi.Turn) *messagesapi.Server {
		s, err := messagesapi.Start(&messagesapi.Options{Addr: addr, Script: script})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	called := make(chan struct{})
	first := serve("", func(messagesapi.Request) messagesapi.Turn {
		defer close(called)
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", "Bash", `{"command":"sleep 0.2; echo done"}`)}}
	})
	url := first.URL()
	addr := strings.TrimPrefix(url, "http://")

	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := &eventLog{}
	rt, err := engine.New(engine.Config{
		Workspace: dir, Store: db, Endpoint: url, Sink: seen,
		Harness: native.New(native.Config{Model: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: url}), Retries: -1}),
		Resilience: &failure.Policy{BaseDelay: 10 * time.Millisecond, MaxDelay: 10 * time.Millisecond,
			ProbeTimeout: time.Second, ProbeInterval: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	var second *messagesapi.Server
	var back sync.WaitGroup
	back.Go(func() {
		<-called
		if err := first.Close(); err != nil { // while the command runs
			t.Error(err)
		}
		time.Sleep(700 * time.Millisecond)
		second = serve(addr, func(messagesapi.Request) messagesapi.Turn {
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("finished")}}
		})
	})
	r, err := rt.Run(context.Background(), engine.Spec{Name: "x", AllowedTools: []string{"Bash"}}, "go", engine.RunOptions{})
	back.Wait()
	defer second.Close()
	rt.Close()
	if err != nil || !r.OK || r.Text != "finished" || !r.Resumed {
		t.Fatalf("%+v, %v", r, err)
	}
	checkNotices(t, seen)
	for e, err := range db.Load(context.Background(), transcript.Key{Project: rt.Project(), Session: r.SessionID}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"connection refused", "dial tcp", "ECONN", "EOF"} {
			if strings.Contains(string(e.Raw), word) {
				t.Errorf("the transcript holds %q: %s", word, e.Raw)
			}
		}
	}
}

// clockSleep is a wait by an injected clock: no time passes, and what was asked for is
// counted. at is called when so much has passed.
type clockSleep struct {
	mu   sync.Mutex
	past time.Duration
	at   map[time.Duration]func()
}

func (c *clockSleep) sleep(ctx context.Context, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past += d
	for when, do := range c.at {
		if c.past >= when {
			delete(c.at, when)
			do()
		}
	}
	return ctx.Err() == nil
}

// awayRun runs an agent whose provider goes away in the middle of the run; at is what
// happens while it waits.
func awayRun(t *testing.T, at func(serve func()) map[time.Duration]func()) (r engine.Result, clock *clockSleep, seen *eventLog) {
	t.Helper()
	start := func(addr string, turns ...messagesapi.Turn) *messagesapi.Server {
		s, err := messagesapi.Start(&messagesapi.Options{Addr: addr})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		s.Enqueue(turns...)
		return s
	}
	call := messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", "leave", `{}`)}}
	server := start("", call)
	url := server.URL()
	clock = &clockSleep{}
	clock.at = at(func() {
		start(strings.TrimPrefix(url, "http://"), messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("finished")}})
	})
	leave := tool.Func{Def: tool.Definition{Name: "leave", Schema: []byte(`{"type":"object"}`)}, Call: func(context.Context, tool.Call) tool.Result {
		server.Close()
		return tool.TextResult("the provider is gone")
	}}
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	seen = &eventLog{}
	rt, err := engine.New(engine.Config{Workspace: dir, Store: db, Endpoint: url, Sink: seen, Sleep: clock.sleep, Tools: []tool.Tool{leave},
		Harness: native.New(native.Config{Model: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: url}), Retries: -1})})
	if err != nil {
		t.Fatal(err)
	}
	r, err = rt.Run(context.Background(), engine.Spec{Name: "x", AllowedTools: []string{"leave"}}, "go", engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rt.Close()
	return r, clock, seen
}

func TestNetwork_that_is_away_for_most_of_an_hour(t *testing.T) {
	r, clock, seen := awayRun(t, func(serve func()) map[time.Duration]func() {
		return map[time.Duration]func(){55 * time.Minute: serve}
	})
	if !r.OK || r.Text != "finished" || r.Attempts != 2 || clock.past > 56*time.Minute {
		t.Errorf("%+v after %v", r, clock.past)
	}
	checkNotices(t, seen)
	told := seen.of(event.Task)[0].Text
	for _, part := range []string{"1h0m0s at most", "connection refused", "http://127.0.0.1:", "Ctrl-C", "ANTHROPIC_BASE_URL"} {
		if !strings.Contains(told, part) {
			t.Errorf("told without %q: %s", part, told)
		}
	}
}

func TestNetwork_that_does_not_come_back_ends_the_run_at_last(t *testing.T) {
	r, clock, seen := awayRun(t, func(func()) map[time.Duration]func() { return nil })
	// Each attempt waits for an hour at most.
	if r.OK || r.Attempts != 6 || clock.past > 6*time.Hour || !strings.Contains(r.Error, "refused") {
		t.Errorf("%+v after %v", r, clock.past)
	}
	if n := len(seen.of(event.Task)); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// checkNotices: one when the network went, one when it is back.
func checkNotices(t *testing.T, seen *eventLog) {
	t.Helper()
	var went, came int
	for _, e := range seen.of(event.Task) {
		if strings.Contains(e.Text, "waiting for the network") {
			went++
		}
		if strings.Contains(e.Text, "the network is back") {
			came++
		}
	}
	if went != 1 || came != 1 {
		t.Errorf("told %d times that the network went, %d that it is back", went, came)
	}
}
