package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/flowerlua/flower/engine/model"
)

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 1 << 20

// Client speaks to one API with one credential. It is safe for concurrent use.
type Client struct {
	options []option.RequestOption // for the SDK
	// post is that of an SDK client without its services, of which a request needs none.
	// NewClient makes all of them, and whoever refers to it, or keeps a client where an
	// interface may show it, has them in the program: 18 MB more of it, and 5 MB more of
	// memory in use.
	post   func(ctx context.Context, path string, params, res any, opts ...option.RequestOption) error
	broken error // why no request can be sent
	// compares: the API is of a version that tells why the cache was missed.
	compares bool
	idle     time.Duration
	wait     time.Duration
	prices   map[string]model.Price
	secret   *strings.Replacer // takes the credentials out of texts
	spoke    atomic.Bool       // the API has answered, so this is its address

	mu    sync.Mutex
	infos map[string]model.Info // what the API said of models
}

// New makes a Client. Mistakes in the options are returned by the first request.
func New(o *Options) *Client {
	if o == nil {
		o = &Options{}
	}
	c := &Client{
		idle: orDefault(o.Idle, DefaultIdle), wait: orDefault(o.Wait, DefaultWait),
		prices: o.Prices, infos: map[string]model.Info{}, compares: version(o) >= DefaultVersion,
	}
	base := o.BaseURL
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		// Neither the URL nor the parser's error is shown: it may hold a password.
		c.broken = errors.New("the base URL of the Messages API is not valid: give one like " + DefaultBaseURL)
	case o.Key == "" && o.Token == "":
		c.broken = ErrNoCredentials
	}
	c.secret = redactor(o, u)
	c.options = sdkOptions(o, base)
	c.post = (&sdk.Client{Options: c.options}).Post
	return c
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return max(d, 0)
}

// version is the version of the API to ask for, a date.
func version(o *Options) string {
	if o.Version == "" {
		return DefaultVersion
	}
	return o.Version
}

// sdkOptions reduces the SDK to a carrier of bytes.
func sdkOptions(o *Options, base string) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithBaseURL(base),
		option.WithMaxRetries(0),
		option.WithHTTPClient(httpClient(o.Client)),
		option.WithHeader("anthropic-version", version(o)),
		option.WithMiddleware(limitErrors),
	}
	if o.Key != "" {
		// Not WithAPIKey, which sends a bearer token.
		opts = append(opts, option.WithHeader("x-api-key", o.Key))
	} else if o.Token != "" {
		opts = append(opts, option.WithAuthToken(o.Token))
	}
	for name, values := range o.Header {
		opts = append(opts, option.WithHeaderDel(name))
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	return opts
}

// shared is the transport of clients that were given none: one pool of
// connections for all, with room for a run's subagents side by side.
var shared = sync.OnceValue(func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 16
	return t
})

// httpClient copies c so that it follows no redirect: the key is in a header that
// net/http would send along to any host.
func httpClient(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	if own.Transport == nil {
		own.Transport = shared()
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// limitErrors bounds the bodies that the SDK reads whole.
func limitErrors(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err == nil && (res.StatusCode >= 400 || req.Method == http.MethodGet) {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxErrorBody), res.Body}
	}
	return res, err
}

// Stream sends a request. See model.Model.
func (c *Client) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	inner, cancel := context.WithCancelCause(ctx)
	late := watch(c.wait, cancel)
	var res *http.Response
	err := c.post(inner, "v1/messages", nil, &res, option.WithRequestBody("application/json", c.body(req)))
	late.stop()
	if err != nil {
		err = c.translate(ctx, inner, err)
		cancel(nil)
		return nil, err
	}
	s := newStream(c, ctx, inner, cancel, res)
	if err := c.checkAnswer(res, s.front); err != nil {
		_ = s.Close() // nothing was read that could be lost
		return nil, err
	}
	return s, nil
}

// body is what is sent: the request's own bytes, and in front of what the cache is
// keyed by the question why it was missed.
func (c *Client) body(req model.Request) []byte {
	ours := strings.HasPrefix(req.Previous, "msg_") // not of a rehearsal, say
	if c.compares && ours && req.Extra["diagnostics"] == nil {
		id, _ := json.Marshal(req.Previous) // a string always marshals
		extra := map[string]json.RawMessage{"diagnostics": fmt.Appendf(nil, `{"previous_message_id":%s}`, id)}
		maps.Copy(extra, req.Extra)
		req.Extra = extra
	}
	return req.Body(true)
}

// checkAnswer refuses an answer that is not a stream of events.
func (c *Client) checkAnswer(res *http.Response, body *bufio.Reader) error {
	id := c.requestID(res)
	if res.StatusCode != http.StatusOK {
		text := "unexpected status"
		if to, err := res.Location(); err == nil {
			text = "the API redirects to " + to.Host + ", which is not followed: set the base URL to where the API is"
		}
		return &model.Error{Status: res.StatusCode, Type: c.elsewhere(), Message: c.secret.Replace(text), RequestID: id}
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("content-type"))
	if err != nil {
		kind = "of no kind"
	}
	// Some gateways name the stream otherwise.
	if kind == "text/event-stream" || kind != "application/json" && kind != "text/html" && speaksEvents(body) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil {
		return c.text(err)
	}
	e := c.readError(res.StatusCode, text, id)
	switch {
	case e.Type != "":
		return e
	case len(bytes.TrimSpace(text)) == 0:
		e.Message = "the answer is empty: is the base URL right?"
	default:
		e.Message = "the answer is " + kind + " instead of a stream of events: " + e.Message
	}
	e.Type = c.elsewhere()
	return e
}

// elsewhere is the type of an answer that is not the API's.
func (c *Client) elsewhere() string {
	if c.spoke.Load() {
		return "" // something on the way has answered in its place
	}
	return WrongAddress
}

// speaksEvents: the body begins as a stream of events does.
func speaksEvents(body *bufio.Reader) bool {
	const longest = len("event:")
	begin, _ := body.Peek(longest) // what is shorter is judged as it is
	begin = bytes.TrimLeft(begin, "\ufeff\r\n")
	for _, field := range []string{"event", "data", "id:", "retry", ":"} {
		if bytes.HasPrefix(begin, []byte(field)) {
			return true
		}
	}
	return false
}

// requestID is the API's id of a request. A server may put anything there.
func (c *Client) requestID(res *http.Response) string {
	return c.secret.Replace(res.Header.Get("request-id"))
}

// Info tells window, largest output and prices of a model: from the built-in
// table, else from the API, which is asked once a name. See model.Model.
func (c *Client) Info(ctx context.Context, name string) (model.Info, error) {
	if info, ok := lookup(name); ok {
		return c.priced(info, name), nil
	}
	c.mu.Lock()
	info, ok := c.infos[name]
	c.mu.Unlock()
	if ok {
		return info, nil
	}
	if c.broken != nil {
		return model.Info{}, c.broken
	}
	models := sdk.NewModelService(c.options...)
	answer, err := models.Get(ctx, name, sdk.ModelGetParams{}, option.WithRequestTimeout(30*time.Second))
	if err != nil {
		err = c.translate(ctx, ctx, err)
		var refusal *model.Error
		if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
			err = fmt.Errorf("%w %q: %w", model.ErrUnknownModel, name, err)
		}
		return model.Info{}, err
	}
	known, _ := lookup(answer.ID) // name may be an alias of a model in the table
	info = model.Info{Name: name, Window: answer.MaxInputTokens, MaxOutput: int(answer.MaxTokens), Price: known.Price}
	info = c.priced(info, answer.ID, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.infos[name] = info
	return info, nil
}

// priced puts in the price that the options have for one of the names; a later
// name goes before an earlier one.
func (c *Client) priced(info model.Info, names ...string) model.Info {
	for _, name := range names {
		if p, ok := c.prices[name]; ok {
			info.Price = &p
		}
	}
	return info
}
