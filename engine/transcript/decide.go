package transcript

import "slices"

// decide finds what the policy leaves out.
func (v *viewer) decide() {
	if v.policy.Expire.Enabled {
		v.expire()
	}
	if v.policy.Trim.Enabled {
		v.trim()
	}
	if v.policy.Prune == (PrunePolicy{}) {
		return
	}
	v.denials()
	v.report.Decisions.APIErrors = v.policy.Prune.DropAPIErrors
	if v.policy.Prune.NeutralizeInterrupts {
		v.interrupts(0)
	}
}

// look is a result of an ephemeral command.
type look struct {
	at   place
	id   string // of the call
	done bool   // it has expired in an earlier view
}

func (v *viewer) expire() {
	looks := v.looks()
	for n, l := range looks[:max(0, len(looks)-v.policy.Expire.KeepRecent)] {
		if !l.done {
			command, _ := v.command(l.id)
			v.expireAt(l.at, command, len(looks)-n)
		}
	}
}

func (v *viewer) expireAt(at place, command string, age int) {
	v.do(at, act{kind: expire, note: v.notes.expire(command, age)})
	v.report.Expired++
	d := &v.report.Decisions
	d.Expired = append(d.Expired, v.place(at, age))
}

// looks are the results that can expire, oldest first.
func (v *viewer) looks() []look {
	v.findBash()
	var looks []look
	for at, b := range v.results(v.hasBash) {
		call, known := v.call(b.id)
		if !known || !call.looks {
			continue
		}
		if done, counts := v.isLook(at, b); counts {
			looks = append(looks, look{at, b.id, done})
		}
	}
	return looks
}

// isLook reports whether the result of an ephemeral command counts as one that can
// expire, and whether it has done so before. An interrupted result counts, and so
// does the note in its place: whether its text is long must not make a difference.
func (v *viewer) isLook(at place, b *block) (done, counts bool) {
	raw := v.list[at.entry].Raw
	short := b.chars <= v.policy.Expire.MaxChars
	switch {
	case b.chars < 0:
		return false, false
	case raw[b.value.lo] == '"' && !v.notes.mayBegin(raw[b.value.lo+1:b.value.hi-1]):
		return false, short
	}
	text, _ := resultText(raw, b.value)
	command, _ := v.command(b.id)
	switch {
	case v.notes.isTrimmed(text), text == v.notes.Orphan && text != "":
		return false, false
	case v.notes.isExpired(text, command):
		return true, true
	case v.policy.Prune.NeutralizeInterrupts && (b.isError && isInterrupt(text) || text == v.notes.Interrupt):
		return false, true
	}
	return false, short
}

// findBash notes where the calls of Bash are.
func (v *viewer) findBash() {
	uses := 0
	for _, e := range v.list {
		uses += len(e.ToolUses)
	}
	v.calls = make(map[string]place, uses)
	for i := range v.list {
		blocks := v.blocksOf(i)
		for n := range blocks {
			if b := &blocks[n]; b.kind == toolUse && b.bash {
				v.calls[b.id] = place{i, n}
			}
		}
	}
}

// call is the block of a call of Bash.
func (v *viewer) call(id string) (b *block, ok bool) {
	at, ok := v.calls[id]
	if !ok {
		return nil, false
	}
	return &v.list[at.entry].tools[at.block], true
}

func (v *viewer) hasBash(e *Entry) bool {
	return slices.ContainsFunc(e.ToolResults, func(id string) bool {
		_, is := v.calls[id]
		return is
	})
}

// command is the command line of a Bash call.
func (v *viewer) command(id string) (string, bool) {
	b, ok := v.call(id)
	if !ok {
		return "", false
	}
	return textAt(v.list[v.calls[id].entry].Raw, b.value)
}

func (v *viewer) trim() {
	limit := v.policy.Trim.MinChars
	var found []place
	for at, b := range v.results(func(e *Entry) bool { return e.Size >= limit }) {
		if _, expired := v.acts[at]; !expired && b.chars >= max(limit, 0) && !v.isNote(at, b) {
			found = append(found, at)
		}
	}
	old := max(0, len(found)-v.policy.Trim.KeepRecent)
	v.setKept(len(found) - old)
	for _, at := range found[:old] {
		v.trimAt(at)
	}
}

// isNote reports whether a text is what some view has put in the place of a result.
func (v *viewer) isNote(at place, b *block) bool {
	if b.chars > v.notes.longest {
		return false
	}
	text, _ := resultText(v.list[at.entry].Raw, b.value)
	if v.notes.isTrimmed(text) || v.notes.isMade(text) {
		return true
	}
	command, ok := v.command(b.id)
	return ok && v.notes.isExpired(text, command)
}

func (v *viewer) trimAt(at place) {
	raw, b := v.list[at.entry].Raw, &v.list[at.entry].tools[at.block]
	v.text, _ = appendResultText(v.text[:0], raw, b.value)
	path := spillPath(v.notes.SpillDir, v.text)
	v.do(at, act{kind: trim, note: v.notes.trim(b.chars, path)})
	v.report.Cleared++
	v.report.CharsSaved += b.chars
	if !v.spilled[path] {
		v.spilled[path] = true
		v.report.Spills = append(v.report.Spills, Spill{Path: path, Chars: b.chars, raw: raw, at: b.value})
	}
	d := &v.report.Decisions
	d.Trimmed = append(d.Trimmed, v.place(at, 0))
}

func (v *viewer) setKept(n int) {
	v.report.Kept = n
	v.report.Decisions.Kept = n
}

// place names a result in Decisions.
func (v *viewer) place(at place, age int) Place {
	return Place{Entry: v.key(at.entry), Block: v.list[at.entry].tools[at.block].n, Age: age}
}

// interrupts makes interrupted results of the entries from the given one on
// neutral, unless they have expired or moved. Content that is a list is looked at
// only beside one that is a plain string: alone it may be a tool's own words.
func (v *viewer) interrupts(from int) {
	for i := from; i < len(v.list); i++ {
		e := v.list[i]
		if !e.Flags.Has(ErrorResult) || protected(e) {
			continue
		}
		blocks := v.blocksOf(i)
		plain := slices.ContainsFunc(blocks, func(b block) bool {
			return b.kind == toolResult && b.isError && !b.value.none() && e.Raw[b.value.lo] == '"' && v.saysInterrupted(e, &b)
		})
		for n := range blocks {
			if b := &blocks[n]; plain && b.kind == toolResult && b.isError && v.saysInterrupted(e, b) {
				v.neutralizeAt(place{i, n}, b.id)
			}
		}
	}
}

func (v *viewer) saysInterrupted(e *Entry, b *block) bool {
	text, ok := resultText(e.Raw, b.value)
	return ok && isInterrupt(text)
}

func (v *viewer) neutralizeAt(at place, id string) {
	if _, done := v.acts[at]; done || v.drop[id] {
		return
	}
	v.do(at, act{kind: neutralize, note: v.notes.Interrupt})
	v.report.Neutralized++
	d := &v.report.Decisions
	d.Neutral = append(d.Neutral, v.place(at, 0))
}
