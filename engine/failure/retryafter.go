package failure

import (
	"strconv"
	"time"
)

// maxRetryAfter bounds what is believed.
const maxRetryAfter = 24 * time.Hour

var (
	retryWords = lazily(`(?:retry[-_ ]?after(?:[-_ ]?(ms))?["']?[:= ]*["']?|(?:retry|try|trying|retrying|again|available|reset|resets)(?: your| the| this)?(?: request)?(?: again)? (?:in|after)(?: about| around| approximately)? |retrydelay["']?[:= ]*["']?)` +
		`((?:[0-9]+(?:\.[0-9]+)? ?[a-z]* ?)+)|([0-9]+) ?(毫秒|秒钟?|分钟|小时)(?:之?后)`)
	amount = lazily(`([0-9]+(?:\.[0-9]+)?) ?([a-z]*)`)
)

// retryAfter reads the first wait that the message asks for.
func (m message) retryAfter() time.Duration {
	found := retryWords().FindStringSubmatch(m.flat)
	if found == nil {
		return 0
	}
	if found[3] != "" {
		return wait(found[3], found[4])
	}
	var total time.Duration
	for i, part := range amount().FindAllStringSubmatch(found[2], -1) {
		unit := part[2]
		if unit == "" {
			unit = found[1] // retry-after-ms, else seconds
		}
		d := wait(part[1], unit)
		// What follows the first amount belongs to it only while it has a
		// unit: 1m30s, 1 minute 30 seconds, but not "17, request 5".
		if i > 0 && (part[2] == "" || d == 0) {
			break
		}
		total = min(total+d, maxRetryAfter)
	}
	return total
}

// wait is an amount of a unit, 0 for a unit that is none of time.
func wait(amount, unit string) time.Duration {
	var one time.Duration
	switch unit {
	case "ms", "msec", "msecs", "millis", "millisecond", "milliseconds", "毫秒":
		one = time.Millisecond
	case "", "s", "sec", "secs", "second", "seconds", "秒", "秒钟":
		one = time.Second
	case "m", "min", "mins", "minute", "minutes", "分钟":
		one = time.Minute
	case "h", "hr", "hrs", "hour", "hours", "小时":
		one = time.Hour
	case "d", "day", "days":
		one = 24 * time.Hour
	default:
		return 0
	}
	n, err := strconv.ParseFloat(amount, 64)
	if err != nil || n > float64(maxRetryAfter/one) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(one))
}
