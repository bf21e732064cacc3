package transcript

import "encoding/json"

// CompactSubtype is the subtype of the entry with which a compaction begins a new
// conversation.
const CompactSubtype = "compact_boundary"

// boundary is what such an entry says of the messages that went on word by word:
// they stand before it and count behind the summary, the anchor.
type boundary struct {
	Metadata struct {
		Preserved struct {
			Anchor string   `json:"anchorUuid"`
			UUIDs  []string `json:"uuids"`
			All    []string `json:"allUuids"`
		} `json:"preservedMessages"`
	} `json:"compactMetadata"`
}

// joinPreserved marks what the compactions of the branch have preserved, and notes
// behind which entry it counts.
func (b *branch) joinPreserved() {
	for i := range b.list {
		e := &b.list[i]
		if !b.live[i] || e.Subtype != CompactSubtype {
			continue
		}
		var raw boundary
		if json.Unmarshal(e.Raw, &raw) != nil {
			continue // a boundary without metadata has preserved nothing
		}
		kept := raw.Metadata.Preserved
		anchor, known := b.index[kept.Anchor]
		if !known || !b.live[anchor] {
			continue
		}
		if len(kept.All) > 0 {
			kept.UUIDs = kept.All
		}
		for _, uuid := range kept.UUIDs {
			if at, there := b.index[uuid]; there && !b.live[at] && at < i {
				b.live[at] = true
				b.moved[at] = true
				b.behind[anchor] = append(b.behind[anchor], at)
			}
		}
	}
}
