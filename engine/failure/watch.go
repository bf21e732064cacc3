package failure

import (
	"context"
	"fmt"
	"time"
)

func (w *Watch) wait(ctx context.Context) error {
	policy := w.Policy.withDefaults()
	start := time.Now()
	slept := time.Duration(0)
	for {
		err := w.look(ctx, policy.ProbeTimeout)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			w.back()
			return nil
		}
		if Classify(err) == Fatal {
			return err
		}
		w.went(err, policy.MaxOfflineWait)
		waited := max(slept, time.Since(start)) // a Sleep may let time pass faster
		left := policy.MaxOfflineWait - waited
		if left <= 0 {
			return fmt.Errorf("%w after %v: %w", ErrOffline, waited.Round(time.Second), err)
		}
		// The last pause is cut short, so that the wait is as long as the
		// policy says and ends with a look.
		next := min(left, policy.ProbeInterval)
		if !w.sleep(ctx, next) {
			return context.Cause(ctx)
		}
		slept += next
	}
}

func (w *Watch) look(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return w.Reach(ctx)
}

func (w *Watch) sleep(ctx context.Context, d time.Duration) bool {
	if w.Sleep != nil {
		return w.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// went and back keep the lock while they tell, so that of several that wait
// none tells the return before another told the loss.

func (w *Watch) went(err error, most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	w.gone, w.goneFrom = true, time.Now()
	if w.Notice != nil {
		w.Notice(Notice{Err: err, Most: most})
	}
}

func (w *Watch) back() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		return
	}
	w.gone = false
	if w.Notice != nil {
		w.Notice(Notice{Online: true, Offline: time.Since(w.goneFrom)})
	}
}
