package claudecode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/internal/proxy"
)

// ledger accounts for one turn from what the proxy sees, the main thread and
// subagents apart, and holds the limits that are checked before a request.
type ledger struct {
	limits harness.Limits
	price  func(model string) *model.Price

	mu       sync.Mutex
	spent    float64
	reserved float64 // by requests under way
	settled  chan struct{}
	unpriced bool
	tokens   harness.Usage // tokens alone
	closed   bool          // the turn is over
	toolless bool          // the main thread has no tools
	context  int64         // of the main thread's last request
	failed   *model.Error  // the newest answer that was an error
	broken   error         // how the newest connection that failed did
	stop     harness.Stop  // why a request was refused here
	detail   string
}

func newLedger(l harness.Limits, price func(string) *model.Price) *ledger {
	return &ledger{limits: l, price: price, settled: make(chan struct{})}
}

// minAnswer is the smallest answer, in tokens, that is worth a request.
const minAnswer = 2048

// bytesPerToken is low for prose and right for code: an estimate that holds a
// budget should not be too low.
const bytesPerToken = 3

// before lets a request through, lowers its limit, or refuses it.
func (l *ledger) before(ctx context.Context, r *proxy.Request) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return &proxy.Refusal{Message: "the turn is over"}
	}
	line := l.limits.ContextLine
	if r.Agent == "" && line > 0 && l.context >= line {
		l.mu.Unlock()
		return l.refuse(harness.ContextFull, fmt.Sprintf("%d tokens of context, and the line is at %d", l.context, line))
	}
	l.mu.Unlock()
	if l.limits.USD <= 0 {
		return nil
	}
	p := l.price(r.Model)
	if p == nil {
		return l.refuse(harness.Budget, fmt.Sprintf("the price of model %s is not known, so the budget cannot be held", r.Model))
	}
	return l.reserve(ctx, r, p)
}

// reserve sets aside what a request can cost; what others under way hold back is
// waited for.
func (l *ledger) reserve(ctx context.Context, r *proxy.Request, p *model.Price) error {
	input := float64(r.Bytes) / bytesPerToken * max(p.Input, p.CacheWrite) / 1e6
	each := p.Output / 1e6
	least := min(r.MaxTokens, minAnswer)
	for {
		l.mu.Lock()
		left := l.limits.USD - l.limits.SpentUSD - l.spent
		free := left - l.reserved
		if free >= input+float64(least)*each {
			if each > 0 {
				r.MaxTokens = min(r.MaxTokens, int((free-input)/each))
			}
			r.Thinking = min(r.Thinking, r.MaxTokens-minAnswer/2)
			held := input + float64(r.MaxTokens)*each
			l.reserved += held
			r.Held = held
			l.mu.Unlock()
			return nil
		}
		wait, others := l.settled, l.reserved > 0
		l.mu.Unlock()
		if !others || left < input+float64(least)*each {
			return l.refuse(harness.Budget, fmt.Sprintf("$%.4f of $%.2f are left, and the next request may cost $%.4f", max(left, 0), l.limits.USD, input+float64(least)*each))
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refuse notes why the turn ends and answers the request with it.
func (l *ledger) refuse(stop harness.Stop, detail string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == "" {
		l.stop, l.detail = stop, detail
	}
	return &proxy.Refusal{Message: detail}
}

// close refuses every further request.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// refused is why a request was refused here, if one was.
func (l *ledger) refused() (harness.Stop, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop, l.detail
}

// done books an exchange.
func (l *ledger) done(x proxy.Exchange) {
	u := model.Usage{Input: x.Usage.Input, Output: x.Usage.Output, CacheRead: x.Usage.CacheRead,
		CacheWrite: x.Usage.CacheWrite, CacheWrite1h: x.Usage.CacheWrite1h}
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := x.Held.(float64); ok {
		l.reserved = max(0, l.reserved-held)
	}
	if p := l.price(x.Model); p != nil {
		l.spent += p.Cost(u)
	} else if u != (model.Usage{}) {
		l.unpriced = true
	}
	side := &l.tokens.Main
	if x.Agent != "" {
		side = &l.tokens.Sub
	}
	side.Tokens = side.Tokens.Add(u)
	// Requests on the side, for a title or the gist of a page, offer no tools.
	if x.Agent == "" && u.Context() > 0 && (x.Tools > 0 || l.toolless) {
		l.context = u.Context()
	}
	switch {
	case x.Status >= 400 || x.ErrorType != "":
		l.failed = &model.Error{Status: x.Status, Type: x.ErrorType, Message: x.Message, Retry: x.RetryAfter}
	case x.Err != nil && !errors.Is(x.Err, context.Canceled):
		l.broken = x.Err
	case x.Complete:
		l.failed, l.broken = nil, nil
	}
	close(l.settled)
	l.settled = make(chan struct{})
}

// failure is the provider's last word on why there is no answer; nil when it said
// nothing.
func (l *ledger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	return l.broken
}

// totals are the accounts so far; cost is nil when a price was missing.
func (l *ledger) totals() (u harness.Usage, cost *float64, context int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.unpriced {
		spent := l.spent
		cost = &spent
	}
	return l.tokens, cost, l.context
}

// patience is how long the transcript may still be written when the work has been
// stopped from outside.
const patience = 5 * time.Second

// patient is ctx with a little more time: what has been done is written down also
// when the work is told to stop.
func patient(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(3*patience, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() {
		stop()
		cancel()
	}
}
