package store

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// maxAtWork bounds the requests that one client has at work at once.
const maxAtWork = 64

// server answers other processes for the owner.
type server struct {
	e    *engine
	ln   net.Listener
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// serve answers whoever connects to ln, until shut.
func serve(e *engine, ln net.Listener) *server {
	s := &server{e: e, ln: ln, conns: map[net.Conn]struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wait.Go(s.accept)
	return s
}

func (s *server) accept() {
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			// Too many open files, perhaps: others may be closed soon.
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		if !s.add(conn) {
			conn.Close()
			return
		}
		s.wait.Go(func() {
			defer s.drop(conn)
			s.converse(conn)
		})
	}
}

func (s *server) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *server) drop(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// shut answers what is at work and then closes all connections.
func (s *server) shut() {
	s.mu.Lock()
	s.stop()
	s.ln.Close()
	for conn := range s.conns {
		// Reading ends at once; answers can still be written.
		_ = conn.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// converse serves one client.
func (s *server) converse(conn net.Conn) {
	w := newWire(conn)
	unhook := context.AfterFunc(s.ctx, func() { conn.Close() })
	if _, err := w.greet(hello{protocol, os.Getpid()}, writeLimit); err != nil || !unhook() {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c := &client{server: s, w: w, ctx: ctx, watches: map[uint64]context.CancelFunc{}, slots: make(chan struct{}, maxAtWork)}
	defer c.wait.Wait()
	defer cancel()
	for s.ctx.Err() == nil {
		var q query
		if err := w.dec.Decode(&q); err != nil {
			return
		}
		q.Q.Entries = fromWire(q.Entries)
		c.take(&q)
	}
}

// client is one connection of the server.
type client struct {
	*server
	w     *wire
	ctx   context.Context
	wait  sync.WaitGroup
	slots chan struct{}

	mu      sync.Mutex
	watches map[uint64]context.CancelFunc
}

func (c *client) take(q *query) {
	switch {
	case q.N == 0:
		_ = c.w.send(&answer{})
	case q.Stop:
		c.mu.Lock()
		defer c.mu.Unlock()
		if stop := c.watches[q.N]; stop != nil {
			stop()
		}
	case q.Q.Op == opWatch:
		c.watch(q)
	case q.Q.Op == opBackup:
		c.wait.Go(func() {
			err := c.e.backup(c.ctx, chunkWriter{c.w, q.N})
			c.answer(q.N, new(reply), err)
		})
	default:
		c.slots <- struct{}{}
		c.wait.Go(func() {
			defer func() { <-c.slots }()
			// Not c.ctx: what was begun is finished and answered.
			r, err := c.e.call(context.Background(), &q.Q)
			c.answer(q.N, r, err)
		})
	}
}

func (c *client) answer(n uint64, r *reply, err error) {
	a := &answer{N: n, R: *r, Kind: kindOf(err)}
	a.Entries, a.R.Entries = toWire(r.Entries), nil
	if err != nil {
		a.Text = err.Error()
	}
	_ = c.w.send(a) // whoever reads the connection sees that it ended
}

// chunkWriter sends what is written to it as answers of which there are more.
type chunkWriter struct {
	w *wire
	n uint64
}

func (w chunkWriter) Write(b []byte) (int, error) {
	return len(b), w.w.send(&answer{N: w.n, R: reply{Value: b, More: true}})
}

// watch sends changes until the watch is stopped or the connection ends.
func (c *client) watch(q *query) {
	sub, err := c.e.hub.subscribe(q.Q.Key)
	if err != nil {
		c.answer(q.N, new(reply), err)
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.watches[q.N] = stop
	c.mu.Unlock()
	c.answer(q.N, new(reply), nil) // the watch has begun
	c.wait.Go(func() {
		defer c.forget(q.N)
		defer sub.stop()
		for {
			changes, err := sub.next(ctx)
			if err != nil || c.w.send(&answer{N: q.N, R: reply{Changes: changes}}) != nil {
				return
			}
		}
	})
}

func (c *client) forget(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.watches[n]; stop != nil {
		stop()
		delete(c.watches, n)
	}
}
