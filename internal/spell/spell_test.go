package spell_test

import (
	"testing"

	"github.com/flowerlua/flower/internal/spell"
)

func TestNear(t *testing.T) {
	fields := []string{"name", "prompt", "retries", "on_reject", "on_fail", "gate"}
	cases := []struct{ word, want string }{
		{"retires", "retries"}, // two neighbours swapped
		{"on_rejct", "on_reject"},
		{"promt", "prompt"},
		{"onfail", "on_fail"},
		{"gaet", "gate"},
		{"xyz", ""},
		{"g", ""}, // one letter is near everything
		{"", ""},
	}
	for _, c := range cases {
		got, ok := spell.Near(c.word, fields)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Near(%q) = %q, %v; want %q", c.word, got, ok, c.want)
		}
	}
}

func TestHint_is_empty_without_a_near_match(t *testing.T) {
	if got := spell.Hint("xyz", []string{"gate"}); got != "" {
		t.Errorf("hint = %q", got)
	}
	if got := spell.Hint("gat", []string{"gate"}); got != ` — did you mean "gate"?` {
		t.Errorf("hint = %q", got)
	}
}
