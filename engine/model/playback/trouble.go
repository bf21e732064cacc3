package playback

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/model"
)

// anew is what to do about most errors.
const anew = "If that is meant, record anew, into an empty folder."

func (p *Player) trouble(kind Kind, s *script, m model.Meta) *Error {
	e := &Error{Kind: kind, Dir: p.dir, Step: m.Step, Role: m.Role, Agent: m.Agent, Turn: m.Turn}
	if s == nil {
		return e
	}
	e.File, e.Line = s.name, s.moves[min(s.next, len(s.moves)-1)].line
	return e
}

// head is the first line of an error's text.
func (e *Error) head(m model.Meta, what string) string {
	return fmt.Sprintf("playback of %s: %s, turn %d: %s", e.Dir, asker(m.Step, m.Role, m.Agent, m.Call), m.Turn, what)
}

// differs is the error of a request that is not the recorded one.
func (p *Player) differs(s *script, m model.Meta, found []difference) *Error {
	e := p.trouble(Differs, s, m)
	for _, d := range found[:min(len(found), maxPaths)] {
		e.Paths = append(e.Paths, d.path)
	}
	e.Diff = showDifference(found[0])
	text := e.head(m, fmt.Sprintf("the request is not the recorded one (%s, line %d).\nIn %s:\n%s", e.File, e.Line, e.Paths[0], e.Diff))
	if more := e.Paths[1:]; len(more) > 0 {
		text += "\nAlso different: " + strings.Join(more, ", ")
		if len(found) > maxPaths {
			text += ", …"
		}
	}
	if strings.HasSuffix(e.Paths[0], ".is_error") {
		text += "\nTools are run in a playback: the folder must be as it was when the recorded run began."
	}
	if s.next > 0 && s.moves[s.next-1].stopped {
		text += "\nIn the recorded run somebody stopped the agent just before; a playback cannot repeat that."
	}
	e.text = text + "\n" + anew
	return e
}

// ends is the error of a request behind the last one of its conversation.
func (p *Player) ends(s *script, m model.Meta) *Error {
	e := p.trouble(Ends, s, m)
	what := fmt.Sprintf("the recorded conversation ends before this turn (%s, line %d).\n", s.name, e.Line)
	switch {
	case s.moves[len(s.moves)-1].skip:
		what += "The recorded run was stopped here."
	case !p.index.finished():
		what += "The recording was cut off: this is how far it goes."
	default:
		what += "A playback costs nothing, so a budget that ended the recorded run does not end this one."
	}
	e.text = e.head(m, what) + "\n" + anew
	return e
}

// cut is the error of a subagent, or a search, that did not outlive its process in the
// recorded run, while the agent it worked for was told so and went on.
func (p *Player) cut(s *script, m model.Meta) *Error {
	e := p.trouble(Cut, s, m)
	e.text = e.head(m, "the recorded run was cut off here, and went on without this answer")
	return e
}

// missing is the error of a conversation that the recording does not have.
func (p *Player) missing(m model.Meta) *Error {
	e := p.trouble(Missing, nil, m)
	var had []string
	known := false
	for _, s := range p.talks {
		h := s.header
		known = known || h.Step == m.Step && h.Role == m.Role && len(s.moves) > 0
		if name := fmt.Sprintf("step %s (agent %s)", h.Step, h.Role); h.Agent == "" && h.Call == "" && !slices.Contains(had, name) {
			had = append(had, name)
		}
	}
	what := "the recording has no such conversation"
	if known {
		what = "the recording has fewer conversations of this step and agent than there are now"
	}
	if p.index.Label != "" {
		what += " (it was made of " + p.index.Label + ")"
	}
	what += ".\nIt has: " + strings.Join(had[:min(len(had), 2*maxPaths)], ", ")
	if len(had) > 2*maxPaths {
		what += ", …"
	}
	if !p.index.finished() {
		what += "\nThe recording was cut off before the run came to its end."
	}
	e.text = e.head(m, what) + "\n" + anew
	return e
}

// broken is the error of a file that changed since it was opened, or that nobody may
// read.
func (p *Player) broken(s *script, m model.Meta, err error) *Error {
	e := p.trouble(Broken, s, m)
	e.text = e.head(m, fmt.Sprintf("%s, line %d cannot be read: %v\nIs it still what was recorded?", e.File, e.Line, err))
	return e
}
