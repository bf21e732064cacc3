package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

func TestLimits_turns(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "echo 1")), calls("Bash", input("command", "echo 2")), says("never"))
	b.turn.Limits.Turns = 2
	out := b.mustRun(harness.MaxTurns)
	if out.Turns != 2 || b.server.Queued() != 1 {
		t.Errorf("turns %d, left %d", out.Turns, b.server.Queued())
	}
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if got := results(b.last()); len(got) != 1 || !strings.Contains(got[0], "2") {
		t.Errorf("the last result got lost: %q", got)
	}
}

// F-096
func TestLimits_words_that_were_not_taken_stay_for_the_next_turn(t *testing.T) {
	b := newBench(t, nil, says("Done."))
	words := make(chan string, 1)
	b.turn.Interrupt = words
	b.mustRun(harness.EndTurn)
	words <- "one more thing"
	b.server.Enqueue(says("never"))
	if out := b.mustRun(harness.Interrupted); out.Words != "one more thing" {
		t.Errorf("words = %q", out.Words)
	}
}

// used makes a turn report its usage.
func used(turn api.Turn, u api.Usage) api.Turn {
	turn.Usage = &u
	return turn
}

func TestLimits_budget_is_checked_before_each_request(t *testing.T) {
	b := newBench(t, nil,
		used(calls("Bash", input("command", "true")), api.Usage{Input: 100_000, Output: 1000}), // $0.11
		says("never"))
	b.config.Model = priced{b.config.Model}
	b.turn.Limits.USD = 0.13
	out := b.mustRun(harness.Budget)
	if b.server.Queued() != 1 || out.Detail == "" {
		t.Error("a request was sent that the budget does not cover")
	}
	if out.CostUSD == nil || fmt.Sprintf("%.2f", *out.CostUSD) != "0.11" {
		t.Errorf("cost = %v", out.CostUSD)
	}
}

func TestLimits_budget_counts_what_was_spent_before_and_shortens_the_answer(t *testing.T) {
	b := newBench(t, nil, says("Short."))
	b.config.Model = priced{b.config.Model}
	b.turn.Limits.USD, b.turn.Limits.SpentUSD = 1, 0.9
	b.mustRun(harness.EndTurn)
	r := b.last()
	if worst := float64(r.MaxTokens)*10/1e6 + float64(r.Tokens)/1e6; worst > 0.1 || r.MaxTokens < 5000 {
		t.Errorf("max_tokens = %d: the answer may cost $%.3f of the $0.10 that are left", r.MaxTokens, worst)
	}
	b.turn.Limits.SpentUSD = 0.99
	b.server.Enqueue(says("never"))
	b.mustRun(harness.Budget)
}

func TestLimits_answer_that_the_budget_cut_short_ends_with_the_budget(t *testing.T) {
	b := newBench(t, nil, api.Turn{Blocks: []api.Block{api.Text("Half")}, StopReason: "max_tokens"})
	b.config.Model = priced{b.config.Model}
	b.turn.Limits.USD = 0.1
	b.mustRun(harness.Budget)
}

func TestLimits_unknown_price_without_a_budget_leaves_the_cost_open(t *testing.T) {
	b := newBench(t, nil, says("Done."))
	b.turn.Agent.Model = "nobody-knows"
	if out := b.mustRun(harness.EndTurn); out.CostUSD != nil {
		t.Errorf("cost = %v of a model without a price", *out.CostUSD)
	}
}

func TestLimits_context_line_stops_behind_the_results(t *testing.T) {
	b := newBench(t, nil,
		used(calls("Bash", input("command", "echo kept")), api.Usage{Input: 60, CacheRead: 30, CacheWrite5m: 10}),
		says("never"))
	b.turn.Limits.ContextLine = 100
	out := b.mustRun(harness.ContextFull)
	if out.Context != 100 {
		t.Errorf("context = %d", out.Context)
	}
	if got := kinds(b.memory.entries(key(out.SessionID))); got != "flower_prefix user calls(1) result" {
		t.Errorf("stored: %s", got)
	}
	b = newBench(t, nil, used(says("Done."), api.Usage{Input: 200}))
	b.turn.Limits.ContextLine = 100
	b.mustRun(harness.EndTurn) // who is done is done
}

func TestLimits_context_line_counts_results_that_are_not_sent_yet(t *testing.T) {
	b := newBench(t, nil,
		used(calls("big", "{}"), api.Usage{Input: 100}),
		says("never"))
	b.host("big", true, func(tool.Call) tool.Result { return tool.TextResult(strings.Repeat("word ", 20_000)) })
	b.turn.Limits.ContextLine = 10_000
	b.mustRun(harness.ContextFull)
}

func TestLimits_effort_and_answer_length_reach_the_request(t *testing.T) {
	cases := map[string]string{
		"high":  `"output_config":{"effort":"high"},"thinking":{"type":"adaptive"}`,
		"4096":  `"thinking":{"type":"enabled","budget_tokens":4096}`,
		"none":  `"thinking":{"type":"disabled"}`,
		"":      `"stream":true,"tools"`,
		"xhigh": `"effort":"xhigh"`,
	}
	for effort, want := range cases {
		b := newBench(t, nil, says("x"))
		b.turn.Agent.Effort = effort
		b.config.MaxTokens = 5000
		b.mustRun(harness.EndTurn)
		if body := string(b.last().Body); !strings.Contains(body, want) || !strings.Contains(body, `"max_tokens":5000`) {
			t.Errorf("effort %q: %.200s", effort, body)
		}
	}
}

func TestLimits_cache_miss_raises_an_event(t *testing.T) {
	clock := newClock()
	b := newBench(t, &api.Options{Now: clock.Now, MinCache: -1})
	b.config.Now = clock.Now
	b.host("nap", false, func(tool.Call) tool.Result { clock.advance(2 * time.Hour); return tool.TextResult("rested") })
	for i := range 3 {
		b.server.Enqueue(calls("Bash", input("command", fmt.Sprint("echo ", i))))
	}
	b.server.Enqueue(calls("nap", "{}"), says("Done."))
	b.mustRun(harness.EndTurn)
	got := b.of(event.System)
	if len(got) != 1 || got[0].Payload["cache_miss"] != true || got[0].Payload["reason"] != nil {
		t.Errorf("events: %+v", got)
	}
}

// reasoning is a model that gives a reason for every miss of its cache.
type reasoning struct{ model.Model }

func (m reasoning) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	s, err := m.Model.Stream(ctx, r)
	return reasoned{s}, err
}

type reasoned struct{ model.Stream }

func (s reasoned) Reply() model.Reply {
	r := s.Stream.Reply()
	r.CacheMiss = "messages_changed"
	return r
}

func TestLimits_cache_miss_tells_the_reason_of_the_provider(t *testing.T) {
	b := newBench(t, nil)
	for i, read := range []int{0, 10, 10} {
		b.server.Enqueue(used(calls("Bash", input("command", fmt.Sprint("echo ", i))), api.Usage{Input: 5, CacheRead: read, CacheWrite5m: 5}))
	}
	b.server.Enqueue(used(says("Done."), api.Usage{Input: 50}))
	b.config.Model = reasoning{b.config.Model}
	b.mustRun(harness.EndTurn)
	got := b.of(event.System)
	if len(got) != 1 || got[0].Payload["reason"] != "messages_changed" || !strings.Contains(got[0].Text, "messages_changed") {
		t.Errorf("events: %+v", got)
	}
}

func TestLimits_each_request_names_the_answer_before_it(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "true")), says("Done."))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "More.")
	b.server.Enqueue(says("Done."))
	b.mustRun(harness.EndTurn)
	var ids []string
	for _, e := range b.memory.entries(key(out.SessionID)) {
		if e.Type == "assistant" {
			ids = append(ids, e.MessageID)
		}
	}
	for i, r := range b.requests() {
		named := strings.Contains(string(r.Body), "previous_message_id")
		if want := i > 0; named != want || want && !strings.Contains(string(r.Body), `"previous_message_id":"`+ids[i-1]+`"`) {
			t.Errorf("request %d: %.200s", i, r.Body)
		}
	}
}

func TestLimits_event_payloads_can_be_written_as_json(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "echo hi"), "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`), says("Done."))
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "TodoWrite")
	b.mustRun(harness.EndTurn)
	for _, e := range b.events {
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%s: %v", e.Kind, err)
		}
	}
	if got := b.of(event.Task); len(got) != 1 || got[0].Tool != "TodoWrite" {
		t.Errorf("the list was not shown: %+v", got)
	}
}

func TestLimits_prices_and_windows_are_known_by_alias_and_by_default(t *testing.T) {
	b := newBench(t, &api.Options{Models: []api.Model{{ID: "claude-sonnet-5-5", Window: 77}}})
	b.config.Aliases = map[string]string{"opus": "claude-opus-5-5"}
	h := native.New(b.config)
	for name, known := range map[string]bool{"": true, "opus": true, "claude-haiku-4-5": true, "nobody-knows": false} {
		if got := h.Prices(t.Context(), name); got != known {
			t.Errorf("Prices(%q) = %v", name, got)
		}
		if got := h.Window(t.Context(), name); got > 0 != known {
			t.Errorf("Window(%q) = %d", name, got)
		}
	}
	none := native.New(native.Config{})
	if none.Prices(t.Context(), "") || none.Window(t.Context(), "") != 0 || none.Name() != "native" {
		t.Error("a harness without a model knows something")
	}
	if _, err := none.Run(t.Context(), b.turn); err == nil {
		t.Error("a harness without a model runs")
	}
}

func TestLimits_a_page_of_the_main_thread_is_small_where_the_agent_says_so(t *testing.T) {
	read := calls("Read", input("file_path", "long.txt"))
	b := team(t, func(r api.Request) api.Turn {
		switch r.Turn() {
		case 1:
			return read
		case 2:
			return dispatches(1)
		}
		return says("Done.")
	}, func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return read
		}
		return says(fmt.Sprint(len(results(r)[0])))
	})
	if err := os.WriteFile(filepath.Join(b.dir, "long.txt"), []byte(strings.Repeat("a line of some length\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	w := b.turn.Agent.Workers["coder"]
	w.Tools = []string{"Read"}
	b.turn.Agent.Workers["coder"] = w
	b.turn.Agent.PageChars = 2000
	b.mustRun(harness.EndTurn)
	for _, r := range b.requests() {
		if isWorker(r) || len(r.Results()) == 0 {
			continue
		}
		if text := results(r)[0]; strings.Contains(text, "a line") && len(text) > 2000 {
			t.Errorf("the main thread got a page of %d characters", len(text))
		}
	}
	var page int
	if _, err := fmt.Sscan(results(b.last())[0], &page); err != nil || page < 20_000 {
		t.Errorf("the subagent's page has %d characters (%v)", page, err)
	}
}
