package main

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
)

func TestScreen_says_who_goes_on_without_an_answer(t *testing.T) {
	s := newScreen(newConsole(nil, nil, &strings.Builder{}), false)
	for session, want := range map[string][2]string{
		"":   {"Enter alone leaves it unanswered)", "* skipped"},
		"s1": {"Enter alone leaves it to the agent)", "* skipped: the agent decides"},
	} {
		asked := s.renderAsk(event.Event{Kind: event.Ask, Session: session, Text: "Go on?", Payload: map[string]any{"state": "asked"}})
		skipped := s.renderAsk(event.Event{Kind: event.Ask, Session: session, Text: "Go on?", Payload: map[string]any{"state": "declined"}})
		if !strings.HasSuffix(asked, want[0]) || strings.TrimSpace(skipped) != want[1] {
			t.Errorf("%q: %s\n%s", session, asked, skipped)
		}
	}
}
