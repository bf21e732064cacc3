package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// What a process that died in a step left of it, and how the next one takes it up.

// flight is a step at work.
type flight struct {
	Session string `json:"session"`
	Prompt  string `json:"prompt"` // a hash of what the step was asked
	// Since is the session's newest entry before it was asked; 0: it was new.
	Since uint64 `json:"since,omitempty"`
	// Handed: the session took over from one that was asked.
	Handed bool `json:"handed,omitempty"`
	// Landed: the agent had ended its turn, and nobody has judged it yet. The result
	// is kept apart.
	Landed bool `json:"landed,omitempty"`
}

// enter notes the session that works.
func (f *flight) enter(id string) {
	if f.Session != "" && f.Session != id {
		f.Handed, f.Since = true, 0
	}
	f.Session = id
}

// takeOff begins the flight of an attempt. One that goes on in the session of the
// attempt before is the same flight.
func (s *stepRun) takeOff(ctx context.Context, p attemptPlan) error {
	if p.resume != "" && !p.fork && p.resume == s.now.Session {
		return nil
	}
	s.now = flight{Prompt: s.asked}
	if p.resume == "" || p.fork || s.flow.Once {
		return nil
	}
	head, err := s.rt.config.Store.Head(ctx, transcript.Key{Project: s.rt.project, Session: p.resume})
	if err != nil && !errors.Is(err, transcript.ErrNotFound) { // the harness says what is not there
		return fmt.Errorf("step %s: look for session %s: %w", s.Name, p.resume, err)
	}
	s.now.Session, s.now.Since = p.resume, head.Last
	return nil
}

// pickUp looks at what a process left that died in this step, of the same task. An
// answer that nobody has judged yet is taken as it is: picked. A prompt that the
// session was given already is replaced by a note that it was cut off.
func (s *stepRun) pickUp(ctx context.Context, p *attemptPlan) (r Result, picked bool, err error) {
	s.asked = promptHash(p.prompt)
	f := s.progress.saved.InFlight[s.Name]
	if p.resume == "" || p.fork || f.Session != p.resume {
		return r, false, nil
	}
	if f.Landed && s.restoring && s.from == "" && s.sameTask(ctx, f) {
		if r, picked, err = s.progress.landing(ctx, s.Name); err != nil {
			return r, false, err
		}
	}
	told := false
	if !picked && f.Prompt == s.asked {
		told, err = s.wasTold(ctx, f, p.prompt)
	}
	if picked || told {
		s.now = f // the same flight goes on
		s.now.Landed = false
	}
	switch {
	case picked:
		s.rt.emit(event.Event{Kind: event.Task, Step: s.Name, Session: p.resume,
			Text: fmt.Sprintf("step %s had ended when the last run was cut off; it goes on where its result is judged", s.Name)})
	case told:
		p.prompt = cutOffNote.in(s.rt.lang())
	}
	return r, picked, err
}

// sameTask: the step is asked what it was asked in that flight, with the prompt of
// a new session or of a continued one.
func (s *stepRun) sameTask(ctx context.Context, f flight) bool {
	if f.Prompt == s.asked || s.ResumePrompt == nil {
		return f.Prompt == s.asked
	}
	whole, err := s.askPrompt(ctx, s.Prompt)
	return err == nil && promptHash(whole) == f.Prompt
}

// wasTold: the prompt reached the session. The flight is noted before that where
// the session is not new.
func (s *stepRun) wasTold(ctx context.Context, f flight, prompt string) (bool, error) {
	if f.Handed {
		return true, nil
	}
	told, err := s.rt.wasTold(ctx, f.Session, f.Since, prompt)
	if err != nil {
		return false, fmt.Errorf("step %s: %w", s.Name, err)
	}
	return told, nil
}

// wasTold: the session was told something behind its entry since.
func (b *base) wasTold(ctx context.Context, session string, since uint64, prompt string) (bool, error) {
	for e, err := range b.config.Store.Load(ctx, transcript.Key{Project: b.project, Session: session}, since) {
		if err != nil {
			return false, fmt.Errorf("read session %s: %w", session, err)
		}
		if e.Type == "user" && len(e.ToolResults) == 0 && strings.Contains(saidIn(e), prompt) {
			return true, nil
		}
	}
	return false, nil
}

// saidIn is the text of a message.
func saidIn(e transcript.Entry) string {
	var entry struct {
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(e.Raw, &entry) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(entry.Message.Content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(entry.Message.Content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		text += b.Text + "\n"
	}
	return text
}

// inFlight notes that a step is at work.
func (p *progress) inFlight(ctx context.Context, step string, f flight) error {
	p.next.InFlight[step] = f
	return p.save(ctx)
}

func (p *progress) landingName(step string) string { return p.name + "/landed/" + promptHash(step) }

// landed keeps the result of a step in flight until it is judged. One that is too
// large is not kept: the agent will be asked again if nobody judges it.
func (p *progress) landed(ctx context.Context, step string, r Result) error {
	f, ok := p.next.InFlight[step]
	if !ok || p.off {
		return nil
	}
	if err := p.write(ctx, p.landingName(step), r); errors.Is(err, errTooLarge) {
		return nil
	} else if err != nil {
		return err
	}
	f.Landed = true
	return p.inFlight(ctx, step, f)
}

// landing is the result that a step in flight came to.
func (p *progress) landing(ctx context.Context, step string) (r Result, found bool, err error) {
	found, err = p.read(ctx, p.landingName(step), &r)
	return r, found, err
}
