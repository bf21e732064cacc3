package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSetup_tells_apart_what_may_be_wrong(t *testing.T) {
	const page = "<html><body>welcome</body></html>"
	say := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("content-type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	apiError := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	}
	const notTheAPI = "config: % answers, but not as the Messages API does: is the address right"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"401":          {say(401, "application/json", apiError("authentication_error", "invalid x-api-key")), "auth: % refuses the key or token"},
		"403":          {say(403, "application/json", apiError("permission_error", "no")), "auth: % refuses the key or token"},
		"403 page":     {say(403, "text/html", page), "network: something on the way to % refuses the request"},
		"404":          {say(404, "application/json", apiError("not_found_error", "model: m")), "config: % knows no model claude-m: is its name right?"},
		"404 page":     {say(404, "text/html", page), notTheAPI},
		"405":          {say(405, "text/plain", "no"), notTheAPI},
		"page":         {say(200, "text/html", page), notTheAPI},
		"nothing":      {say(200, "", ""), notTheAPI},
		"other":        {say(200, "application/json", `{"ok":true}`), notTheAPI},
		"redirect":     {http.RedirectHandler("https://login.example/", http.StatusFound).ServeHTTP, notTheAPI},
		"400":          {say(400, "application/json", apiError("invalid_request_error", "odd")), "config: % does not take the request"},
		"402":          {say(402, "application/json", apiError("billing_error", "pay")), "account: the key is right"},
		"407":          {say(407, "text/plain", "who are you"), "network: the proxy wants a name and a password"},
		"429":          {say(429, "application/json", apiError("rate_limit_error", "slow")), "network: % cannot answer now"},
		"529":          {say(529, "application/json", apiError("overloaded_error", "busy")), "network: % cannot answer now"},
		"502 page":     {say(502, "text/html", page), "network: % cannot answer now"},
		"cut off":      {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "network: % does not answer as it should"},
		"empty stream": {say(200, "text/event-stream", ""), "network: % does not answer as it should"},
	} {
		server := httptest.NewServer(c.answer)
		err := answers{key: "test-key", baseURL: server.URL, model: "claude-m"}.probe(context.Background())
		if want := strings.ReplaceAll(c.want, "%", server.URL); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", name, err, want)
		}
		server.Close()
	}
}

func TestSetup_tells_apart_what_is_wrong_on_the_way(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct{ address, want string }{
		{secure.URL, "network: the certificate of % is not trusted here"},
		{strings.Replace(plain.URL, "http:", "https:", 1), "config: what answers at % does not speak https"},
		{gone.URL, "network: nothing listens at %"},
	} {
		err := answers{key: "test-key", baseURL: c.address}.probe(context.Background())
		if want := strings.ReplaceAll(c.want, "%", c.address); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "gatway.example", IsNotFound: true}, "network: the name gatway.example cannot be looked up"},
		{context.DeadlineExceeded, "network: https://me:xxxxx@gateway.example does not answer within 30s"},
		{errors.New("odd"), "network: https://me:xxxxx@gateway.example does not answer as it should"},
	} {
		if got := (answers{baseURL: "https://me:hidden@gateway.example"}).explain(c.err); !strings.HasPrefix(got.Error(), c.want) {
			t.Errorf("got %v\nwant %s", got, c.want)
		}
	}
}
