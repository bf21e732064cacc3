package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// viewLife is how long after an answer the provider may still have the
// conversation; within it a view repeats what the last one decided.
const viewLife = 5 * time.Minute

// open decides the session's id, brings a stored session back as the files that
// the program reads, and returns what must be said in front of the prompt.
func (r *run) open(ctx context.Context) (news []string, err error) {
	src := transcript.Key{Project: r.turn.Project, Session: r.turn.Session.Resume}
	key := src
	if r.turn.Session.Fork || key.Session == "" {
		key.Session = r.h.config.NewID()
	}
	r.journal = newJournal(r.turn.Store, key, r.h.config.Now, r.h.config.NewID, r.patient)
	if src.Session == "" {
		r.session, r.index = key.Session, r.turn.Agent.Index
		return nil, r.journal.add(note{Claude: &r.index})
	}
	all, err := r.load(ctx, src)
	if err != nil {
		return nil, err
	}
	at := r.turn.Session.At
	if at != "" {
		if at, err = withResults(all, at); err != nil {
			return nil, fmt.Errorf("session %s: resume_at: %w", src.Session, err)
		}
	}
	if r.turn.Session.Fork {
		if err := r.fork(ctx, src, key, at); err != nil {
			return nil, err
		}
		if all, err = r.load(ctx, key); err != nil {
			return nil, err
		}
		at = ""
	}
	r.session = key.Session
	return r.reopen(ctx, src, all, at)
}

// fork copies a session, its subagents too.
func (r *run) fork(ctx context.Context, src, dst transcript.Key, at string) error {
	if err := r.turn.Store.Fork(ctx, src, at, dst); err != nil {
		return fmt.Errorf("session %s could not be forked: %w", src.Session, err)
	}
	return r.subagents(ctx, src, func(key transcript.Key) error {
		copied := dst
		copied.Sub = key.Sub
		if err := r.turn.Store.Fork(ctx, key, "", copied); err != nil {
			return fmt.Errorf("session %s: subagent %s could not be forked: %w", src.Session, key.AgentID(), err)
		}
		return nil
	})
}

// subagents calls f for the transcript of every subagent of a session.
func (r *run) subagents(ctx context.Context, main transcript.Key, f func(transcript.Key) error) error {
	var keys []transcript.Key
	for info, err := range r.turn.Store.List(ctx, main) {
		if err != nil {
			return fmt.Errorf("session %s: the subagents could not be listed: %w", main.Session, err)
		}
		if info.Key.Session == main.Session && info.Key.Sub != "" {
			keys = append(keys, info.Key)
		}
	}
	for _, key := range keys {
		if err := f(key); err != nil {
			return err
		}
	}
	return nil
}

// load reads a whole transcript.
func (r *run) load(ctx context.Context, key transcript.Key) ([]transcript.Entry, error) {
	entries, err := transcript.LoadAll(ctx, r.turn.Store, key)
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return nil, fmt.Errorf("session %s is not in the store, so it cannot be continued: %w", key, err)
	case err != nil:
		return nil, fmt.Errorf("session %s could not be read: %w", key, err)
	}
	return entries, nil
}

// withResults is the uuid of the last entry that belongs to the message at: that
// of its results when it has calls, so that going back to it does not lose them.
func withResults(entries []transcript.Entry, at string) (string, error) {
	i := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.UUID == at })
	if i < 0 {
		return "", fmt.Errorf("message %s: %w", at, transcript.ErrNotFound)
	}
	open := slices.Clone(entries[i].ToolUses)
	for _, e := range entries[i+1:] {
		if len(open) == 0 {
			break
		}
		if slices.ContainsFunc(e.ToolResults, func(id string) bool { return slices.Contains(open, id) }) {
			at = e.UUID
			open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(e.ToolResults, id) })
		}
	}
	return at, nil
}

// reopen mends what a crash left and writes the files.
func (r *run) reopen(ctx context.Context, src transcript.Key, all []transcript.Entry, at string) (news []string, err error) {
	j := r.journal
	j.begun = true
	close(j.started)
	if n := len(all); n > 0 {
		j.last[""] = all[n-1].Seq
	}
	for _, e := range all {
		for _, id := range e.ToolUses {
			j.calls[id] = true
		}
	}
	if err := j.loadDenials(src); err != nil {
		return nil, err
	}
	live, err := transcript.Live(all, at)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", src.Session, err)
	}
	live, err = r.repair(ctx, live)
	if err != nil {
		return nil, err
	}
	before := readNotes(all)
	view, err := r.look(live, before.view)
	if err != nil {
		return nil, err
	}
	if err := r.restore(ctx, view); err != nil {
		return nil, err
	}
	return r.news(ctx, before, slices.Concat(all, live))
}

// repair appends a result for every call that a crash left without one. A question
// to a person is asked again, and its answer is the result.
func (r *run) repair(ctx context.Context, live []transcript.Entry) ([]transcript.Entry, error) {
	add, report := transcript.Repair(live, transcript.RepairOptions{Now: r.h.config.Now})
	live = append(slices.Clip(live), add...)
	if len(add) > 0 {
		r.journal.mu.Lock()
		err := r.journal.append("", add)
		r.journal.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	for _, c := range report.Open {
		e, err := r.askAgain(ctx, c, live)
		if err != nil {
			return nil, err
		}
		live = append(live, e)
	}
	return live, nil
}

// look makes the view of the session and writes the files it points to.
func (r *run) look(live []transcript.Entry, before json.RawMessage) ([]transcript.Entry, error) {
	p := r.turn.View
	p.Denied = map[string]bool{}
	for id := range r.turn.View.Denied {
		p.Denied[id] = true
	}
	for _, id := range r.journal.denied {
		p.Denied[id] = true
	}
	if r.h.config.Now().Sub(lastAnswer(live)) < viewLife {
		d := transcript.Decisions{}
		if before == nil || json.Unmarshal(before, &d) != nil {
			_, none := transcript.View(nil, p)
			d = none.Decisions
		}
		p.Repeat = &d
	}
	view, report := transcript.View(live, p)
	for _, s := range report.Spills {
		if err := r.spill(s); err != nil {
			return nil, err
		}
	}
	now, err := json.Marshal(report.Decisions)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(now, before) {
		err = r.journal.add(note{View: now})
	}
	return view, err
}

// lastAnswer is when the newest answer was stored.
func lastAnswer(live []transcript.Entry) time.Time {
	for _, e := range slices.Backward(live) {
		if e.Type == "assistant" {
			return e.Time
		}
	}
	return time.Time{}
}

// spill writes a result that a view has moved to a file.
func (r *run) spill(s transcript.Spill) error {
	path := filepath.FromSlash(s.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.turn.Agent.Workspace, path)
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := writeFile(path, []byte(s.Text())); err != nil {
		return fmt.Errorf("an old result could not be moved to a file: %w", err)
	}
	return nil
}

// restore writes the session as the program's own files into its folder.
func (r *run) restore(ctx context.Context, view []transcript.Entry) error {
	base := filepath.Join(r.config, "projects", projectFolder(r.dir))
	said := func(e transcript.Entry) bool { return e.Type == "user" || e.Type == "assistant" }
	if r.unsaid = !slices.ContainsFunc(view, said); r.unsaid {
		return nil // the program resumes nothing of which it has recorded nothing
	}
	if err := writeFile(filepath.Join(base, r.session+".jsonl"), r.lines(view)); err != nil {
		return fmt.Errorf("session %s could not be restored: %w", r.session, err)
	}
	main := r.journal.key
	return r.subagents(ctx, main, func(key transcript.Key) error {
		entries, err := r.load(ctx, key)
		if err != nil {
			return err
		}
		live, err := transcript.Live(entries, "")
		if err != nil {
			return fmt.Errorf("session %s: %w", key, err)
		}
		return r.restoreSub(filepath.Join(base, r.session, filepath.FromSlash(key.Sub)), live)
	})
}

// restoreSub writes a subagent's files.
func (r *run) restoreSub(path string, live []transcript.Entry) error {
	var rest []transcript.Entry
	for _, e := range live {
		if e.Type != "agent_metadata" {
			rest = append(rest, e)
			continue
		}
		meta := map[string]json.RawMessage{}
		if json.Unmarshal(e.Raw, &meta) != nil {
			continue
		}
		delete(meta, "type")
		raw, err := json.Marshal(meta)
		if err == nil {
			err = writeFile(path+".meta.json", raw)
		}
		if err != nil {
			return fmt.Errorf("a subagent's data could not be restored: %w", err)
		}
	}
	if err := writeFile(path+".jsonl", r.lines(rest)); err != nil {
		return fmt.Errorf("a subagent's transcript could not be restored: %w", err)
	}
	return nil
}

// transient are the kinds of lines that speak of the process that wrote them.
var transient = []string{"queue-operation", "last-prompt", "mode", "progress"}

// lines are entries as a file of this session: what a fork has from another one
// gets its id.
func (r *run) lines(entries []transcript.Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		if slices.Contains(transient, e.Type) || e.Type == "system" && e.Subtype == transcript.PrefixSubtype {
			continue
		}
		b.Write(r.own(e.Raw))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// own is an entry with this session's id.
func (r *run) own(raw json.RawMessage) []byte {
	var head struct {
		Session string `json:"sessionId"`
	}
	if lenient(raw, &head) != nil || head.Session == r.session {
		return raw
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	fields["sessionId"], _ = json.Marshal(r.session) // a string always marshals
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// writeFile writes a file that only we may read, and its folders.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// maxFolder is the longest name that the program gives a project's folder before
// it cuts it and adds a hash.
const maxFolder = 200

// projectFolder is the program's name for the folder of a working directory.
func projectFolder(dir string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, dir)
	if len(name) <= maxFolder {
		return name
	}
	return name[:maxFolder] + "-" + hash36(dir)
}
