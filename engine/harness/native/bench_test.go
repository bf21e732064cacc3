package native_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
)

// instant is a model that answers at once, so that only the loop is measured.
// It calls the tool "looks" until it has seen as many results as it wants.
type instant struct{ rounds int }

func (m instant) Info(context.Context, string) (model.Info, error) { return model.Info{}, nil }

func (m instant) Stream(_ context.Context, r model.Request) (model.Stream, error) {
	reply := model.Reply{ID: fmt.Sprintf("msg_%d", r.Meta.Turn), StopReason: "end_turn", Complete: true}
	reply.Usage = model.Usage{Input: 10, Output: 10}
	if r.Meta.Turn%(m.rounds+1) == 0 {
		reply.Content = append(reply.Content, []byte(`{"type":"text","text":"Done."}`))
		return &instantStream{reply}, nil
	}
	reply.StopReason = "tool_use"
	reply.Content = append(reply.Content, fmt.Appendf(nil, `{"type":"tool_use","id":"toolu_%s_%d","name":"looks","input":{"n":%d}}`, r.Meta.Agent, r.Meta.Turn, r.Meta.Turn))
	return &instantStream{reply}, nil
}

type instantStream struct{ reply model.Reply }

func (s *instantStream) Recv() (model.Delta, error) { return model.Delta{}, io.EOF }
func (s *instantStream) Reply() model.Reply         { return s.reply }
func (s *instantStream) Close() error               { return nil }

func benchTurn(b *testing.B, m model.Model) (native.Config, harness.Turn) {
	return native.Config{Model: m}, harness.Turn{
		Agent:  harness.Agent{Name: "bench", Workspace: b.TempDir(), AllowedTools: []string{"Read", "looks"}},
		Prompt: "Do it.", Project: project,
		HostTools: []tool.Tool{tool.Func{
			Def: tool.Definition{Name: "looks", Description: "looks", ReadOnly: true},
			Call: func(_ context.Context, c tool.Call) tool.Result {
				return tool.TextResult(strings.Repeat("a line of what was seen\n", 80) + string(c.Input))
			},
		}},
	}
}

// BenchmarkStart is a whole turn of one answer: from the order to the outcome, the
// model and the store aside.
func BenchmarkStart(b *testing.B) {
	c, turn := benchTurn(b, instant{})
	h := native.New(c)
	for b.Loop() {
		turn.Store = newMemory()
		if _, err := h.Run(b.Context(), turn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRound is one round of the loop, request, answer and result, in a turn of
// as many rounds.
func BenchmarkRound(b *testing.B) {
	for _, rounds := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(rounds), func(b *testing.B) {
			c, turn := benchTurn(b, instant{rounds})
			h := native.New(c)
			n := 0
			for b.Loop() {
				turn.Store = newMemory()
				if _, err := h.Run(b.Context(), turn); err != nil {
					b.Fatal(err)
				}
				n += rounds
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/round")
		})
	}
}

// BenchmarkResume is the opening of a session of as many entries, with one answer
// behind it.
func BenchmarkResume(b *testing.B) {
	for _, entries := range []int{500, 5000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			c, turn := benchTurn(b, instant{entries / 2})
			store := newMemory()
			turn.Store = store
			out, err := native.New(c).Run(b.Context(), turn)
			if err != nil {
				b.Fatal(err)
			}
			kept := store.entries(key(out.SessionID))
			c.Model = instant{}
			h := native.New(c)
			turn.Session.Resume = out.SessionID
			cpu, n := cpuTime(), 0
			for b.Loop() {
				n++
				store.lists[key(out.SessionID)] = kept[:len(kept):len(kept)]
				if _, err := h.Run(b.Context(), turn); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(kept)), "entries")
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(n), "cpu-ms/op")
		})
	}
}
