package transcript

// heal puts in an entry with the missing results behind every reply that has calls
// without one, and hangs the reply's children below it.
func (v *viewer) heal(list []kept) []Entry {
	wounds := v.wounds(list)
	under := map[string]string{} // uuid of a healed entry → uuid put in
	for i := range list {
		if w := wounds[i]; w != nil {
			w.uuid = v.healID(list[i], w.ids)
			under[list[i].UUID] = w.uuid
		}
	}
	delete(under, "")
	out := make([]Entry, 0, len(list)+len(under))
	for i := range list {
		k := &list[i]
		if uuid, ok := under[k.parent]; ok && k.parent != k.UUID {
			k.parent = uuid
		}
		out = append(out, *k.Entry)
		k.finish(&out[len(out)-1])
		if w := wounds[i]; w != nil {
			out = append(out, v.healing(k, w))
		}
	}
	return out
}

// wound is calls that have no result.
type wound struct {
	uuid string
	ids  []string
}

// wounds are the calls without a result, at the place where their results go: the
// last entry of the reply, which may be several.
func (v *viewer) wounds(list []kept) map[int]*wound {
	wounds := map[int]*wound{}
	if !v.policy.Prune.HealOrphans {
		return wounds
	}
	answered := v.answered(list)
	ends := replyEnds(list)
	for i := range list {
		for _, id := range list[i].ToolUses {
			if id == "" || answered[id] || v.drop[id] {
				continue
			}
			answered[id] = true
			w := wounds[ends[i]]
			if w == nil {
				w = &wound{}
				wounds[ends[i]] = w
			}
			w.ids = append(w.ids, id)
		}
	}
	return wounds
}

// answered are the calls that have a result, or will have one.
func (v *viewer) answered(list []kept) map[string]bool {
	results := 0
	for i := range list {
		results += len(list[i].ToolResults)
	}
	has := make(map[string]bool, results)
	for i := range list {
		for _, id := range list[i].ToolResults {
			has[id] = true
		}
	}
	for _, id := range v.policy.Pending {
		has[id] = true
	}
	return has
}

// replyEnds gives for every entry the last one of the reply that it is part of:
// entries with the same message id with nothing but results in between.
func replyEnds(list []kept) []int {
	ends := make([]int, len(list))
	id, end := "", 0
	for i := len(list) - 1; i >= 0; i-- {
		ends[i] = i
		switch e := list[i].Entry; {
		case e.Type == "assistant" && e.MessageID != "" && e.MessageID == id:
			ends[i] = end
		case e.Type == "assistant":
			id, end = e.MessageID, i
		case len(e.ToolResults) == 0 && e.Role != "":
			id = ""
		}
	}
	return ends
}

func (v *viewer) healID(k kept, ids []string) string {
	key := v.key(k.index)
	uuid := v.healed[key]
	if uuid == "" {
		uuid = v.newID(key, ids)
	}
	v.report.Healed++
	d := &v.report.Decisions
	d.Healed = append(d.Healed, Heal{After: key, UUID: uuid})
	return uuid
}

func (v *viewer) newID(key string, ids []string) string {
	if v.policy.NewID != nil {
		return v.policy.NewID()
	}
	return derivedID("heal", append([]string{key}, ids...)...)
}

func (v *viewer) healing(k *kept, w *wound) Entry {
	a := answer{from: k.Entry, uuid: w.uuid, parent: k.UUID}
	for _, id := range w.ids {
		a.results = append(a.results, result{id: id, text: v.notes.Orphan})
	}
	return a.entry()
}
