package transcript

import "slices"

// kept is an entry that stays, and what becomes of it.
type kept struct {
	*Entry
	index  int
	parent string
	edits  []edit // of the content
	// calls are those left when some of them went or are no error any more; nil: all stay
	// as they are.
	calls   *Header
	lessUse bool // a result went: toolUseResult, its copy, goes as well
}

// apply does to every entry's content what was decided, and leaves out the entries
// of which nothing remains.
func (v *viewer) apply() []kept {
	out := make([]kept, 0, len(v.list))
	for i := range v.list {
		e := v.list[i]
		k := kept{Entry: e, index: i, parent: e.Parent}
		if v.isDroppedError(e) || !v.edit(&k) {
			v.leaveOut(e)
			v.report.Pruned++
			continue
		}
		out = append(out, k)
	}
	return out
}

// isDroppedError: an API error goes, unless it holds half of a call that stays.
func (v *viewer) isDroppedError(e *Entry) bool {
	stays := func(id string) bool { return !v.drop[id] }
	return v.report.Decisions.APIErrors && e.Flags.Has(APIError) && !protected(e) &&
		!slices.ContainsFunc(e.ToolUses, stays) && !slices.ContainsFunc(e.ToolResults, stays)
}

// edit decides what becomes of the entry's content. False means that nothing remains of
// it.
func (v *viewer) edit(k *kept) bool {
	if !v.touched(k) {
		return true
	}
	gone := v.editBlocks(k)
	if len(gone) == 0 {
		return true
	}
	var parts []span
	for part := range items(k.Raw, messageContent(k.Raw)) {
		parts = append(parts, part)
	}
	k.edits = appendCuts(k.edits, parts, func(n int) bool { return gone[n] })
	return len(parts) > len(gone)
}

// editBlocks decides what becomes of the entry's tool blocks; gone are those that go, by
// their index in the content.
func (v *viewer) editBlocks(k *kept) (gone map[int]bool) {
	var left []block
	same := true
	blocks := v.blocksOf(k.index)
	for n := range blocks {
		b := blocks[n]
		if v.drop[b.id] {
			if gone == nil {
				gone = map[int]bool{}
			}
			gone[b.n] = true
			k.lessUse = k.lessUse || b.kind == toolResult
			continue
		}
		if a, ok := v.acts[place{k.index, n}]; ok {
			k.edits = v.appendEdits(k.edits, k.Raw, &b, a)
			same = same && a.kind != neutralize
			b.isError = b.isError && a.kind != neutralize
		}
		left = append(left, b)
	}
	if len(gone) > 0 || !same {
		k.calls = &Header{}
		for _, b := range left {
			k.calls.addCall(b)
		}
	}
	return gone
}

func (v *viewer) touched(k *kept) bool {
	goes := func(id string) bool { return v.drop[id] }
	return v.changed[k.index] || slices.ContainsFunc(k.ToolUses, goes) || slices.ContainsFunc(k.ToolResults, goes)
}

// appendEdits puts a note in the place of the content of the result b.
func (v *viewer) appendEdits(edits []edit, raw []byte, b *block, a act) []edit {
	edits = append(edits, edit{b.value, v.quoted(a.note)})
	if at := lastField(raw, b.span, "is_error"); a.kind == neutralize && !at.none() {
		edits = append(edits, edit{at, []byte("false")})
	}
	return edits
}

// quoted is text as a JSON string. All of a view are in one piece of memory.
func (v *viewer) quoted(text string) []byte {
	from := len(v.written)
	v.written = appendQuoted(v.written, text)
	return v.written[from:len(v.written):len(v.written)]
}

// finish makes e, a copy of the entry, what it is in the view.
func (k *kept) finish(e *Entry) {
	if len(k.edits) == 0 && k.parent == k.Parent {
		return
	}
	e.Raw = k.render()
	e.Parent, e.Size, e.tools = k.parent, len(e.Raw), nil
	if k.calls != nil {
		e.ToolUses, e.ToolResults = k.calls.ToolUses, k.calls.ToolResults
		e.mark(k.calls.Flags.Has(ErrorResult), ErrorResult)
	}
}

// render puts the new parent and content into the entry's bytes; all else stays as it
// is.
func (k *kept) render() []byte {
	edits := k.edits
	if k.parent != k.Parent {
		edits = append(edits, edit{lastField(k.Raw, whole(k.Raw), "parentUuid"), appendUUID(nil, k.parent)})
	}
	if k.lessUse {
		var members []span
		var gone []bool
		for f := range fields(k.Raw, whole(k.Raw)) {
			members = append(members, span{f.at, f.val.hi})
			gone = append(gone, string(f.key) == "toolUseResult")
		}
		edits = appendCuts(edits, members, func(n int) bool { return gone[n] })
	}
	return edited(k.Raw, edits)
}

// appendUUID appends a uuid as JSON; an empty one is null.
func appendUUID(out []byte, uuid string) []byte {
	if uuid == "" {
		return append(out, "null"...)
	}
	return appendQuoted(out, uuid)
}

// edit puts text in the place of a span.
type edit struct {
	span
	text []byte
}

// appendCuts takes out the parts of a list that are gone, with the commas between them
// and others.
func appendCuts(edits []edit, parts []span, gone func(n int) bool) []edit {
	before := -1 // the last part that stays
	for n, part := range parts {
		switch {
		case !gone(n):
			before = n
		case before >= 0:
			edits = append(edits, edit{span: span{parts[n-1].hi, part.hi}})
		case n+1 < len(parts):
			edits = append(edits, edit{span: span{part.lo, parts[n+1].lo}})
		default:
			edits = append(edits, edit{span: part})
		}
	}
	return edits
}

// edited is raw with the edits. Those of an entry do not overlap; of two that do, since
// the header is of other bytes, the first counts.
func edited(raw []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.lo - b.lo })
	size := len(raw)
	for _, e := range edits {
		size += len(e.text) - (e.hi - e.lo)
	}
	out := make([]byte, 0, max(size, 0))
	at := 0
	for _, e := range edits {
		if e.lo < at {
			continue
		}
		out = append(append(out, raw[at:e.lo]...), e.text...)
		at = e.hi
	}
	return append(out, raw[at:]...)
}
