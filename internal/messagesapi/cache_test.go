package messagesapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/internal/messagesapi"
)

// cached is a server with a clock, whose prompts are cached however short.
func cached(t *testing.T) (*messagesapi.Server, *time.Time) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := always(say("ok"))
	o.MinCache = -1
	o.Now = func() time.Time { return now }
	return start(t, o), &now
}

// used is what a request was billed by.
type used struct{ input, read, short, long int }

func billed(t *testing.T, s *messagesapi.Server, body object) used {
	t.Helper()
	u := ask(t, s, body).Usage
	if u.Write != u.Creation.Short+u.Creation.Long {
		t.Errorf("the parts of %d written tokens do not add up: %+v", u.Write, u.Creation)
	}
	return used{u.Input, u.Read, u.Creation.Short, u.Creation.Long}
}

// sized is a text block of n tokens.
func sized(n int, letter string) object {
	return text(strings.Repeat(letter, 4*n-len(`{"text":"","type":"text"}`)))
}

func TestCache_reads_what_an_earlier_prompt_wrote(t *testing.T) {
	s, now := cached(t)
	system := func(ttl string) []object { return []object{marked(sized(100, "s"), ttl)} }
	first := hello(object{"system": system("1h"), "messages": []object{user([]object{marked(sized(20, "a"), "5m")})}})
	second := hello(object{"system": system("1h"), "messages": []object{
		user([]object{sized(20, "a")}), assistant([]object{sized(10, "b")}), user([]object{marked(sized(30, "c"), "5m")}),
	}})
	steps := []struct {
		name string
		pass time.Duration
		body object
		want used
	}{
		{"a first prompt is written", 0, first, used{0, 0, 20, 100}},
		{"the same is read", 0, first, used{0, 120, 0, 0}},
		{"a longer one reads its prefix", 4 * time.Minute, second, used{0, 120, 40, 0}},
		{"reading renews the life", 4 * time.Minute, second, used{0, 160, 0, 0}},
		{"after five minutes the short part is gone", 5 * time.Minute, second, used{0, 100, 60, 0}},
		{"after an hour all is", time.Hour, second, used{0, 0, 60, 100}},
	}
	for _, step := range steps {
		*now = now.Add(step.pass)
		if got := billed(t, s, step.body); got != step.want {
			t.Errorf("%s: got %+v, want %+v", step.name, got, step.want)
		}
	}
}

func TestCache_without_a_breakpoint_is_not_used(t *testing.T) {
	s, _ := cached(t)
	body := hello(object{"messages": []object{user([]object{sized(50, "a")})}})
	for range 2 {
		if got := billed(t, s, body); got != (used{input: 50}) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestCache_is_missed_when_the_prefix_differs(t *testing.T) {
	base := func() object {
		return object{
			"tools":    []object{{"name": "A", "input_schema": object{"type": "object"}}},
			"system":   []object{sized(50, "s")},
			"messages": []object{user([]object{marked(sized(50, "a"), "5m")})},
		}
	}
	for name, c := range map[string]struct {
		changes object
		hit     bool
	}{
		"nothing":     {nil, true},
		"model":       {object{"model": "other"}, false},
		"tool":        {object{"tools": []object{{"name": "B", "input_schema": object{"type": "object"}}}}, false},
		"system":      {object{"system": []object{sized(50, "t")}}, false},
		"text":        {object{"messages": []object{user([]object{marked(sized(50, "b"), "5m")})}}, false},
		"tool choice": {object{"tool_choice": object{"type": "any"}}, false},
		"thinking":    {object{"thinking": object{"type": "adaptive"}}, false},
		"max_tokens":  {object{"max_tokens": 50}, true},
		"breakpoint":  {object{"system": []object{marked(sized(50, "s"), "5m")}}, true},
		"for the request": {object{
			"messages": []object{user([]object{sized(50, "a")})}, "cache_control": object{"type": "ephemeral"},
		}, true},
	} {
		s, _ := cached(t)
		billed(t, s, hello(base()))
		second := hello(base())
		for k, v := range c.changes {
			second[k] = v
		}
		if got := billed(t, s, second); (got.read > 0) != c.hit {
			t.Errorf("%s changed: %+v", name, got)
		}
	}
}

func TestCache_looks_back_twenty_blocks(t *testing.T) {
	for _, c := range []struct {
		between int
		read    int
	}{{19, 10}, {20, 0}} {
		s, _ := cached(t)
		billed(t, s, hello(object{"messages": []object{user([]object{marked(sized(10, "a"), "5m")})}}))
		blocks := []object{sized(10, "a")}
		for i := range c.between {
			blocks = append(blocks, sized(10, string(rune('b'+i))))
		}
		blocks = append(blocks, marked(sized(10, "z"), "5m"))
		if got := billed(t, s, hello(object{"messages": []object{user(blocks)}})); got.read != c.read {
			t.Errorf("%d blocks between: %+v", c.between, got)
		}
	}
}

func TestCache_keeps_no_short_prefix(t *testing.T) {
	s := start(t, always(say("ok"))) // 1,024 tokens at least
	for _, c := range []struct {
		tokens int
		want   used
	}{{1023, used{input: 1023}}, {1024, used{short: 1024}}} {
		body := hello(object{"messages": []object{user([]object{marked(sized(c.tokens, "a"), "5m")})}})
		if got := billed(t, s, body); got != c.want {
			t.Errorf("%d tokens: %+v", c.tokens, got)
		}
	}
}

func TestCache_is_not_written_by_an_error(t *testing.T) {
	s, _ := cached(t)
	s.Enqueue(messagesapi.Turn{Error: &messagesapi.Error{Status: 529}})
	body := hello(object{"messages": []object{user([]object{marked(sized(50, "a"), "5m")})}})
	if status, _ := post(t, s, body); status != 529 {
		t.Fatal(status)
	}
	if got := billed(t, s, body); got != (used{short: 50}) {
		t.Errorf("got %+v", got)
	}
}

func TestCache_counts_an_image_by_its_kind(t *testing.T) {
	s, _ := cached(t)
	for range 2 {
		body := hello(object{"messages": []object{user([]object{marked(picture(t, 2000), "5m")})}})
		u := billed(t, s, body)
		if n := u.read + u.short; n < 1600 || n > 1650 {
			t.Errorf("an image counts %d tokens", n)
		}
	}
}

func TestUsage_of_a_turn_replaces_what_was_counted(t *testing.T) {
	s := start(t, always(messagesapi.Turn{Usage: &messagesapi.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite5m: 4, CacheWrite1h: 5}}))
	a := ask(t, s, hello(nil))
	if got := (used{a.Usage.Input, a.Usage.Read, a.Usage.Creation.Short, a.Usage.Creation.Long}); got != (used{1, 3, 4, 5}) || a.Usage.Output != 2 || a.Usage.Write != 9 {
		t.Errorf("got %+v", a.Usage)
	}
}

func TestDiagnostics_name_what_changed(t *testing.T) {
	s := start(t, always(say("ok")))
	with := func(id any, changes object) object {
		o := hello(changes)
		o["diagnostics"] = object{"previous_message_id": id}
		return o
	}
	first := ask(t, s, with("", nil))
	for name, c := range map[string]struct {
		body object
		want string
	}{
		"nothing":          {with(first.ID, nil), ""},
		"one more message": {with(first.ID, object{"messages": []object{user("hi"), assistant("ok"), user("go on")}}), ""},
		"model":            {with(first.ID, object{"model": "other"}), "model_changed"},
		"tools":            {with(first.ID, object{"tools": []object{tool("A")}}), "tools_changed"},
		"system":           {with(first.ID, object{"system": "s"}), "system_changed"},
		"message":          {with(first.ID, object{"messages": []object{user("ho")}}), "messages_changed"},
		"unknown message":  {with("msg_x", nil), "previous_message_not_found"},
		"nobody asked":     {hello(object{"model": "other"}), ""},
	} {
		if got := ask(t, s, c.body).Diagnostics.Reason.Type; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
