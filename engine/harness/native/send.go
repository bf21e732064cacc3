package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/trace"
)

// answer is what a request brought.
type answer struct {
	reply model.Reply
	cut   bool // the stream broke after complete tool calls
	short bool // the budget allowed a shorter answer than usual
}

// ask sends the thread's next request and returns the answer, mending what the
// provider will not take and sending again what brought nothing.
func (t *thread) ask(ctx context.Context) (answer, error) {
	var mended remedies
	for try := 0; ; try++ {
		a, err := t.once(ctx)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		if cure, ok := t.remedy(err, &mended); ok {
			if err := cure(); err != nil {
				return answer{}, err
			}
			try = -1
			continue
		}
		delay, again := t.again(err, try)
		if !again {
			return answer{}, err
		}
		t.say(event.Event{Kind: event.System, Text: fmt.Sprintf("a request failed and is sent again in %s: %v", delay.Round(time.Millisecond), err),
			Payload: map[string]any{"retry": try + 1, "delay_s": delay.Seconds()}})
		if !t.run.h.config.Sleep(ctx, delay) {
			return answer{}, context.Cause(ctx)
		}
	}
}

// longestDelay is the longest wait between two sendings of one request; a server
// that asks for more is left to whoever runs the turn.
const longestDelay = 30 * time.Second

// again reports whether a request that failed is sent again, and after how long.
func (t *thread) again(err error, try int) (time.Duration, bool) {
	c := t.run.h.config
	most := max(c.Retries, 0)
	if t.sub() && most > 0 {
		most = 2*most + 1
	}
	if try >= most || failure.Classify(err) != failure.Transient {
		return 0, false
	}
	delay := time.Duration(float64(c.RetryDelay) * math.Pow(2, float64(try)))
	delay = max(min(delay, longestDelay), failure.RetryAfter(err))
	return delay, delay <= longestDelay
}

// once sends the request one time. What it cost is booked also when it failed.
func (t *thread) once(ctx context.Context) (answer, error) {
	req, err := t.fit()
	if err != nil {
		return answer{}, err
	}
	if err := t.run.h.faults.check(t.journal.key.String(), req); err != nil {
		return answer{}, err
	}
	tokens, held, err := t.run.ledger.reserve(ctx, t.inputCost(), t.info.Price, t.maxTokens, t.thinking+1024)
	if err != nil {
		return answer{}, err
	}
	req.MaxTokens = tokens
	now := t.run.h.config.Now()
	t.idle, t.asked, t.estimated = now.Sub(t.asked), now, t.estimate()
	reply, err := receive(ctx, t.run.h.config.Model, req)
	a := answer{reply: reply, short: tokens < t.maxTokens}
	if p := (*modelPanic)(nil); errors.As(err, &p) {
		t.sayPanic(p)
	}
	if err != nil && ctx.Err() == nil && keepable(&a.reply) {
		a.cut, err = true, nil
	}
	t.spend(held, reply.Usage, err == nil)
	if err != nil {
		t.run.h.faults.note(t.journal.key.String(), req, err)
		return a, err
	}
	return a, nil
}

// spend books what a request used, turn or not.
func (t *thread) spend(held float64, u model.Usage, turn bool) {
	t.run.ledger.settle(held, u, t.info.Price, t.sub(), turn)
	t.usedLock.Lock()
	defer t.usedLock.Unlock()
	t.used.Tokens = t.used.Tokens.Add(u)
	if turn {
		t.used.Turns++
	}
	if t.info.Price != nil {
		t.cost += t.info.Price.Cost(u)
	}
}

// receive reads one reply to its end.
func receive(ctx context.Context, m model.Model, req model.Request) (reply model.Reply, err error) {
	ctx, end := trace.Request(ctx, req.Model, req.Meta.Session)
	defer func() { end(reply, err) }()
	stream, err := openStream(ctx, m, req)
	if err != nil {
		return model.Reply{}, err
	}
	defer closeStream(stream)
	for {
		err := nextOf(stream)
		if err == nil {
			continue
		}
		reply, fault := replyOf(stream)
		switch {
		case fault != nil:
			return model.Reply{}, fault
		case !errors.Is(err, io.EOF):
			return reply, err
		case !reply.Complete || reply.StopReason == "":
			return reply, model.ErrCut
		}
		return reply, nil
	}
}

// keepable reports whether a broken reply has complete tool calls, and cuts off
// what comes behind the last one: what follows a call has to be complete.
func keepable(r *model.Reply) bool {
	for i := len(r.Content) - 1; i >= 0; i-- {
		if text(member(r.Content[i], "type")) == "tool_use" {
			r.Content = withoutOpenSearches(r.Content[:i+1])
			return true
		}
	}
	return false
}

// withoutOpenSearches drops calls of the provider's own tools that have no result
// in the same reply.
func withoutOpenSearches(content []json.RawMessage) []json.RawMessage {
	closed := map[string]bool{}
	for _, raw := range content {
		closed[text(member(raw, "tool_use_id"))] = true
	}
	return slices.DeleteFunc(slices.Clone(content), func(raw json.RawMessage) bool {
		return text(member(raw, "type")) == "server_tool_use" && !closed[text(member(raw, "id"))]
	})
}

// sleep waits for d; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
