package messagesapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// usual is what the API says with a status when nothing more is known.
var usual = map[int]struct{ kind, message string }{
	400: {"invalid_request_error", "Invalid request"},
	401: {"authentication_error", "invalid x-api-key"},
	402: {"billing_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
	403: {"permission_error", "Your API key does not have permission to use the specified resource."},
	404: {"not_found_error", "Not found"},
	409: {"conflict_error", "Conflict"},
	413: {"request_too_large", "Request exceeds the maximum size"},
	429: {"rate_limit_error", "This request would exceed your organization's rate limit. Please try again later."},
	500: {"api_error", "Internal server error"},
	503: {"api_error", "Service unavailable"},
	504: {"timeout_error", "The request timed out while processing. Please try again."},
	529: {"overloaded_error", "Overloaded"},
}

// Error tells status, type and message.
func (e *Error) Error() string {
	full := e.filled()
	return fmt.Sprintf("%d %s: %s", full.Status, full.Type, full.Message)
}

// filled returns e with the usual words where it has none.
func (e *Error) filled() Error {
	full := *e
	if full.Status == 0 {
		full.Status = http.StatusInternalServerError
	}
	words, known := usual[full.Status]
	if !known {
		words.kind, words.message = "api_error", http.StatusText(full.Status)
	}
	if full.Type == "" {
		full.Type = words.kind
	}
	if full.Message == "" {
		full.Message = words.message
	}
	return full
}

// wire is the error as the API sends it.
func (e Error) wire(requestID string) any {
	inner := map[string]any{"type": e.Type, "message": e.Message}
	if e.Code != "" {
		inner["details"] = map[string]any{"error_code": e.Code}
	}
	return map[string]any{"type": "error", "error": inner, "request_id": requestID}
}

// invalid is a request that the API refuses.
func invalid(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// setRetryAfter sends whole seconds as the API does; a part of a second, which
// only a test would use, goes in milliseconds.
func setRetryAfter(h http.Header, d time.Duration) {
	if d%time.Second != 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	seconds := (d + time.Second - 1) / time.Second
	h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
}
