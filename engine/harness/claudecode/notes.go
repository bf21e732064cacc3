package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
)

// told is what the notes of a transcript say.
type told struct {
	view  json.RawMessage
	index *string // in the system prompt
	news  *string // the workbench block told last
	asked *asked
	begun []begun
	lost  map[string]bool // calls the agent has been told of
}

// readNotes collects the notes of a transcript, the newest last.
func readNotes(all []transcript.Entry) told {
	t := told{lost: map[string]bool{}}
	for _, e := range all {
		if e.Subtype != transcript.PrefixSubtype {
			continue
		}
		var n note
		if lenient(e.Raw, &n) != nil {
			continue
		}
		if n.View != nil {
			t.view = n.View
		}
		if n.Claude != nil {
			t.index, t.news = n.Claude, n.Claude
		}
		if n.News != nil {
			t.news = n.News
		}
		if n.Asked != nil {
			t.asked = n.Asked
		}
		if n.Begun != nil {
			t.begun = append(t.begun, *n.Begun)
		}
		for _, id := range n.Told {
			t.lost[id] = true
		}
	}
	return t
}

// Texts in front of a prompt.
const (
	newsIndex  = "The workbench has changed since this session began. It now holds:"
	newsAsked  = "The process ended before it had recorded what you were asked last. It was:"
	newsAnswer = "You had asked a person, and the process ended before the record of it was complete. The question and its answer: "
	newsLost   = "The process ended before the record of some of your calls was complete, so they are missing above. They may or may not have taken effect: look at the present state before you repeat them.\n"
)

// news is what a resumed session must be told: calls that were let run and of
// which nothing is recorded, and a changed workbench. recorded is everything, also
// what does not count any more.
func (r *run) news(ctx context.Context, before told, recorded []transcript.Entry) ([]string, error) {
	var out []string
	known := map[string]bool{}
	for _, e := range recorded {
		known[e.UUID] = true
		for _, id := range slices.Concat(e.ToolUses, e.ToolResults) {
			known[id] = true
		}
	}
	if a := before.asked; a != nil && !known[a.UUID] && r.turn.Session.At == "" {
		out = append(out, newsAsked+"\n\n"+a.Text)
	}
	text, lost, add := newsLost, false, note{}
	for _, c := range before.begun {
		if known[c.ID] || before.lost[c.ID] || r.turn.Session.At != "" {
			continue
		}
		add.Told = append(add.Told, c.ID)
		if c.Name == askTool {
			result, err := r.question(ctx, c.ID, c.Input)
			if err != nil {
				return nil, err
			}
			out = append(out, newsAnswer+string(c.Input)+"\n\n"+result.Text())
			continue
		}
		lost = true
		text += fmt.Sprintf("- %s %s\n", c.Name, cutText(string(c.Input), 500))
	}
	if lost {
		out = append(out, strings.TrimSpace(text))
	}
	r.index = r.turn.Agent.Index
	switch {
	case before.index == nil: // a session of another harness
		add.Claude = &r.index
	case *before.news != r.turn.Agent.Index:
		now := r.turn.Agent.Index
		add.News, r.index = &now, *before.index
		if now != "" {
			out = append(out, newsIndex+"\n\n"+now)
		}
	default:
		r.index = *before.index
	}
	if add.Told == nil && add.Claude == nil && add.News == nil {
		return out, nil
	}
	return out, r.journal.add(add)
}

// askAgain runs a question to a person that outlived its process and stores the
// answer as the call's result.
func (r *run) askAgain(ctx context.Context, c transcript.Call, live []transcript.Entry) (transcript.Entry, error) {
	result, err := r.question(ctx, c.ID, c.Input)
	if err != nil {
		return transcript.Entry{}, err
	}
	raw, err := json.Marshal(map[string]any{
		"parentUuid": transcript.Tail(live), "isSidechain": false, "userType": "external", "cwd": r.dir, "sessionId": r.session,
		"type": "user", "uuid": r.h.config.NewID(), "timestamp": r.h.config.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"message": map[string]any{"role": "user", "content": []any{map[string]any{
			"type": "tool_result", "tool_use_id": c.ID, "content": result.Text(), "is_error": result.IsError}}},
	})
	if err != nil {
		return transcript.Entry{}, err
	}
	e, err := transcript.Parse(raw)
	if err != nil {
		return e, err
	}
	r.journal.mu.Lock()
	defer r.journal.mu.Unlock()
	return e, r.journal.append("", []transcript.Entry{e})
}

// question asks a person again what an earlier process asked.
func (r *run) question(ctx context.Context, id string, input json.RawMessage) (tool.Result, error) {
	t := r.names.host[askTool]
	if t == nil {
		return tool.ErrorResult("Nobody can be asked any more: decide yourself, and write the assumption down."), nil
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan tool.Result, 1)
	go func() { answer <- t.Run(asking, r.say.sign(tool.Call{ID: id, Input: input})) }()
	for words := r.turn.Interrupt; ; {
		select {
		case result := <-answer:
			return result, context.Cause(ctx)
		case w, ok := <-words:
			if words = nil; ok {
				r.early = &w
				cancel()
				<-answer
				return tool.Result{}, errEarly
			}
		}
	}
}

// errEarly: a person interrupted before the program was started. The question that
// was asked again stays open.
var errEarly = errors.New("interrupted by a person")

func cutText(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}

// hash36 is the program's short hash of a long path.
func hash36(s string) string {
	var h int32
	for _, c := range utf16.Encode([]rune(s)) {
		h = h<<5 - h + int32(c)
	}
	n := int64(h)
	if n < 0 {
		n = -n
	}
	return strconv.FormatInt(n, 36)
}
