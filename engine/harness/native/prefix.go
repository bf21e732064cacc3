package native

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/flowerlua/flower/engine/transcript"
)

// subtype marks the entries that stand in front of the conversation or say how
// it is sent: a prefix with its system blocks and tools, or an amendment to one.
const subtype = "flower_prefix"

// prefix is what every request of a thread begins with, rendered once and sent
// again as it was stored as long as its hash is the same.
type prefix struct {
	Hash   string                     `json:"hash"`
	Model  string                     `json:"model"`
	System []json.RawMessage          `json:"system"`
	Tools  []json.RawMessage          `json:"tools"`
	Extra  map[string]json.RawMessage `json:"extra,omitempty"`
	Index  string                     `json:"index,omitempty"` // hash of the workbench block in System
	Agent  *dispatch                  `json:"agent,omitempty"`
	// Remote are the tools of MCP servers as the session has known them from the
	// start, whatever the servers say later; on the main thread alone.
	Remote []remote `json:"mcp,omitempty"`
}

// dispatch is how a subagent was started, for whoever resumes it.
type dispatch struct {
	Type     string `json:"type"`
	Call     string `json:"call"` // the Agent call
	Dir      string `json:"dir"`
	Worktree string `json:"worktree,omitempty"`
	Depth    int    `json:"depth"`
}

// omission says up to which entry something is not sent any more.
type omission struct {
	Thinking uint64 `json:"thinking,omitempty"`
	Media    uint64 `json:"media,omitempty"`
	// Retold are answers that the provider does not take back as they are: they
	// are told in words of the user's side.
	Retold []uint64 `json:"retold,omitempty"`
}

// stored is what the entries of subtype flower_prefix come to.
type stored struct {
	prefix prefix
	found  bool
	index  string // hash of the workbench block the model saw last
	omit   omission
	spans  span
	// decisions are what the last view changed, as it was written.
	decisions json.RawMessage
}

// span tells under which model entries were made: thinking belongs to the model
// that thought it.
type span struct {
	current string
	starts  []spanStart
}

type spanStart struct {
	seq   uint64
	model string
}

// valid reports whether thinking of the entry seq is the current model's.
func (s span) valid(seq uint64) bool {
	i, _ := slices.BinarySearchFunc(s.starts, seq, func(a spanStart, seq uint64) int { return cmp.Compare(a.seq, seq) })
	return i > 0 && s.starts[i-1].model == s.current
}

// readPrefix collects the prefix entries of a transcript, oldest first.
func readPrefix(entries []transcript.Entry) stored {
	var s stored
	for _, e := range entries {
		if e.Subtype != subtype {
			continue
		}
		var line struct {
			prefix
			Index *string         `json:"index"`
			Omit  *omission       `json:"omit"`
			View  json.RawMessage `json:"view"`
		}
		if json.Unmarshal(e.Raw, &line) != nil {
			continue // from a newer program; the prefix is rendered anew
		}
		if line.System != nil {
			s.prefix, s.found = line.prefix, true
			if line.Index != nil {
				s.prefix.Index = *line.Index
			}
			s.spans.starts = append(s.spans.starts, spanStart{e.Seq, line.Model})
		}
		if line.Index != nil {
			s.index = *line.Index
		}
		if line.View != nil {
			s.decisions = line.View
		}
		if line.Omit != nil {
			s.omit = *line.Omit
		}
	}
	s.spans.current = s.prefix.Model
	return s
}

// draft is the prefix as an entry.
func (p prefix) draft() draft {
	d := amendment(field{"hash", quote(p.Hash)}, field{"model", quote(p.Model)},
		field{"system", list(p.System)}, field{"tools", list(p.Tools)}, field{"index", quote(p.Index)})
	if len(p.Extra) > 0 {
		d.extra = append(d.extra, field{"extra", encode(p.Extra)})
	}
	if len(p.Remote) > 0 {
		d.extra = append(d.extra, field{"mcp", encode(p.Remote)})
	}
	if p.Agent != nil {
		d.extra = append(d.extra, field{"agent", encode(p.Agent)})
	}
	return d
}

// amendment is an entry that adds to the prefix without replacing it.
func amendment(fields ...field) draft {
	return draft{kind: "system", subtype: subtype, extra: fields}
}

// seal computes the hash over all but the workbench block, whose changes are told
// in the conversation instead.
func (p *prefix) seal(static, environment string) {
	h := sha256.New()
	for _, part := range []string{p.Model, static, environment} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	for _, t := range p.Tools {
		h.Write(t)
		h.Write([]byte{0})
	}
	h.Write(encode(p.Extra))
	p.Hash = hex.EncodeToString(h.Sum(nil))
}

// hashText is a short fingerprint; empty for an empty text.
func hashText(s string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
