package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowerlua/flower/internal/socket"
)

const noticeSuffix = ".json"

// maxLine is the longest line that a client takes, in bytes.
const maxLine = 64 << 20

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{in: bufio.NewReader(r), max: max}
}

// Client is connected to a run: see Dial.
type Client struct {
	conn     net.Conn
	hello    Hello
	greeting []byte
	lines    *lineReader

	mu sync.Mutex // of writing
}

// socketKey is what the socket of a run is named after. So a notice cannot name the
// socket of somebody else.
func socketKey(dir, run string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	return filepath.Join(real, run), nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "?"
	}
	return name
}

func list(dir string) ([]Notice, error) {
	entries, err := os.ReadDir(dir) // the ids sort by time
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var live []Notice
	for _, e := range entries {
		run, ok := strings.CutSuffix(e.Name(), noticeSuffix)
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		n, err := readNotice(path, run)
		if err != nil {
			continue // not ours, or gone in this moment
		}
		if n.Elsewhere() || n.alive() {
			live = append(live, n)
			continue
		}
		_ = os.Remove(path) // what cannot be removed is passed over the next time too
		if socket.Check(n.Socket) == nil {
			_ = os.Remove(n.Socket)
		}
	}
	return live, nil
}

// readNotice reads a notice that is what it says.
func readNotice(path, run string) (n Notice, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, err
	}
	key, err := socketKey(filepath.Dir(path), run)
	if err != nil {
		return n, err
	}
	if n.Run != run || filepath.Base(n.Socket) != socket.Name(key) {
		return n, fmt.Errorf("%s is no notice of a run", path)
	}
	return n, nil
}

// alive: somebody listens, or would if the process were not stopped.
func (n Notice) alive() bool {
	if socket.Check(n.Socket) == nil {
		conn, err := net.DialTimeout("unix", n.Socket, Patience)
		if err == nil {
			conn.Close()
			return true
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
	}
	return syscall.Kill(n.PID, 0) == nil // its socket was taken away, perhaps
}

func dial(ctx context.Context, n Notice, patience time.Duration) (*Client, error) {
	if err := socket.Check(n.Socket); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "unix", n.Socket)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, lines: newLineReader(conn, maxLine)}
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	defer unhook()
	if err := c.meet(patience); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return c, nil
}

// meet reads the hello.
func (c *Client) meet(patience time.Duration) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	line, err := c.lines.read()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSilent
	case err != nil:
		return err
	}
	var other Reply
	if err := json.Unmarshal(line, &c.hello); err != nil {
		return fmt.Errorf("it does not say hello: %w", err)
	}
	if c.hello.Kind != KindHello {
		_ = json.Unmarshal(line, &other) // its error is empty then
		return fmt.Errorf("it refuses: %s", other.Error)
	}
	if c.hello.V > Version {
		return ErrVersion
	}
	c.greeting = append([]byte(nil), line...)
	return c.conn.SetReadDeadline(time.Time{})
}

func (c *Client) send(r Request) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	return c.sendRaw(line)
}

func (c *Client) sendRaw(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.conn.Write(line)
	return err
}
