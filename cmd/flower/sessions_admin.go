package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// forkSession makes a copy of a session, its subagents too.
func (a *app) forkSession(ctx context.Context, c *cli, f *runFolder) error {
	cmd := &c.Sessions.Fork
	s, err := f.find(ctx, cmd.Name)
	if err != nil {
		return err
	}
	at := ""
	if cmd.At != "" {
		if at, err = f.forkPoint(ctx, s.Key, cmd.At); err != nil {
			return err
		}
	}
	dst := transcript.Key{Project: s.Key.Project, Session: uuid.NewString()}
	if err := f.db.Fork(ctx, s.Key, at, dst); err != nil {
		return err
	}
	for _, info := range s.agents {
		if err := f.db.Fork(ctx, info.Key, "", dst.Subagent(info.Key.AgentID())); err != nil {
			return fmt.Errorf("subagent %s: %w", info.Key.AgentID(), err)
		}
	}
	fmt.Fprintln(a, dst.Session)
	return nil
}

// forkPoint is the uuid of the entry that a person named. The results of calls in
// it come along: a call without its result would be told again.
func (f *runFolder) forkPoint(ctx context.Context, key transcript.Key, at string) (string, error) {
	entries, damage := f.entries(ctx, key)
	seq, err := strconv.ParseUint(at, 10, 64)
	i := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.UUID == at || err == nil && e.Seq == seq })
	switch {
	case i < 0 && damage != nil:
		return "", damage
	case i < 0:
		return "", wrongUse("session %s has no entry %s: it has %s (flower sessions show %s)", key.Session, at, entryCount(uint64(len(entries))), key.Session)
	case entries[i].UUID == "":
		return "", wrongUse("entry %s of session %s has no uuid: name one that a person, the model or a tool wrote", at, key.Session)
	}
	uuid, calls := entries[i].UUID, entries[i].ToolUses
	for _, e := range entries[i+1:] {
		if !slices.ContainsFunc(e.ToolResults, func(id string) bool { return slices.Contains(calls, id) }) {
			break
		}
		uuid = cmp.Or(e.UUID, uuid)
	}
	return uuid, nil
}

// deleteSessions deletes nothing unless it is told to in so many words, and nothing
// at all when one of the names is wrong.
func (a *app) deleteSessions(ctx context.Context, c *cli, f *runFolder) error {
	cmd := &c.Sessions.Delete
	var doomed []*session
	for _, name := range cmd.Names {
		s, err := f.find(ctx, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(doomed, func(d *session) bool { return d.Key == s.Key }) {
			doomed = append(doomed, s)
		}
	}
	if !cmd.Dry && !cmd.Yes {
		return wrongUse("this would delete %s; to do it add --yes, to see what goes add -n", doomedText(doomed))
	}
	for _, s := range doomed {
		if !cmd.Dry {
			if err := f.db.Delete(ctx, s.Key); err != nil {
				return err
			}
		}
		fmt.Fprintln(a, clean(f.farewell(s, cmd.Dry)))
	}
	return nil
}

func doomedText(doomed []*session) string {
	ids := make([]string, len(doomed))
	for i, s := range doomed {
		ids[i] = s.id()
	}
	return fmt.Sprintf("%s (%s)", count(len(doomed), "session"), strings.Join(ids, ", "))
}

// farewell tells what goes with a session.
func (f *runFolder) farewell(s *session, dry bool) string {
	text := "deleted "
	if dry {
		text = "would delete "
	}
	entries := s.Head.Count
	for _, info := range s.agents {
		entries += info.Head.Count
	}
	text += fmt.Sprintf("%s: %s", s.id(), entryCount(entries))
	if len(s.agents) > 0 {
		text += ", of " + count(len(s.agents), "subagent") + " too"
	}
	var steps []string
	for step, id := range f.steps {
		if id == s.id() {
			steps = append(steps, step)
		}
	}
	if slices.Sort(steps); len(steps) > 0 {
		text += "; step " + strings.Join(steps, ", ") + " starts anew the next time"
	}
	return text
}

// collectStore gives disk space back.
func (a *app) collectStore(ctx context.Context, _ *cli, f *runFolder) error {
	r, err := f.db.GC(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a, "%s before, %s after (%s rewritten, %s removed)\n",
		byteSize(r.Before), byteSize(r.After), count(r.Files, "file"), count(r.Blobs, "large entry file"))
	return nil
}

// checkReport is sessions check for machines.
type checkReport struct {
	Transcripts int             `json:"transcripts"`
	Entries     uint64          `json:"entries"`
	Values      int             `json:"values"`
	Damaged     []checkedDamage `json:"damaged"`
}

type checkedDamage struct {
	Session string `json:"session"` // empty for small values
	Agent   string `json:"agent,omitempty"`
	Good    uint64 `json:"good"`
	Want    uint64 `json:"want"`
	Error   string `json:"error"`
}

// checkStore reads everything; damage makes it fail.
func (a *app) checkStore(ctx context.Context, c *cli, f *runFolder) error {
	r, err := f.db.Check(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		report := checkReport{r.Transcripts, r.Entries, r.Values, []checkedDamage{}}
		for _, d := range r.Damaged {
			report.Damaged = append(report.Damaged, checkedDamage{d.Key.Session, d.Key.AgentID(), d.Good, d.Want, d.Err.Error()})
		}
		err = writeJSON(a, report)
	} else {
		err = a.printCheck(r)
	}
	if err == nil && len(r.Damaged) > 0 {
		err = errors.New("something is damaged: a fork of a damaged session saves what is good of it (flower sessions fork), a backup brings back the rest (flower sessions restore), and flower sessions delete ID --yes lets a step begin anew")
	}
	return err
}

func (a *app) printCheck(r store.CheckReport) error {
	p := newPage(a.out)
	p.text("", fmt.Sprintf("%s, %s, %s", count(r.Transcripts, "transcript"), entryCount(r.Entries), count(r.Values, "small value")))
	for _, d := range r.Damaged {
		p.text("! ", d.Err.Error())
	}
	if len(r.Damaged) == 0 {
		p.text("", "nothing is wrong")
	}
	return p.Flush()
}

// repairStore makes a store that does not open one that does.
func (a *app) repairStore(ctx context.Context, c *cli) error {
	_, dir, err := c.existing()
	if err != nil {
		return err
	}
	sessions := filepath.Join(dir, "sessions")
	if _, err := os.Stat(sessions); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there are no sessions in %s", shownPath(dir))
	}
	r, err := store.Repair(ctx, sessions, nil)
	if err != nil {
		return err
	}
	return a.printCheck(r)
}
