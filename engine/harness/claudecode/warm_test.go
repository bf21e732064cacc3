package claudecode_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/tool"
)

func TestWarm_a_program_started_ahead_takes_the_next_turn_like_it(t *testing.T) {
	b := newBench(t, calls("mcp__flower__lookup", `{}`), says("Done."), says("Another."))
	h := claudecode.New(b.config)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if left := leftOver(0); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}()
	lookup := func(answer string) []tool.Tool {
		return []tool.Tool{tool.Func{Def: tool.Definition{Name: "lookup", Schema: []byte(`{"type":"object"}`)},
			Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult(answer) }}}
	}
	turn := b.turn
	turn.Store, turn.Agent.AllowedTools, turn.HostTools = b.store, []string{"lookup"}, lookup("the one it was warmed with")
	if err := h.Warm(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if n := len(b.server.Log()); n > 1 { // a look whether anybody is there
		t.Errorf("warming made %d requests", n)
	}
	folders, _ := filepath.Glob(filepath.Join(b.config.TempDir, "*"))
	turn.HostTools = lookup("the one of the turn")
	out, err := h.Run(t.Context(), turn)
	if err != nil || out.Text != "Done." {
		t.Fatalf("%+v %v", out, err)
	}
	if text := said(b.last()); !contains(text, "the one of the turn") {
		t.Errorf("the tool of another turn was called:\n%s", text)
	}
	if _, err := os.Stat(folders[0]); err == nil {
		t.Error("the program that was warmed was not used")
	}
	if n := len(b.stored(out.SessionID, "")); n == 0 {
		t.Error("nothing was stored")
	}

	if err := h.Warm(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	turn.Agent.Instructions = "Be another one."
	if out, err = h.Run(t.Context(), turn); err != nil || out.Text != "Another." || out.Stop != harness.EndTurn {
		t.Errorf("%+v %v", out, err)
	}
	if folders, _ = filepath.Glob(filepath.Join(b.config.TempDir, "*")); len(folders) != 1 {
		t.Errorf("a program for another agent was taken: %v", folders)
	}
}

func TestWarm_says_when_the_program_does_not_start(t *testing.T) {
	b := newBench(t)
	b.config.Command = filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(b.config.Command, []byte("#!/bin/sh\necho broken >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	turn := b.turn
	turn.Store = b.store
	h := claudecode.New(b.config)
	if err := h.Warm(t.Context(), turn); err == nil || !contains(err.Error(), "broken") {
		t.Errorf("error = %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
