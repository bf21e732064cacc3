package messagesapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	opts     Options
	listener net.Listener
	http     *http.Server
	done     chan struct{}  // closed by Close: delays and stalls end
	handlers sync.WaitGroup // requests in progress, and the accept loop
	closing  sync.Once

	mu       sync.Mutex
	closed   bool
	queue    []Turn
	numbers  int // requests to /v1/messages so far
	ids      int // ids made so far
	log      journal
	cache    cache
	thoughts memory[string]      // by tool_use id: digests of the thinking it was sent with
	paused   memory[struct{}]    // by digest: contents sent with pause_turn
	prompts  memory[fingerprint] // by message id, for diagnostics
}

// Start starts a server. The caller must Close it. nil means the zero Options.
func Start(o *Options) (*Server, error) {
	s := &Server{done: make(chan struct{})}
	if o != nil {
		s.opts = *o
	}
	if err := s.opts.fill(); err != nil {
		return nil, err
	}
	s.log.limitEntries, s.log.limitBytes = s.opts.LogEntries, s.opts.LogBytes
	listener, err := net.Listen("tcp", s.opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("messagesapi: %w", err)
	}
	s.listener = listener
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
	s.handlers.Go(func() { _ = s.http.Serve(listener) }) // ends with ErrServerClosed
	return s, nil
}

// fill puts the defaults in.
func (o *Options) fill() error {
	defaults := []struct {
		field *int
		value int
	}{
		{&o.Window, 200_000}, {&o.MaxOutput, 128_000}, {&o.MinCache, 1024},
		{&o.LogEntries, 1024}, {&o.LogBytes, 64 << 20},
	}
	for _, d := range defaults {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IDs == "" {
		word := make([]byte, 6)
		if _, err := rand.Read(word); err != nil {
			return fmt.Errorf("messagesapi: no random ids: %w", err)
		}
		o.IDs = hex.EncodeToString(word)
	}
	return nil
}

// URL is the base URL, without /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Enqueue appends turns to the queue; each answers one request.
func (s *Server) Enqueue(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, turns...)
}

// Queued is the number of turns not yet taken.
func (s *Server) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Log returns the exchanges so far, oldest first. An exchange appears when it
// has ended.
func (s *Server) Log() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.list()
}

// Close stops the server, cuts the connections, and returns when no request is
// in progress. It may be called twice.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.done)
		if e := s.http.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = fmt.Errorf("messagesapi: %w", e)
		}
	})
	s.handlers.Wait()
	return err
}

// enter counts a request in, unless the server is closed; a request that was
// read just before must not run after Close has returned.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// wait returns false when the client left or the server closes before d is over.
// A d of 0 never is over.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
	case <-s.done:
	}
	return false
}

// id makes an id such as msg_….
func (s *Server) id(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_01%s%06d", kind, s.opts.IDs, s.ids)
}

// next takes the turn for a request.
func (s *Server) next(r Request) Turn {
	s.mu.Lock()
	if len(s.queue) > 0 {
		turn := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return turn
	}
	s.mu.Unlock()
	if s.opts.Script == nil {
		return Turn{Error: &Error{Status: 400, Message: "messagesapi: no turn is scripted for this request"}}
	}
	return s.opts.Script(r)
}

// model finds a model by its id.
func (s *Server) model(id string) (Model, bool) {
	m := Model{ID: id}
	found := len(s.opts.Models) == 0 && id != ""
	for _, known := range s.opts.Models {
		if known.ID == id {
			m, found = known, true
		}
	}
	if m.Window == 0 {
		m.Window = s.opts.Window
	}
	if m.MaxOutput == 0 {
		m.MaxOutput = s.opts.MaxOutput
	}
	if m.DisplayName == "" {
		m.DisplayName = m.ID
	}
	return m, found
}
