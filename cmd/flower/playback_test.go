package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// The models of the playback scripts.
func init() {
	models["team"] = team
	models["stalls"] = func(r messagesapi.Request) messagesapi.Turn {
		turn := hello(r)
		if r.Number == 1 { // until the client leaves
			turn.Blocks = append([]messagesapi.Block{messagesapi.Text("I think.")}, turn.Blocks...)
			turn.Faults = []messagesapi.Fault{{Kind: messagesapi.Stall, At: 1100}}
		}
		return turn
	}
}

// team has a coordinator that dispatches three workers side by side, two of them with
// the very same task. No answer is like another, and the provider is overloaded at
// first.
func team(r messagesapi.Request) messagesapi.Turn {
	first := ""
	for _, b := range r.Messages[0].Content {
		first += b.Text
	}
	switch {
	case r.Number == 1:
		return messagesapi.Turn{Error: &messagesapi.Error{Status: 529, RetryAfter: 1500 * time.Millisecond}}
	case strings.Contains(first, "Task") && r.Turn() == 1:
		return call("Write", fmt.Sprintf(`{"file_path":"out/%d.txt","content":"%s, %d\n"}`, r.Number, first, r.Number))
	case strings.Contains(first, "Task"):
		return say(fmt.Sprintf("Report %d.", r.Number))
	case r.Turn() > 1:
		return say(fmt.Sprintf("All reported, %d.", r.Number))
	}
	turn := messagesapi.Turn{}
	for _, task := range []string{"Task A", "Task A", "Task B"} {
		turn.Blocks = append(turn.Blocks, messagesapi.ToolUse("", "Agent", fmt.Sprintf(`{"description":"work","prompt":%q,"subagent_type":"coder"}`, task)))
	}
	return turn
}

func TestLabel_tells_calls_apart_and_keeps_arguments_to_itself(t *testing.T) {
	script := func(path string, args ...string) string { return (&cli{Run: runCommand{Script: path}}).label(args) }
	if script("./a/fix.lua") != "a/fix.lua" || (&cli{}).label(nil) != "starter" || (&cli{Once: onceCommand{Prompt: []string{"x"}}}).label(nil) != "once" {
		t.Errorf("labels %q, %q", script("./a/fix.lua"), (&cli{}).label(nil))
	}
	one, other := script("fix.lua", "--token", "test-key"), script("fix.lua", "--token test-key")
	if one == other || one == script("fix.lua") || one != script("fix.lua", "--token", "test-key") || strings.Contains(one, "test-key") {
		t.Errorf("labels %q and %q", one, other)
	}
}

func TestSource_questions_from_the_side_are_not_recorded_and_not_played(t *testing.T) {
	plain := &source{name: "m"}
	if got, err := plain.aside(); got != plain || err != nil {
		t.Errorf("without a recording: %v, %v", got, err)
	}
	behind := anthropic.New(nil)
	recorder, err := playback.Record(t.TempDir(), behind, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	recorded := &source{model: recorder, recording: recording{recorder: recorder, unrecorded: behind}}
	if got, err := recorded.aside(); err != nil || got.model != behind {
		t.Errorf("while it is recorded: %v, %v", got, err)
	}
	played := &source{recording: recording{player: &playback.Player{}}}
	if _, err := played.aside(); err == nil {
		t.Error("a playback answers from the side")
	}
}
