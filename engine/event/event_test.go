package event_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/event"
)

func TestFanout_delivers_in_order_to_every_sink(t *testing.T) {
	fan := event.NewFanout(nil)
	var mu sync.Mutex
	got := map[string][]uint64{}
	for _, name := range []string{"a", "b"} {
		fan.Add(event.SinkFunc(func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			got[name] = append(got[name], e.Seq)
		}))
	}
	for range 100 {
		fan.Emit(event.Event{Kind: event.Text})
	}
	fan.Close()
	for name, seqs := range got {
		if len(seqs) != 100 {
			t.Fatalf("sink %s got %d events, want 100", name, len(seqs))
		}
		for i, seq := range seqs {
			if seq != uint64(i+1) {
				t.Fatalf("sink %s: event %d has seq %d", name, i, seq)
			}
		}
	}
}

func TestFanout_a_blocked_sink_loses_events_and_delays_nobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fan := event.NewFanout(&event.Options{Queue: 4})
		release := make(chan struct{})
		fan.Add(event.SinkFunc(func(event.Event) { <-release }))
		for range 20 {
			fan.Emit(event.Event{})
		}
		synctest.Wait()
		// At most one event is in the sink's hands and four wait.
		if d := fan.Dropped(); d < 15 {
			t.Errorf("dropped %d of 20, want at least 15", d)
		}
		if fan.CloseWithin(time.Second) {
			t.Error("CloseWithin reported that a blocked sink had finished")
		}
		close(release)
		fan.Close()
	})
}

func TestFanout_a_panicking_sink_is_removed(t *testing.T) {
	fan := event.NewFanout(nil)
	fan.Add(event.SinkFunc(func(event.Event) { panic("broken sink") }))
	count := 0
	fan.Add(event.SinkFunc(func(event.Event) { count++ }))
	for range 3 {
		fan.Emit(event.Event{})
	}
	fan.Close()
	if fan.Broken() != 1 || count != 3 {
		t.Errorf("broken = %d, healthy sink got %d; want 1 and 3", fan.Broken(), count)
	}
}

func TestFanout_removed_sink_gets_what_was_queued_and_no_more(t *testing.T) {
	fan := event.NewFanout(nil)
	var got []string
	remove := fan.Add(event.SinkFunc(func(e event.Event) { got = append(got, e.Text) }))
	fan.Emit(event.Event{Text: "before"})
	remove()
	fan.Emit(event.Event{Text: "after"})
	remove() // twice does no harm
	fan.Close()
	if len(got) != 1 || got[0] != "before" {
		t.Errorf("got %v, want [before]", got)
	}
}

func TestFanout_stamps_the_time_of_its_clock(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fan := event.NewFanout(&event.Options{Now: func() time.Time { return when }})
	var got time.Time
	fan.Add(event.SinkFunc(func(e event.Event) { got = e.Time }))
	fan.Emit(event.Event{})
	fan.Close()
	if !got.Equal(when) {
		t.Errorf("time = %v, want %v", got, when)
	}
}

func TestCut_keeps_characters_whole(t *testing.T) {
	cases := []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exact", 5, "exact"},
		{"longer", 5, "long…"},
		{"目标文件已存在", 4, "目标文…"},
		{"", 3, ""},
	}
	for _, c := range cases {
		if got := event.Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
