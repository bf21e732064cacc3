package transcript

import (
	"slices"
	"strconv"
)

// repeat takes the decisions of an earlier view again, as far as what they are
// about is still there, and adds those about what cannot have been sent since.
func (v *viewer) repeat(d *Decisions) {
	index := v.entriesByKey()
	v.findBash()
	for _, p := range d.Expired {
		if at, b, ok := v.resultAt(index, p); ok {
			if command, known := v.command(b.id); known {
				v.expireAt(at, command, p.Age)
			}
		}
	}
	for _, p := range d.Trimmed {
		if at, _, ok := v.resultAt(index, p); ok {
			v.trimAt(at)
		}
	}
	v.setKept(d.Kept)
	v.repeatDrops(d.Dropped)
	for _, p := range d.Neutral {
		if at, b, ok := v.resultAt(index, p); ok {
			v.neutralizeAt(at, b.id)
		}
	}
	v.report.Decisions.APIErrors = d.APIErrors || v.policy.Prune.DropAPIErrors
	if v.policy.Prune.NeutralizeInterrupts {
		v.interrupts(v.lastReply() + 1)
	}
	v.healed = make(map[string]string, len(d.Healed))
	for _, h := range d.Healed {
		v.healed[h.After] = h.UUID
	}
}

// repeatDrops leaves the calls out again, except one that has got a part since
// that must stay.
func (v *viewer) repeatDrops(ids []string) {
	denied := make(map[string]bool, len(ids)+len(v.policy.Denied))
	for id := range v.policy.Denied {
		denied[id] = true
	}
	for _, id := range ids {
		denied[id] = true
	}
	v.policy.Denied = denied
	calls := v.tally(ids)
	var whole []string
	for _, id := range ids {
		if calls[id].whole() {
			whole = append(whole, id)
		}
	}
	v.dropCalls(whole)
}

// resultAt is the text result that a decision is about.
func (v *viewer) resultAt(index map[string]int, p Place) (place, *block, bool) {
	i, ok := index[p.Entry]
	if !ok || protected(v.list[i]) {
		return place{}, nil, false
	}
	blocks := v.blocksOf(i)
	n := slices.IndexFunc(blocks, func(b block) bool { return b.n == p.Block })
	if n < 0 {
		return place{}, nil, false
	}
	return place{i, n}, &blocks[n], blocks[n].kind == toolResult && blocks[n].chars >= 0
}

// entryKey names the n-th entry in Decisions.
func entryKey(e *Entry, n int) string {
	if e.UUID != "" {
		return e.UUID
	}
	return "#" + strconv.Itoa(n)
}
