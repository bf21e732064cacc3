package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
)

// contextReport says where the context of a run went. Characters are those of the
// transcripts, tokens those of the accounts.
type contextReport struct {
	Run     string        `json:"run"`
	Main    side          `json:"main"`
	Sub     side          `json:"sub"`
	Context []contextTurn `json:"context"` // of the main thread, in order
	Spills  spillReport   `json:"spills"`
	Scripts scriptReport  `json:"scripts"`
	Missing []string      `json:"missing"` // sessions that are not in the store any more
}

// side is the main threads, or the subagents.
type side struct {
	Agents     int                 `json:"agents"` // transcripts
	Turns      int                 `json:"turns"`
	ToolCalls  int                 `json:"tool_calls"`
	Chars      map[string]int      `json:"chars"` // prompts, text, calls, results
	Tools      map[string]toolUse  `json:"tools"`
	Usage      harness.Account     `json:"usage"`
	CacheShare *float64            `json:"cache_share"`
	seen       map[string]struct{} // replies of the model
}

// toolUse is what one tool put into the context.
type toolUse struct {
	Calls int `json:"calls"`
	Chars int `json:"chars"` // of calls and results
}

type contextTurn struct {
	Step   string    `json:"step"`
	Time   time.Time `json:"time"`
	Tokens int       `json:"tokens"`
}

// spillReport is about large results that were moved to files.
type spillReport struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`     // of those that are still there
	ReadBack int   `json:"read_back"` // calls that looked at one
}

// scriptReport is about the scripts of the workbench.
type scriptReport struct {
	Written []string `json:"written"`
	Run     []string `json:"run"`
	Runs    int      `json:"runs"` // command lines that ran one
}

// reportContext prints a report for each of the runs.
func (a *app) reportContext(ctx context.Context, c *cli, accounts []account) error {
	f, err := openFolder(c)
	if err != nil {
		return err
	}
	reports := []*contextReport{}
	var damage error
	for _, r := range accounts {
		report, err := f.contextReport(ctx, r)
		if err != nil && !errors.Is(err, transcript.ErrDamaged) {
			return errors.Join(err, f.db.Close())
		}
		damage = errors.Join(damage, err)
		reports = append(reports, report)
	}
	if err := f.db.Close(); err != nil {
		return err
	}
	if c.JSON {
		return errors.Join(writeJSON(a, reports), damage)
	}
	p := newPage(a.out)
	for _, r := range reports {
		p.report(r)
	}
	return errors.Join(p.Flush(), damage)
}

// reporter gathers a report.
type reporter struct {
	*contextReport
	account        *account
	from, to       time.Time
	spills         map[string]bool
	written, run   map[string]bool
	resultsOfTools map[string]string // tools by call
}

// contextReport reads the transcripts of a run: of each of its sessions what was
// said while the run was at work. With ErrDamaged it is a report of what can be read.
func (f *runFolder) contextReport(ctx context.Context, r account) (*contextReport, error) {
	rep := reporter{
		account:       &r,
		contextReport: &contextReport{Run: r.id, Main: newSide(), Sub: newSide(), Context: []contextTurn{}, Missing: []string{}},
		spills:        map[string]bool{}, written: map[string]bool{}, run: map[string]bool{}, resultsOfTools: map[string]string{},
	}
	for _, row := range r.rows {
		rep.Main.Usage = rep.Main.Usage.Add(row.Usage.Main)
		rep.Sub.Usage = rep.Sub.Usage.Add(row.Usage.Sub)
		if rep.from.IsZero() || row.StartedAt.Before(rep.from) {
			rep.from = row.StartedAt
		}
		if row.EndedAt.After(rep.to) {
			rep.to = row.EndedAt
		}
	}
	var damage error
	for _, id := range r.sessions() {
		err := f.addSession(ctx, &rep, id)
		if err != nil && !errors.Is(err, transcript.ErrDamaged) {
			return nil, err
		}
		damage = errors.Join(damage, err)
	}
	slices.SortStableFunc(rep.Context, func(a, b contextTurn) int { return a.Time.Compare(b.Time) })
	rep.finish(f)
	return rep.contextReport, damage
}

// sessions are those that a run used, each once.
func (r *account) sessions() (ids []string) {
	for _, row := range r.rows {
		for _, id := range append(slices.Clone(row.Retired), row.SessionID) {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// label is the step that a session worked for at a time.
func (r *account) label(session string, at time.Time) (label string) {
	for _, row := range r.rows {
		if row.SessionID == session || slices.Contains(row.Retired, session) {
			label = cmp.Or(label, row.Step)
			if !at.Before(row.StartedAt.Truncate(time.Millisecond)) {
				label = row.Step
			}
		}
	}
	return label
}

func newSide() side {
	return side{Chars: map[string]int{}, Tools: map[string]toolUse{}, seen: map[string]struct{}{}}
}

func (f *runFolder) addSession(ctx context.Context, rep *reporter, id string) error {
	key := transcript.Key{Project: f.project, Session: id}
	found := false
	for info, err := range f.db.List(ctx, key) {
		if err != nil {
			return err
		}
		if info.Key.Session != id {
			continue
		}
		found = true
		if err := f.addTranscript(ctx, rep, info.Key); err != nil {
			return err
		}
	}
	if !found {
		rep.Missing = append(rep.Missing, id)
	}
	return nil
}

// addTranscript counts what was said in the time of the run. Times in transcripts
// are rounded to milliseconds.
func (f *runFolder) addTranscript(ctx context.Context, rep *reporter, key transcript.Key) error {
	on, counted, at := &rep.Main, false, time.Time{}
	if key.Sub != "" {
		on = &rep.Sub
	}
	for e, err := range f.db.Load(ctx, key, 0) {
		if err != nil {
			return err
		}
		if !e.Time.IsZero() {
			at = e.Time
		}
		if at.Before(rep.from.Truncate(time.Millisecond)) || at.After(rep.to.Add(time.Millisecond)) {
			continue
		}
		if !counted {
			counted = true
			on.Agents++
		}
		rep.add(on, &e)
		if key.Sub == "" && e.Type == "assistant" {
			rep.context(&e, rep.account.label(key.Session, at))
		}
	}
	return nil
}

// context notes what the main thread saw in a turn, once for each reply.
func (rep *reporter) context(e *transcript.Entry, label string) {
	if tokens, ok := transcript.LastContext([]transcript.Entry{*e}); ok && tokens > 0 {
		last := len(rep.Context) - 1
		if last >= 0 && rep.Context[last].Step == label && rep.Context[last].Tokens == tokens && rep.Context[last].Time.Equal(e.Time) {
			return
		}
		rep.Context = append(rep.Context, contextTurn{label, e.Time, tokens})
	}
}

// add counts an entry.
func (rep *reporter) add(on *side, e *transcript.Entry) {
	if e.Type != "user" && e.Type != "assistant" || e.Flags.Has(transcript.APIError) {
		return
	}
	if e.Type == "assistant" {
		id := cmp.Or(e.MessageID, e.UUID)
		if _, ok := on.seen[id]; !ok {
			on.seen[id] = struct{}{}
			on.Turns++
		}
	}
	c := contentOf(e)
	for _, b := range blocks(c.Message.Content) {
		n := b.chars()
		switch {
		case b.Type == "tool_use":
			on.ToolCalls++
			on.Chars["calls"] += n
			on.use(b.Name, 1, n)
			rep.resultsOfTools[b.ID] = b.Name
			rep.call(&b)
		case b.Type == "tool_result":
			on.Chars["results"] += n
			on.use(cmp.Or(rep.resultsOfTools[b.ToolUseID], "?"), 0, n)
			rep.spilled(&b)
		case e.Type == "user":
			on.Chars["prompts"] += n
		default:
			on.Chars["text"] += n
		}
	}
}

func (s *side) use(tool string, calls, chars int) {
	u := s.Tools[tool]
	s.Tools[tool] = toolUse{u.Calls + calls, u.Chars + chars}
}

var (
	spillFile   = regexp.MustCompile(`[^\s'"` + "`" + `]*spill/[0-9a-f]{16}\.txt`)
	benchScript = regexp.MustCompile(`\.flower[^/\s'"]*/scripts/([^\s'"` + "`" + `;|&<>()]+)`)
)

// spilled notes the file that a result was moved to.
func (rep *reporter) spilled(b *block) {
	if path := spillFile.FindString(b.resultText()); path != "" {
		rep.spills[path] = true
	}
}

// call notes what a call does with scripts of the workbench and with spilled
// results.
func (rep *reporter) call(b *block) {
	input := string(b.Input)
	if spillFile.MatchString(input) {
		rep.Spills.ReadBack++
	}
	switch b.Name {
	case "Write", "Edit", "MultiEdit":
		if m := benchScript.FindStringSubmatch(b.field("file_path")); m != nil {
			rep.written[m[1]] = true
		}
	case "Bash":
		found := benchScript.FindAllStringSubmatch(b.field("command"), -1)
		for _, m := range found {
			rep.run[m[1]] = true
		}
		if len(found) > 0 {
			rep.Scripts.Runs++
		}
	}
}

// finish turns what was gathered into the report.
func (rep *reporter) finish(f *runFolder) {
	rep.Spills.Files = len(rep.spills)
	for path := range rep.spills {
		if !filepath.IsAbs(path) {
			path = filepath.Join(f.workspace, path)
		}
		if info, err := os.Stat(path); err == nil {
			rep.Spills.Bytes += info.Size()
		}
	}
	rep.Scripts.Written = append([]string{}, slices.Sorted(maps.Keys(rep.written))...)
	rep.Scripts.Run = append([]string{}, slices.Sorted(maps.Keys(rep.run))...)
	for _, s := range []*side{&rep.Main, &rep.Sub} {
		u := s.Usage.Tokens
		if all := u.Input + u.CacheRead + u.CacheWrite; all > 0 {
			share := float64(u.CacheRead) / float64(all)
			s.CacheShare = &share
		}
	}
}

// report prints one for a person.
func (p *page) report(r *contextReport) {
	p.heading("where the context of run %s went", r.Run)
	fmt.Fprintln(p)
	p.sides(r)
	p.tools(r)
	p.plot(r.Context)
	fmt.Fprintln(p)
	p.text("spills:  ", fmt.Sprintf("%s (%s), read back %d times", count(r.Spills.Files, "result"), byteSize(r.Spills.Bytes), r.Spills.ReadBack))
	p.text("scripts: ", fmt.Sprintf("%s written%s, %s run in %s%s", grouped(len(r.Scripts.Written)), names(r.Scripts.Written),
		grouped(len(r.Scripts.Run)), count(r.Scripts.Runs, "command"), names(r.Scripts.Run)))
	if len(r.Missing) > 0 {
		p.text("! ", fmt.Sprintf("%s not in the store any more and not counted: %s", count(len(r.Missing), "session"), strings.Join(r.Missing, ", ")))
	}
}

// names are a few in brackets.
func names(all []string) string {
	const most = 8
	switch {
	case len(all) == 0:
		return ""
	case len(all) > most:
		return fmt.Sprintf(" (%s and %d more)", strings.Join(all[:most], ", "), len(all)-most)
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// sides compares the main thread with the subagents.
func (p *page) sides(r *contextReport) {
	columns := []column{{head: "", flex: true}, {head: "main thread", right: true}, {head: "subagents", right: true}}
	var rows [][]string
	row := func(name string, value func(*side) string) {
		rows = append(rows, []string{name, value(&r.Main), value(&r.Sub)})
	}
	row("transcripts", func(s *side) string { return grouped(s.Agents) })
	row("turns", func(s *side) string { return grouped(s.Turns) })
	row("tool calls", func(s *side) string { return grouped(s.ToolCalls) })
	for _, kind := range []string{"prompts", "text", "calls", "results"} {
		row("chars, "+kind, func(s *side) string { return grouped(s.Chars[kind]) })
	}
	row("input tokens", func(s *side) string {
		u := s.Usage.Tokens
		return grouped(u.Input + u.CacheRead + u.CacheWrite)
	})
	row("from the cache", func(s *side) string { return shareText(s.Usage.Tokens) })
	row("output tokens", func(s *side) string { return grouped(s.Usage.Tokens.Output) })
	p.table(columns, rows, 0)
}

// tools shows which tools filled the context, the worst first.
func (p *page) tools(r *contextReport) {
	const most = 8
	all := map[string]int{}
	for _, s := range []side{r.Main, r.Sub} {
		for name, u := range s.Tools {
			all[name] += u.Chars
		}
	}
	if len(all) == 0 {
		return
	}
	list := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	columns := []column{{head: "tool", flex: true}, {head: "calls", right: true}, {head: "characters", right: true},
		{head: "calls (sub)", right: true, drop: 2}, {head: "characters (sub)", right: true, drop: 1}}
	var rows [][]string
	for _, name := range list[:min(len(list), most)] {
		main, sub := r.Main.Tools[name], r.Sub.Tools[name]
		rows = append(rows, []string{name, grouped(main.Calls), grouped(main.Chars), grouped(sub.Calls), grouped(sub.Chars)})
	}
	fmt.Fprintln(p)
	p.table(columns, rows, 0)
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(p, "and %s\n", count(more, "more tool"))
	}
}
