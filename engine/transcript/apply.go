package transcript

import "slices"

// kept is an entry that stays, and what becomes of it.
type kept struct {
	*Entry
	index   int
	parent  string
	content []byte // the new message.content; nil leaves it
	calls   Header // ToolUses, ToolResults and ErrorResult of the new content
	lessUse bool   // a result went: toolUseResult, its copy, goes as well
}

// apply does to every entry's content what was decided, and leaves out the entries
// of which nothing remains.
func (v *viewer) apply() []kept {
	out := make([]kept, 0, len(v.list))
	for i := range v.list {
		e := &v.list[i]
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

// edit makes the entry's new content. False means that nothing remains of it.
func (v *viewer) edit(k *kept) bool {
	if !v.touched(k) {
		return true
	}
	content := []byte{'['}
	left := 0
	for n, b := range v.blocksOf(k.index) {
		if v.dropped(b) {
			k.lessUse = k.lessUse || b.kind == toolResult
			continue
		}
		if left > 0 {
			content = append(content, ',')
		}
		if a, ok := v.acts[place{k.index, n}]; ok {
			content = appendResult(content, k.Raw, b, a)
			b.isError = b.isError && a.kind != neutralize
		} else {
			content = append(content, b.in(k.Raw)...)
		}
		k.calls.addCall(b)
		left++
	}
	k.content = append(content, ']')
	return left > 0
}

func (v *viewer) touched(k *kept) bool {
	goes := func(id string) bool { return v.drop[id] }
	return v.changed[k.index] || slices.ContainsFunc(k.ToolUses, goes) || slices.ContainsFunc(k.ToolResults, goes)
}

func (v *viewer) dropped(b block) bool {
	return b.kind != otherBlock && v.drop[b.id]
}

// appendResult appends the tool_result b of raw with a note for its content.
func appendResult(out, raw []byte, b block, a act) []byte {
	out = append(out, '{')
	first := true
	for f := range fields(raw, b.span) {
		if !first {
			out = append(out, ',')
		}
		first = false
		switch key := string(f.key); {
		case key == "content":
			out = append(out, `"content":`...)
			out = appendQuoted(out, a.note)
		case key == "is_error" && a.kind == neutralize:
			out = append(out, `"is_error":false`...)
		default:
			out = append(out, raw[f.at:f.val.hi]...)
		}
	}
	return append(out, '}')
}

// entry is the entry as it is in the view.
func (k *kept) entry() Entry {
	if k.content == nil && k.parent == k.Parent {
		return *k.Entry
	}
	raw := k.render()
	h := k.Header
	h.Parent, h.Size = k.parent, len(raw)
	if k.content != nil {
		h.ToolUses, h.ToolResults = k.calls.ToolUses, k.calls.ToolResults
		h.mark(k.calls.Flags.Has(ErrorResult), ErrorResult)
	}
	return Entry{Seq: k.Seq, Header: h, Raw: raw}
}

// render puts the new parent and content into the entry's bytes; all else stays as
// it is, in its order.
func (k *kept) render() []byte {
	all := whole(k.Raw)
	message := lastField(k.Raw, all, "message")
	out := append(make([]byte, 0, len(k.Raw)+64), '{')
	for f := range fields(k.Raw, all) {
		if k.lessUse && string(f.key) == "toolUseResult" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		switch {
		case string(f.key) == "parentUuid" && k.parent != k.Parent:
			out = append(out, `"parentUuid":`...)
			out = appendUUID(out, k.parent)
		case k.content != nil && f.val == message:
			out = append(out, k.Raw[f.at:f.val.lo]...)
			out = k.appendMessage(out, message)
		default:
			out = append(out, k.Raw[f.at:f.val.hi]...)
		}
	}
	return append(out, '}')
}

func (k *kept) appendMessage(out []byte, message span) []byte {
	content := lastField(k.Raw, message, "content")
	out = append(out, '{')
	first := true
	for f := range fields(k.Raw, message) {
		if !first {
			out = append(out, ',')
		}
		first = false
		if f.val == content {
			out = append(out, `"content":`...)
			out = append(out, k.content...)
		} else {
			out = append(out, k.Raw[f.at:f.val.hi]...)
		}
	}
	return append(out, '}')
}

// appendUUID appends a uuid as JSON; an empty one is null.
func appendUUID(out []byte, uuid string) []byte {
	if uuid == "" {
		return append(out, "null"...)
	}
	return appendQuoted(out, uuid)
}
