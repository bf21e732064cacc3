package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/transcript"
)

// journal keeps the program's transcripts in the store, line by line as it writes
// them, and beside them what the program does not write: calls that it starts
// before it has recorded them, denials, what a view decided. Those entries are of
// the kind that views and exports leave out. Its methods may be called from
// several goroutines at once.
type journal struct {
	store   transcript.Store
	key     transcript.Key // of the main thread
	now     func() time.Time
	newID   func() string
	patient context.Context // of writes, which outlive the end of the work by a little

	mu      sync.Mutex
	last    map[string]uint64  // newest Seq, by subkey
	calls   map[string]bool    // tool calls that the transcripts have
	pending []transcript.Entry // of a new session, stored with its first lines
	begun   bool               // the session is in the store
	quiet   bool               // what the program still writes does not count
	started chan struct{}      // closed when it is
	dirty   bool
	denied  []string
	deniedR uint64 // revision of the stored denials
}

func newJournal(store transcript.Store, key transcript.Key, now func() time.Time, newID func() string, patient context.Context) *journal {
	return &journal{store: store, key: key, now: now, newID: newID, patient: patient,
		last: map[string]uint64{}, calls: map[string]bool{}, started: make(chan struct{})}
}

// note is an entry of our own in a transcript. Prefix entries of the native
// harness have the same place, and its fields mean the same there.
type note struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	UUID    string          `json:"uuid"`
	Time    string          `json:"timestamp"`
	View    json.RawMessage `json:"view,omitempty"`   // decisions of the view sent last
	Asked   *asked          `json:"asked,omitempty"`  // a prompt that was sent
	Begun   *begun          `json:"begun,omitempty"`  // a call that was let run
	Told    []string        `json:"told,omitempty"`   // lost calls that the agent has been told of
	Claude  *string         `json:"claude,omitempty"` // the workbench block in the system prompt
	News    *string         `json:"news,omitempty"`   // the workbench block told since
}

// asked is a prompt, until the program has recorded it under its uuid.
type asked struct {
	UUID string `json:"uuid"`
	Text string `json:"text"`
}

// begun is a call that was let run before the program had recorded it.
type begun struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (j *journal) entry(n note) (transcript.Entry, error) {
	n.Type, n.Subtype, n.UUID = "system", transcript.PrefixSubtype, j.newID()
	n.Time = j.now().UTC().Format("2006-01-02T15:04:05.000Z")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // commands are shown to the agent as it wrote them
	if err := enc.Encode(n); err != nil {
		return transcript.Entry{}, fmt.Errorf("session %s: %w", j.key, err)
	}
	return transcript.Parse(bytes.TrimSpace(b.Bytes()))
}

// mirror stores the lines that the program has just written to a transcript.
func (j *journal) mirror(f frame) error {
	sub, ok := j.subkey(f.FilePath)
	if !ok {
		return fmt.Errorf("claude code writes a transcript at %s, where none of this session belongs", f.FilePath)
	}
	entries := make([]transcript.Entry, 0, len(f.Entries))
	for _, raw := range f.Entries {
		e, err := transcript.Parse(slices.Clone(raw)) // the frame's line is one piece of memory
		if err != nil {
			return fmt.Errorf("session %s: claude code wrote a line that is no entry: %w", j.key, err)
		}
		entries = append(entries, e)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.quiet && sub == "" {
		return nil
	}
	return j.append(sub, entries)
}

// hush closes the main transcript: at the end of the turn, or where a question to
// a person stays open in it when the process goes, and the program, told to stop,
// would write that the person has refused.
func (j *journal) hush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.quiet = true
}

// subkey is which transcript of the session a file of the program's is.
func (j *journal) subkey(file string) (string, bool) {
	_, rest, ok := strings.Cut(filepath.ToSlash(file), "/projects/")
	if !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, "/")
	rest, isLines := strings.CutSuffix(rest, ".jsonl")
	if !ok || !isLines {
		return "", false
	}
	if rest == j.key.Session {
		return "", true
	}
	sub, ok := strings.CutPrefix(rest, j.key.Session+"/")
	return path.Clean(sub), ok && !strings.Contains(sub, "..")
}

// append writes entries; the lock is held.
func (j *journal) append(sub string, entries []transcript.Entry) error {
	if sub == "" {
		entries = append(j.pending, entries...)
		j.pending = nil
	}
	if len(entries) == 0 {
		return nil
	}
	key := j.key
	key.Sub = sub
	last, known := j.last[sub]
	if !known {
		head, err := j.store.Head(j.patient, key)
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return fmt.Errorf("session %s could not be read: %w", key, err)
		}
		last = head.Last
	}
	last, err := j.store.Append(j.patient, key, last, entries)
	if err != nil {
		return fmt.Errorf("session %s: the transcript could not be written: %w", key, err)
	}
	j.last[sub], j.dirty = last, true
	for _, e := range entries {
		for _, id := range e.ToolUses {
			j.calls[id] = true
		}
	}
	if sub == "" && !j.begun {
		j.begun = true
		close(j.started)
	}
	return nil
}

// add stores a note of our own in the main transcript.
func (j *journal) add(n note) error {
	e, err := j.entry(n)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun {
		j.pending = append(j.pending, e)
		return nil
	}
	return j.append("", []transcript.Entry{e})
}

// intend makes a call safe before it is let run: the program starts tools while
// their message is still arriving and records it only then.
func (j *journal) intend(c guard.Call) error {
	sub := ""
	if c.Agent != "" {
		sub = j.key.Subagent(c.Agent).Sub
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.calls[c.ID] {
		e, err := j.entry(note{Begun: &begun{ID: c.ID, Name: c.Tool, Input: c.Input}})
		if err == nil {
			err = j.append(sub, []transcript.Entry{e})
		}
		if err != nil {
			return err
		}
		j.calls[c.ID] = true
	}
	return j.sync()
}

// sync makes what was written safe against a power cut; the lock is held.
func (j *journal) sync() error {
	if !j.dirty {
		return nil
	}
	if err := j.store.Sync(j.patient); err != nil {
		return fmt.Errorf("session %s: the transcript could not be synced: %w", j.key, err)
	}
	j.dirty = false
	return nil
}

// close syncs what is left.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sync()
}

// stored reports whether anything of the session is in the store.
func (j *journal) stored() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun
}

// denialsName is the small value that keeps a session's denied calls.
func denialsName(k transcript.Key) string { return "denials/" + k.Project + "/" + k.Session }

// maxDenials is how many denied calls of a session are remembered, the newest:
// a view only ever keeps a few and removes the others.
const maxDenials = 4096

// deny keeps a denied call by its id.
func (j *journal) deny(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.Contains(j.denied, id) {
		return nil
	}
	j.denied = append(j.denied, id)
	if over := len(j.denied) - maxDenials; over > 0 {
		j.denied = j.denied[over:]
	}
	return j.putDenials()
}

// putDenials stores the denied calls; the lock is held.
func (j *journal) putDenials() error {
	raw, err := json.Marshal(j.denied)
	if err != nil {
		return err
	}
	if j.deniedR, err = j.store.Put(j.patient, denialsName(j.key), raw, j.deniedR); err != nil {
		return fmt.Errorf("session %s: its denials could not be recorded: %w", j.key, err)
	}
	return nil
}

// loadDenials reads the denied calls that are known of a session; a fork takes over
// those of its origin.
func (j *journal) loadDenials(k transcript.Key) error {
	raw, rev, err := j.store.Get(j.patient, denialsName(k))
	if errors.Is(err, transcript.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &j.denied)
	}
	if err != nil {
		return fmt.Errorf("session %s: its denials could not be read: %w", k, err)
	}
	if k == j.key {
		j.deniedR = rev
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.putDenials()
}

// wasDenied reports whether we denied a call.
func (j *journal) wasDenied(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.denied, id)
}
