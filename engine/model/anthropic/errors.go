package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/flowerlua/flower/engine/model"
)

// maxErrorText is how many bytes of an answer that is not the API's own go into
// an error's text.
const maxErrorText = 300

// transportError is an error of the connection, its text without secrets.
type transportError struct {
	text string
	err  error
}

func (e *transportError) Error() string { return e.text }
func (e *transportError) Unwrap() error { return e.err }

// redactor takes the credentials of o and of the base URL out of texts.
func redactor(o *Options, base *url.URL) *strings.Replacer {
	secrets := []string{o.Key, o.Token}
	if base != nil && base.User != nil {
		password, _ := base.User.Password()
		secrets = append(secrets, password, base.User.String())
	}
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 { // less is no secret, and would be found everywhere
			pairs = append(pairs, s, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// text wraps an error of the connection.
func (c *Client) text(err error) error {
	return &transportError{c.secret.Replace("Messages API: " + err.Error()), err}
}

// translate turns an error of the SDK into one of ours. outer is the caller's
// context, inner the one the request ran in.
func (c *Client) translate(outer, inner context.Context, err error) error {
	if outer.Err() != nil {
		return fmt.Errorf("the request was ended: %w", outer.Err())
	}
	if cause := context.Cause(inner); errors.Is(cause, model.ErrStalled) {
		return fmt.Errorf("no answer: %w", cause)
	}
	var answer *sdk.Error
	if errors.As(err, &answer) && answer.Response != nil {
		e := c.readError(answer.StatusCode, []byte(answer.RawJSON()), answer.RequestID)
		e.Retry = retryAfter(answer.Response.Header, time.Now())
		return e
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // u's own text shows the whole URL
	}
	return c.text(err)
}

// readError reads an error answer, which a proxy on the way may have made.
func (c *Client) readError(status int, body []byte, requestID string) *model.Error {
	var w wireError
	e := &model.Error{Status: status, RequestID: requestID}
	if json.Unmarshal(body, &w) == nil && w.Error.Type != "" {
		e.Type, e.Message = w.Error.Type, w.Error.text()
		if e.RequestID == "" {
			e.RequestID = w.RequestID
		}
	} else {
		e.Message = excerpt(string(body))
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	e.Type, e.Message = c.secret.Replace(e.Type), c.secret.Replace(e.Message)
	e.RequestID = c.secret.Replace(e.RequestID)
	return e
}

// wireError is an error as the API sends it, as an answer or within a stream.
type wireError struct {
	Error     errorBody `json:"error"`
	RequestID string    `json:"request_id"`
}

type errorBody struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Details struct {
		Code string `json:"error_code"`
	} `json:"details"`
}

// text is the message with the code that names its cause.
func (b errorBody) text() string {
	if b.Details.Code == "" {
		return b.Message
	}
	return b.Message + " [" + b.Details.Code + "]"
}

// excerpt is the beginning of a text on one line; nothing of a page of HTML.
func excerpt(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if strings.HasPrefix(s, "<") {
		return "a page of HTML, from a proxy or a wrong base URL"
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// retryAfter reads how long the server asks to wait; 0 = it does not ask.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil {
		return whole(ms, time.Millisecond)
	}
	value := h.Get("retry-after")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return whole(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// whole is n units, no less than nothing and no more than a day: what a broken
// server says must not overflow.
func whole(n float64, unit time.Duration) time.Duration {
	if !(n > 0) { // also when it is no number
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(24*time.Hour)))
}
