package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/live"
)

// bed is a server and its folder.
type bed struct {
	*live.Server
	t   *testing.T
	dir string
}

// serve opens a server whose requests are handled by handle; nil: they are echoed.
func serve(t *testing.T, handle func(live.Request, func(any)) (string, error)) *bed {
	t.Helper()
	if handle == nil {
		handle = func(r live.Request, _ func(any)) (string, error) { return r.Do + " " + r.Text, nil }
	}
	b := &bed{t: t, dir: filepath.Join(t.TempDir(), "live")}
	hello := live.Hello{Run: "20260102-030405-abcdef", Script: "flow.lua", Started: time.Now()}
	s, err := live.Open(live.Options{Dir: b.dir, Hello: hello, Handle: handle})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = s
	t.Cleanup(func() { s.Close(nil) })
	return b
}

// line is any line of a stream.
type line struct {
	Kind    string         `json:"kind"`
	Seq     uint64         `json:"seq"`
	Text    string         `json:"text"`
	Count   uint64         `json:"count"`
	OK      bool           `json:"ok"`
	Error   string         `json:"error"`
	Receipt string         `json:"receipt"`
	Ref     string         `json:"ref"`
	Payload map[string]any `json:"payload"`
}

type client struct {
	*live.Client
	t *testing.T
}

func (b *bed) connect() *client {
	b.t.Helper()
	found, err := live.List(b.dir)
	if err != nil || len(found) != 1 {
		b.t.Fatalf("found %v, %v", found, err)
	}
	c, err := live.Dial(context.Background(), found[0])
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() }) // twice where the test closed it
	return &client{c, b.t}
}

func (c *client) next() (l line) {
	c.t.Helper()
	raw, err := c.Read()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		c.t.Fatalf("%s: %v", raw, err)
	}
	return l
}

func (c *client) asks(r live.Request) line {
	c.t.Helper()
	if err := c.Send(r); err != nil {
		c.t.Fatal(err)
	}
	return c.next()
}

func text(seq uint64) event.Event {
	return event.Event{Seq: seq, Kind: event.Text, Text: fmt.Sprint("line ", seq)}
}

func ask(seq uint64, id, state string) event.Event {
	return event.Event{Seq: seq, Kind: event.Ask, Text: "Which?", Payload: map[string]any{"kind": "question", "id": id, "state": state}}
}

func TestServer_says_hello_tells_what_was_and_what_comes_and_how_it_ended(t *testing.T) {
	b := serve(t, nil)
	b.Emit(text(1))
	b.Emit(event.Event{Seq: 2, Kind: event.Result, Payload: map[string]any{"cost_usd": 0.5}})
	one, two := b.connect(), b.connect()
	b.Emit(text(3))
	for _, c := range []*client{one, two} {
		h := c.Hello()
		if h.Kind != "hello" || h.V != live.Version || h.PID != os.Getpid() || h.Script != "flow.lua" || h.Seq != 2 || h.CostUSD != 0.5 {
			t.Errorf("hello %+v", h)
		}
		for seq := range uint64(3) {
			if l := c.next(); l.Seq != seq+1 {
				t.Errorf("event %d is %+v", seq+1, l)
			}
		}
	}
	if r := one.asks(live.Request{Do: "mail", Text: "hi", Ref: "7"}); r.Kind != "reply" || !r.OK || r.Receipt != "mail hi" || r.Ref != "7" {
		t.Errorf("reply %+v", r)
	}
	b.Close(map[string]any{"kind": "end", "ok": true})
	for _, c := range []*client{one, two} {
		if l := c.next(); l.Kind != "end" || !l.OK {
			t.Errorf("the end is %+v", l)
		}
		if _, err := c.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestServer_of_what_is_long_ago_the_step_and_open_questions_are_told(t *testing.T) {
	b := serve(t, nil)
	b.Emit(event.Event{Seq: 1, Kind: event.Step, Text: "old"})
	b.Emit(event.Event{Seq: 2, Kind: event.Step, Text: "work"})
	b.Emit(ask(3, "q1", "asked"))
	b.Emit(ask(4, "q2", "asked"))
	b.Emit(event.Event{Seq: 5, Kind: event.Ask, Payload: map[string]any{"kind": "mail", "id": "m3"}})
	b.Emit(ask(6, "q1", "answered"))
	for seq := range uint64(2 * live.Backlog) {
		b.Emit(text(7 + seq))
	}
	c := b.connect()
	var got []uint64
	for range live.Backlog + 2 {
		got = append(got, c.next().Seq)
	}
	if !slices.Equal(got[:3], []uint64{2, 4, 7 + live.Backlog}) || got[len(got)-1] != 6+2*live.Backlog {
		t.Errorf("told: %v", got)
	}
}

func TestServer_large_events_shorten_the_backlog(t *testing.T) {
	b := serve(t, nil)
	large := strings.Repeat("x", 3<<20)
	for seq := range uint64(5) {
		b.Emit(event.Event{Seq: seq + 1, Kind: event.Text, Text: large})
	}
	c := b.connect()
	if l := c.next(); l.Seq != 4 {
		t.Errorf("the first is %d", l.Seq)
	}
}

func TestServer_a_slow_reader_loses_events_and_delays_nobody(t *testing.T) {
	b := serve(t, nil)
	slow := b.connect()
	const all = 20000
	filler := strings.Repeat("x", 1000) // more than a socket takes
	for seq := range uint64(all) {
		e := text(seq + 1)
		e.Text += filler
		b.Emit(e) // would block for ever
	}
	quick := b.connect()
	for range live.Backlog {
		quick.next()
	}
	if r := quick.asks(live.Request{Do: "mail"}); !r.OK {
		t.Errorf("%+v", r)
	}
	go b.Close(map[string]any{"kind": "end"})
	var got, lost uint64
	for {
		switch l := slow.next(); l.Kind {
		case "dropped":
			lost += l.Count
		case "end":
			if lost == 0 || got+lost != all {
				t.Errorf("%d came and %d were lost, of %d", got, lost, all)
			}
			return
		default:
			got++
		}
	}
}

func TestServer_what_is_no_request_gets_an_error_and_harms_nothing(t *testing.T) {
	b := serve(t, func(r live.Request, _ func(any)) (string, error) {
		switch r.Do {
		case "panic":
			panic("oh")
		case "wrong":
			return "", errors.New("that is wrong")
		}
		return "fine", nil
	})
	c := b.connect()
	for _, x := range []struct{ raw, want string }{
		{"nonsense\n", "no request"},
		{"[1]\n", "no request"},
		{`{"do":"` + strings.Repeat("x", live.MaxRequest) + "\"}\n", "at most"},
		{strings.Repeat("y", 3*live.MaxRequest) + "\n", "at most"},
		{`{"do":"panic"}` + "\n", "oh"},
		{`{"do":"wrong"}` + "\n", "that is wrong"},
	} {
		if err := c.SendRaw([]byte(x.raw)); err != nil {
			t.Fatal(err)
		}
		if r := c.next(); r.Kind != "reply" || r.OK || !strings.Contains(r.Error, x.want) {
			t.Errorf("%.20q: %+v", x.raw, r)
		}
	}
	if err := c.SendRaw([]byte("\n")); err != nil { // means nothing
		t.Fatal(err)
	}
	if r := c.asks(live.Request{Do: "mail"}); !r.OK || r.Receipt != "fine" {
		t.Errorf("%+v", r)
	}
	b.Stop()
	if r := c.asks(live.Request{Do: "mail"}); r.OK || r.Error != "the run has ended" {
		t.Errorf("after Stop: %+v", r)
	}
}

func TestServer_tells_one_client_later(t *testing.T) {
	later := make(chan func(any), 1)
	b := serve(t, func(_ live.Request, tell func(any)) (string, error) {
		later <- tell
		return "asked", nil
	})
	one, two := b.connect(), b.connect()
	if r := one.asks(live.Request{Do: "ask"}); r.Receipt != "asked" {
		t.Errorf("%+v", r)
	}
	(<-later)(live.Aside{Kind: live.KindAside, OK: true, Text: "answer"})
	if l := one.next(); l.Kind != "aside" || l.Text != "answer" {
		t.Errorf("%+v", l)
	}
	b.Emit(text(1))
	if l := two.next(); l.Seq != 1 {
		t.Errorf("the other got %+v", l)
	}
}

func TestServer_takes_so_many_and_one_more_when_one_has_gone(t *testing.T) {
	b := serve(t, nil)
	found, err := live.List(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*live.Client
	refused := func(end time.Time) error {
		for {
			c, err := live.Dial(t.Context(), found[0])
			switch {
			case err == nil:
				t.Cleanup(func() { c.Close() }) // twice where the test closed it
				all = append(all, c)
				return nil
			case len(all) == live.MaxClients || time.Now().After(end):
				return err
			}
			time.Sleep(time.Millisecond) // List was connected too, for a moment
		}
	}
	patience := time.Now().Add(10 * time.Second)
	for range live.MaxClients {
		if err := refused(patience); err != nil {
			t.Fatal(err)
		}
	}
	if err := refused(patience); err == nil || !strings.Contains(err.Error(), "that is the most") {
		t.Errorf("one too many: %v", err)
	}
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	all = all[1:]
	if err := refused(patience); err != nil {
		t.Errorf("the place is never free: %v", err)
	}
}

func TestServer_a_reader_that_never_reads_does_not_hold_up_the_end(t *testing.T) {
	t.Parallel() // it takes as long as a client is given
	b := serve(t, nil)
	b.connect()
	filler := strings.Repeat("x", 1<<20)
	for seq := range uint64(50) {
		b.Emit(event.Event{Seq: seq + 1, Kind: event.Text, Text: filler})
	}
	b.Close(map[string]any{"kind": "end"}) // or the test never ends
}

func TestServer_emits_what_is_no_JSON_without_it(t *testing.T) {
	b := serve(t, nil)
	c := b.connect()
	b.Emit(event.Event{Seq: 1, Kind: event.Task, Payload: map[string]any{"f": func() {}}})
	if l := c.next(); l.Seq != 1 || l.Payload["error"] == nil {
		t.Errorf("%+v", l)
	}
}
