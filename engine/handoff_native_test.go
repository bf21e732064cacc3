package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/workbench"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// generations is a model over HTTP that fills its context with every call of look,
// and has to do so four times before the work is done.
func generationsModel(r messagesapi.Request) messagesapi.Turn {
	say := func(text string) messagesapi.Turn {
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(text)}}
	}
	first := beginning(r)
	generation := 1
	if _, err := fmt.Sscanf(after(first, "generation "), "%d", &generation); err != nil && strings.Contains(first, "degraded") {
		generation = 3
	}
	switch {
	case strings.Contains(r.Prompt(), "Write the handoff document") && generation == 2:
		return say("I would rather not.") // no document
	case strings.Contains(r.Prompt(), "Write the handoff document"):
		return say(fmt.Sprintf("## In progress\ngeneration %d follows\n\n## Next step\nlook again\n", generation+1))
	case generation == 4:
		return say("all is done")
	}
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", "look", "{}")}}
}

// beginning is what a session began with.
func beginning(r messagesapi.Request) string {
	content := r.Messages[0].Content
	return content[len(content)-1].Text
}

// after is what follows a mark in a text, empty without it.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

// TestHandoff_over_three_generations_at_a_small_window drives the native harness over
// HTTP: two documents, one of which a person edits, a degraded one between them, and
// the last session ends the work.
func TestHandoff_over_three_generations_at_a_small_window(t *testing.T) {
	var began []string // what each generation began with
	server, err := messagesapi.Start(&messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		if len(r.Messages) == 1 {
			began = append(began, beginning(r)) // one request at a time
		}
		return generationsModel(r)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	bench, err := workbench.Open("", dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	edits := 0
	edit := func(_ context.Context, path string) error {
		if edits++; edits == 2 {
			return nil // the degraded one stays as it is
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(raw), "look again", "look again, but at the sky", 1)), 0o644)
	}
	seen := &eventLog{}
	look := tool.Func{Def: tool.Definition{Name: "look", Schema: []byte(`{"type":"object"}`)}, Call: func(context.Context, tool.Call) tool.Result {
		return tool.TextResult(strings.Repeat("a line that fills the context\n", 2000))
	}}
	rt, err := engine.New(engine.Config{Workspace: dir, Store: db, Sink: seen, Workbench: bench, Tools: []tool.Tool{look}, NoRetry: true,
		Handoff: &engine.HandoffPolicy{Window: 60_000, Pause: edit},
		Harness: native.New(native.Config{Model: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: server.URL()})})})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rt.Run(context.Background(), engine.Spec{Name: "watch", AllowedTools: []string{"look"}}, "Watch the weather.", engine.RunOptions{})
	rt.Close()
	if err != nil || !r.OK || r.Text != "all is done" || r.Attempts != 1 || len(r.Retired) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	var degraded []any
	for _, e := range seen.of(event.Handoff) {
		if e.Payload["phase"] == "done" {
			degraded = append(degraded, e.Payload["degraded"])
		}
	}
	if diff := cmp.Diff([]any{false, true, false}, degraded); diff != "" {
		t.Errorf("degraded: %s", diff)
	}
	if len(began) != 4 || !strings.Contains(began[1], "at the sky") || !strings.Contains(began[2], "Watch the weather.") || !strings.Contains(began[3], "at the sky") {
		t.Errorf("the generations began with %q", began)
	}
	old, err := filepath.Glob(filepath.Join(bench.Notes(), "archive", "handoff", "*.md"))
	if err != nil || len(old) != 2 {
		t.Errorf("archived %v, %v", old, err)
	}
}
