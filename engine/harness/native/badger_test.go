package native_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// The same on the store that users have: a session with a subagent is closed,
// opened by another process, continued and forked.
func TestStore_session_continues_and_forks_on_disk(t *testing.T) {
	b := team(t, func(r api.Request) api.Turn {
		switch {
		case r.Turn() == 1:
			return dispatches(2)
		case r.Prompt() == "Go on.":
			return calls("Read", input("file_path", "x"), "Read", input("file_path", "y"))
		}
		return says("Done.")
	}, func(r api.Request) api.Turn {
		if r.Turn() == 1 {
			return calls("Bash", input("command", "echo x"))
		}
		return says("Report.")
	})
	dir := filepath.Join(t.TempDir(), "sessions")
	open := func() *store.Store {
		s, err := store.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.store = s
		return s
	}
	s := open()
	first := b.mustRun(harness.EndTurn)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := b.last()

	s = open()
	defer s.Close()
	b.resume(first.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	assertSamePrefix(t, before, b.last())
	b.turn.Session.Fork, b.turn.Prompt = true, "Fork."
	copied := b.mustRun(harness.EndTurn)
	if copied.SessionID == first.SessionID {
		t.Fatal("the copy has the original's id")
	}
	var names []string
	for info, err := range s.List(t.Context(), transcript.Key{Project: project, Session: copied.SessionID}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Key.Sub)
	}
	if len(names) != 3 || !strings.HasPrefix(names[1], "subagents/agent-") {
		t.Errorf("transcripts of the copy: %q", names)
	}
}
