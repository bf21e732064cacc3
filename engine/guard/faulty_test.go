package guard_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/guard"
)

// forgotten is a guard whose methods panic when it is a nil pointer.
type forgotten struct{ name string }

func (f *forgotten) Name() string { return f.name }
func (f *forgotten) Before(context.Context, guard.Call) (guard.Decision, error) {
	return guard.Decision{Reason: f.name}, nil
}
func (f *forgotten) After(_ context.Context, _ guard.Call, r guard.Reply) (guard.Reply, error) {
	return guard.Reply{Value: f.name}, nil
}

func decides(d guard.Decision) guard.Guard {
	return guard.Before("odd", func(context.Context, guard.Call) (guard.Decision, error) { return d, nil })
}

func TestChain_a_faulty_guard_denies_and_is_reported(t *testing.T) {
	cases := map[string]struct {
		guard     guard.Guard
		name, why string
	}{
		"nil":              {nil, "nil", "it is nil"},
		"a nil pointer":    {(*forgotten)(nil), "*guard_test.forgotten", "panicked"},
		"no action":        {decides(guard.Decision{Action: 9}), "odd", "its decision is 9"},
		"a negative one":   {decides(guard.Decision{Action: -1}), "odd", "its decision is -1"},
		"no input":         {decides(guard.Decision{Action: guard.Rewrite}), "odd", "not a JSON object"},
		"an input of null": {decides(guard.Decision{Action: guard.Rewrite, Input: json.RawMessage("null")}), "odd", "not a JSON object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var told []string
			ch := chain(c.guard, denyAll("later"))
			ch.OnError = func(name string, _ guard.Call, err error) { told = append(told, name+": "+err.Error()) }
			v := ch.Before(t.Context(), call("Bash", `{}`))
			if !v.Denied || v.Guard != c.name || !strings.Contains(v.Reason, c.why) || !strings.Contains(v.Reason, "fault of the guard") {
				t.Errorf("%+v", v)
			}
			if len(told) != 1 || !strings.HasPrefix(told[0], c.name+": ") || !strings.Contains(told[0], c.why) {
				t.Errorf("told %q", told)
			}
			if r := ch.After(t.Context(), call("Bash", `{}`), guard.Reply{Value: "x"}); r.Value != "x" {
				t.Errorf("after: %+v", r)
			}
		})
	}
}

// TestChain_no_guard_changes_the_input_of_another: neither at once, behind a denial,
// nor later, of a rewrite that was decided already.
func TestChain_no_guard_changes_the_input_of_another(t *testing.T) {
	overwrite := guard.Before("overwrite", func(_ context.Context, c guard.Call) (guard.Decision, error) {
		copy(c.Input, `{"x":"bad"}`)
		return guard.Decision{}, nil
	})
	v := chain(overwrite).Before(t.Context(), call("Bash", `{"x":"fit"}`))
	if v.Denied || string(v.Input) != `{"x":"fit"}` {
		t.Errorf("%+v", v)
	}
	kept := json.RawMessage(`{"x":"new"}`)
	first := true
	change := guard.Before("change", func(context.Context, guard.Call) (guard.Decision, error) {
		if !first {
			return guard.Decision{}, nil
		}
		first = false
		return guard.Decision{Action: guard.Rewrite, Input: kept}, nil
	})
	late := guard.Before("late", func(context.Context, guard.Call) (guard.Decision, error) {
		copy(kept, `{"x":"bad"}`)
		return guard.Decision{}, nil
	})
	v = chain(change, late).Before(t.Context(), call("Bash", `{"x":"fit"}`))
	if v.Denied || string(v.Input) != `{"x":"new"}` {
		t.Errorf("%+v", v)
	}
}

func TestChain_a_denial_without_a_reason_gets_one(t *testing.T) {
	v := chain(decides(guard.Decision{Action: guard.Deny, Reason: " "})).Before(t.Context(), call("Bash", `{}`))
	if !v.Denied || !strings.Contains(v.Reason, `"odd"`) || !strings.Contains(v.Reason, "another way") {
		t.Errorf("%+v", v)
	}
}
