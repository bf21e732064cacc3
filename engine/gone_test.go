package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// told are the notices that hold all of the words.
func told(p *process, words ...string) (n int) {
	for _, e := range p.seen.of(event.Task) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(e.Text, w)
		}
		if all {
			n++
		}
	}
	return n
}

// ranOnce is a run directory that a run has left, and the id of its project.
func ranOnce(t *testing.T) (b *bench, project string, sessions []transcript.Key) {
	t.Helper()
	b = newBench(t)
	first := b.start(answer{text: "found"}, answer{text: "built"})
	first.run(t, researchAndWork(), engine.WorkflowOptions{})
	for info, err := range first.Store().List(context.Background(), transcript.Key{}) {
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, info.Key)
	}
	first.close()
	if told(first, "begin anew") > 0 {
		t.Error("the first run tells that it begins anew")
	}
	return b, first.Project(), sessions
}

func TestGone_an_id_that_is_missing_or_empty_is_told_once_with_the_old_one(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			b, project, _ := ranOnce(t)
			id := filepath.Join(b.dir, "runs", "id")
			if err := harm(id); err != nil {
				t.Fatal(err)
			}
			for want := 1; want >= 0; want-- {
				p := b.start()
				p.run(t, researchAndWork(), engine.WorkflowOptions{})
				p.close()
				if got := told(p, id, project); got != want {
					t.Errorf("told %d times, want %d", got, want)
				}
			}
		})
	}
}

func TestGone_sessions_that_the_lineage_names_are_told_once_and_begun_anew(t *testing.T) {
	b, _, sessions := ranOnce(t)
	for want := 1; want >= 0; want-- {
		p := b.start()
		if want == 1 {
			for _, key := range sessions {
				if err := p.Store().Delete(context.Background(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.run(t, researchAndWork(), engine.WorkflowOptions{})
		p.close()
		if got := told(p, "lineage.json", "research", "work", "begin anew"); got != want {
			t.Errorf("told %d times, want %d", got, want)
		}
	}
}
