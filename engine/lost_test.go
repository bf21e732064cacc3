package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestLost_events_of_a_slow_taker_are_counted_and_logged(t *testing.T) {
	log := &lines{}
	release := make(chan struct{})
	p := newBench(t).startWith(engine.Config{Logger: slog.New(slog.NewTextHandler(log, nil))},
		answer{do: func(_ context.Context, turn harnessTurn) {
			for range 3000 {
				turn.Sink.Emit(event.Event{Kind: event.Text, Text: "x"})
			}
			close(release)
		}})
	got := 0
	if _, err := p.Run(t.Context(), engine.Spec{Name: "x"}, "go", engine.RunOptions{OnEvent: func(event.Event) {
		<-release
		got++
	}}); err != nil {
		t.Fatal(err)
	}
	// All are accounted for: the prompt, 3000 texts and the result, of which Run has
	// delivered what was not dropped. The runtime's own sinks may have lost some too.
	if dropped := p.Dropped(); dropped == 0 || uint64(got)+dropped < 3002 || got < 1024 {
		t.Errorf("%d taken, %d dropped", got, dropped)
	}
	p.close()
	if !strings.Contains(log.String(), "events were lost") {
		t.Errorf("nobody was told:\n%s", log)
	}
}

func TestLost_a_run_without_losses_tells_nothing(t *testing.T) {
	log := &lines{}
	p := newBench(t).startWith(engine.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, answer{})
	if _, err := p.Run(t.Context(), engine.Spec{Name: "x"}, "go", engine.RunOptions{OnEvent: func(event.Event) {}}); err != nil {
		t.Fatal(err)
	}
	p.close()
	if p.Dropped() != 0 || strings.Contains(log.String(), "lost") {
		t.Errorf("%d dropped:\n%s", p.Dropped(), log)
	}
}

func TestLost_a_taker_that_panics_is_logged(t *testing.T) {
	log := &lines{}
	p := newBench(t).startWith(engine.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, answer{})
	r, err := p.Run(t.Context(), engine.Spec{Name: "x"}, "go", engine.RunOptions{OnEvent: func(event.Event) { panic("oh") }})
	if err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	p.close()
	if !strings.Contains(log.String(), "panicked=1") {
		t.Errorf("log:\n%s", log)
	}
}
