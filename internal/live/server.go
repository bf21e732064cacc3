package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/internal/socket"
)

// Server is at a run: see Open.
type Server struct {
	o      Options
	ln     net.Listener
	notice string // its path
	wait   sync.WaitGroup

	// requests is held for reading by each request at work, for writing by Stop.
	requests sync.RWMutex
	stopped  bool

	mu      sync.Mutex
	backlog backlog
	clients map[*client]struct{}
	closed  bool
}

// client is one connection of a Server.
type client struct {
	conn    net.Conn
	first   [][]byte // sent before lines
	lines   chan []byte
	dropped atomic.Uint64
	last    []byte        // written before finish is closed
	finish  chan struct{} // closed: send what waits, and last
	left    chan struct{} // closed when the other side has ended the connection
	gone    chan struct{} // closed when nothing is sent any more
}

var errEnded = errors.New("the run has ended")

func open(o Options) (*Server, error) {
	if _, err := list(o.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	key, err := socketKey(o.Dir, o.Hello.Run)
	if err != nil {
		return nil, err
	}
	ln, err := socket.Listen(key, o.Dir)
	if err != nil {
		return nil, err
	}
	o.Hello.Kind, o.Hello.V, o.Hello.PID = KindHello, Version, os.Getpid()
	s := &Server{o: o, ln: ln, notice: filepath.Join(o.Dir, o.Hello.Run+noticeSuffix), clients: map[*client]struct{}{}}
	raw, err := encode(Notice{V: Version, Run: o.Hello.Run, PID: os.Getpid(), Host: hostname(), Socket: ln.Addr().String(),
		Script: o.Hello.Script, Started: o.Hello.Started})
	if err == nil {
		err = atomicfile.Write(s.notice, raw, 0o600)
	}
	if err != nil {
		ln.Close()
		return nil, err
	}
	s.wait.Go(s.accept)
	return s, nil
}

func (s *Server) accept() {
	for {
		conn, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, perhaps: others may be closed soon
			time.Sleep(50 * time.Millisecond)
			continue
		}
		c, err := s.add(conn)
		if err != nil {
			s.refuse(conn, err)
			continue
		}
		s.wait.Go(func() {
			defer s.drop(c)
			c.write()
		})
		s.wait.Go(func() {
			defer close(c.left)
			s.converse(c)
		})
	}
}

// add makes a client of a connection. What it is told first and what comes then fit
// together without a gap.
func (s *Server) add(conn net.Conn) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errEnded
	case len(s.clients) == MaxClients:
		return nil, fmt.Errorf("%d others are connected; that is the most", MaxClients)
	}
	hello := s.o.Hello
	hello.Seq, hello.CostUSD = s.backlog.seq, s.backlog.cost
	first, err := encode(hello)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, first: append([][]byte{first}, s.backlog.lines()...), lines: make(chan []byte, queued),
		finish: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{})}
	s.clients[c] = struct{}{}
	return c, nil
}

func (s *Server) refuse(conn net.Conn, why error) {
	line, err := encode(Reply{Kind: KindReply, Error: why.Error()})
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(closing)) // without, the write fails
		_, _ = conn.Write(line)                            // it is refused in any case
	}
	conn.Close()
}

func (s *Server) drop(c *client) {
	close(c.gone)
	c.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

func (s *Server) emit(e event.Event) {
	line, err := encode(e)
	if err != nil { // a payload that is no JSON
		e.Payload = map[string]any{"error": err.Error()}
		if line, err = encode(e); err != nil {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog.add(e, line)
	for c := range s.clients {
		select {
		case c.lines <- line:
		default:
			c.dropped.Add(1)
		}
	}
}

func (s *Server) stop() {
	s.requests.Lock()
	defer s.requests.Unlock()
	s.stopped = true
}

func (s *Server) forget() {
	_ = os.Remove(s.notice) // what is left is removed by the next List
	_ = os.Remove(s.ln.Addr().String())
}

func (s *Server) close(last any) {
	s.stop()
	_ = os.Remove(s.notice) // what is left is removed by the next List
	var line []byte
	if last != nil {
		line, _ = encode(last) // the caller's own type; without, the stream ends here
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for c := range s.clients {
		_ = c.conn.SetDeadline(time.Now().Add(closing)) // one that is gone says so in a write
		c.last = line
		close(c.finish)
	}
	s.mu.Unlock()
	s.ln.Close()
	s.wait.Wait()
}

// write sends the client's lines until the end, or until it is gone.
func (c *client) write() {
	for _, line := range c.first {
		if c.send(line) != nil {
			return
		}
	}
	c.first = nil
	for {
		select {
		case line := <-c.lines:
			if c.send(line) != nil {
				return
			}
		case <-c.finish:
			c.sendRest()
			return
		case <-c.left:
			return
		}
	}
}

func (c *client) sendRest() {
	for len(c.lines) > 0 {
		if c.send(<-c.lines) != nil {
			return
		}
	}
	if c.last != nil {
		_ = c.send(c.last) // nothing follows
	}
}

// send writes a line and, before it, how many were lost.
func (c *client) send(line []byte) error {
	if n := c.dropped.Swap(0); n > 0 {
		note, err := encode(Dropped{KindDropped, n})
		if err != nil {
			return err
		}
		if _, err := c.conn.Write(note); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(line)
	return err
}

// tell sends a line to this client; one that reads too slowly loses it.
func (c *client) tell(v any) {
	line, err := encode(v)
	if err != nil {
		return // there is nothing to send
	}
	select {
	case c.lines <- line:
	default:
		c.dropped.Add(1)
	}
}

// say sends a reply, of which none is lost: a client that reads slowly waits for it.
func (c *client) say(r Reply) {
	line, err := encode(r)
	if err != nil {
		return // a Reply can be encoded
	}
	select {
	case c.lines <- line:
	case <-c.gone:
	}
}

// converse answers requests until the client ends the connection.
func (s *Server) converse(c *client) {
	lines := newLineReader(c.conn, MaxRequest)
	for {
		line, err := lines.read()
		switch {
		case errors.Is(err, ErrTooLong):
			c.say(Reply{Kind: KindReply, Error: fmt.Sprintf("a request has at most %d bytes", MaxRequest)})
		case err != nil:
			return
		case len(line) > 0:
			c.say(s.answer(c, line))
		}
	}
}

func (s *Server) answer(c *client, line []byte) (r Reply) {
	var q Request
	r.Kind = KindReply
	if err := json.Unmarshal(line, &q); err != nil {
		r.Error = `that is no request: one is like {"do":"mail","text":"…"} (` + err.Error() + ")"
		return r
	}
	r.Ref = q.Ref
	s.requests.RLock()
	defer s.requests.RUnlock()
	if s.stopped {
		r.Error = errEnded.Error()
		return r
	}
	defer func() {
		if p := recover(); p != nil { // a request must not harm the run
			r.OK, r.Error = false, fmt.Sprintf("the request failed: %v", p)
		}
	}()
	receipt, err := s.o.Handle(q, c.tell)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.OK, r.Receipt = true, receipt
	return r
}

// encode makes a line, with its end.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// lineReader reads lines of at most max bytes.
type lineReader struct {
	in  *bufio.Reader
	max int
	buf []byte
}

// read gives a line; of one that is too long nothing, and the next is read then.
func (l *lineReader) read() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(l.buf)+len(part) > l.max; !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(l.buf) > 0 && !long:
			return l.buf, nil
		case err != nil:
			return nil, err
		case long:
			return nil, ErrTooLong
		default:
			return l.buf[:len(l.buf)-1], nil
		}
	}
}
