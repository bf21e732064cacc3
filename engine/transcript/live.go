package transcript

import (
	"fmt"
	"slices"
)

// Live is what of a transcript counts: the entries on the branch that leads to the
// one with uuid at, in order; with an empty at, to the newest message. A session
// that was rewound holds branches that nobody goes on with; feeding them back would
// mix two pasts. Entries outside of the tree (without uuid: titles, modes, queue
// operations; prefix entries) are part of it, so are replies and results recorded beside the branch
// when calls ran side by side, and whatever else hangs on it.
//
// A parent that is missing or leads round in a circle is passed by: the branch goes
// on with the entry before it. What a compaction has preserved comes behind its
// summary, although it was recorded before. ErrNotFound means that there is no entry at.
// The result shares the entries, and is the same list when all of them count. It takes
// linear time.
func Live(entries []Entry, at string) ([]Entry, error) {
	b := newBranch(entries)
	leaf := b.newest()
	if at != "" {
		i, ok := b.index[at]
		if !ok {
			return nil, fmt.Errorf("message %s: %w", at, ErrNotFound)
		}
		leaf = i
		b.end = i + 1
	}
	if leaf < 0 {
		b.joinTree() // no message, no branches
	} else {
		b.climb(leaf)
		b.joinPreserved()
	}
	b.joinLoose()
	if slices.Contains(b.live[:b.end], false) {
		b.joinReplies()
		b.joinResults()
	}
	return b.collect(), nil
}

// Tail is the uuid that a new entry of the transcript names as its parent: that of
// the newest message, or of the last entry that hangs on it. It is empty when there
// is nothing to hang on.
func Tail(entries []Entry) string {
	leaf := newBranch(entries).newest()
	if leaf < 0 {
		return ""
	}
	tail := entries[leaf].UUID
	for i := leaf + 1; i < len(entries); i++ {
		if e := &entries[i]; e.Parent == tail && e.UUID != "" && !isPrefix(e) {
			tail = e.UUID
		}
	}
	return tail
}

// branch finds the live entries of a transcript.
type branch struct {
	list  []Entry
	index map[string]int // uuid → its first entry
	live  []bool
	end   int  // entries from here on do not count
	side  bool // every message is of a subagent
	// moved entries do not count at their place but behind another entry.
	moved  map[int]bool
	behind map[int][]int
}

func newBranch(entries []Entry) *branch {
	b := &branch{list: entries, index: make(map[string]int, len(entries)), live: make([]bool, len(entries)), end: len(entries), side: true,
		moved: map[int]bool{}, behind: map[int][]int{}}
	for i := range entries {
		e := &entries[i]
		if _, twice := b.index[e.UUID]; e.UUID != "" && !twice {
			b.index[e.UUID] = i
		}
		if isMessage(e) && !e.Flags.Has(Sidechain) {
			b.side = false
		}
	}
	return b
}

func isMessage(e *Entry) bool { return e.Type == "user" || e.Type == "assistant" }

// ours reports whether e is of the thread that the transcript is about. Old
// transcripts hold those of subagents as well.
func (b *branch) ours(e *Entry) bool { return b.side || !e.Flags.Has(Sidechain) }

// inTree reports whether the i-th entry is the one that its uuid stands for.
func (b *branch) inTree(i int) bool {
	uuid := b.list[i].UUID
	return uuid != "" && b.index[uuid] == i
}

func (b *branch) newest() int {
	for i := len(b.list) - 1; i >= 0; i-- {
		if e := &b.list[i]; isMessage(e) && b.inTree(i) && b.ours(e) {
			return i
		}
	}
	return -1
}

// climb marks the entries from the leaf up to the root.
func (b *branch) climb(leaf int) {
	low := leaf
	for i := leaf; i >= 0; {
		b.live[i] = true
		low = min(low, i)
		parent := b.list[i].Parent
		if parent == "" {
			return
		}
		next, known := b.index[parent]
		if !known || b.live[next] {
			next = b.before(low)
		}
		i = next
	}
}

// before is the nearest entry of the tree before the i-th, or -1.
func (b *branch) before(i int) int {
	for i--; i >= 0; i-- {
		if b.inTree(i) && !b.live[i] && b.ours(&b.list[i]) {
			return i
		}
	}
	return -1
}

func (b *branch) joinTree() {
	for i := range b.list {
		b.live[i] = b.inTree(i)
	}
}

// joinLoose marks what is outside of the tree.
func (b *branch) joinLoose() {
	for i := range b.list[:b.end] {
		if e := &b.list[i]; e.UUID == "" || isPrefix(e) {
			b.live[i] = true
		}
	}
}

// joinReplies marks the other entries of replies that the branch goes through.
func (b *branch) joinReplies() {
	replies := map[string]bool{}
	for i := range b.list {
		if e := &b.list[i]; b.live[i] && e.Type == "assistant" && e.MessageID != "" {
			replies[e.MessageID] = true
		}
	}
	for i := range b.list[:b.end] {
		if e := &b.list[i]; e.Type == "assistant" && replies[e.MessageID] && b.inTree(i) && b.ours(e) {
			b.live[i] = true
		}
	}
}

// joinResults marks results of live calls that the branch has no result for.
func (b *branch) joinResults() {
	open := map[string]bool{}
	for i := range b.list {
		if b.live[i] {
			for _, id := range b.list[i].ToolUses {
				open[id] = true
			}
		}
	}
	for i := range b.list {
		if b.live[i] {
			b.close(open, i)
		}
	}
	for i := range b.list[:b.end] {
		if b.live[i] || !b.inTree(i) {
			continue
		}
		for _, id := range b.list[i].ToolResults {
			b.live[i] = b.live[i] || open[id]
		}
		if b.live[i] {
			b.close(open, i)
		}
	}
}

func (b *branch) close(open map[string]bool, i int) {
	for _, id := range b.list[i].ToolResults {
		delete(open, id)
	}
}

// collect gathers the live entries, and those that are no message and hang on
// them.
func (b *branch) collect() []Entry {
	all := len(b.moved) == 0 && len(b.behind) == 0
	for i := range b.list {
		e := &b.list[i]
		if !b.live[i] && !isMessage(e) && b.inTree(i) && i < b.end && b.ours(e) {
			parent, known := b.index[e.Parent]
			b.live[i] = known && b.live[parent]
		}
		all = all && b.live[i]
	}
	if all {
		return slices.Clip(b.list)
	}
	out := make([]Entry, 0, len(b.list))
	for i := range b.list {
		if b.live[i] && !b.moved[i] {
			out = append(out, b.list[i])
		}
		for _, at := range b.behind[i] {
			out = append(out, b.list[at])
		}
	}
	return out
}
