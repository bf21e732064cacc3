package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowerlua/flower/internal/messagesapi"
)

// The models of the playback scripts.
func init() {
	models["team"] = team
	models["slow"] = func(r messagesapi.Request) messagesapi.Turn {
		turn := hello(r)
		turn.Blocks = append([]messagesapi.Block{messagesapi.Text(strings.Repeat("I think. ", 200))}, turn.Blocks...)
		if r.Turn() == 1 {
			turn.Pause = 12 * time.Millisecond
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
