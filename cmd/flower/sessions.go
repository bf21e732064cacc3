package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/spell"
	"github.com/flowerlua/flower/store"
)

// sessionsCommand looks after the transcripts of a run directory.
type sessionsCommand struct {
	List    sessionsList    `cmd:"" default:"withargs" help:"List the sessions, the newest first."`
	Show    sessionsShow    `cmd:"" help:"Show who said what."`
	Export  sessionsExport  `cmd:"" help:"Write a session as Claude Code keeps it."`
	Import  sessionsImport  `cmd:"" help:"Read a session that Claude Code, or an export, wrote."`
	Fork    sessionsFork    `cmd:"" help:"Make a copy that goes its own way; costs no space."`
	Delete  sessionsDelete  `cmd:"" help:"Delete sessions with their subagents."`
	GC      sessionsGC      `cmd:"" name:"gc" help:"Give disk space back."`
	Check   sessionsCheck   `cmd:"" help:"Read everything and compare it with what was written."`
	Repair  sessionsRepair  `cmd:"" help:"Save what can be read of a store that does not open."`
	Backup  sessionsBackup  `cmd:"" help:"Write all sessions and accounts to one file."`
	Restore sessionsRestore `cmd:"" help:"Make a new run directory from a backup."`
}

type (
	sessionsList struct {
		Limit int `placeholder:"N" default:"50" help:"At most so many; 0 is all (50)."`
	}
	sessionsShow struct {
		Name  string `arg:"" help:"Id, the beginning of an id, or the name of a step."`
		Agent string `placeholder:"ID" help:"Show this subagent of it."`
		Raw   bool   `help:"Print the lines as they are stored."`
	}
	sessionsExport struct {
		Name string `arg:"" help:"Id, the beginning of an id, or the name of a step."`
		To   string `arg:"" optional:"" placeholder:"DIR" default:"." help:"Folder for the files, or - for standard output (main thread alone)."`
	}
	sessionsImport struct {
		File string `arg:"" help:"<session>.jsonl; its subagents are found beside it."`
		As   string `placeholder:"ID" help:"Keep it under another id."`
	}
	sessionsFork struct {
		Name string `arg:"" help:"Id, the beginning of an id, or the name of a step."`
		At   string `placeholder:"ENTRY" help:"The last entry of the copy: its number in show, or its uuid."`
	}
	sessionsDelete struct {
		Names []string `arg:"" name:"name" help:"Id, the beginning of an id, or the name of a step."`
		Yes   bool     `short:"y" help:"Do it."`
		Dry   bool     `short:"n" name:"dry-run" help:"Say what would be deleted."`
	}
	sessionsGC     struct{}
	sessionsCheck  struct{}
	sessionsRepair struct{}
	sessionsBackup struct {
		File string `arg:"" help:"A new file, or - for standard output."`
	}
	sessionsRestore struct {
		File string `arg:"" help:"A backup, or - for standard input."`
	}
)

// sessionWords are the subcommands.
var sessionWords = []string{"list", "show", "export", "import", "fork", "delete", "gc", "check", "repair", "backup", "restore"}

// checkSessionsWord reports a word behind sessions that is none of them.
func checkSessionsWord(rest []string) error {
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") || slices.Contains(sessionWords, rest[0]) {
		return nil
	}
	return wrongUse("flower sessions has no %q%s: it has %s", rest[0], spell.Hint(rest[0], sessionWords), strings.Join(sessionWords, ", "))
}

// sessions runs one of the subcommands.
func (a *app) sessions(ctx context.Context, c *cli, command string) error {
	switch command {
	case "restore":
		return a.restoreRun(ctx, c)
	case "import":
		return a.importSession(ctx, c)
	case "repair":
		return a.repairStore(ctx, c)
	}
	f, err := openFolder(c)
	if err != nil {
		return err
	}
	do := map[string]func(context.Context, *cli, *runFolder) error{
		"list": a.listSessions, "show": a.showSession, "export": a.exportSession, "fork": a.forkSession,
		"delete": a.deleteSessions, "gc": a.collectStore, "check": a.checkStore, "backup": a.backupRun,
	}[command]
	return errors.Join(do(ctx, c, f), f.db.Close())
}

// runFolder is a run directory that somebody looks into; a run may be at work in
// it.
type runFolder struct {
	workspace, dir string
	project        string // empty: no id is there, which lists all
	db             *store.Store
	steps          map[string]string // step → the session it used last
	rows           []engine.Result
	rowsErr        error // why there are no rows
}

// openFolder opens the store of a run directory, and makes none.
func openFolder(c *cli) (*runFolder, error) {
	workspace, dir, err := c.existing()
	if err != nil {
		return nil, err
	}
	sessions := filepath.Join(dir, "sessions")
	if _, err := os.Stat(sessions); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sessions: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("there are no sessions in %s: nothing has run there (name another place with -w or -r)", shownPath(dir))
	}
	db, err := store.Open(sessions, &store.Options{GCEvery: -1})
	if err != nil {
		return nil, err
	}
	return (&runFolder{workspace: workspace, dir: dir, db: db}).read(), nil
}

// read takes what lies beside the store. Names are a convenience: without these
// files sessions go by their ids.
func (f *runFolder) read() *runFolder {
	id, _ := os.ReadFile(filepath.Join(f.dir, "id")) // without it all is listed
	f.project = strings.TrimSpace(string(id))
	var lineage struct {
		Steps map[string]string `json:"steps"`
	}
	raw, err := os.ReadFile(filepath.Join(f.dir, "lineage.json"))
	if err == nil && json.Unmarshal(raw, &lineage) == nil {
		f.steps = lineage.Steps
	}
	f.rows, f.rowsErr = readManifest(f.dir)
	return f
}

// readManifest are the accounts of a run directory; none when nothing ran.
func readManifest(runDir string) ([]engine.Result, error) {
	path := filepath.Join(runDir, "manifest.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	var rows []engine.Result
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("%s cannot be read as accounts (%w): the next run keeps it aside and begins a new one", shownPath(path), err)
	}
	return rows, nil
}

// session is one in a list, with its subagents.
type session struct {
	transcript.Info
	agents []transcript.Info
}

func (s *session) id() string { return s.Key.Session }

// list are all sessions, ordered by id. An error comes with those that can be
// read.
func (f *runFolder) list(ctx context.Context) (all []*session, err error) {
	for info, err := range f.db.List(ctx, transcript.Key{Project: f.project}) {
		if err != nil {
			return all, err
		}
		last := len(all) - 1
		if last < 0 || all[last].id() != info.Key.Session || all[last].Key.Project != info.Key.Project {
			all = append(all, &session{Info: transcript.Info{Key: transcript.Key{Project: info.Key.Project, Session: info.Key.Session}}})
			last++
		}
		if info.Key.Sub == "" {
			all[last].Info = info
		} else {
			all[last].agents = append(all[last].agents, info)
		}
	}
	return all, nil
}

// label is what a session was used for: the step that will continue it, else the
// step of its last account.
func (f *runFolder) label(id string) string {
	for _, step := range slices.Sorted(maps.Keys(f.steps)) {
		if f.steps[step] == id {
			return step
		}
	}
	for _, row := range slices.Backward(f.rows) {
		if row.SessionID == id || slices.Contains(row.Retired, id) {
			return row.Step
		}
	}
	return ""
}

// byStep is the session of a step's name or of a label in the accounts.
func (f *runFolder) byStep(name string) string {
	if id := f.steps[name]; id != "" {
		return id
	}
	for _, row := range slices.Backward(f.rows) {
		if row.Step == name {
			return row.SessionID
		}
	}
	return ""
}

// find is the session that a person named.
func (f *runFolder) find(ctx context.Context, name string) (*session, error) {
	all, damage := f.list(ctx)
	if damage != nil && !errors.Is(damage, transcript.ErrDamaged) {
		return nil, damage
	}
	id := f.byStep(name)
	var begin []*session
	for _, s := range all {
		if s.id() == name {
			return s, nil
		}
		if name != "" && strings.HasPrefix(s.id(), name) {
			begin = append(begin, s)
		}
	}
	if i := slices.IndexFunc(all, func(s *session) bool { return s.id() == id }); id != "" && i >= 0 {
		return all[i], nil
	}
	switch len(begin) {
	case 1:
		return begin[0], nil
	case 0:
		if damage != nil {
			return f.damaged(ctx, name, id, damage)
		}
		return nil, f.unknown(name, id, all)
	}
	var ids []string
	for _, s := range begin[:min(len(begin), 5)] {
		ids = append(ids, s.id())
	}
	return nil, wrongUse("%d sessions begin with %q: write more of the id (%s, …)", len(begin), name, strings.Join(ids, ", "))
}

// damaged is a session that is in no list because of damage. It goes by its whole
// id or its step, to be deleted or forked.
func (f *runFolder) damaged(ctx context.Context, name, id string, damage error) (*session, error) {
	key := transcript.Key{Project: f.project, Session: cmp.Or(id, name)}
	if _, err := f.db.Head(ctx, key); !errors.Is(err, transcript.ErrDamaged) {
		return nil, fmt.Errorf("session %q was not found, and not all of them can be read: %w", name, damage)
	}
	return &session{Info: transcript.Info{Key: key}}, nil
}

// unknown says that there is no such session, with the near match.
func (f *runFolder) unknown(name, id string, all []*session) error {
	if id != "" {
		return wrongUse("the session of step %q (%s) is not in the store any more", name, id)
	}
	candidates := slices.Collect(maps.Keys(f.steps))
	for _, row := range f.rows {
		candidates = append(candidates, row.Step)
	}
	for _, s := range all {
		candidates = append(candidates, s.id()[:min(len(s.id()), max(len(name), 8))])
	}
	return wrongUse("there is no session or step %q%s (flower sessions list)", name, spell.Hint(name, candidates))
}

// agent is the subagent of a session that a person named.
func (s *session) agent(name string) (transcript.Key, error) {
	var ids []string
	var found []transcript.Key
	for _, info := range s.agents {
		id := info.Key.AgentID()
		ids = append(ids, id)
		if id == name {
			return info.Key, nil
		}
		if strings.HasPrefix(id, name) {
			found = append(found, info.Key)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return transcript.Key{}, wrongUse("%d subagents begin with %q: %s", len(found), name, strings.Join(ids, ", "))
	}
	if len(ids) == 0 {
		return transcript.Key{}, wrongUse("session %s has no subagents", s.id())
	}
	return transcript.Key{}, wrongUse("session %s has no subagent %q%s: it has %s", s.id(), name, spell.Hint(name, ids), strings.Join(ids, ", "))
}

// shortIDs are the shortest beginnings, of eight characters at least, by which the
// sessions can be named.
func shortIDs(all []*session) map[string]string {
	short := map[string]string{}
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.id()
	}
	slices.Sort(ids)
	for i, id := range ids {
		n := 8
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(ids) {
				n = max(n, common(id, ids[j])+1)
			}
		}
		short[id] = id[:min(n, len(id))]
	}
	return short
}

func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// newest sorts sessions by their last change, the newest first.
func newest(all []*session) {
	slices.SortStableFunc(all, func(a, b *session) int { return cmp.Compare(b.changed(), a.changed()) })
}

// changed is when the session, or a subagent of it, was last written to.
func (s *session) changed() int64 {
	last := s.Head.Modified.UnixNano()
	for _, info := range s.agents {
		last = max(last, info.Head.Modified.UnixNano())
	}
	return last
}

// entries is a whole transcript as far as it can be read.
func (f *runFolder) entries(ctx context.Context, key transcript.Key) ([]transcript.Entry, error) {
	return collect(f.db.Load(ctx, key, 0))
}

func collect(seq iter.Seq2[transcript.Entry, error]) (all []transcript.Entry, err error) {
	for e, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}
