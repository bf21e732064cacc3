// Package failure decides whether an error is worth waiting for.
//
// The nouns:
//
//   - a [Class] says what to do about an error: Transient (the same request
//     may succeed later), Fatal (it will fail again until a person changes
//     something) or Unknown;
//   - an overflow is the one fatal error that a run can mend by itself: the
//     request did not fit the model's window. Ask [Overflow] first;
//   - a [Policy] says how often and how long to try;
//   - a [Probe] looks whether the model's endpoint can be reached, at no
//     cost, and a [Watch] waits until it can.
//
// One attempt after another looks like this:
//
//	policy := failure.Policy{}
//	for n := 1; ; n++ {
//		err := attempt(ctx)
//		if err == nil || failure.Overflow(err.Error()) {
//			return err
//		}
//		if !policy.Again(n, failure.Classify(err)) {
//			return err
//		}
//		if err := watch.WaitOnline(ctx); err != nil {
//			return err
//		}
//		wait(ctx, policy.Delay(n, nil, failure.RetryAfter(err)))
//	}
//
// Usual mistakes: giving [Overflow] the model's own prose instead of the
// attempt's errors; reading a class from a message when the typed error is
// still at hand; telling the model the error's text after a retry.
//
// All functions are safe for concurrent use, never panic and cost time
// proportional to at most 16 KiB of text, whatever the length of the message.
package failure

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Class says what to do about an error. It prints as its word.
type Class int

const (
	// Unknown: nothing recognised. The policy decides whether to try again.
	Unknown Class = iota
	// Transient: the same request may succeed later.
	Transient
	// Fatal: the same request fails again until a person changes something.
	Fatal
)

// String gives "unknown", "transient" or "fatal".
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Fatal:
		return "fatal"
	default:
		return "unknown"
	}
}

// Response is an error that a server answered with. Errors of model
// implementations have these methods; they need not import this package.
type Response interface {
	error
	// StatusCode is the HTTP status, 0 if there was none. An error that
	// arrived inside a stream has the status of the stream.
	StatusCode() int
	// ErrorType is the type in the error's body, such as
	// "overloaded_error"; "" if there was none.
	ErrorType() string
	// RetryAfter is how long the server asked to wait, 0 if it did not.
	RetryAfter() time.Duration
}

// Classify says what to do about err. What has a type decides before words
// do, anywhere in the tree of wrapped errors, and Fatal before Transient:
//
//   - what is [Final] is Fatal;
//   - a [Response] by its error type and status, except that a rate limit
//     whose text says that money ran out is Fatal (see [OutOfCredit]);
//   - name resolution, network, system call, TLS and certificate errors;
//   - a cancelled context is Fatal (somebody wanted it to end), an expired
//     deadline Transient;
//   - a program that is missing, or was started and ended badly: by what it
//     wrote to standard error, if that was kept, and its exit status.
//
// Everything else is left to [ClassifyText] of the message. nil is Unknown.
func Classify(err error) Class {
	if err == nil {
		return Unknown
	}
	if Final(err) {
		return Fatal
	}
	if c := classifyTyped(err); c != Unknown {
		return c
	}
	return ClassifyText(err.Error())
}

// ClassifyText says what to do about an error of which only the message is
// left: a log line, a program's output, an HTML page of a gateway. Where signs
// of both kinds are there ("401 … connection …"), Fatal wins. A number counts
// as an HTTP status only where it stands as one: "retry-after: 400" and
// "read 400 bytes" hold none. English and Chinese are read, in any case, with
// any separators.
func ClassifyText(text string) Class { return read(text).class() }

// Final reports whether an error in err's tree has a method Final() bool that says
// so: nothing mends it, and what its text quotes is no sign of anything. It is
// Fatal; ask Final before [Overflow].
func Final(err error) bool {
	var final interface{ Final() bool }
	return errors.As(err, &final) && final.Final()
}

// Overflow reports whether one of the texts, the errors of one attempt, says
// that the request did not fit: the model's window, its limit of input tokens,
// or the size of a request body. Prose that merely speaks of such things
// ("grep 'context_length_exceeded' src") does not count.
func Overflow(texts ...string) bool {
	for _, text := range texts {
		if read(text).overflow() {
			return true
		}
	}
	return false
}

// OutOfCredit reports whether err says that money is the reason: a spend
// limit, exhausted credit, an unpaid bill. Such an error is Fatal, also where
// the server calls it a rate limit; only a person can mend it. Limits that
// reset by themselves (requests a minute, five hours of use) do not count.
func OutOfCredit(err error) bool {
	if err == nil {
		return false
	}
	var response Response
	if errors.As(err, &response) && (response.StatusCode() == http.StatusPaymentRequired || moneyTypes[strings.ToLower(response.ErrorType())]) {
		return true
	}
	return read(err.Error()).outOfCredit()
}

// RetryAfter is how long the server asked to wait: from a [Response] in err's
// tree, else from the words of the message ("retry-after: 17", "try again in
// 1m30s"). It is 0 when nothing was asked and never more than 24 hours.
func RetryAfter(err error) time.Duration {
	if err == nil {
		return 0
	}
	var response Response
	if errors.As(err, &response) && response.RetryAfter() > 0 {
		return min(response.RetryAfter(), maxRetryAfter)
	}
	return read(err.Error()).retryAfter()
}

// Policy says how often and how long to try. The zero value is the default.
type Policy struct {
	// MaxAttempts is the number of attempts, the first included. 0 means 6.
	MaxAttempts int
	// BaseDelay is the wait after the first failure; it doubles with each
	// further one. 0 means 4 s.
	BaseDelay time.Duration
	// MaxDelay bounds that wait, before jitter. 0 means 120 s.
	MaxDelay time.Duration
	// ProbeTimeout bounds one probe of the endpoint. 0 means 5 s.
	ProbeTimeout time.Duration
	// ProbeInterval is the pause between two probes. 0 means 15 s.
	ProbeInterval time.Duration
	// MaxOfflineWait is how long to wait for the network at most.
	// 0 means 1 h.
	MaxOfflineWait time.Duration
	// RetryUnknown says whether errors of class Unknown are tried again.
	// nil means true.
	RetryUnknown *bool
}

// Check returns an error that names the first field with a negative value.
func (p Policy) Check() error { return p.check() }

// Again reports whether another attempt is due after attempt n (1 is the
// first) failed with an error of class c.
func (p Policy) Again(n int, c Class) bool {
	if n >= p.withDefaults().MaxAttempts {
		return false
	}
	switch c {
	case Transient:
		return true
	case Fatal:
		return false
	default:
		return p.RetryUnknown == nil || *p.RetryUnknown
	}
}

// Delay is the wait after attempt n (1 is the first) failed:
// min(BaseDelay·2^(n-1), MaxDelay) times a factor from 0.75 up to 1.25, or
// retryAfter, what the server asked for, when that is longer. rand gives
// numbers in [0, 1); nil means math/rand/v2.
func (p Policy) Delay(n int, rand func() float64, retryAfter time.Duration) time.Duration {
	return p.delay(n, rand, retryAfter)
}

// Probe looks whether an endpoint can be reached. It resolves the name and
// opens a connection, through the proxy where one is set, and sends no request
// to the endpoint: it costs nothing and needs no key.
type Probe struct {
	// Endpoint is the base URL of the API, http or https. Required.
	Endpoint string
	// Proxy gives the proxy for a request, as [http.Transport.Proxy] does.
	// nil means [http.ProxyFromEnvironment].
	Proxy func(*http.Request) (*url.URL, error)
}

// Reach returns nil when the endpoint can be reached. Through an HTTP proxy an
// https endpoint is reached when the proxy answers CONNECT with anything but a
// server error, an http endpoint when the proxy itself can be reached. An
// unusable Endpoint or proxy setting is an error of class Fatal. ctx bounds
// the whole look.
func (p Probe) Reach(ctx context.Context) error { return p.reach(ctx) }

// Notice tells a person that the network went or came back.
type Notice struct {
	// Online is false when the network went, true when it is back.
	Online bool
	// Err says how the endpoint could not be reached; nil when Online.
	Err error
	// Most is how long it is waited for at most; 0 when Online.
	Most time.Duration
	// Offline is how long the network was seen to be away; 0 unless Online.
	Offline time.Duration
}

// ErrOffline is returned by WaitOnline when the network stayed away for
// MaxOfflineWait. It wraps what the last probe said.
var ErrOffline = errors.New("network is still away")

// Watch waits for the network. Share one among all that use the same
// endpoint: then each outage gives one notice when it begins and one when it
// ends, however many wait. Fields are not changed after the first use.
type Watch struct {
	// Policy gives ProbeTimeout, ProbeInterval and MaxOfflineWait.
	Policy Policy
	// Reach looks once, usually [Probe.Reach]. Its context ends after
	// ProbeTimeout. Required.
	Reach func(ctx context.Context) error
	// Notice is called with each notice, one at a time, in order; it must
	// return soon and not call WaitOnline. nil means no notices.
	Notice func(Notice)
	// Sleep waits between two looks; false means that ctx ended first. nil waits as
	// long as it is asked to.
	Sleep func(ctx context.Context, d time.Duration) bool

	mu       sync.Mutex
	gone     bool
	goneFrom time.Time
}

// WaitOnline returns nil as soon as the endpoint can be reached: at once, in
// one probe and without a notice, when the network is there. Otherwise it
// probes again every ProbeInterval. It returns the cause of ctx when ctx ends,
// an error that is [ErrOffline] after MaxOfflineWait, and at once the error of
// a probe that is Fatal, since waiting would not mend it. It is safe for
// concurrent use and starts no goroutine.
func (w *Watch) WaitOnline(ctx context.Context) error { return w.wait(ctx) }
