package native

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/flowerlua/flower/engine/harness"
)

// carrier carries requests to an MCP server: with the agent's headers, to its own
// host alone, the answers bounded, all ended when the connection is.
type carrier struct {
	life    context.Context
	host    string
	headers map[string]string
	inner   *http.Transport
}

func newCarrier(life context.Context, spec harness.MCPServer) *carrier {
	c := &carrier{life: life, headers: spec.Headers, inner: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		c.inner = t.Clone()
	}
	if u, err := url.Parse(spec.URL); err == nil {
		c.host = u.Host
	}
	context.AfterFunc(life, c.inner.CloseIdleConnections)
	return c
}

// RoundTrip sends one request.
func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != c.host {
		return nil, errors.New("the server points to another host, which is not followed")
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(c.life, cancel)
	req = req.Clone(ctx)
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	res, err := c.inner.RoundTrip(req)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &bounded{body: res.Body, left: maxMessage, done: func() { stop(); cancel() }}
	return res, nil
}

// bounded is a body that fails when it is too long.
type bounded struct {
	body io.ReadCloser
	left int64
	done func()
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the server's answer is too long")
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error {
	defer b.done()
	return b.body.Close()
}
