package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
)

// errBudget: the next request could cost more than is left.
var errBudget = errors.New("the budget does not cover another request")

// minAnswer is the smallest answer, in tokens, that is worth a request.
const minAnswer = 2048

// ledger accounts for one turn, the main thread and its subagents, and holds the
// budget: a request is let through only when the most it can cost is covered.
type ledger struct {
	limit float64 // 0: none

	mu       sync.Mutex
	spent    float64 // of this turn
	before   float64 // Limits.SpentUSD
	reserved float64 // by requests under way
	settled  chan struct{}
	unpriced bool
	usage    harness.Usage
}

func newLedger(l harness.Limits) *ledger {
	return &ledger{limit: l.USD, before: l.SpentUSD, settled: make(chan struct{})}
}

// reserve sets aside what a request of input dollars and at most tokens of answer
// can cost, and returns how long the answer may be: less than tokens where the
// budget is short. What other requests under way hold back is waited for.
// errBudget: not even a short answer is covered.
func (l *ledger) reserve(ctx context.Context, input float64, p *model.Price, tokens, least int) (answer int, held float64, err error) {
	if l.limit <= 0 {
		return tokens, 0, nil
	}
	if p == nil {
		return 0, 0, errors.New("the model's price is not known, so the budget cannot be held")
	}
	least = min(tokens, max(least, minAnswer))
	each := p.Output / 1e6
	for {
		l.mu.Lock()
		left := l.limit - l.before - l.spent
		free := left - l.reserved
		if free >= input+float64(least)*each {
			answer = tokens
			if each > 0 {
				answer = min(tokens, int((free-input)/each))
			}
			held = input + float64(answer)*each
			l.reserved += held
			l.mu.Unlock()
			return answer, held, nil
		}
		wait, others := l.settled, l.reserved > 0
		l.mu.Unlock()
		if !others || left < input+float64(least)*each {
			return 0, 0, fmt.Errorf("%w: $%.4f of $%.2f are left, and it may cost $%.4f", errBudget, max(left, 0), l.limit, input+float64(least)*each)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
	}
}

// settle books what a request used in place of what was set aside for it. turn
// is false for requests that are no turn of an agent.
func (l *ledger) settle(held float64, u model.Usage, p *model.Price, sub, turn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved = max(0, l.reserved-held)
	if p != nil {
		l.spent += p.Cost(u)
	} else if u != (model.Usage{}) {
		l.unpriced = true
	}
	a := l.side(sub)
	a.Tokens = a.Tokens.Add(u)
	if turn {
		a.Turns++
	}
	close(l.settled)
	l.settled = make(chan struct{})
}

// count adds tool calls and dispatches.
func (l *ledger) count(sub bool, calls, dispatches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.side(sub)
	a.ToolCalls += calls
	a.Dispatches += dispatches
}

func (l *ledger) side(sub bool) *harness.Account {
	if sub {
		return &l.usage.Sub
	}
	return &l.usage.Main
}

// totals are the accounts so far; cost is nil when a price was missing.
func (l *ledger) totals() (u harness.Usage, cost *float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.unpriced {
		spent := l.spent
		cost = &spent
	}
	return l.usage, cost
}

// cacheLife is how long a provider keeps what the moving breakpoints mark, a
// little shortened.
const cacheLife = 4*time.Minute + 30*time.Second

// estimate is about how many tokens the next request has, by its size alone.
func (t *thread) estimate() int64 {
	n := 0
	for _, list := range [][]json.RawMessage{t.prefix.System, t.prefix.Tools} {
		for _, raw := range list {
			n += len(raw)
		}
	}
	return int64(n/bytesPerToken) + t.history.tokens()
}

// bytesPerToken is low for prose and right for code: an estimate that holds a
// budget should not be too low.
const bytesPerToken = 3

// inputTokens is about how many tokens the next request has: what the last one was
// told to have, and the estimate of what has come since.
func (t *thread) inputTokens() (old, fresh int64) {
	if t.context == 0 || t.estimated == 0 {
		return 0, t.estimate()
	}
	return t.context, max(0, t.estimate()-t.estimated)
}

// inputCost is about what the input of the next request costs in dollars.
func (t *thread) inputCost() float64 {
	p := t.info.Price
	if p == nil {
		return 0
	}
	write := max(p.Input, p.CacheWrite)
	old, fresh := t.inputTokens()
	again := write
	if p.CacheRead > 0 && t.cached && t.run.h.config.Now().Sub(t.asked) < cacheLife {
		again = p.CacheRead
	}
	return (float64(old)*again + float64(fresh)*write) / 1e6
}

// total is all tokens of u.
func total(u model.Usage) int64 { return u.Context() + u.Output }
