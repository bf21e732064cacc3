package native_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// asked is a model that notes who asks it.
type asked struct {
	model.Model
	mu   sync.Mutex
	meta []model.Meta
}

func (m *asked) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	m.mu.Lock()
	m.meta = append(m.meta, req.Meta)
	m.mu.Unlock()
	return m.Model.Stream(ctx, req)
}

func TestRequests_say_who_asks_where_and_for_which_call(t *testing.T) {
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.ToolUse("toolu_search", "WebSearch", `{"query":"bees"}`)}}, says("Found bees."),
		api.Turn{Blocks: []api.Block{api.ToolUse("toolu_agent", "Agent", `{"description":"x","prompt":"Look.","subagent_type":"scout"}`)}}, says("Report."),
		says("Done."))
	m := &asked{Model: b.config.Model}
	b.config.Model = m
	b.turn.Agent.AllowedTools = append(b.turn.Agent.AllowedTools, "WebSearch", "Agent")
	b.turn.Agent.Workers = map[string]harness.Worker{"scout": {Description: "Looks."}}
	out := b.mustRun(harness.EndTurn)
	main := model.Meta{Step: "step-1", Role: "tester", Session: out.SessionID, Dir: b.dir}
	at := func(turn int, change func(*model.Meta)) model.Meta {
		meta := main
		meta.Turn = turn
		if change != nil {
			change(&meta)
		}
		return meta
	}
	want := []model.Meta{at(1, nil), at(1, func(m *model.Meta) { m.Call = "toolu_search" }), at(2, nil),
		at(1, func(m *model.Meta) { m.Role, m.Agent = "scout", "" }), at(3, nil)}
	if len(m.meta) != len(want) || m.meta[3].Agent == "" {
		t.Fatalf("asked %+v", m.meta)
	}
	want[3].Agent = m.meta[3].Agent
	if diff := cmp.Diff(want, m.meta); diff != "" {
		t.Error(diff)
	}
}

func TestSleep_takes_the_place_of_waiting(t *testing.T) {
	b := newBench(t, nil, api.Turn{Error: &api.Error{Status: 529, RetryAfter: 20 * time.Second}}, says("Done."))
	var waited []time.Duration
	b.config.Sleep = func(_ context.Context, d time.Duration) bool {
		waited = append(waited, d)
		return true
	}
	b.mustRun(harness.EndTurn)
	if diff := cmp.Diff([]time.Duration{20 * time.Second}, waited); diff != "" {
		t.Error(diff)
	}
}
