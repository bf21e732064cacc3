package failure

import (
	"net/http"
	"strconv"
	"strings"
)

// statusClass is what an HTTP status says by itself.
func statusClass(code int) Class {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return Transient
	case http.StatusConflict:
		// The APIs answer so when a lock was not had in time.
		return Transient
	case 499, 525:
		// The client went away; the TLS handshake behind a gateway failed:
		// both may pass or not.
		return Unknown
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired, 526:
		// 526: the certificate behind a gateway is bad.
		return Fatal
	}
	switch code / 100 {
	case 4:
		return Fatal
	case 5:
		return Transient
	default:
		return Unknown
	}
}

const (
	// statusContext is how far around a number its meaning is looked for.
	statusContext = 48
	// maxNumbers is how many numbers are looked at: a table of numbers is no
	// error.
	maxNumbers = 100
)

// statuses gives the HTTP statuses that flat names.
func statuses(flat string) []int {
	var found []int
	for i, looked := 0, 0; i+3 <= len(flat) && looked < maxNumbers; i++ {
		if (flat[i] != '4' && flat[i] != '5') || !isDigit(flat[i+1]) || !isDigit(flat[i+2]) {
			continue
		}
		before, after := flat[:i], flat[i+3:]
		if !freeStanding(before, after) {
			continue
		}
		looked++
		code, _ := strconv.Atoi(flat[i : i+3])
		if isStatus(code, before[max(0, i-statusContext):], after[:min(len(after), statusContext)]) {
			found = append(found, code)
		}
	}
	return found
}

// freeStanding reports whether the number between is whole: no part of a
// word, an id, a decimal, an address, a time or a sum of money.
func freeStanding(before, after string) bool {
	if n := len(before); n > 0 {
		c := before[n-1]
		switch {
		case isLetter(c) || isDigit(c) || strings.IndexByte("$#@+%~", c) >= 0:
			// "http500" is the one word that a status is written onto.
			return strings.HasSuffix(before, "http")
		case strings.IndexByte(".,:-/", c) >= 0 && n > 1 && isDigit(before[n-2]):
			return false
		}
	}
	if after == "" {
		return true
	}
	c := after[0]
	if isLetter(c) || isDigit(c) || c == '_' || c == '%' {
		return false
	}
	if len(after) > 1 && strings.IndexByte(".,:-/", c) >= 0 {
		return !isDigit(after[1]) && (c == ',' || c == ':' || c == '-' || !isLetter(after[1]))
	}
	return true
}

var (
	// What is counted is no status: 400 bytes, 500 files, 404 seconds, 500个.
	counted = lazily(`^[ -]?(?:(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|days?|bytes?|[kmgt]i?b|bits?|px|rpm|tpm|usd|dollars?|times|` +
		`tokens?|files|lines|rows|items|entries|records|messages|requests|characters|chars|words|tests|errors|warnings|attempts?|retries|` +
		`pages|users|objects|chunks|events|steps|turns|calls|results|responses|images|bugs|nodes|workers|jobs|tasks|milliseconds?|microseconds?|percent|of [0-9]+)(?:[^a-z]|$)` +
		`|个|字节|毫秒|秒|条|行|次|分钟|小时|天|字|元|份|页|张|件|项|轮|步)`)

	// Words that a status follows.
	namesStatus = lazily(`(?:^[^a-z0-9\p{Han}]*|` +
		`(?:http(?:s|/[0-9](?:\.[0-9])?)?|status|code|error|err|exception|状态码?|错误码?|返回码?|代码|响应码?|报错|错误代码|<title>|<h1>)` +
		`['"\])]*[ :=#("'\[_,/-]*(?:(?:is|of|was|number|no\.|with|为|是) ?)?['"(\[]*)$`)

	// Words that a status may follow: then nothing may come that makes it a
	// number of something.
	maybeStatus = lazily(`(?:returned|returns|return|got|gets|received|replied|answered|answers|responded|responds|response|failed|fails|failure|server|` +
		`upstream|gateway|proxy|backend|origin|api|unexpected|rejected|gave|saw|返回了?|收到|失败)(?: with| by| as)?(?: an?| http)?['" :(=\[,-]*$`)
	standsAlone = lazily(`^['")\]}>]*(?: ?$|[.,;:!)\]}"'|<>(]| ?[-–—·(\[{|:;]| (?:from|for|on|while|when|after|error|errors|status|response|by|at|in|to|and|but|again|because|instead|code|without|during)\b| ?[^\x00-\x7f])`)
)

func isStatus(code int, before, after string) bool {
	if counted().MatchString(after) {
		return false
	}
	if namesStatus().MatchString(before) {
		return true
	}
	if maybeStatus().MatchString(before) && standsAlone().MatchString(after) {
		return true
	}
	return hasReason(code, after)
}

// extraReasons are the phrases beside those of net/http that follow a status.
var extraReasons = map[int][]string{
	400: {"invalid"},
	401: {"invalid", "authentication"},
	403: {"permission", "access denied"},
	404: {"page not found"},
	413: {"payload too large", "content too large", "request too large", "entity too large"},
	422: {"unprocessable content"},
	429: {"rate limit", "ratelimit", "quota", "throttl", "resource"},
	500: {"internal", "server error"},
	502: {"proxy error"},
	503: {"service temporarily unavailable", "backend", "slow down", "overloaded"},
	504: {"gateway time-out"},
	520: {"web server"},
	521: {"web server"},
	522: {"connection"},
	523: {"origin"},
	524: {"a timeout"},
	525: {"ssl"},
	526: {"invalid ssl"},
	529: {"overloaded", "site is overloaded"},
}

// hasReason reports whether code is followed by its own phrase.
func hasReason(code int, after string) bool {
	after = strings.TrimLeft(after, ` '")]:-–—_.`)
	reasons := extraReasons[code]
	if text := http.StatusText(code); text != "" {
		reasons = append([]string{strings.ToLower(text)}, reasons...)
	}
	for _, reason := range reasons {
		if strings.HasPrefix(after, reason) {
			return true
		}
	}
	return false
}
