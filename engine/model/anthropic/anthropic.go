// Package anthropic answers model requests by Anthropic's Messages API.
//
// A Client is a model.Model:
//
//	client := anthropic.New(&anthropic.Options{Key: key})
//	stream, err := client.Stream(ctx, model.Request{
//		Model:     anthropic.DefaultModel,
//		MaxTokens: 1024,
//		Messages:  []model.Message{{Role: "user", Content: []json.RawMessage{prompt}}},
//	})
//
// The official SDK carries the bytes; what is in them is ours: the request is
// sent byte for byte as model.Request.Body renders it, and of the reply every
// string stays as it came, because thinking and its signature are refused
// otherwise. A reply counts as complete when the API has said so and why, never
// because the bytes ended. Nothing is sent twice here: retrying is the caller's.
//
// Nothing is read from the environment, save the proxies that Go's default
// transport looks up there when Options.Client is nil. The key never appears in
// an error, and never goes to another host: redirects are not followed.
package anthropic

import (
	"errors"
	"net/http"
	"time"

	"github.com/flowerlua/flower/engine/model"
)

const (
	// DefaultModel is the model to use when nobody chose one.
	DefaultModel = "claude-sonnet-5-5"
	// DefaultVersion is the version of the API that is asked for.
	DefaultVersion = "2026-10-21"
	// DefaultBaseURL is where the API is.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultIdle is how long a reply may send nothing.
	DefaultIdle = 90 * time.Second
	// DefaultWait is how long a reply may take to begin.
	DefaultWait = 10 * time.Minute
)

// WrongAddress is the type of an error that says that what answers is not the
// Messages API: a page of HTML, a redirect, nothing at all. Asking again does not
// help, unless the API has answered the Client before: then the error has no type.
const WrongAddress = "wrong_address"

// ErrNoCredentials is returned when Options has neither Key nor Token.
var ErrNoCredentials = errors.New("no API key and no token is set for the Messages API")

// Options configure a Client.
type Options struct {
	// Key is sent as x-api-key.
	Key string
	// Token is sent as a bearer token where Key is empty.
	Token string
	// BaseURL is where the API is, without /v1; empty = DefaultBaseURL.
	BaseURL string
	// Version is sent as anthropic-version; empty = DefaultVersion. A gateway may
	// know only an older one.
	Version string
	// Header is sent with every request, after all other headers: anthropic-beta,
	// what a gateway wants.
	Header http.Header
	// Client carries the requests; nil = one with Go's default transport. It is
	// copied: redirects are not followed whatever it says. A Timeout of its own
	// ends long replies.
	Client *http.Client
	// Idle is how long the body of a reply may send nothing before the reply
	// counts as stalled; 0 = DefaultIdle, negative = for ever. The API sends
	// pings while the model thinks.
	Idle time.Duration
	// Wait is how long the API may take to begin its answer; 0 = DefaultWait,
	// negative = for ever.
	Wait time.Duration
	// Prices go before those of the built-in table, by the name of the model.
	Prices map[string]model.Price
}

var _ model.Model = (*Client)(nil)
