package transcript

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/shell"
)

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
	at      place
	command string
	done    bool // it has expired in an earlier view
}

func (v *viewer) expire() {
	looks := v.looks()
	for n, l := range looks[:max(0, len(looks)-v.policy.Expire.KeepRecent)] {
		if !l.done {
			v.expireAt(l.at, l.command, len(looks)-n)
		}
	}
}

func (v *viewer) expireAt(at place, command string, age int) {
	v.do(at, act{kind: expire, note: v.notes.expire(command, age)})
	v.report.Expired++
	d := &v.report.Decisions
	d.Expired = append(d.Expired, Place{Entry: v.key(at.entry), Block: at.block, Age: age})
}

// looks are the results that can expire, oldest first.
func (v *viewer) looks() []look {
	v.findBash()
	judged := map[string]bool{}
	var looks []look
	for at, b := range v.results(v.hasBash) {
		command, ok := v.command(b.id)
		if !ok {
			continue
		}
		done, counts := v.isLook(at, b, command)
		if !counts {
			continue
		}
		is, known := judged[command]
		if !known {
			is = shell.Ephemeral(command)
			judged[command] = is
		}
		if is {
			looks = append(looks, look{at, command, done})
		}
	}
	return looks
}

// isLook reports whether the result of an ephemeral command counts as one that can
// expire, and whether it has done so before. An interrupted result counts, and so
// does the note in its place: whether its text is long must not make a difference.
func (v *viewer) isLook(at place, b block, command string) (done, counts bool) {
	raw, limit := v.list[at.entry].Raw, v.policy.Expire.MaxChars
	if quoted := b.content.in(raw); len(quoted) > 1 && quoted[0] == '"' && !v.notes.mayBegin(quoted[1:len(quoted)-1]) {
		return false, !longerThan(quoted[1:len(quoted)-1], limit)
	}
	text, ok := resultText(raw, b.content)
	switch {
	case !ok, v.notes.isTrimmed(text), text == v.notes.Orphan && text != "":
		return false, false
	case v.notes.isExpired(text, command):
		return true, true
	case v.policy.Prune.NeutralizeInterrupts && (b.isError && isInterrupt(text) || text == v.notes.Interrupt):
		return false, true
	}
	return false, utf8.RuneCountInString(text) <= limit
}

// findBash notes where the calls of Bash are.
func (v *viewer) findBash() {
	v.calls = map[string]place{}
	for i := range v.list {
		e := &v.list[i]
		if len(e.ToolUses) == 0 || !bytes.Contains(e.Raw, []byte(`"Bash"`)) {
			continue
		}
		for n, b := range v.blocksOf(i) {
			if b.kind == toolUse && string(b.name.in(e.Raw)) == `"Bash"` {
				v.calls[b.id] = place{i, n}
			}
		}
	}
}

func (v *viewer) hasBash(e *Entry) bool {
	return slices.ContainsFunc(e.ToolResults, func(id string) bool {
		_, is := v.calls[id]
		return is
	})
}

// command is the command line of a Bash call.
func (v *viewer) command(id string) (string, bool) {
	at, ok := v.calls[id]
	if !ok {
		return "", false
	}
	raw := v.list[at.entry].Raw
	return textAt(raw, lastField(raw, v.blocksOf(at.entry)[at.block].input, "command"))
}

// large is a result that can move to a file.
type large struct {
	at    place
	chars int
	path  string
}

func (v *viewer) trim() {
	limit := v.policy.Trim.MinChars
	var found []large
	for at, b := range v.results(func(e *Entry) bool { return e.Size >= limit }) {
		if _, expired := v.acts[at]; expired || b.content.hi-b.content.lo < limit {
			continue
		}
		if l, ok := v.measure(at, b); ok && l.chars >= limit && !v.isNote(b.id) {
			found = append(found, l)
		}
	}
	old := max(0, len(found)-v.policy.Trim.KeepRecent)
	v.setKept(len(found) - old)
	for _, l := range found[:old] {
		v.trimAt(l)
	}
}

// measure reads the text of a result into v.text.
func (v *viewer) measure(at place, b block) (l large, ok bool) {
	v.text, ok = appendResultText(v.text[:0], v.list[at.entry].Raw, b.content)
	if !ok {
		return large{}, false
	}
	return large{at, utf8.RuneCount(v.text), spillPath(v.notes.SpillDir, v.text)}, true
}

func (v *viewer) setKept(n int) {
	v.report.Kept = n
	v.report.Decisions.Kept = n
}

// isNote reports whether the text measured last is what some view has put in the
// place of a result of the call.
func (v *viewer) isNote(id string) bool {
	if len(v.text) > utf8.UTFMax*v.notes.longest {
		return false
	}
	text := string(v.text)
	if v.notes.isTrimmed(text) || v.notes.isMade(text) {
		return true
	}
	command, ok := v.command(id)
	return ok && v.notes.isExpired(text, command)
}

func (v *viewer) trimAt(l large) {
	v.do(l.at, act{kind: trim, note: v.notes.trim(l.chars, l.path)})
	v.report.Cleared++
	v.report.CharsSaved += l.chars
	if !v.spilled[l.path] {
		v.spilled[l.path] = true
		content := v.blocksOf(l.at.entry)[l.at.block].content
		v.report.Spills = append(v.report.Spills, Spill{Path: l.path, Chars: l.chars, raw: v.list[l.at.entry].Raw, at: content})
	}
	d := &v.report.Decisions
	d.Trimmed = append(d.Trimmed, Place{Entry: v.key(l.at.entry), Block: l.at.block})
}

// interrupts makes interrupted results of the entries from the given one on
// neutral, unless they have expired or moved. Content that is a list is looked at
// only beside one that is a plain string: alone it may be a tool's own words.
func (v *viewer) interrupts(from int) {
	for i := from; i < len(v.list); i++ {
		e := &v.list[i]
		if !e.Flags.Has(ErrorResult) || protected(e) {
			continue
		}
		plain := slices.ContainsFunc(v.blocksOf(i), func(b block) bool {
			text, ok := textAt(e.Raw, b.content)
			return ok && b.isError && isInterrupt(text)
		})
		for n, b := range v.blocksOf(i) {
			text, ok := resultText(e.Raw, b.content)
			if plain && ok && b.kind == toolResult && b.isError && isInterrupt(text) {
				v.neutralizeAt(place{i, n}, b.id)
			}
		}
	}
}

func (v *viewer) neutralizeAt(at place, id string) {
	if _, done := v.acts[at]; done || v.drop[id] {
		return
	}
	v.do(at, act{kind: neutralize, note: v.notes.Interrupt})
	v.report.Neutralized++
	d := &v.report.Decisions
	d.Neutral = append(d.Neutral, Place{Entry: v.key(at.entry), Block: at.block})
}
