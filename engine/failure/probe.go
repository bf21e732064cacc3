package failure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// errReached ends the opening of a tunnel as soon as the proxy has answered:
// the TLS handshake with the endpoint is not needed to know that it is there.
var errReached = errors.New("reached")

// setupError is a setting that no waiting mends.
type setupError struct{ msg string }

func (e *setupError) Error() string { return e.msg }

func (p Probe) reach(ctx context.Context) error {
	endpoint, err := p.endpoint()
	if err != nil {
		return err
	}
	proxy, err := p.proxy(ctx, endpoint)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil },
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
			// A refusal (403, 407) is an answer too: the next request will
			// show it, and waiting would not change it.
			if r.StatusCode >= 500 {
				return fmt.Errorf("proxy %s cannot reach %s: %s", proxy.Redacted(), endpoint.Host, r.Status)
			}
			return errReached
		},
	}
	// Asked for "http" the transport stops when the connection, or the SOCKS
	// tunnel, stands; only a CONNECT tunnel needs "https".
	scheme := "http"
	if proxy != nil && (proxy.Scheme == "http" || proxy.Scheme == "https") {
		scheme = endpoint.Scheme
	}
	conn, err := transport.NewClientConn(ctx, scheme, address(endpoint))
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, errReached):
		return nil
	default:
		return fmt.Errorf("reach %s: %w", endpoint.Host, err)
	}
}

func (p Probe) endpoint() (*url.URL, error) {
	u, err := url.Parse(p.Endpoint)
	if err != nil {
		// url.Error repeats the whole URL, which may hold a password.
		return nil, &setupError{"the endpoint is not a URL: check the base URL"}
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, &setupError{fmt.Sprintf("the endpoint %q is not an http or https URL: check the base URL", u.Redacted())}
	}
	return u, nil
}

// proxy asks with the endpoint's own URL, so that NO_PROXY with a port works.
func (p Probe) proxy(ctx context.Context, endpoint *url.URL) (*url.URL, error) {
	lookup := p.Proxy
	if lookup == nil {
		lookup = http.ProxyFromEnvironment
	}
	request := &http.Request{Method: http.MethodGet, URL: endpoint, Host: endpoint.Host, Header: http.Header{}}
	proxy, err := lookup(request.WithContext(ctx))
	if err != nil {
		return nil, &setupError{fmt.Sprintf("the proxy setting for %s is unusable: %v", endpoint.Host, err)}
	}
	if proxy == nil {
		return nil, nil
	}
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
		return proxy, nil
	default:
		return nil, &setupError{fmt.Sprintf("the proxy %s is none of http, https, socks5: check the proxy setting", proxy.Redacted())}
	}
}

func address(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
