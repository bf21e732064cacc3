package native

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
)

// journal appends the entries of one transcript, each as a child of the one
// before it. Its methods may be called from several goroutines at once.
type journal struct {
	store   transcript.Store
	key     transcript.Key
	author  author
	now     func() time.Time
	newID   func() string
	patient context.Context // of writes, which outlive the end of the work by a little
	wait    outage

	mu     sync.Mutex
	last   uint64 // Seq of the newest entry
	parent string // uuid of the newest entry of the conversation
	dirty  bool   // something was appended since the last sync
}

// author is what every entry of a transcript says about where it comes from.
type author struct {
	session string
	agent   string // the subagent's id
	dir     string
	version string
}

// draft is an entry before it has an id and a place.
type draft struct {
	kind    string // user, assistant, system
	subtype string // of system entries, which stand beside the conversation
	message json.RawMessage
	meta    bool // not the person's words
	extra   []field
}

type field struct {
	name  string
	value json.RawMessage
}

// write appends the drafts, all or none, and returns them as entries.
func (j *journal) write(drafts ...draft) ([]transcript.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	parent := j.parent
	entries := make([]transcript.Entry, 0, len(drafts))
	for _, d := range drafts {
		id := j.newID()
		e, err := transcript.Parse(j.render(d, id, parent))
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", j.key, err)
		}
		if d.kind != "system" {
			parent = id
		}
		entries = append(entries, e)
	}
	if err := j.append(entries); err != nil {
		return nil, err
	}
	j.parent = parent
	return entries, nil
}

// put appends entries that are made already and hang on what is there.
func (j *journal) put(entries []transcript.Entry) ([]transcript.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(entries); err != nil {
		return nil, err
	}
	j.parent = entries[len(entries)-1].UUID
	return entries, nil
}

// append writes entries and numbers them. The lock is held.
func (j *journal) append(entries []transcript.Entry) error {
	var last uint64
	err := j.wait.until(j.patient, func() (err error) {
		last, err = j.store.Append(j.patient, j.key, j.last, entries)
		return err
	})
	if err != nil {
		return fmt.Errorf("session %s: the transcript could not be written: %w", j.key, err)
	}
	first := last - uint64(len(entries)) + 1
	for i := range entries {
		entries[i].Seq = first + uint64(i)
	}
	j.last, j.dirty = last, true
	return nil
}

// sync makes what was written safe against a power cut, before something outside
// is done that cannot be undone.
func (j *journal) sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.dirty {
		return nil
	}
	if err := j.wait.until(j.patient, func() error { return j.store.Sync(j.patient) }); err != nil {
		return fmt.Errorf("session %s: the transcript could not be synced: %w", j.key, err)
	}
	j.dirty = false
	return nil
}

// lastSeq is the place of the newest entry.
func (j *journal) lastSeq() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// timeForm is how transcripts write times.
const timeForm = "2006-01-02T15:04:05.000Z"

// render is a draft as a line of the transcript.
func (j *journal) render(d draft, id, parent string) json.RawMessage {
	o := new(object)
	if parent == "" || d.kind == "system" {
		o.raw("parentUuid", []byte("null"))
	} else {
		o.str("parentUuid", parent)
	}
	o.flag("isSidechain", j.author.agent != "").str("userType", "external").
		str("cwd", j.author.dir).str("sessionId", j.author.session).str("version", j.author.version)
	if j.author.agent != "" {
		o.str("agentId", j.author.agent)
	}
	o.str("type", d.kind)
	if d.subtype != "" {
		o.str("subtype", d.subtype)
	}
	if d.message != nil {
		o.raw("message", d.message)
	}
	if d.meta {
		o.flag("isMeta", true)
	}
	for _, f := range d.extra {
		o.raw(f.name, f.value)
	}
	return oneLine(o.str("uuid", id).str("timestamp", j.now().UTC().Format(timeForm)).bytes())
}

// oneLine takes line ends out of between JSON's tokens: an entry is one line.
func oneLine(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, "\n\r") {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw // the store's own check tells what is wrong with it
	}
	return b.Bytes()
}

// userDraft is an entry of the user's side.
func userDraft(blocks ...json.RawMessage) draft {
	return draft{kind: "user", message: new(object).str("role", "user").raw("content", list(blocks)).bytes()}
}

// noteDraft is what the engine tells the model on its own.
func noteDraft(s string) draft {
	d := userDraft(textBlock(s))
	d.meta = true
	return d
}

// replyDraft is an answer of the model.
func replyDraft(r model.Reply) draft {
	stop := json.RawMessage("null")
	if r.StopReason != "" {
		stop = quote(r.StopReason)
	}
	m := new(object).str("id", r.ID).str("type", "message").str("role", "assistant").str("model", r.Model).
		raw("content", list(r.Content)).raw("stop_reason", stop).raw("stop_sequence", []byte("null")).
		raw("usage", usageJSON(r.Usage))
	d := draft{kind: "assistant", message: m.bytes()}
	if r.RequestID != "" {
		d.extra = append(d.extra, field{"requestId", quote(r.RequestID)})
	}
	return d
}

// usageJSON is usage in the form of the Messages API.
func usageJSON(u model.Usage) json.RawMessage {
	writes := new(object).any("ephemeral_5m_input_tokens", u.CacheWrite-u.CacheWrite1h).
		any("ephemeral_1h_input_tokens", u.CacheWrite1h).bytes()
	return new(object).any("input_tokens", u.Input).any("cache_creation_input_tokens", u.CacheWrite).
		any("cache_read_input_tokens", u.CacheRead).any("output_tokens", u.Output).
		raw("cache_creation", writes).bytes()
}
