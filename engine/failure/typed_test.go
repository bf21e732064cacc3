package failure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

// apiError is what a model implementation returns.
type apiError struct {
	status int
	kind   string
	text   string
	after  time.Duration
}

func (e *apiError) Error() string             { return e.text }
func (e *apiError) StatusCode() int           { return e.status }
func (e *apiError) ErrorType() string         { return e.kind }
func (e *apiError) RetryAfter() time.Duration { return e.after }

var _ failure.Response = (*apiError)(nil)

func TestClass_prints_as_its_word(t *testing.T) {
	var zero failure.Class
	if got := fmt.Sprint(zero, failure.Transient, failure.Fatal); got != "unknown transient fatal" {
		t.Errorf("got %q", got)
	}
}

func TestClassify_response(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    apiError
		want   failure.Class
		broke  bool
		detail string
	}{
		{name: "overloaded", err: apiError{status: 529, kind: "overloaded_error"}, want: failure.Transient},
		{name: "error event in a stream", err: apiError{status: 200, kind: "overloaded_error"}, want: failure.Transient},
		{name: "the type alone", err: apiError{kind: "authentication_error"}, want: failure.Fatal},
		{name: "the status alone", err: apiError{status: 503, text: "permission denied"}, want: failure.Transient},
		{name: "words do not matter beside a type", err: apiError{status: 500, kind: "api_error", text: "authentication backend: invalid request"}, want: failure.Transient},
		{name: "a type of another vendor", err: apiError{status: 400, kind: "ThrottlingException"}, want: failure.Fatal},
		{name: "fatal status, transient type", err: apiError{status: 403, kind: "rate_limit_error"}, want: failure.Fatal},
		{name: "rate limit", err: apiError{status: 429, kind: "rate_limit_error", text: "exceeds 40,000 input tokens per minute"}, want: failure.Transient},
		{name: "spend limit", err: apiError{status: 429, kind: "rate_limit_error", text: "your workspace has reached its spend limit"}, want: failure.Fatal, broke: true},
		{name: "credit exhausted", err: apiError{status: 429, text: "prepaid credits exhausted"}, want: failure.Fatal, broke: true},
		{name: "quota that refills", err: apiError{status: 429, text: "quota exceeded, retry in 12s"}, want: failure.Transient},
		{name: "billing", err: apiError{status: 400, kind: "billing_error"}, want: failure.Fatal, broke: true},
		{name: "payment required", err: apiError{status: 402}, want: failure.Fatal, broke: true},
		{name: "too large", err: apiError{status: 413, kind: "request_too_large"}, want: failure.Fatal},
		{name: "conflict", err: apiError{status: 409}, want: failure.Transient},
		{name: "nothing known, words decide", err: apiError{status: 200, kind: "strange", text: "connection reset by peer"}, want: failure.Transient},
		{name: "nothing known at all", err: apiError{status: 302}, want: failure.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range []error{&c.err, fmt.Errorf("turn 3: %w", &c.err), errors.Join(errors.New("first"), &c.err)} {
				if got := failure.Classify(err); got != c.want {
					t.Errorf("Classify(%v) = %v, want %v", err, got, c.want)
				}
				if got := failure.OutOfCredit(err); got != c.broke {
					t.Errorf("OutOfCredit(%v) = %t, want %t", err, got, c.broke)
				}
			}
		})
	}
}

func TestClassify_types_decide_before_words(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want failure.Class
	}{
		{"nil", nil, failure.Unknown},
		{"cancelled", fmt.Errorf("request timed out: %w", context.Canceled), failure.Fatal},
		{"deadline", fmt.Errorf("permission to wait: %w", context.DeadlineExceeded), failure.Transient},
		{"cut body", &url.Error{Op: "Post", URL: "https://forbidden.example/v1", Err: io.ErrUnexpectedEOF}, failure.Transient},
		{"refused", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, failure.Transient},
		{"closed", &net.OpError{Op: "read", Err: net.ErrClosed}, failure.Transient},
		{"no such host", &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, failure.Transient},
		{"bad address", &net.AddrError{Err: "missing port in address", Addr: "x"}, failure.Fatal},
		{"bad URL", parseURL(":"), failure.Fatal},
		{"certificate", fmt.Errorf("timeout: %w", x509.UnknownAuthorityError{}), failure.Fatal},
		{"host name", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, failure.Fatal},
		{"disk full", &fs.PathError{Op: "write", Path: "timeout.log", Err: syscall.ENOSPC}, failure.Fatal},
		{"no such file", openMissing(), failure.Fatal},
		{"interrupted call", &fs.PathError{Op: "read", Path: "x", Err: syscall.EINTR}, failure.Transient},
		{"other errno", &fs.PathError{Op: "read", Path: "x", Err: syscall.EDOM}, failure.Unknown},
		{"fatal beside transient", errors.Join(io.EOF, x509.UnknownAuthorityError{}), failure.Fatal},
		{"transient beside unknown", errors.Join(errors.New("odd"), io.EOF), failure.Transient},
		{"no type, words", errors.New("tls: handshake timeout"), failure.Transient},
		{"no type, no words", errors.New("odd"), failure.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failure.Classify(c.err); got != c.want {
				t.Errorf("Classify(%v) = %v, want %v", c.err, got, c.want)
			}
		})
	}
}

func parseURL(s string) error {
	_, err := url.Parse(s)
	return err
}

func openMissing() error {
	_, err := os.Open("does/not/exist")
	return err
}

// quietTLSServer keeps the handshakes that a test lets fail out of its output.
func quietTLSServer(t *testing.T, config *tls.Config) *httptest.Server {
	server := httptest.NewUnstartedServer(nil)
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestClassify_real_network_errors(t *testing.T) {
	hijack := func(w http.ResponseWriter, reply string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, reply)
		conn.Close()
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/close":
			hijack(w, "")
		case "/cut":
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		case "/slow":
			<-r.Context().Done()
		}
	}))
	defer plain.Close()
	secure := quietTLSServer(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	for _, c := range []struct {
		name, url string
		want      failure.Class
	}{
		{"closed before an answer", plain.URL + "/close", failure.Transient},
		{"cut in the body", plain.URL + "/cut", failure.Transient},
		{"no answer in time", plain.URL + "/slow", failure.Transient},
		{"nobody listens", gone.URL, failure.Transient},
		{"unknown authority", secure.URL, failure.Fatal},
		{"plain server asked for TLS", strings.Replace(plain.URL, "http:", "https:", 1), failure.Fatal},
		{"no scheme", "localhost:80", failure.Fatal},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := *client
			if strings.HasSuffix(c.url, "/slow") {
				client.Timeout = 50 * time.Millisecond
			}
			response, err := client.Get(c.url)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if err == nil {
				t.Fatal("no error")
			}
			if got := failure.Classify(err); got != c.want {
				t.Errorf("Classify(%v) = %v, want %v", err, got, c.want)
			}
			// Of most of them the words say the same.
			if got := failure.ClassifyText(err.Error()); got != c.want {
				t.Errorf("ClassifyText(%v) = %v, want %v", err, got, c.want)
			}
		})
	}
}

func TestClassify_client_certificate_refused_by_the_server(t *testing.T) {
	server := quietTLSServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	response, err := server.Client().Get(server.URL)
	if err == nil {
		response.Body.Close()
		t.Fatal("no error")
	}
	if got := failure.Classify(err); got != failure.Fatal {
		t.Errorf("Classify(%v) = %v, want fatal", err, got)
	}
}

func TestClassify_real_programs(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	run := func(script string) error {
		_, err := exec.Command("sh", "-c", script).Output()
		return err
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("not a program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		err  error
		want failure.Class
	}{
		{"not there", exec.Command("flower-no-such-program").Run(), failure.Fatal},
		{"not executable", exec.Command(script).Run(), failure.Fatal},
		{"not there, says the shell", run("flower-no-such-program 2>/dev/null"), failure.Fatal},
		{"plain exit", run("exit 1"), failure.Unknown},
		{"killed", run("kill -9 $$"), failure.Unknown},
		{"transient on standard error", run("echo 'API Error: 529 overloaded' >&2; exit 1"), failure.Transient},
		{"fatal on standard error", run("echo 'Invalid API key' >&2; exit 1"), failure.Fatal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.err == nil {
				t.Fatal("no error")
			}
			if got := failure.Classify(c.err); got != c.want {
				t.Errorf("Classify(%v) = %v, want %v", c.err, got, c.want)
			}
		})
	}
}

func TestOutOfCredit(t *testing.T) {
	for text, want := range map[string]bool{
		"429 spend limit reached":                       true,
		"Your credit balance is too low":                true,
		"You exceeded your current quota":               true,
		"余额不足":                                          true,
		"quota exceeded for requests per minute":        false,
		"You have hit your 5-hour limit":                false,
		"429 rate limit":                                false,
		"connection reset while sending the budget":     false,
		"invalid api key":                               false,
		"":                                              false,
		"each request costs credit; the server is busy": false,
	} {
		if got := failure.OutOfCredit(errors.New(text)); got != want {
			t.Errorf("OutOfCredit(%q) = %t, want %t", text, got, want)
		}
	}
	if failure.OutOfCredit(nil) {
		t.Error("OutOfCredit(nil) = true")
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{nil, 0},
		{&apiError{status: 429, after: 17 * time.Second, text: "retry after 3s"}, 17 * time.Second},
		{fmt.Errorf("x: %w", &apiError{after: time.Minute}), time.Minute},
		{&apiError{after: 1000 * time.Hour}, 24 * time.Hour},
		{&apiError{after: -time.Second, text: "retry-after: 5"}, 5 * time.Second},
		{errors.New("HTTP 429 retry-after: 400"), 400 * time.Second},
		{errors.New(`{"retry_after": 2.5}`), 2500 * time.Millisecond},
		{errors.New("Retry-After-Ms: 1500"), 1500 * time.Millisecond},
		{errors.New("try again in 404 seconds"), 404 * time.Second},
		{errors.New("Please try again in 1m30s. Visit the page"), 90 * time.Second},
		{errors.New("Please retry in 39.8s"), 39800 * time.Millisecond},
		{errors.New("retry in 2 minutes, request 5"), 2 * time.Minute},
		{errors.New(`"retryDelay": "39s"`), 39 * time.Second},
		{errors.New("resets in 2h 5m"), 2*time.Hour + 5*time.Minute},
		{errors.New("please try again in 20 seconds 7 files left"), 20 * time.Second},
		{errors.New("请在30秒后重试"), 30 * time.Second},
		{errors.New("5 分钟之后再试"), 5 * time.Minute},
		{errors.New("retry after 99999999999999999999 s"), 24 * time.Hour},
		{errors.New("retry in 3 parsecs"), 0},
		{errors.New("try again later"), 0},
		{errors.New("read timeout=600"), 0},
	} {
		if got := failure.RetryAfter(c.err); got != c.want {
			t.Errorf("RetryAfter(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}
