package failure

import (
	"context"
	"fmt"
	"time"
)

func (w *Watch) wait(ctx context.Context) error {
	policy := w.Policy.withDefaults()
	start := time.Now()
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
		w.went(err)
		left := policy.MaxOfflineWait - time.Since(start)
		if left <= 0 {
			return fmt.Errorf("%w after %v: %w", ErrOffline, time.Since(start).Round(time.Second), err)
		}
		// The last pause is cut short, so that the wait is as long as the
		// policy says and ends with a look.
		if err := pause(ctx, min(left, policy.ProbeInterval)); err != nil {
			return err
		}
	}
}

func (w *Watch) look(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return w.Reach(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// went and back keep the lock while they tell, so that of several that wait
// none tells the return before another told the loss.

func (w *Watch) went(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	w.gone, w.goneFrom = true, time.Now()
	if w.Notice != nil {
		w.Notice(Notice{Err: err})
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
