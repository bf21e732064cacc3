package transcript

import (
	"slices"

	"github.com/flowerlua/flower/engine/shell"
)

// Report is what a View did.
type Report struct {
	Expired        int `json:"expired"`         // stale results replaced by a note
	Cleared        int `json:"cleared"`         // large results moved to files
	Kept           int `json:"kept"`            // large results that are recent and stayed
	CharsSaved     int `json:"chars_saved"`     // characters of the results moved
	Pruned         int `json:"pruned"`          // entries removed
	DenialsDropped int `json:"denials_dropped"` // denied calls removed
	Neutralized    int `json:"neutralized"`     // interrupted results made a neutral note
	Healed         int `json:"healed"`          // entries put in for calls without a result
	Duplicates     int `json:"duplicates"`      // entries whose uuid had been there before
	Mended         int `json:"mended"`          // entries with text that was no Unicode

	// Spills are the files that the View points to, each once. They must exist
	// before the View is used; writing one that exists already changes nothing.
	Spills []Spill `json:"-"`
	// Decisions are what a later View repeats.
	Decisions Decisions `json:"-"`
}

// Spill is a file that a View points to.
type Spill struct {
	Path  string // below TrimPolicy.SpillDir, with slashes, as in the note
	Chars int
	raw   []byte
	at    span
}

// Text is the file's content.
func (s Spill) Text() string {
	text, _ := resultText(s.raw, s.at)
	return text
}

// View is what of a transcript is fed back to the model. It takes the entries that
// count (see Live) in order, and changes neither them nor their bytes; unchanged
// entries of the View share theirs. In this order, as far as the Policy says so:
//
//   - results of ephemeral commands that have gone stale expire,
//   - large old results move to files,
//   - denied calls but the newest go, call and result together, then API errors;
//     interrupted results become a neutral note,
//   - what remains is attached again to its nearest ancestor that remains,
//   - a call without a result anywhere gets one, in an entry behind the call's.
//
// Entries that are meta or a compaction summary, images and documents are left as
// they are. A tool_use stays if and only if its tool_result stays. A View of a
// View is the same. It takes time linear in the size of the entries.
func View(entries []Entry, p Policy) ([]Entry, Report) {
	v := newViewer(entries, p)
	if p.Repeat != nil {
		v.repeat(p.Repeat)
	} else {
		v.decide()
	}
	kept := v.apply()
	v.relink(kept)
	return v.heal(kept), v.report
}

// viewer makes one View. Results are known by their place: the entry's index in
// list and the block's among its tool blocks.
type viewer struct {
	policy Policy
	list   []*Entry // the entries, each once, without the prefix entries
	// gone maps the uuid of every entry left out to its parent's.
	gone    map[string]string
	calls   map[string]place // tool_use id of a Bash call → where it is
	judged  map[string]bool  // commands of entries whose header does not tell
	acts    map[place]act
	changed []bool            // entries with an act
	drop    map[string]bool   // tool_use ids of denied calls that go
	healed  map[string]string // of an earlier view: the entry healed → uuid put in
	// spilled holds the paths in report.Spills.
	spilled map[string]bool
	text    []byte // the text moved last
	written []byte // the notes put in
	notes   *notes
	report  Report
}

type place struct{ entry, block int }

// act is what happens to a result.
type act struct {
	kind actKind
	note string
}

type actKind uint8

const (
	expire actKind = iota + 1
	trim
	neutralize
)

func newViewer(entries []Entry, p Policy) *viewer {
	p = p.filled()
	v := &viewer{policy: p, gone: map[string]string{}, judged: map[string]bool{}, acts: map[place]act{}, drop: map[string]bool{}, spilled: map[string]bool{}}
	seen := make(map[string]struct{}, len(entries))
	v.list = make([]*Entry, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.UUID != "" {
			if _, twice := seen[e.UUID]; twice {
				v.report.Duplicates++
				continue
			}
			seen[e.UUID] = struct{}{}
		}
		if isPrefix(e) {
			v.leaveOut(e)
			continue
		}
		v.list = append(v.list, v.sound(e))
	}
	v.changed = make([]bool, len(v.list))
	texts := Texts{p.Expire.Text, p.Trim.Text, p.Trim.SpillDir, p.Prune.InterruptText, p.Prune.OrphanText}
	if p.Repeat != nil {
		texts = p.Repeat.Texts.or(texts)
	}
	v.notes = newNotes(texts)
	v.report.Decisions.Texts = texts
	return v
}

func isPrefix(e *Entry) bool { return e.Type == "system" && e.Subtype == PrefixSubtype }

// protected entries keep their content whatever it is.
func protected(e *Entry) bool { return e.Flags&(Meta|CompactSummary) != 0 }

// sound is e, or a copy without what cannot be sent or is not true.
func (v *viewer) sound(e *Entry) *Entry {
	if e.Flags.Has(NotUnicode) {
		v.report.Mended++
		raw := mendUnicode(e.Raw)
		return &Entry{Seq: e.Seq, Header: scanHeader(raw), Raw: raw}
	}
	if e.Size != len(e.Raw) || !fit(e.tools, e.Size) {
		other := *e
		other.tools = nil
		return &other
	}
	return e
}

// blocksOf are the tool blocks of the i-th entry.
func (v *viewer) blocksOf(i int) []block {
	e := v.list[i]
	if e.tools == nil && len(e.ToolUses)+len(e.ToolResults) > 0 {
		other := *e
		other.tools = contentBlocks(e.Raw, v.ephemeral)
		e, v.list[i] = &other, &other
	}
	return e.tools
}

// ephemeral is shell.Ephemeral, asked once about each command.
func (v *viewer) ephemeral(command string) bool {
	is, known := v.judged[command]
	if !known {
		is = shell.Ephemeral(command)
		v.judged[command] = is
	}
	return is
}

// messageContent is the place of message.content.
func messageContent(raw []byte) span {
	return lastField(raw, lastField(raw, whole(raw), "message"), "content")
}

// results yields the tool_result blocks of entries that may be changed, in order.
func (v *viewer) results(look func(e *Entry) bool) func(func(place, *block) bool) {
	return func(yield func(place, *block) bool) {
		for i := range v.list {
			e := v.list[i]
			if len(e.ToolResults) == 0 || protected(e) || !look(e) {
				continue
			}
			blocks := v.blocksOf(i)
			for n := range blocks {
				if blocks[n].kind == toolResult && !yield(place{i, n}, &blocks[n]) {
					return
				}
			}
		}
	}
}

// resultText is the text of a result's content; ok is false when it holds anything
// but text, or nothing.
func resultText(raw []byte, content span) (text string, ok bool) {
	b, ok := appendResultText(nil, raw, content)
	return string(b), ok
}

func appendResultText(dst, raw []byte, content span) (text []byte, ok bool) {
	if text, ok = appendTextAt(dst, raw, content); ok {
		return text, true
	}
	for item := range items(raw, content) {
		if text, ok = appendTextAt(text, raw, textBlock(raw, item)); !ok {
			return nil, false
		}
	}
	return text, ok
}

// textBlock is the place of the text in a block of text; none in others.
func textBlock(raw []byte, at span) (text span) {
	isText := false
	for f := range fields(raw, at) {
		switch string(f.key) {
		case "type":
			isText = string(f.val.in(raw)) == `"text"`
		case "text":
			text = f.val
		}
	}
	if !isText {
		return span{}
	}
	return text
}

func (v *viewer) do(at place, a act) {
	v.acts[at] = a
	v.changed[at.entry] = true
}

// leaveOut notes that e is not in the view.
func (v *viewer) leaveOut(e *Entry) {
	if e.UUID != "" {
		v.gone[e.UUID] = e.Parent
	}
}

// key names the i-th entry in Decisions.
func (v *viewer) key(i int) string { return entryKey(v.list[i], i) }

// entriesByKey is the other way round.
func (v *viewer) entriesByKey() map[string]int {
	m := make(map[string]int, len(v.list))
	for i := range v.list {
		m[v.key(i)] = i
	}
	return m
}

// lastReply is the index of the model's newest reply; what is behind it has not
// been sent, or to no effect.
func (v *viewer) lastReply() int {
	for i, e := range slices.Backward(v.list) {
		if e.Type == "assistant" && !e.Flags.Has(APIError) {
			return i
		}
	}
	return -1
}
