package messagesapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxBody is the largest request body the API takes.
const maxBody = 32 << 20

// call is one request on its way through the server.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	id   string
	seen Exchange
	body parsedBody
}

// routes is the server's handler: it counts requests, gives them an id and logs
// them.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	serve := func(pattern string, h func(*call) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.enter() {
				panic(http.ErrAbortHandler)
			}
			defer s.handlers.Done()
			s.serve(&call{w: w, r: r}, h)
		})
	}
	serve("POST /v1/messages", s.messages)
	serve("POST /v1/messages/count_tokens", s.countTokens)
	serve("GET /v1/models", s.listModels)
	serve("GET /v1/models/{id}", s.getModel)
	serve("HEAD /{$}", func(c *call) error { c.answer(http.StatusOK, "text/plain", nil); return nil })
	serve("/", func(*call) error { return &Error{Status: http.StatusNotFound, Message: "Not found"} })
	return mux
}

// errBroken ends a request whose connection is to be broken.
var errBroken = errors.New("connection broken")

// serve runs a handler and answers its error.
func (s *Server) serve(c *call, handler func(*call) error) {
	c.id = s.id("req")
	c.seen.Method, c.seen.Path = c.r.Method, c.r.URL.Path
	c.seen.Request.Header = maskHeader(c.r.Header)
	c.seen.Request.Version = c.r.Header.Get("anthropic-version")
	err := s.authorize(c.r)
	if err == nil {
		err = handler(c)
	}
	var refusal *Error
	if errors.As(err, &refusal) {
		err = c.refuse(refusal)
	}
	c.seen.Whole = err == nil
	s.mu.Lock()
	s.log.add(c.seen)
	s.mu.Unlock()
	if errors.Is(err, errBroken) {
		panic(http.ErrAbortHandler) // how net/http is told to break the connection
	}
}

// answer sends a whole answer at once.
func (c *call) answer(status int, contentType string, body []byte) {
	c.head(status, contentType)
	n, _ := c.w.Write(body) // a client that left is no matter here
	c.seen.Sent += n
}

// head sends the status line and the headers.
func (c *call) head(status int, contentType string) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Request-Id", c.id)
	if strings.HasPrefix(contentType, "text/event-stream") {
		h.Set("Cache-Control", "no-cache")
	}
	c.seen.Status = status
	c.w.WriteHeader(status)
}

// answerJSON sends v.
func (c *call) answerJSON(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return &Error{Status: 500, Message: "messagesapi: " + err.Error()}
	}
	c.answer(http.StatusOK, "application/json", body)
	return nil
}

// refuse answers an error.
func (c *call) refuse(e *Error) error {
	full := e.filled()
	c.seen.Type, c.seen.Message = full.Type, full.Message
	if full.RetryAfter > 0 {
		setRetryAfter(c.w.Header(), full.RetryAfter)
	}
	body, err := json.Marshal(full.wire(c.id))
	if err != nil {
		return err
	}
	c.answer(full.Status, "application/json", body)
	return nil
}

// authorize checks credential and version.
func (s *Server) authorize(r *http.Request) error {
	key, bearer := r.Header.Get("x-api-key"), r.Header.Get("authorization")
	if r.Method == http.MethodHead {
		return nil
	}
	if key == "" {
		scheme, token, _ := strings.Cut(bearer, " ")
		if strings.EqualFold(scheme, "bearer") {
			key = token
		}
	}
	if key == "" {
		return &Error{Status: http.StatusUnauthorized, Message: "x-api-key header is required"}
	}
	known := len(s.opts.Keys) == 0
	for _, k := range s.opts.Keys {
		known = known || k == key
	}
	if !known {
		return &Error{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}
	}
	switch version := r.Header.Get("anthropic-version"); version {
	case Version2023, Version2026:
		return nil
	case "":
		return invalid("anthropic-version: header is required")
	default:
		return invalid("anthropic-version: %q is not a valid version", version)
	}
}

// readBody reads the body into the log entry, checking what does not depend on
// its meaning.
func (c *call) readBody() error {
	kind, _, _ := strings.Cut(c.r.Header.Get("content-type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return invalid("content-type: must be application/json, got %q", kind)
	}
	body, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	if err != nil {
		return errBroken // the client left in the middle of its request
	}
	if len(body) > maxBody {
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: "Request exceeds the maximum size"}
	}
	c.seen.Request.Body = body
	if err := checkJSON(body); err != nil {
		return err
	}
	return c.body.parse(body, &c.seen.Request)
}

// messages answers POST /v1/messages.
func (s *Server) messages(c *call) error {
	s.mu.Lock()
	s.numbers++
	c.seen.Request.Number = s.numbers
	s.mu.Unlock()
	if err := c.readBody(); err != nil {
		return err
	}
	plan, err := s.check(c, true)
	if err != nil {
		return err
	}
	turn := s.next(c.seen.Request)
	if turn.Delay > 0 && !s.wait(c.r.Context(), turn.Delay) {
		return errBroken
	}
	if turn.Error != nil {
		return turn.Error
	}
	for _, f := range turn.Faults {
		if f.Kind == Cut && f.At < 0 {
			return errBroken
		}
	}
	m, err := s.compose(c, turn, plan)
	if err != nil {
		return err
	}
	return s.send(c, turn, m)
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *Server) countTokens(c *call) error {
	if err := c.readBody(); err != nil {
		return err
	}
	if _, err := s.check(c, false); err != nil {
		return err
	}
	return c.answerJSON(map[string]int{"input_tokens": c.seen.Request.Tokens})
}

// listModels answers GET /v1/models, all on one page.
func (s *Server) listModels(c *call) error {
	page := map[string]any{"data": []any{}, "has_more": false, "first_id": nil, "last_id": nil}
	var data []any
	for _, known := range s.opts.Models {
		m, _ := s.model(known.ID)
		data = append(data, m.wire())
	}
	if n := len(data); n > 0 {
		page["data"], page["first_id"], page["last_id"] = data, s.opts.Models[0].ID, s.opts.Models[n-1].ID
	}
	return c.answerJSON(page)
}

// getModel answers GET /v1/models/{id}.
func (s *Server) getModel(c *call) error {
	m, found := s.model(c.r.PathValue("id"))
	if !found {
		return &Error{Status: http.StatusNotFound, Message: "model: " + m.ID}
	}
	return c.answerJSON(m.wire())
}

// wire is the model as the API describes it.
func (m Model) wire() any {
	return map[string]any{
		"type": "model", "id": m.ID, "display_name": m.DisplayName,
		"created_at":       "1970-01-01T00:00:00Z",
		"max_input_tokens": m.Window, "max_tokens": m.MaxOutput,
		"lifecycle": "active", "line": nil, "deprecated_at": nil, "retires_at": nil,
		"capabilities": map[string]any{},
	}
}
