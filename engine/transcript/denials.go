package transcript

// denials finds the denied calls that go: all but the newest.
func (v *viewer) denials() {
	newest := v.deniedIDs()
	calls := v.tally(newest)
	keep := max(v.policy.Prune.KeepDenials, 0)
	var gone []string
	for _, id := range newest {
		if !calls[id].whole() {
			continue
		}
		if keep > 0 {
			keep--
			continue
		}
		gone = append(gone, id)
	}
	v.dropCalls(gone)
}

func (v *viewer) dropCalls(ids []string) {
	for _, id := range ids {
		v.drop[id] = true
	}
	v.report.DenialsDropped = len(ids)
	v.report.Decisions.Dropped = ids
}

// deniedIDs are the calls with a denied result, the newest first.
func (v *viewer) deniedIDs() []string {
	var ids []string
	seen := map[string]bool{}
	for i := len(v.list) - 1; i >= 0; i-- {
		e := v.list[i]
		if !v.maybeDenied(e) {
			continue
		}
		blocks := v.blocksOf(i)
		for n := len(blocks) - 1; n >= 0; n-- {
			if b := &blocks[n]; v.denied(e, b) && !seen[b.id] {
				seen[b.id] = true
				ids = append(ids, b.id)
			}
		}
	}
	return ids
}

func (v *viewer) maybeDenied(e *Entry) bool {
	if e.Flags.Has(Denied | ErrorResult) {
		return true
	}
	for _, id := range e.ToolResults {
		if v.policy.Denied[id] {
			return true
		}
	}
	return false
}

func (v *viewer) denied(e *Entry, b *block) bool {
	switch {
	case b.kind != toolResult:
		return false
	case e.Flags.Has(Denied) && b.isError:
		return true
	case v.policy.Denied[b.id]:
		// What a view put in for a denial that was never recorded is none.
		text, _ := textAt(e.Raw, b.value)
		return text == "" || text != v.notes.Orphan
	}
	return false
}

// call says whether a call can go without leaving half of it.
type call struct {
	fixed bool // a part is in an entry that must stay as it is
	other bool // it has a result that is no denial
}

func (c *call) whole() bool { return c != nil && !c.fixed && !c.other }

// tally looks at all parts of the given calls.
func (v *viewer) tally(ids []string) map[string]*call {
	calls := make(map[string]*call, len(ids))
	for _, id := range ids {
		calls[id] = &call{}
	}
	if len(ids) == 0 {
		return calls
	}
	for i := range v.list {
		e := v.list[i]
		for _, id := range e.ToolUses {
			if c := calls[id]; c != nil && protected(e) {
				c.fixed = true
			}
		}
		for _, id := range e.ToolResults {
			if c := calls[id]; c != nil {
				v.tallyResult(i, id, c)
			}
		}
	}
	return calls
}

func (v *viewer) tallyResult(i int, id string, c *call) {
	e := v.list[i]
	c.fixed = c.fixed || protected(e)
	blocks := v.blocksOf(i)
	for n := range blocks {
		if b := &blocks[n]; b.kind == toolResult && b.id == id && !v.denied(e, b) {
			c.other = true
		}
	}
}
