package native

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// server is one MCP server. It is connected when its tools are asked for, and
// again when a call finds the connection broken.
type server struct {
	name    string
	spec    harness.MCPServer
	dir     string
	version string
	secrets []string      // variables that it must not inherit
	ready   time.Duration // how long it may take to start
	most    time.Duration // how long a call may take
	tell    func(event.Event)

	mu     sync.Mutex // held while it is connected
	live   *connection
	closed bool
	calls  sync.WaitGroup
}

// connection is one life of a server.
type connection struct {
	session *mcp.ClientSession
	process *tool.Process      // nil over HTTP
	cancel  context.CancelFunc // ends what is on its way over HTTP
	broken  chan struct{}
}

// What a server may give.
const (
	maxMessage = 32 << 20 // bytes of one message
	maxRemotes = 1000     // tools
	// goodbye is how long a server over HTTP may take to take its leave.
	goodbye = 2 * time.Second
)

// tools connects the server and lists its tools.
func (s *server) tools(ctx context.Context) ([]remote, error) {
	ctx, cancel := context.WithTimeout(ctx, s.ready)
	defer cancel()
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	var list []remote
	for t, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("%s did not list its tools: %w", s, s.plain(err, c))
		}
		if len(list) == maxRemotes {
			return nil, fmt.Errorf("%s has more than %d tools", s, maxRemotes)
		}
		list = append(list, s.remote(t))
	}
	return list, nil
}

// String names the server and its command or address, without what may be secret.
func (s *server) String() string {
	if s.spec.URL != "" {
		return fmt.Sprintf("the MCP server %s (%s)", s.name, safeURL(s.spec.URL))
	}
	return fmt.Sprintf("the MCP server %s (command %s)", s.name, s.spec.Command)
}

// safeURL is an address without user, password and query.
func safeURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// connected is the live connection, made if there is none.
func (s *server) connected(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s has been ended", s)
	}
	if c := s.live; c != nil {
		select {
		case <-c.broken:
			s.live = nil
			_ = c.end() // nothing of it is left to be told
			s.tell(event.Event{Kind: event.System, Text: s.String() + " is gone and is connected anew"})
		default:
			return c, nil
		}
	}
	c, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s did not start: %w", s, s.plain(err, c))
	}
	s.live = c
	return c, nil
}

// dial starts the server and shakes hands. The connection that comes with an error
// is over; it has the server's last words.
func (s *server) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, s.ready)
	defer cancel()
	c := &connection{broken: make(chan struct{})}
	transport, err := s.transport(c)
	if err != nil {
		return c, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "flower", Version: s.version}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	done := make(chan error, 1)
	go func() {
		var err error
		c.session, err = client.Connect(ctx, transport, nil)
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = errors.Join(c.hangUp(), <-done)
		if err == nil {
			err = context.Cause(ctx)
		}
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it was not ready after %s", s.ready)
	}
	if err != nil {
		return c, errors.Join(err, c.end())
	}
	go func() {
		_ = c.session.Wait() // what matters is that it is over
		close(c.broken)
	}()
	return c, nil
}

// transport starts a command, or prepares requests to an address.
func (s *server) transport(c *connection) (mcp.Transport, error) {
	if s.spec.URL != "" {
		ctx, cancel := context.WithCancel(context.Background())
		c.cancel = cancel
		client := &http.Client{Transport: newCarrier(ctx, s.spec),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		return &mcp.StreamableClientTransport{Endpoint: s.spec.URL, HTTPClient: client, MaxRetries: 2,
			DisableStandaloneSSE: true, MaxEventSize: maxMessage}, nil
	}
	p, err := tool.Program{Command: s.spec.Command, Args: s.spec.Args, Dir: s.dir, Env: s.spec.Env, SecretEnv: s.secrets}.Start()
	if err != nil {
		return nil, err
	}
	c.process = p
	return &mcp.IOTransport{Reader: p.Output, Writer: p.Input, MaxLineLength: maxMessage}, nil
}

// hangUp ends the server's process, or what is on its way over HTTP.
func (c *connection) hangUp() error {
	if c.cancel != nil {
		c.cancel()
	}
	if c.process != nil {
		return c.process.End()
	}
	return nil
}

// end takes leave of the server and ends it.
func (c *connection) end() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if c.session != nil {
			_ = c.session.Close() // it is over either way
		}
	}()
	if c.process == nil {
		waitFor(closed, goodbye)
	}
	err := c.hangUp()
	if !waitFor(closed, goodbye) {
		err = errors.Join(err, errors.New("its connection does not close"))
	}
	return err
}

func waitFor(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// plain is an error without what may be secret, and with what a command said last.
func (s *server) plain(err error, c *connection) error {
	text := err.Error()
	if s.spec.URL != "" {
		text = strings.ReplaceAll(text, s.spec.URL, safeURL(s.spec.URL))
	}
	if c != nil && c.process != nil {
		if last := strings.TrimSpace(c.process.Errors()); last != "" {
			text += "; its last words: " + lastText(last, 1000)
		}
	}
	return &plainError{text, err}
}

// plainError is an error in other words.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }

func (e *plainError) Unwrap() error { return e.err }

// close ends the server; no call is answered by it afterwards.
func (s *server) close() error {
	s.mu.Lock()
	c := s.live
	s.live, s.closed = nil, true
	s.mu.Unlock()
	var err error
	if c != nil {
		err = c.end()
	}
	s.calls.Wait()
	return err
}

// drop ends a connection that is of no use any more.
func (s *server) drop(c *connection) {
	s.mu.Lock()
	if s.live == c {
		s.live = nil
	}
	s.mu.Unlock()
	_ = c.end() // the next connection tells whether there is a server
}

// Why a call has no result.
var (
	errUnreachable = errors.New("unreachable")
	errBroke       = errors.New("broke off")
)

// call calls a tool. A call that certainly did not reach the server is made once
// more over a new connection, no other one is.
func (s *server) call(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.most)
	defer cancel()
	for try := 0; ; try++ {
		c, err := s.connected(ctx)
		if err != nil {
			return nil, errors.Join(errUnreachable, err)
		}
		res, err := s.send(ctx, c, p)
		var refused *jsonrpc.Error
		switch {
		case err == nil, errors.As(err, &refused), ctx.Err() != nil:
			return res, err
		case try == 0 && neverArrived(err):
			s.drop(c)
			continue
		}
		s.drop(c)
		return nil, errors.Join(errBroke, s.plain(err, c))
	}
}

// send makes a call. A server that does not even read must not hold it beyond ctx.
func (s *server) send(ctx context.Context, c *connection, p *mcp.CallToolParams) (res *mcp.CallToolResult, err error) {
	done := make(chan struct{})
	s.calls.Go(func() {
		defer close(done)
		res, err = c.session.CallTool(ctx, p)
	})
	select {
	case <-done:
		return res, err
	case <-ctx.Done():
	}
	if !waitFor(done, time.Second) {
		s.drop(c)
		<-done
	}
	return res, err
}

// neverArrived reports whether a server cannot have seen a request.
func neverArrived(err error) bool {
	var op *net.OpError
	return errors.Is(err, mcp.ErrSessionMissing) || errors.As(err, &op) && op.Op == "dial"
}
