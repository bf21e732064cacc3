package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
)

// explain puts what to do before what went wrong. The first word says whose matter it
// is: auth, the key's; account, the money's; config, what was typed; network, the way
// there.
func (s answers) explain(err error) error {
	where := shownAddress(cmp.Or(s.baseURL, anthropic.DefaultBaseURL))
	said := func(kind, format string, args ...any) error {
		return fmt.Errorf("%s: %s (%w)", kind, fmt.Sprintf(format, args...), err)
	}
	var answer *model.Error
	if failure.OutOfCredit(err) {
		return said("account", "the key is right, but there is no money behind it")
	}
	if !errors.As(err, &answer) {
		return s.explainWay(where, err)
	}
	switch known := answer.Type != ""; {
	case answer.Type == anthropic.WrongAddress, answer.Status == http.StatusNotFound && !known, answer.Status == http.StatusMethodNotAllowed && !known:
		return said("config", "%s answers, but not as the Messages API does: is the address right, without /v1 and a page's path?", where)
	case answer.Status == http.StatusNotFound:
		return said("config", "%s knows no model %s: is its name right?", where, s.modelName())
	case answer.Status == http.StatusProxyAuthRequired:
		return said("network", "the proxy wants a name and a password: HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT")
	case answer.Status == http.StatusForbidden && !known:
		return said("network", "something on the way to %s refuses the request: a proxy, or a gateway that wants something else", where)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return said("auth", "%s refuses the key or token", where)
	case answer.Status == http.StatusTooManyRequests || answer.Status >= 500:
		return said("network", "%s cannot answer now; try again later", where)
	}
	return said("config", "%s does not take the request; are the address and the model %s right?", where, s.modelName())
}

func (s answers) modelName() string { return cmp.Or(s.model, anthropic.DefaultModel) }

// shownAddress is an address without the password that may be in it.
func shownAddress(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return text
}

// explainWay tells apart what may be wrong before anything has answered.
func (s answers) explainWay(where string, err error) error {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	text := ""
	switch {
	case errors.As(err, &name):
		text = fmt.Sprintf("network: the name %s cannot be looked up: is it spelt right, and is there a network?", name.Name)
	case errors.As(err, &certificate):
		text = fmt.Sprintf("network: the certificate of %s is not trusted here: is a proxy in between, or is its certificate missing on this machine (SSL_CERT_FILE names more)?", where)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS):
		text = fmt.Sprintf("config: what answers at %s does not speak https: is it an http:// address?", where)
	case errors.Is(err, syscall.ECONNREFUSED):
		text = fmt.Sprintf("network: nothing listens at %s: are host and port right, and does the gateway run?", where)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, model.ErrStalled):
		text = fmt.Sprintf("network: %s does not answer within %v: are the address, the network and the proxy right?", where, probeTime)
	default:
		text = fmt.Sprintf("network: %s does not answer as it should; are the address, the network and the proxy right?", where)
	}
	return fmt.Errorf("%s (%w)", text, err)
}
