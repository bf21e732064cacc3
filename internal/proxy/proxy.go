// Package proxy stands on loopback between a program that speaks the Messages
// API and its provider. The program is given the proxy's URL and a token that is
// good for nothing else; the real key stays with the proxy, so neither the program
// nor what it starts ever has it.
//
// A Server serves one run. It passes requests on and answers back as they
// arrive, byte for byte, and reads along: every exchange that ends is reported
// with its usage. Options.Before sees each request for an answer first and may
// lower its limit of tokens or refuse it, which is how a budget is held.
//
//	s, err := proxy.Start(proxy.Options{Upstream: "https://api.anthropic.com", Key: "test-key"})
//	defer s.Close()
//	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+s.URL(), "ANTHROPIC_API_KEY="+s.Token())
//
// Passed on are HEAD / and what is below /v1/; everything else is answered 404
// here. Redirects are handed back, never followed with the key.
package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// AgentHeader is the header by which the Claude Code CLI says which subagent
// asks.
const AgentHeader = "X-Claude-Code-Agent-Id"

// Options configure a Server. Upstream is required.
type Options struct {
	Upstream string // the provider's base URL, without /v1
	Key      string // sent as x-api-key
	Token    string // sent as a bearer token; used when Key is empty

	// Before sees every request for an answer before it is passed on, on the
	// request's goroutine, so several at a time. A Refusal as error is answered
	// as such, any other error as a 400. nil lets everything through.
	Before func(ctx context.Context, r *Request) error
	// Done is told of every exchange that Before let through, once: as soon as the
	// answer is whole and before its end is passed on, or when it has failed. It is
	// called on the request's goroutine. nil tells nobody.
	Done func(x Exchange)
	// Transport does the requests; nil means one of the server's own, which honours
	// the usual proxy variables of the environment.
	Transport http.RoundTripper
}

// Request is a request for an answer (POST /v1/messages).
type Request struct {
	Agent     string // the subagent that asks; empty on the main thread
	Model     string
	MaxTokens int // may be lowered by Before; what is sent has the new number
	Thinking  int // tokens of MaxTokens set aside for thinking; may be lowered too
	Tools     int // tools offered
	Bytes     int // of the body
	// Held is the caller's own: what Before puts in comes back with the Exchange.
	Held any
}

// Exchange is a request and what came of it.
type Exchange struct {
	Request
	Status     int    // 0: nothing came
	MessageID  string // of an answer
	StopReason string
	Usage      Usage
	Complete   bool   // the answer was whole
	ErrorType  string // of an error answer
	Message    string // its message
	RetryAfter time.Duration
	Err        error // of the connection
}

// Usage counts tokens by kind; the kinds do not overlap.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, CacheWrite1h int64
}

// Refusal is an error by which Before answers a request itself.
type Refusal struct {
	Status  int    // 0 means 400
	Type    string // empty means invalid_request_error
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Server is a running proxy. Its methods are safe for concurrent use.
type Server struct {
	o        Options
	upstream *url.URL
	token    string
	listener net.Listener
	http     *http.Server
	own      *http.Transport // nil when Options bring one
	stop     context.CancelFunc
	ctx      context.Context
	wait     sync.WaitGroup // the accept loop and requests
	mu       sync.Mutex
	closed   bool
}

// Start starts a proxy on a free port of loopback. The caller must Close it.
func Start(o Options) (*Server, error) {
	u, err := url.Parse(strings.TrimSuffix(o.Upstream, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("proxy: the provider's base URL %q is none: it looks like https://host, without /v1", o.Upstream)
	}
	word := make([]byte, 24)
	if _, err := rand.Read(word); err != nil {
		return nil, fmt.Errorf("proxy: no random token: %w", err)
	}
	s := &Server{o: o, upstream: u, token: "run-" + hex.EncodeToString(word)}
	if o.Transport == nil {
		s.own = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 15 * time.Second}
		s.o.Transport = s.own
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("proxy: no port on loopback: %w", err)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	s.wait.Go(func() { _ = s.http.Serve(s.listener) }) // ends with ErrServerClosed
	return s, nil
}

// URL is the base URL for the program.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Token is what the program sends as its key.
func (s *Server) Token() string { return s.token }

// Close cuts what is under way and returns when nothing is served any more. It
// may be called twice.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.http.Close()
	s.wait.Wait()
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("proxy: %w", err)
	}
	return nil
}
