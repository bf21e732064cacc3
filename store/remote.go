package store

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/socket"
)

// remote is the backend of a process that does not own the store.
type remote struct {
	w        *wire
	path     string
	patience time.Duration
	wait     sync.WaitGroup
	done     chan struct{} // closed when the connection has ended

	mu    sync.Mutex
	n     uint64
	calls map[uint64]chan *answer
	subs  map[uint64]*subscriber
	heard time.Time // when the owner was last heard, or last asked for something
	ended bool
}

// dial connects to the owner that listens at path. Its errors mean that there is
// none now, except for one that wraps ErrUnavailable.
func dial(ctx context.Context, path string, patience time.Duration) (*remote, error) {
	w, err := connectTo(ctx, path, patience)
	if err != nil {
		return nil, err
	}
	r := &remote{
		w: w, path: path, patience: patience, done: make(chan struct{}),
		calls: map[uint64]chan *answer{}, subs: map[uint64]*subscriber{},
	}
	r.wait.Go(r.read)
	r.wait.Go(r.listen)
	return r, nil
}

func connectTo(ctx context.Context, path string, patience time.Duration) (*wire, error) {
	if err := socket.Check(path); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	w := newWire(conn)
	if _, err := w.greet(hello{protocol, os.Getpid()}, patience); err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

// read takes answers until the connection ends.
func (r *remote) read() {
	defer r.end()
	for {
		var a answer
		if err := r.w.dec.Decode(&a); err != nil {
			return
		}
		a.R.Entries = fromWire(a.Entries)
		r.mu.Lock()
		r.heard = time.Now()
		if c := r.calls[a.N]; c != nil {
			delete(r.calls, a.N)
			c <- &a // has room for one
		} else if sub := r.subs[a.N]; sub != nil {
			for _, ch := range a.R.Changes {
				sub.put(ch.Key, ch.Last)
			}
		}
		r.mu.Unlock()
	}
}

// end wakes all who wait.
func (r *remote) end() {
	r.w.conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	close(r.done)
	for _, sub := range r.subs {
		sub.end()
	}
}

// listen gives up an owner that does not answer, not even a ping: it may be
// stopped, and its lock with it.
func (r *remote) listen() {
	often := max(r.patience/4, time.Millisecond)
	t := time.NewTicker(often)
	defer t.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-t.C:
		}
		r.mu.Lock()
		waiting, silent := len(r.calls) > 0, time.Since(r.heard)
		r.mu.Unlock()
		switch {
		case !waiting || silent < often:
		case silent > r.patience:
			r.w.conn.Close()
		default:
			r.wait.Go(func() { _ = r.w.send(&query{}) })
		}
	}
}

// send registers a query and writes it. The channel gets its one answer.
func (r *remote) send(q *request, sub *subscriber) (n uint64, c chan *answer, err error) {
	c = make(chan *answer, 1)
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return 0, nil, errGone
	}
	r.n++
	n = r.n
	if len(r.calls) == 0 {
		r.heard = time.Now()
	}
	r.calls[n] = c
	if sub != nil {
		r.subs[n] = sub
	}
	r.mu.Unlock()
	m := query{N: n, Q: *q, Entries: toWire(q.Entries)}
	m.Q.Entries = nil
	if err := r.w.send(&m); err != nil {
		return n, nil, errGone
	}
	return n, c, nil
}

func (r *remote) call(ctx context.Context, q *request) (*reply, error) {
	if err := ctx.Err(); err != nil {
		return new(reply), err
	}
	n, c, err := r.send(q, nil)
	if err != nil {
		return new(reply), err
	}
	return r.await(ctx, n, c)
}

func (r *remote) await(ctx context.Context, n uint64, c chan *answer) (*reply, error) {
	select {
	case a := <-c:
		return &a.R, a.error()
	case <-r.done:
		select {
		case a := <-c: // it came just before
			return &a.R, a.error()
		default:
			return new(reply), errGone
		}
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, n)
		return new(reply), ctx.Err()
	}
}

// remoteWatch is a watch at the owner's; what arrives waits in a subscriber here.
type remoteWatch struct {
	*subscriber
	r *remote
	n uint64
}

func (r *remote) watch(ctx context.Context, prefix transcript.Key) (watcher, error) {
	sub := newSubscriber(prefix)
	n, c, err := r.send(&request{Op: opWatch, Key: prefix}, sub)
	if err != nil {
		return nil, err
	}
	w := &remoteWatch{sub, r, n}
	if _, err := r.await(ctx, n, c); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *remoteWatch) next(ctx context.Context) ([]transcript.Change, error) {
	out, err := w.subscriber.next(ctx)
	if err != nil && ctx.Err() == nil {
		err = errGone
	}
	return out, err
}

func (w *remoteWatch) stop() {
	w.r.mu.Lock()
	_, mine := w.r.subs[w.n]
	delete(w.r.subs, w.n)
	ended := w.r.ended
	w.r.mu.Unlock()
	if mine && !ended {
		_ = w.r.w.send(&query{N: w.n, Stop: true})
	}
	w.end()
}

// backup has a connection of its own, so that others need not wait for out.
func (r *remote) backup(ctx context.Context, out io.Writer) error {
	w, err := connectTo(ctx, r.path, r.patience)
	if err != nil {
		return errGone
	}
	defer w.conn.Close()
	defer context.AfterFunc(ctx, func() { w.conn.Close() })()
	if err := w.send(&query{N: 1, Q: request{Op: opBackup}}); err != nil {
		return errGone
	}
	for {
		var a answer
		switch err := w.dec.Decode(&a); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return errGone
		case !a.R.More:
			return a.error()
		}
		if _, err := out.Write(a.R.Value); err != nil {
			return err
		}
	}
}

// close ends the connection and waits for what dial started.
func (r *remote) close() error {
	r.w.conn.Close()
	r.wait.Wait()
	return nil
}
