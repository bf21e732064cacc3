package proxy

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody is the largest request that is passed on; providers take no larger ones.
const maxBody = 48 << 20

// maxRead is how much of an error answer is read along.
const maxRead = 64 << 10

// hop are the headers that belong to one connection, and those that we set
// ourselves.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "X-Api-Key", "Authorization", "Accept-Encoding", "Content-Length", "Cookie"}

// enter counts a request in unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wait.Add(1)
	}
	return !s.closed
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.wait.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	r = r.WithContext(ctx)
	switch {
	case r.URL.Path == "/" && r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK) // a look whether anybody is there
	case !s.known(r):
		refuse(w, &Refusal{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "this is not the token of this run"})
	case !strings.HasPrefix(r.URL.Path, "/v1/"):
		refuse(w, &Refusal{Status: http.StatusNotFound, Type: "not_found_error", Message: "only /v1/ is passed on"})
	case r.URL.Path == "/v1/messages" && r.Method == http.MethodPost:
		s.answer(w, r)
	default:
		s.pass(w, r, http.MaxBytesReader(w, r.Body, maxBody), new(Exchange), func() {})
	}
}

// known reports whether the request has the token of the run.
func (s *Server) known(r *http.Request) bool {
	given := r.Header.Get("X-Api-Key")
	if given == "" {
		_, given, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// answer passes a request for an answer on.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "request_too_large", Message: "Request exceeds the maximum size"})
		return
	case err != nil:
		panic(http.ErrAbortHandler) // the program left
	}
	x := Exchange{Request: describe(body)}
	x.Agent = r.Header.Get(AgentHeader)
	asked := x.Request
	if s.o.Before != nil {
		if err := s.o.Before(r.Context(), &x.Request); err != nil {
			refuse(w, err)
			return
		}
	}
	if x.MaxTokens < asked.MaxTokens {
		body = with(body, "max_tokens", strconv.Itoa(x.MaxTokens))
	}
	if x.Thinking < asked.Thinking {
		body = with(body, "thinking", fmt.Sprintf(`{"type":"enabled","budget_tokens":%d}`, x.Thinking))
	}
	report := sync.OnceFunc(func() {
		if s.o.Done != nil {
			s.o.Done(x)
		}
	})
	defer report()
	s.pass(w, r, bytes.NewReader(body), &x, report)
}

// pass sends a request to the provider and its answer back. x is filled with what
// the answer tells, and whole called when that is complete.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, body io.Reader, x *Exchange, whole func()) {
	out, err := s.outward(r, body)
	if err != nil {
		x.Err = err
		refuse(w, err)
		return
	}
	answer, err := s.o.Transport.RoundTrip(out)
	if err != nil {
		x.Err = err
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		refuse(w, &Refusal{Status: http.StatusBadGateway, Type: "api_error", Message: "the provider could not be reached: " + err.Error()})
		return
	}
	defer answer.Body.Close()
	x.Status, x.RetryAfter = answer.StatusCode, retryAfter(answer.Header)
	for name, values := range answer.Header {
		if name != "Connection" && name != "Transfer-Encoding" && name != "Keep-Alive" && name != "Set-Cookie" {
			w.Header()[name] = values
		}
	}
	if x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden {
		w.Header().Set("X-Should-Retry", "false") // a wrong key stays wrong
	}
	w.WriteHeader(answer.StatusCode)
	along := newListener(answer)
	x.Err = flow(w, answer.Body, func(p []byte) {
		if along.hear(p); along.seen.Stopped {
			along.end(x)
			whole()
		}
	})
	along.end(x)
	if x.Err != nil {
		panic(http.ErrAbortHandler) // the program sees a broken answer as we do
	}
}

// outward is the request as the provider gets it.
func (s *Server) outward(r *http.Request, body io.Reader) (*http.Request, error) {
	u := *s.upstream
	u.Path += r.URL.Path
	u.RawQuery = r.URL.RawQuery
	out, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		out.Body, out.ContentLength = http.NoBody, 0
	}
	out.Header = r.Header.Clone()
	for _, name := range hop {
		out.Header.Del(name)
	}
	switch {
	case s.o.Key != "":
		out.Header.Set("X-Api-Key", s.o.Key)
	case s.o.Token != "":
		out.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	return out, nil
}

// flow copies the answer piece by piece, each sent on the moment it is there.
func flow(w http.ResponseWriter, from io.Reader, hear func([]byte)) error {
	out := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			hear(buf[:n])
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			_ = out.Flush() // a writer that cannot flush buffers, no more
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// refuse answers with an error of our own.
func refuse(w http.ResponseWriter, err error) {
	answer := Refusal{Message: err.Error()}
	var given *Refusal
	if errors.As(err, &given) {
		answer = *given
	}
	if answer.Status == 0 {
		answer.Status = http.StatusBadRequest
	}
	if answer.Type == "" {
		answer.Type = "invalid_request_error"
	}
	body, _ := json.Marshal(map[string]any{"type": "error",
		"error": map[string]string{"type": answer.Type, "message": answer.Message}}) // strings always marshal
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(answer.Status)
	_, _ = w.Write(body) // a program that left is no matter here
}

// retryAfter is what the provider asks to wait, 0 where it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return 0
}
