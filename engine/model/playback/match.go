package playback

import (
	"fmt"

	"github.com/flowerlua/flower/engine/model"
)

// find gives the conversation that a request belongs to: the one it was found to be
// before, or a recorded one that nobody has taken.
func (p *Player) find(req model.Request) (*script, *Error) {
	m := req.Meta
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		return nil, p.stopped
	}
	key := askedBy(m)
	if s := p.live[key]; s != nil {
		return s, nil
	}
	parent := p.parent(m)
	s, err := p.choose(req, parent)
	if err != nil {
		return nil, err
	}
	s.taken, s.parent = true, parent
	s.names = p.names(s, m)
	p.live[key] = s
	if m.Call != "" {
		delete(p.live, key) // it asks once
	}
	return s, nil
}

// choose finds the recorded conversation of one that begins. The caller holds mu.
func (p *Player) choose(req model.Request, parent *script) (*script, *Error) {
	m, number := req.Meta, 0
	if parent != nil {
		number = parent.header.Conversation
	}
	fit := p.fitting(m, number)
	switch {
	case len(fit) > 0:
	case parent != nil && p.atCut(parent):
		return nil, p.cut(nil, m)
	default:
		return nil, p.missing(m)
	}
	for _, s := range fit {
		same, err := p.beginsWith(s, req)
		if err != nil {
			return nil, p.broken(s, m, err)
		}
		if same {
			return s, nil
		}
	}
	return fit[0], nil
}

// fitting are the recorded conversations that a new one may be: that of the same
// call first, which is certain unless the call was given another id, then in the order
// of the recording.
func (p *Player) fitting(m model.Meta, parent int) []*script {
	var first, rest []*script
	for _, s := range p.talks {
		h := s.header
		if s.taken || len(s.moves) == 0 || h.Role != m.Role || h.Parent != parent ||
			(h.Agent != "") != (m.Agent != "") || (h.Call != "") != (m.Call != "") {
			continue
		}
		switch {
		case m.Agent == "" && m.Call == "" && h.Step != m.Step:
		case m.Call != "" && h.Call == m.Call, m.Call == "" && m.Agent != "" && h.Agent == m.Agent:
			first = append(first, s)
		default:
			rest = append(rest, s)
		}
	}
	return append(first, rest...)
}

// parent is the conversation that a new one belongs to.
func (p *Player) parent(m model.Meta) *script {
	switch {
	case m.Call != "":
		return p.live[who{m.Session, m.Agent, ""}]
	case m.Agent != "":
		return p.live[who{m.Session, "", ""}]
	}
	return nil
}

// beginsWith reports whether a recorded conversation begins with the messages of a
// request.
func (p *Player) beginsWith(s *script, req model.Request) (bool, error) {
	probe := &script{header: s.header, name: s.name, moves: s.moves, seen: newMemory()}
	for i := range s.moves {
		if _, err := p.read(probe, i); err != nil {
			return false, err
		}
		if s.moves[i].skip {
			continue
		}
		return probe.then.sameMessages(req, p.names(s, req.Meta))
	}
	return false, nil
}

// names puts the present places into what a conversation has.
func (p *Player) names(s *script, m model.Meta) renamer {
	var places map[string]string
	if n := s.header.Process; n >= 1 && n <= len(p.index.Processes) {
		places = p.index.Processes[n-1].Places
	}
	return newRenamer(places, p.o.Places, s.header.Dir, m.Dir)
}

// asker says in words who had a conversation.
func (h header) asker() string { return asker(h.Step, h.Role, h.Agent, h.Call) }

func asker(step, role, agent, call string) string {
	text := fmt.Sprintf("step %s, agent %s", step, role)
	if agent != "" {
		text += " (subagent " + agent + ")"
	}
	if call != "" {
		text += ", a search"
	}
	return text
}
