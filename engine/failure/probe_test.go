package failure_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func throughProxy(t *testing.T, proxy string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return http.ProxyURL(u)
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// closedPort gives an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestProbe_sends_nothing_to_the_endpoint(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	received := make(chan []byte, 2)
	go func() {
		for range 2 {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(conn)
			conn.Close()
			received <- data
		}
	}()
	for _, scheme := range []string{"http", "https"} {
		// Without Proxy the environment is asked, which never names one for
		// a loopback address.
		probe := failure.Probe{Endpoint: scheme + "://" + listener.Addr().String()}
		if err := probe.Reach(shortly(t)); err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		if data := <-received; len(data) != 0 {
			t.Errorf("%s: the endpoint got %q", scheme, data)
		}
	}
}

func TestProbe_tells_what_is_wrong(t *testing.T) {
	closed := closedPort(t)
	for _, c := range []struct {
		name, endpoint, want string
		class                failure.Class
	}{
		{"nobody listens", "http://" + closed, "connection refused", failure.Transient},
		// No name has a part of 64 characters: no server needs to be asked.
		{"no such name", "https://" + strings.Repeat("a", 64) + ".invalid", "no such host", failure.Transient},
		{"no URL", "://", "check the base URL", failure.Fatal},
		{"empty", "", "check the base URL", failure.Fatal},
		{"other scheme", "ftp://example.org", "not an http or https URL", failure.Fatal},
		{"no host", "https://:443", "not an http or https URL", failure.Fatal},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := failure.Probe{Endpoint: c.endpoint, Proxy: noProxy}.Reach(shortly(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
			if got := failure.Classify(err); got != c.class {
				t.Errorf("class of %v is %v, want %v", err, got, c.class)
			}
		})
	}
}

func TestProbe_keeps_passwords_to_itself(t *testing.T) {
	for _, probe := range []failure.Probe{
		{Endpoint: "ftp://user:test-key@example.org"},
		{Endpoint: "https://user:test-key@[::1"},
		{Endpoint: "https://example.org", Proxy: throughProxy(t, "ftp://user:test-key@127.0.0.1:1")},
		{Endpoint: "https://example.org", Proxy: throughProxy(t, "http://user:test-key@"+closedPort(t))},
	} {
		if err := probe.Reach(shortly(t)); err == nil || strings.Contains(err.Error(), "test-key") {
			t.Errorf("error %v", err)
		}
	}
}

// connectProxy answers CONNECT as reply says and counts what it gets.
func connectProxy(t *testing.T, status int) (address string, asked *atomic.Value) {
	asked = &atomic.Value{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), asked
}

func TestProbe_through_an_HTTP_proxy(t *testing.T) {
	for _, c := range []struct {
		status  int
		reached bool
	}{
		{200, true},
		{403, true}, // the next request shows it; waiting would not change it
		{407, true},
		{502, false},
		{503, false},
	} {
		address, asked := connectProxy(t, c.status)
		probe := failure.Probe{Endpoint: "https://api.example.invalid/base", Proxy: throughProxy(t, "http://me:test-key@"+address)}
		err := probe.Reach(shortly(t))
		if (err == nil) != c.reached {
			t.Errorf("proxy says %d: error %v", c.status, err)
		}
		if err != nil && failure.Classify(err) != failure.Transient {
			t.Errorf("proxy says %d: class %v of %v", c.status, failure.Classify(err), err)
		}
		want := "CONNECT api.example.invalid:443 Basic " + base64.StdEncoding.EncodeToString([]byte("me:test-key"))
		if got := asked.Load(); got != want {
			t.Errorf("proxy was asked %q, want %q", got, want)
		}
	}
}

func TestProbe_http_endpoint_behind_a_proxy_needs_only_the_proxy(t *testing.T) {
	address, asked := connectProxy(t, 403)
	probe := failure.Probe{Endpoint: "http://api.example.invalid", Proxy: throughProxy(t, "http://"+address)}
	if err := probe.Reach(shortly(t)); err != nil {
		t.Error(err)
	}
	if got := asked.Load(); got != nil {
		t.Errorf("proxy was asked %q", got)
	}
	probe.Proxy = throughProxy(t, "http://"+closedPort(t))
	if err := probe.Reach(shortly(t)); failure.Classify(err) != failure.Transient {
		t.Errorf("proxy is down: error %v", err)
	}
}

// socksProxy speaks the part of SOCKS5 that a client without a password needs
// and answers the request to connect with code.
func socksProxy(t *testing.T, code byte) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			greeting := make([]byte, 2)
			_, _ = io.ReadFull(r, greeting)
			_, _ = r.Discard(int(greeting[1]))
			_, _ = conn.Write([]byte{5, 0})
			request := make([]byte, 5)
			_, _ = io.ReadFull(r, request)
			_, _ = r.Discard(int(request[4]) + 2)
			_, _ = conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestProbe_through_a_SOCKS_proxy(t *testing.T) {
	for code, reached := range map[byte]bool{0: true, 3: false, 4: false, 5: false} {
		probe := failure.Probe{Endpoint: "https://api.example.invalid", Proxy: throughProxy(t, "socks5h://"+socksProxy(t, code))}
		err := probe.Reach(shortly(t))
		if (err == nil) != reached {
			t.Errorf("proxy says %d: error %v", code, err)
		}
		if err != nil && failure.Classify(err) != failure.Transient {
			t.Errorf("proxy says %d: class %v of %v", code, failure.Classify(err), err)
		}
	}
}

func TestProbe_asks_for_the_proxy_as_net_http_does(t *testing.T) {
	var asked string
	probe := failure.Probe{Endpoint: "https://api.example.invalid:8443/base", Proxy: func(r *http.Request) (*url.URL, error) {
		asked = r.URL.String()
		return nil, errors.New("HTTPS_PROXY is not a URL")
	}}
	err := probe.Reach(shortly(t))
	if failure.Classify(err) != failure.Fatal || !strings.Contains(err.Error(), "HTTPS_PROXY is not a URL") {
		t.Errorf("error %v", err)
	}
	// With the port, so that an exception for one port holds.
	if want := "https://api.example.invalid:8443/base"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}

func TestProbe_ends_with_its_context(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // takes connections, never answers CONNECT
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	probe := failure.Probe{Endpoint: "https://api.example.invalid", Proxy: throughProxy(t, "http://"+listener.Addr().String())}
	if err := probe.Reach(ctx); failure.Classify(err) != failure.Transient {
		t.Errorf("error %v", err)
	}
}
