package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// full is a store whose disk is full for the appends from first to last, counted
// from one; last 0 means for ever.
type full struct {
	transcript.Store
	first, last int64
	count       atomic.Int64
	onFull      func()
}

func (s *full) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	n := s.count.Add(1)
	if n >= s.first && (s.last == 0 || n <= s.last) {
		if s.onFull != nil {
			s.onFull()
		}
		return 0, fmt.Errorf("%w: %w", syscall.ENOSPC, transcript.ErrUnavailable)
	}
	return s.Store.Append(ctx, key, expect, es)
}

// F-030: at every append in turn the disk is full for a while. The turn pauses,
// says so, and goes on; nothing is done twice, nothing is missing.
func TestOutage_full_disk_pauses_the_turn_and_nothing_is_lost(t *testing.T) {
	for first := int64(1); first <= 4; first++ {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			log := filepath.Join(b.dir, "log")
			b.server.Enqueue(calls("Bash", input("command", "echo ran >> "+log)), says("Done."))
			db, err := store.Open(filepath.Join(t.TempDir(), "sessions"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var asked []int // requests so far, at each append that failed
			b.store = &full{Store: db, first: first, last: first + 1, onFull: func() { asked = append(asked, len(b.requests())) }}
			out := b.mustRun(harness.EndTurn)
			if len(asked) != 2 || asked[0] != asked[1] {
				t.Errorf("requests were sent while the disk was full: %v", asked)
			}
			if content, _ := os.ReadFile(log); string(content) != "ran\n" {
				t.Errorf("the call ran %d times", strings.Count(string(content), "ran"))
			}
			var es []transcript.Entry
			for e, err := range db.Load(t.Context(), key(out.SessionID), 0) {
				if err != nil {
					t.Fatal(err)
				}
				es = append(es, e)
			}
			if got := kinds(es); got != "flower_prefix user calls(1) result assistant" {
				t.Errorf("stored: %s", got)
			}
			paused := b.of(event.Error)
			if len(paused) != 1 || paused[0].Payload["paused"] != true || !strings.Contains(paused[0].Text, "no space left") {
				t.Errorf("a person was told: %+v", paused)
			}
			if on := b.of(event.System); len(on) != 1 || on[0].Payload["paused"] != false {
				t.Errorf("a person was told afterwards: %+v", on)
			}
		})
	}
}

// outageTurn is a turn of three rounds without a network, whose third append and
// all behind it find the disk full.
func outageTurn(t *testing.T) (native.Config, harness.Turn, *counting) {
	m := &counting{Model: instant{3}}
	return native.Config{Model: m}, harness.Turn{
		Agent:  harness.Agent{Name: "one", Workspace: t.TempDir(), AllowedTools: []string{"looks"}},
		Prompt: "Do it.", Project: project, Store: &full{Store: newMemory(), first: 3},
		HostTools: []tool.Tool{tool.Func{Def: tool.Definition{Name: "looks", ReadOnly: true},
			Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("seen") }}},
	}, m
}

// counting counts the requests.
type counting struct {
	model.Model
	n atomic.Int64
}

func (a *counting) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	a.n.Add(1)
	return a.Model.Stream(ctx, r)
}

func TestOutage_the_wait_is_bounded_and_nothing_goes_on_unrecorded(t *testing.T) {
	cases := map[string]struct{ wait, want time.Duration }{
		"an hour":          {0, time.Hour},
		"as it is set":     {90 * time.Second, 90 * time.Second},
		"not at all":       {-1, 0},
		"less than a pace": {100 * time.Millisecond, 100 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, turn, m := outageTurn(t)
				config.StoreWait = c.wait
				begin := time.Now()
				out, err := native.New(config).Run(t.Context(), turn)
				if took := time.Since(begin); took != c.want {
					t.Errorf("it waited %s, want %s", took, c.want)
				}
				if !errors.Is(err, transcript.ErrUnavailable) || out.SessionID == "" || out.Stop != harness.Failed {
					t.Errorf("%+v, %v", out, err)
				}
				if n := m.n.Load(); n != 1 {
					t.Errorf("%d requests: the work went on unrecorded", n)
				}
			})
		})
	}
}

func TestOutage_an_end_from_outside_ends_the_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, turn, _ := outageTurn(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if _, err := native.New(config).Run(ctx, turn); err == nil {
			t.Error("no error")
		}
		if took := time.Since(begin) - time.Minute; took > 6*time.Second {
			t.Errorf("it ended %s after it was told to", took)
		}
	})
}

// closing is a store that its own process closes while the model answers.
type closing struct {
	model.Model
	db transcript.Store
}

func (c closing) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	if err := c.db.Close(); err != nil {
		return nil, err
	}
	return c.Model.Stream(ctx, r)
}

// A store that was closed by this process does not come back: the turn ends at once,
// also when it is cancelled in the same moment.
func TestOutage_nobody_waits_for_a_store_that_was_closed(t *testing.T) {
	for name, cancelled := range map[string]bool{"on its own": false, "and a cancel": true} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(filepath.Join(t.TempDir(), "sessions"), nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			config, turn, _ := outageTurn(t)
			turn.Store = db
			paused := false
			turn.Sink = event.SinkFunc(func(e event.Event) { paused = paused || e.Payload["paused"] == true })
			config.Model = closing{instant{3}, db}
			if cancelled {
				turn.HostTools[0] = tool.Func{Def: turn.HostTools[0].Definition(), Call: func(context.Context, tool.Call) tool.Result {
					cancel()
					return tool.TextResult("seen")
				}}
			}
			out, err := native.New(config).Run(ctx, turn)
			if !errors.Is(err, transcript.ErrClosed) || out.Stop != harness.Failed || paused {
				t.Errorf("%+v, %v, paused %v", out, err, paused)
			}
		})
	}
}

func TestOutage_a_person_who_interrupts_does_not_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, turn, _ := outageTurn(t)
		words := make(chan string)
		turn.Interrupt = words
		time.AfterFunc(time.Minute, func() { words <- "Stop." })
		begin := time.Now()
		out, err := native.New(config).Run(t.Context(), turn)
		if err == nil && (out.Stop != harness.Interrupted || out.Words != "Stop.") {
			t.Errorf("%+v", out)
		}
		if took := time.Since(begin) - time.Minute; took > 15*time.Second {
			t.Errorf("it ended %s after it was told to", took)
		}
	})
}
