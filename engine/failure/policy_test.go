package failure_test

import (
	"math"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

// middle is the randomness that changes nothing.
func middle() float64 { return 0.5 }

func TestPolicy_Delay_doubles_up_to_the_maximum(t *testing.T) {
	want := []time.Duration{4, 8, 16, 32, 64, 120, 120, 120}
	for i, seconds := range want {
		if got := (failure.Policy{}).Delay(i+1, middle, 0); got != seconds*time.Second {
			t.Errorf("Delay(%d) = %v, want %vs", i+1, got, int64(seconds))
		}
	}
}

func TestPolicy_Delay_jitter_is_a_quarter_each_way(t *testing.T) {
	policy := failure.Policy{BaseDelay: 100 * time.Second, MaxDelay: 100 * time.Second}
	for random, want := range map[float64]time.Duration{0: 75 * time.Second, 0.5: 100 * time.Second, 0.75: 112500 * time.Millisecond} {
		if got := policy.Delay(3, func() float64 { return random }, 0); got != want {
			t.Errorf("with %v: %v, want %v", random, got, want)
		}
	}
	for range 1000 {
		if got := policy.Delay(1, nil, 0); got < 75*time.Second || got >= 125*time.Second {
			t.Fatalf("delay %v outside 75 s up to 125 s", got)
		}
	}
}

func TestPolicy_Delay_server_wins_when_longer(t *testing.T) {
	policy := failure.Policy{}
	if got := policy.Delay(1, middle, 17*time.Second); got != 17*time.Second {
		t.Errorf("got %v, want 17s", got)
	}
	if got := policy.Delay(1, middle, time.Second); got != 4*time.Second {
		t.Errorf("got %v, want 4s", got)
	}
	if got := policy.Delay(1, middle, 10*time.Minute); got != 10*time.Minute {
		t.Errorf("got %v, want 10m: what the server asks is not cut", got)
	}
}

func TestPolicy_Delay_never_runs_over(t *testing.T) {
	policy := failure.Policy{BaseDelay: time.Second, MaxDelay: math.MaxInt64 / 2}
	for _, n := range []int{-5, 0, 1, 2, 62, 63, 64, 65, 1000, math.MaxInt} {
		if got := policy.Delay(n, middle, 0); got < time.Second {
			t.Errorf("Delay(%d) = %v", n, got)
		}
	}
	if got := (failure.Policy{BaseDelay: time.Hour}).Delay(1, middle, 0); got != 2*time.Minute {
		t.Errorf("a base above the maximum gives %v, want 2m", got)
	}
}

func TestPolicy_Again(t *testing.T) {
	strict := failure.Policy{RetryUnknown: new(false)}
	for _, c := range []struct {
		name   string
		policy failure.Policy
		n      int
		class  failure.Class
		want   bool
	}{
		{"transient, first", failure.Policy{}, 1, failure.Transient, true},
		{"transient, fifth", failure.Policy{}, 5, failure.Transient, true},
		{"transient, sixth is the last", failure.Policy{}, 6, failure.Transient, false},
		{"fatal", failure.Policy{}, 1, failure.Fatal, false},
		{"unknown", failure.Policy{}, 1, failure.Unknown, true},
		{"unknown, not wanted", strict, 1, failure.Unknown, false},
		{"transient, unknown not wanted", strict, 1, failure.Transient, true},
		{"one attempt", failure.Policy{MaxAttempts: 1}, 1, failure.Transient, false},
	} {
		if got := c.policy.Again(c.n, c.class); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestPolicy_Check_names_the_field(t *testing.T) {
	if err := (failure.Policy{}).Check(); err != nil {
		t.Errorf("the zero policy: %v", err)
	}
	for want, policy := range map[string]failure.Policy{
		"max attempts is -1: give a positive number, or 0 for the default":         {MaxAttempts: -1},
		"base delay is -1s: give a positive duration, or 0 for the default":        {BaseDelay: -time.Second},
		"max offline wait is -1ns: give a positive duration, or 0 for the default": {MaxOfflineWait: -1},
		"probe interval is -1m0s: give a positive duration, or 0 for the default":  {ProbeInterval: -time.Minute},
		"probe timeout is -1h0m0s: give a positive duration, or 0 for the default": {ProbeTimeout: -time.Hour},
		"max delay is -250ms: give a positive duration, or 0 for the default":      {MaxDelay: -250 * time.Millisecond},
	} {
		if err := policy.Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
