package failure_test

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

// line is a network that is away in some intervals of virtual time.
type line struct {
	start  time.Time
	away   func(since time.Duration) bool
	mu     sync.Mutex
	probes []time.Duration
	told   []failure.Notice
}

func newLine(away func(time.Duration) bool) *line { return &line{start: time.Now(), away: away} }

func (l *line) reach(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := time.Since(l.start)
	l.probes = append(l.probes, since)
	if l.away(since) {
		return syscall.ENETUNREACH
	}
	return nil
}

func (l *line) notice(n failure.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, n)
}

func (l *line) watch() *failure.Watch { return &failure.Watch{Reach: l.reach, Notice: l.notice} }

func TestWaitOnline_says_nothing_when_the_network_is_there(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(time.Duration) bool { return false })
		if err := l.watch().WaitOnline(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Since(l.start) != 0 || len(l.probes) != 1 || len(l.told) != 0 {
			t.Errorf("took %v, probes %v, notices %v", time.Since(l.start), l.probes, l.told)
		}
	})
}

func TestWaitOnline_one_notice_each_way(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(d time.Duration) bool { return d < 100*time.Second })
		if err := l.watch().WaitOnline(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Probes every 15 s: the eighth, at 105 s, is the first to get through.
		if len(l.probes) != 8 || time.Since(l.start) != 105*time.Second {
			t.Errorf("probes at %v", l.probes)
		}
		want := []failure.Notice{{Err: syscall.ENETUNREACH, Most: time.Hour}, {Online: true, Offline: 105 * time.Second}}
		if !slices.Equal(l.told, want) {
			t.Errorf("notices %v, want %v", l.told, want)
		}
	})
}

func TestWaitOnline_many_that_wait_share_the_notices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(d time.Duration) bool { return d < time.Minute || d > 2*time.Minute && d < 3*time.Minute })
		watch := l.watch()
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				for _, at := range []time.Duration{0, 121 * time.Second} {
					time.Sleep(at + time.Duration(i)*time.Second - time.Since(l.start))
					if err := watch.WaitOnline(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		var directions []bool
		for _, n := range l.told {
			directions = append(directions, n.Online)
		}
		if want := []bool{false, true, false, true}; !slices.Equal(directions, want) {
			t.Errorf("notices %v, want %v", l.told, want)
		}
	})
}

func TestWaitOnline_gives_up_after_the_maximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(d time.Duration) bool { return d < 90*time.Minute })
		watch := l.watch()
		err := watch.WaitOnline(t.Context())
		if !errors.Is(err, failure.ErrOffline) || !errors.Is(err, syscall.ENETUNREACH) {
			t.Fatalf("error %v", err)
		}
		if got, want := err.Error(), "network is still away after 1h0m0s: network is unreachable"; got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		if time.Since(l.start) != time.Hour {
			t.Errorf("gave up after %v, want 1h", time.Since(l.start))
		}
		// The outage is the same one: its end is told when someone sees it.
		if err := watch.WaitOnline(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(l.told) != 2 || !l.told[1].Online || l.told[1].Offline != 90*time.Minute {
			t.Errorf("notices %v", l.told)
		}
	})
}

func TestWaitOnline_ends_with_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(time.Duration) bool { return true })
		stop := errors.New("a person stopped the run")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Second, func() { cancel(stop) })
		if err := l.watch().WaitOnline(ctx); !errors.Is(err, stop) {
			t.Errorf("error %v, want %v", err, stop)
		}
		if time.Since(l.start) != 20*time.Second {
			t.Errorf("took %v", time.Since(l.start))
		}
		if err := l.watch().WaitOnline(ctx); !errors.Is(err, stop) {
			t.Errorf("with an ended context: %v", err)
		}
	})
}

func TestWaitOnline_bounds_a_probe_that_hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, hung := time.Now(), false
		watch := &failure.Watch{Reach: func(ctx context.Context) error {
			if hung {
				return nil
			}
			hung = true
			<-ctx.Done()
			return ctx.Err()
		}}
		if err := watch.WaitOnline(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 20*time.Second {
			t.Errorf("took %v, want 5s of a probe and 15s of pause", got)
		}
	})
}

func TestWaitOnline_does_not_wait_for_what_waiting_cannot_mend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		watch := &failure.Watch{
			Reach:  func(context.Context) error { return x509.UnknownAuthorityError{} },
			Notice: func(n failure.Notice) { t.Errorf("notice %v", n) },
		}
		if err := watch.WaitOnline(t.Context()); failure.Classify(err) != failure.Fatal {
			t.Errorf("error %v", err)
		}
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
	})
}

func TestWaitOnline_waits_by_the_sleep_it_is_given(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(func(time.Duration) bool { return true })
		w := l.watch()
		var slept time.Duration
		w.Sleep = func(_ context.Context, d time.Duration) bool {
			slept += d
			return true
		}
		if err := w.WaitOnline(t.Context()); !errors.Is(err, failure.ErrOffline) || slept != time.Hour {
			t.Errorf("%v after %v", err, slept)
		}
		if time.Since(l.start) != 0 || len(l.probes) != 241 {
			t.Errorf("%d probes took %v", len(l.probes), time.Since(l.start))
		}
		ctx, stop := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		w.Sleep = func(context.Context, time.Duration) bool {
			stop(enough)
			return false
		}
		if err := w.WaitOnline(ctx); !errors.Is(err, enough) {
			t.Errorf("stopped: %v", err)
		}
	})
}
