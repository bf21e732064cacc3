package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// link carries requests in both directions over the program's pipes. Every
// request of the program is answered, in a goroutine of its own; one that it
// cancels is not.
type link struct {
	send  func(line []byte) bool
	serve func(ctx context.Context, q request) (any, error)
	ctx   context.Context // of everything that serves
	stop  context.CancelFunc
	wait  sync.WaitGroup

	mu      sync.Mutex
	asked   int
	pending map[string]chan response
	serving map[string]context.CancelFunc
	broken  error // set: no answer comes any more
}

// errClosed: the program will not answer any more.
var errClosed = errors.New("claude code answers no more requests")

func newLink(ctx context.Context, send func([]byte) bool, serve func(context.Context, request) (any, error)) *link {
	l := &link{send: send, serve: serve, pending: map[string]chan response{}, serving: map[string]context.CancelFunc{}}
	l.ctx, l.stop = context.WithCancel(ctx)
	return l
}

// close stops what is being served and waits for it.
func (l *link) close() {
	l.stop()
	l.fail(errClosed)
	l.wait.Wait()
}

// fail ends the wait for answers, now and later.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = err
	}
	for id, answer := range l.pending {
		close(answer)
		delete(l.pending, id)
	}
}

// ask sends a request and returns where its answer will come. A closed channel
// means that none comes.
func (l *link) ask(body any) <-chan response {
	answer := make(chan response, 1)
	l.mu.Lock()
	if l.broken != nil {
		l.mu.Unlock()
		close(answer)
		return answer
	}
	l.asked++
	id := fmt.Sprintf("flower_%d", l.asked)
	l.pending[id] = answer
	l.mu.Unlock()
	if !l.write(map[string]any{"type": "control_request", "request_id": id, "request": body}) {
		l.fail(errClosed)
	}
	return answer
}

// take handles a control frame and reports whether it was one.
func (l *link) take(f frame) bool {
	switch f.Type {
	case "control_request":
		l.begin(f.RequestID, f.Request)
	case "control_response":
		l.mu.Lock()
		if answer := l.pending[f.Response.RequestID]; answer != nil {
			answer <- f.Response
			delete(l.pending, f.Response.RequestID)
		}
		l.mu.Unlock()
	case "control_cancel_request":
		l.mu.Lock()
		if cancel := l.serving[f.RequestID]; cancel != nil {
			cancel()
			delete(l.serving, f.RequestID)
		}
		l.mu.Unlock()
	default:
		return false
	}
	return true
}

// begin serves a request of the program's.
func (l *link) begin(id string, q request) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	l.serving[id] = cancel
	l.mu.Unlock()
	l.wait.Go(func() {
		defer cancel()
		answer, err := l.serve(ctx, q)
		l.mu.Lock()
		_, wanted := l.serving[id]
		delete(l.serving, id)
		l.mu.Unlock()
		switch {
		case !wanted:
		case err != nil:
			l.write(controlAnswer(map[string]any{"subtype": "error", "request_id": id, "error": err.Error()}))
		default:
			l.write(controlAnswer(map[string]any{"subtype": "success", "request_id": id, "response": answer}))
		}
	})
}

func controlAnswer(body map[string]any) map[string]any {
	return map[string]any{"type": "control_response", "response": body}
}

// write sends a value as one line.
func (l *link) write(v any) bool {
	line, err := json.Marshal(v)
	return err == nil && l.send(append(line, '\n'))
}
