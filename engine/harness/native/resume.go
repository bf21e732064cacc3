package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// reopen continues a transcript.
func (t *thread) reopen(ctx context.Context, o opening, fresh prefix) error {
	all, err := t.run.load(ctx, t.journal.key)
	if err != nil {
		return err
	}
	if n := len(all); n > 0 {
		t.journal.last = all[n-1].Seq
	}
	if o.at != "" {
		if o.at, err = withResults(all, o.at); err != nil {
			return fmt.Errorf("session %s: resume_at: %w", t.journal.key.Session, err)
		}
	}
	live, err := transcript.Live(all, o.at)
	if err != nil {
		return fmt.Errorf("session %s: %w", t.journal.key.Session, err)
	}
	live, open, err := t.repair(ctx, live)
	if err != nil {
		return err
	}
	t.answers, t.previous, t.callIDs = countAnswers(live), lastID(live), map[string]bool{}
	for _, e := range live {
		for _, id := range e.ToolUses {
			t.callIDs[id] = true
		}
	}
	old := readPrefix(all)
	if o.at != "" {
		old.index = old.prefix.Index // a later one may have been told on a branch that is left
	}
	t.history.cut, t.history.spans = old.omit, old.spans
	warm, err := t.choose(o, fresh, &old, live)
	if err != nil {
		return err
	}
	if err := t.look(live, open, old.decisions, warm); err != nil {
		return err
	}
	for _, e := range live {
		if len(e.ToolResults) > 0 && t.set != nil {
			t.set.Restore(member(e.Raw, "toolUseResult"))
		}
	}
	return nil
}

// repair appends a result for every call that a crash left without one, and
// returns the live entries with them and the questions that are still open.
func (t *thread) repair(ctx context.Context, live []transcript.Entry) ([]transcript.Entry, []transcript.Call, error) {
	t.journal.parent = newest(live)
	add, report := transcript.Repair(live, transcript.RepairOptions{Now: t.journal.now})
	if agents := t.started(ctx, report.Cut); len(agents) > 0 {
		add, report = transcript.Repair(live, transcript.RepairOptions{Now: t.journal.now, Agents: agents})
	}
	if len(add) == 0 {
		return live, report.Open, nil
	}
	add, err := t.journal.put(add)
	return append(slices.Clip(live), add...), report.Open, err
}

// countAnswers counts the model's answers, each once also where it is split over
// several entries.
func countAnswers(live []transcript.Entry) int {
	n, id := 0, ""
	for _, e := range live {
		if e.Type != "assistant" || e.Flags.Has(transcript.APIError) {
			continue
		}
		if e.MessageID == "" || e.MessageID != id {
			n++
		}
		id = e.MessageID
	}
	return n
}

// lastID is the provider's ID of the newest answer.
func lastID(live []transcript.Entry) string {
	for _, e := range slices.Backward(live) {
		if e.Type == "assistant" && !e.Flags.Has(transcript.APIError) {
			return e.MessageID
		}
	}
	return ""
}

// newest is the uuid that the next entry of the conversation hangs on.
func newest(live []transcript.Entry) string {
	for _, e := range slices.Backward(live) {
		if e.UUID != "" && (e.Type == "user" || e.Type == "assistant") {
			return e.UUID
		}
	}
	return ""
}

// choose decides between the stored prefix and a fresh one; warm is true where
// the provider may still have what was sent before.
func (t *thread) choose(o opening, fresh prefix, old *stored, live []transcript.Entry) (warm bool, err error) {
	if old.found && old.prefix.Hash == fresh.Hash {
		t.prefix = old.prefix
		if now := hashText(o.index); now != old.index && now != "" {
			t.news = o.index
		}
		return t.run.h.config.Now().Sub(lastAnswer(live)) < viewLife, nil
	}
	fresh.System, fresh.Index = systemBlocks(o.static, o.environment, o.index), hashText(o.index)
	entries, err := t.journal.write(fresh.draft())
	if err != nil {
		return false, err
	}
	if old.found {
		t.say(event.Event{Kind: event.System, Text: "instructions, tools or model have changed since this session was last used; the provider's cache starts over",
			Payload: map[string]any{"cache_starts_over": true}})
	}
	t.prefix = fresh
	t.history.spans.current = fresh.Model
	t.history.spans.starts = append(t.history.spans.starts, spanStart{entries[0].Seq, fresh.Model})
	return false, nil
}

// viewLife is how long after an answer the provider may still have the
// conversation; within it a view repeats what the last one decided.
const viewLife = 5 * time.Minute

// lastAnswer is when the newest answer was stored.
func lastAnswer(live []transcript.Entry) time.Time {
	for _, e := range slices.Backward(live) {
		if e.Type == "assistant" {
			return e.Time
		}
	}
	return time.Time{}
}

// look makes the view and the history of it.
func (t *thread) look(live []transcript.Entry, open []transcript.Call, before json.RawMessage, warm bool) error {
	p := t.run.turn.View
	p.Pending = slices.Clip(p.Pending) // shared by the threads of a turn
	if t.dir != t.run.turn.Agent.Workspace && p.Trim.Enabled {
		p.Trim.SpillDir = t.run.spillDir(p.Trim.SpillDir) // paths in notes must hold from another folder
	}
	for _, c := range open {
		p.Pending = append(p.Pending, c.ID)
		t.questions = append(t.questions, call{id: c.ID, name: c.Name, input: c.Input})
	}
	if warm {
		d := transcript.Decisions{}
		if before == nil || json.Unmarshal(before, &d) != nil {
			_, none := transcript.View(nil, p)
			d = none.Decisions
		}
		p.Repeat = &d
	}
	view, report := transcript.View(live, p)
	for _, s := range report.Spills {
		if err := t.run.spill(s); err != nil {
			return err
		}
	}
	if now := json.RawMessage(encode(report.Decisions)); string(now) != string(before) {
		if _, err := t.journal.write(amendment(field{"view", now})); err != nil {
			return err
		}
	}
	for _, e := range view {
		t.history.add(e)
	}
	return nil
}

// spillDir is an absolute path for the folder that a view moves results to.
func (r *run) spillDir(dir string) string {
	if dir == "" {
		dir = ".flower/spill"
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(r.turn.Agent.Workspace, dir)
}

// spill writes a result that a view has moved to a file.
func (r *run) spill(s transcript.Spill) error {
	path := r.spillDir(filepath.FromSlash(s.Path))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = writeWhole(path, s.Text())
	}
	if err != nil {
		return fmt.Errorf("an old result could not be moved to a file: %w", err)
	}
	return nil
}

// writeWhole writes a file so that nobody ever sees half of it.
func writeWhole(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".spill-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
