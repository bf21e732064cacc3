package failure

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// withDefaults fills what was left zero.
func (p Policy) withDefaults() Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 6
	}
	setDefault(&p.BaseDelay, 4*time.Second)
	setDefault(&p.MaxDelay, 120*time.Second)
	setDefault(&p.ProbeTimeout, 5*time.Second)
	setDefault(&p.ProbeInterval, 15*time.Second)
	setDefault(&p.MaxOfflineWait, time.Hour)
	return p
}

func setDefault(field *time.Duration, value time.Duration) {
	if *field == 0 {
		*field = value
	}
}

func (p Policy) check() error {
	if p.MaxAttempts < 0 {
		return fmt.Errorf("max attempts is %d: give a positive number, or 0 for the default", p.MaxAttempts)
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"base delay", p.BaseDelay},
		{"max delay", p.MaxDelay},
		{"probe timeout", p.ProbeTimeout},
		{"probe interval", p.ProbeInterval},
		{"max offline wait", p.MaxOfflineWait},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is %v: give a positive duration, or 0 for the default", field.name, field.value)
		}
	}
	return nil
}

func (p Policy) delay(n int, random func() float64, retryAfter time.Duration) time.Duration {
	p = p.withDefaults()
	if random == nil {
		random = rand.Float64
	}
	delay := min(p.BaseDelay, p.MaxDelay)
	// Comparing with the half keeps the doubling from running over.
	for i := 1; i < n && delay < p.MaxDelay; i++ {
		if delay > p.MaxDelay/2 {
			delay = p.MaxDelay
			break
		}
		delay *= 2
	}
	jittered := time.Duration(float64(delay) * (0.75 + random()/2))
	return max(jittered, retryAfter)
}
