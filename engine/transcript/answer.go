package transcript

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// answer is a user entry with results for calls that have none.
type answer struct {
	from    *Entry // the entry of the calls: where we were, in what session
	uuid    string
	parent  string
	time    time.Time // zero: that of from
	results []result
	source  bool // name the entry of the call, and the result a second time, as Claude Code does
}

type result struct {
	id, text string
	isError  bool
}

// shared are the fields that entries of one session have in common.
var shared = map[string]bool{
	"isSidechain": true, "agentId": true, "sessionId": true, "cwd": true, "gitBranch": true, "version": true,
	"userType": true, "entrypoint": true, "slug": true, "timestamp": true,
}

func (a answer) entry() Entry {
	raw := []byte(`{"parentUuid":`)
	raw = appendUUID(raw, a.parent)
	from := a.from.Raw
	for f := range fields(from, whole(from)) {
		if shared[string(f.key)] && (string(f.key) != "timestamp" || a.time.IsZero()) {
			raw = append(append(raw, ','), from[f.at:f.val.hi]...)
		}
	}
	raw = append(raw, `,"type":"user","message":{"role":"user","content":[`...)
	for i, r := range a.results {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = r.append(raw)
	}
	raw = append(raw, `]},"uuid":`...)
	raw = appendQuoted(raw, a.uuid)
	if !a.time.IsZero() {
		raw = append(raw, `,"timestamp":`...)
		raw = appendQuoted(raw, a.time.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if a.source {
		raw = append(raw, `,"toolUseResult":`...)
		raw = appendQuoted(raw, "Error: "+a.results[0].text)
		raw = append(raw, `,"sourceToolAssistantUUID":`...)
		raw = appendQuoted(raw, a.from.UUID)
	}
	raw = append(raw, '}')
	return Entry{Header: scanHeader(raw), Raw: raw}
}

func (r result) append(raw []byte) []byte {
	raw = append(raw, `{"type":"tool_result","tool_use_id":`...)
	raw = appendQuoted(raw, r.id)
	raw = append(raw, `,"content":`...)
	raw = appendQuoted(raw, r.text)
	return fmt.Appendf(raw, `,"is_error":%t}`, r.isError)
}

// derivedID is a uuid (of version 8, made by a hash) that the same words always
// give: what is put in twice has the same one, and a store takes it once.
func derivedID(kind string, words ...string) string {
	h := sha256.Sum256([]byte(kind + "\x00" + strings.Join(words, "\x00")))
	h[6] = h[6]&0x0f | 0x80
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
