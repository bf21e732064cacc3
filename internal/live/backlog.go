package live

import (
	"cmp"
	"slices"

	"github.com/flowerlua/flower/engine/event"
)

// backlog is what somebody who comes late is told: the newest events and, of older
// ones, the step that is at work and the questions that are open.
type backlog struct {
	recent []kept
	size   int // bytes of recent
	step   *kept
	open   []kept // questions, oldest first
	seq    uint64
	cost   float64
}

// kept is an event as it is sent.
type kept struct {
	seq  uint64
	line []byte
	id   string // of the question it asks
}

func (b *backlog) add(e event.Event, line []byte) {
	k := kept{seq: e.Seq, line: line}
	b.seq = max(b.seq, e.Seq)
	switch e.Kind {
	case event.Step:
		b.step = &k
	case event.Result:
		if usd, ok := e.Payload["cost_usd"].(float64); ok {
			b.cost += usd
		}
	case event.Ask:
		b.ask(e, k)
	}
	b.recent = append(b.recent, k)
	b.size += len(line)
	for len(b.recent) > Backlog || b.size > maxBacklog && len(b.recent) > 1 {
		b.size -= len(b.recent[0].line)
		b.recent = b.recent[1:]
	}
}

// ask keeps a question until it is closed.
func (b *backlog) ask(e event.Event, k kept) {
	id, _ := e.Payload["id"].(string)
	if e.Payload["kind"] == "mail" || id == "" {
		return
	}
	b.open = slices.DeleteFunc(b.open, func(other kept) bool { return other.id == id })
	if e.Payload["state"] == "asked" {
		k.id = id
		b.open = append(b.open, k)
	}
}

// lines are what is sent, in the order of the events.
func (b *backlog) lines() [][]byte {
	all := slices.Clone(b.recent)
	first := b.seq + 1
	if len(all) > 0 {
		first = all[0].seq
	}
	older := slices.Clone(b.open)
	if b.step != nil {
		older = append(older, *b.step)
	}
	for _, k := range older {
		if k.seq < first {
			all = append(all, k)
		}
	}
	slices.SortStableFunc(all, func(a, c kept) int { return cmp.Compare(a.seq, c.seq) })
	var lines [][]byte
	for _, k := range all {
		lines = append(lines, k.line)
	}
	return lines
}
