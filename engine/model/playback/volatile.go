package playback

// What differs between two runs though nothing has changed: the output of commands
// gets into prompts, and has addresses, times and random names in it.

import (
	"regexp"
	"strings"
	"sync"
)

// volatile are the patterns and what stands for a match. $1 keeps what comes before.
var volatile = sync.OnceValue(func() []struct {
	pattern *regexp.Regexp
	instead string
} {
	return []struct {
		pattern *regexp.Regexp
		instead string
	}{
		{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<id>"},
		{regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{6}\b`), "<run id>"},
		// Dates, times of day, both.
		{regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?`), "<time>"},
		{regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`), "<time>"},
		// Measured times: with a decimal point, or alone in parentheses.
		{regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+\.\d+ ?(?:ns|µs|μs|us|ms|s|sec|secs|seconds)\b`), "<duration>"},
		{regexp.MustCompile(`\(\d+ ?(?:ns|µs|μs|us|ms|s)\)`), "(<duration>)"},
		{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b`), "<address>"},
		{regexp.MustCompile(`\b((?:goroutine|pid|PID|tid)[ =:]+)\d+\b`), "${1}<number>"},
		// Names made at random below the folder for temporary files.
		{regexp.MustCompile(`((?:/tmp|/var/tmp|/var/folders/[^/\s]+/[^/\s]+/T)/)(?:[\w.-]*\d{4,}[\w.-]*|tmp[\w.-]{6,})`), "${1}<name>"},
		// Ports of loopback that the system chose.
		{regexp.MustCompile(`(\b127\.0\.0\.1:|\blocalhost:|\[::1\]:)[3-6]\d{4}\b`), "${1}<port>"},
	}
})

// steady is a text with what is volatile in it replaced by names.
func steady(s string) string {
	if !strings.ContainsAny(s, "0123456789") && !strings.Contains(s, "tmp") {
		return s
	}
	for _, v := range volatile() {
		s = v.pattern.ReplaceAllString(s, v.instead)
	}
	return s
}
