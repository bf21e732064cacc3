package playback_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
)

// A conversation of so many turns, each of which adds about 10 KB.
const benchTurns = 100

func benchRequests(session string) (all []model.Request) {
	result := `,"content":"` + strings.Repeat("a line of output of some command\\n", 300) + `"`
	messages := []model.Message{user(text("Begin"))}
	for range benchTurns {
		all = append(all, request(session, messages...))
		id := "toolu_" + string(rune('a'+len(all)))
		messages = append(messages, assistant(text("I look."), toolUse(id)), user(toolResult(id, result)))
	}
	return all
}

// atOnce is a model that answers without a network.
type atOnce struct{ model.Model }

func (atOnce) Stream(context.Context, model.Request) (model.Stream, error) { return &ready{}, nil }

type ready struct{}

func (s *ready) Recv() (model.Delta, error) { return model.Delta{}, io.EOF }
func (s *ready) Reply() model.Reply {
	return model.Reply{ID: "msg", StopReason: "end_turn", Complete: true}
}
func (s *ready) Close() error { return nil }

func BenchmarkRecorder(b *testing.B) {
	requests := benchRequests("s")
	for b.Loop() {
		r, err := playback.Record(b.TempDir(), atOnce{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, q := range requests {
			if _, err := ask(r, q); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchTurns), "µs/turn")
}

func BenchmarkPlayer(b *testing.B) {
	dir := b.TempDir()
	r, err := playback.Record(dir, atOnce{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	requests := benchRequests("s")
	for _, q := range requests {
		if _, err := ask(r, q); err != nil {
			b.Fatal(err)
		}
	}
	_ = r.Close()
	requests = benchRequests("t")
	for b.Loop() {
		p, err := playback.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, q := range requests {
			if _, err := ask(p, q); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchTurns), "µs/turn")
}
