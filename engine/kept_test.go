package engine_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
)

// leave makes a step put values into the context.
func leave(s engine.Step, values map[string]any) engine.Step {
	s.Reduce = func(_ context.Context, r engine.Result, c engine.Context) (string, error) {
		for key, v := range values {
			c.Set(key, v)
		}
		return r.Text, nil
	}
	return s
}

func TestKept_values_come_back_with_their_Go_types(t *testing.T) {
	values := map[string]any{
		"text": "x", "yes": true, "float": 5.0, "int": 5, "big": int64(math.MaxInt64), "word": uint64(math.MaxUint64), "narrow": int32(-3),
		"bytes": []byte("xyz"), "list": []string{"a", "b"}, "empty": []string{}, "numbers": []int{1, 2}, "env": map[string]string{"A": "1"},
		"when": time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), "wait": 3 * time.Second,
		"a/b":    map[string]any{"n": 7, "x/y": []any{1, 2.5, "z", nil, []string{"deep"}}, "": int64(9)},
		"a":      map[string]any{"b": 1.0}, // the same place as "a/b", were it not told apart
		"nested": []any{map[string]any{"list": []string{"q"}}},
	}
	b := newBench(t)
	p := b.start()
	stop := step("B")
	stop.Gate = reject
	p.run(t, flow(leave(step("A"), values), stop), engine.WorkflowOptions{})
	p.close()
	if told := p.seen.of(event.Task); len(told) != 0 {
		t.Errorf("told %v", told)
	}
	for range 2 { // restored once, and from what the restoring run wrote
		next := b.start()
		ending := next.run(t, flow(step("A"), stop), engine.WorkflowOptions{})
		got := map[string]any{}
		for key := range values {
			got[key] = value(t, ending.Context, key)
		}
		if diff := cmp.Diff(values, got); diff != "" {
			t.Error(diff)
		}
		if next.script.labels() != "B" {
			t.Errorf("ran %s", next.script.labels())
		}
		next.close()
	}
}

func TestKept_what_cannot_be_kept_is_told_once_a_key(t *testing.T) {
	type odd struct{ A int }
	loop := map[string]any{}
	loop["me"] = loop
	lost := map[string]any{
		"struct": odd{1}, "inner": []any{odd{2}}, "nan": math.NaN(), "loop": loop, "func": func() {}, "large": strings.Repeat("x", 300<<10),
	}
	p := newBench(t).start()
	given := engine.NewContext(map[string]any{"handle": &odd{}, "call": func() {}, "data": odd{3}})
	p.run(t, flow(leave(step("A"), lost), leave(step("B"), lost)), engine.WorkflowOptions{Context: given})
	p.close()
	told := map[string]int{}
	for _, e := range p.seen.of(event.Task) {
		key, _ := e.Payload["key"].(string)
		told[key]++
		if e.Step != "A" || !strings.Contains(e.Text, "as step A left it, is not kept for a later process") || !strings.Contains(e.Text, `"`+key+`"`) {
			t.Errorf("told %q of step %s", e.Text, e.Step)
		}
	}
	want := map[string]int{"struct": 1, "inner": 1, "nan": 1, "loop": 1, "func": 1, "large": 1, "data": 1}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestKept_a_workflow_that_leaves_nothing_tells_nothing(t *testing.T) {
	p := newBench(t).start()
	w := flow(leave(step("A"), map[string]any{"f": func() {}}))
	w.Once = true
	p.run(t, w, engine.WorkflowOptions{})
	p.close()
	if told := p.seen.of(event.Task); len(told) != 0 {
		t.Errorf("told %v", told)
	}
}
