package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
)

// shownSession is sessions show --json.
type shownSession struct {
	sessionInfo
	Agent   string            `json:"agent,omitempty"` // of which the entries are
	View    transcript.Report `json:"view"`
	Entries []json.RawMessage `json:"entries"`
}

// showSession prints a session. What cannot be read is told behind what can.
func (a *app) showSession(ctx context.Context, c *cli, f *runFolder) error {
	cmd := &c.Sessions.Show
	s, err := f.find(ctx, cmd.Name)
	if err != nil {
		return err
	}
	key := s.Key
	if cmd.Agent != "" {
		if key, err = s.agent(cmd.Agent); err != nil {
			return err
		}
	}
	if cmd.Raw && c.JSON {
		return wrongUse("--raw and --json exclude each other")
	}
	if cmd.Raw {
		return a.showRaw(ctx, f, key)
	}
	entries, err := f.entries(ctx, key)
	if errors.Is(err, transcript.ErrNotFound) && len(s.agents) > 0 {
		err = nil // of a session whose main thread is gone the subagents remain
	}
	if err != nil && len(entries) == 0 {
		return err
	}
	sum, _ := transcript.Summarize(each(entries)) // these have no error
	view, dead := viewReport(entries)
	if c.JSON {
		shown := shownSession{sessionInfo: f.info(s, sum), Agent: key.AgentID(), View: view, Entries: make([]json.RawMessage, len(entries))}
		for i, e := range entries {
			shown.Entries[i] = e.Raw
		}
		return errors.Join(writeJSON(a, shown), err)
	}
	p := newPage(a.out)
	p.head(f.info(s, sum), key.AgentID())
	t := teller{page: p, verbose: c.Verbose, agent: key.Sub != "", names: map[string]string{}}
	for i := range entries {
		t.entry(&entries[i])
	}
	p.foot(s, key, view, dead)
	return errors.Join(p.Flush(), err)
}

// each yields entries that have been loaded.
func each(entries []transcript.Entry) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// showRaw prints the stored lines, byte for byte.
func (a *app) showRaw(ctx context.Context, f *runFolder, key transcript.Key) error {
	p := newPage(a.out)
	for e, err := range f.db.Load(ctx, key, 0) {
		if err != nil {
			return errors.Join(p.Flush(), err)
		}
		p.Write(e.Raw) // an error stays until Flush
		p.WriteByte('\n')
	}
	return p.Flush()
}

// viewReport is what would be fed back to the model if the session were continued
// now, with the standing policy; dead counts the entries on branches that were
// left.
func viewReport(entries []transcript.Entry) (report transcript.Report, dead int) {
	mended, found := transcript.Repair(entries, transcript.RepairOptions{})
	all := append(slices.Clone(entries), mended...)
	live, err := transcript.Live(all, "")
	if err != nil {
		live = all
	}
	policy := engine.DefaultView()
	for _, call := range found.Open {
		policy.Pending = append(policy.Pending, call.ID)
	}
	_, report = transcript.View(live, policy)
	for _, e := range all {
		if e.Subtype == transcript.PrefixSubtype {
			dead-- // views leave them out too
		}
	}
	for _, e := range live {
		if e.Subtype == transcript.PrefixSubtype {
			dead++
		}
	}
	return report, max(0, dead+len(all)-len(live))
}

// head says what session this is.
func (p *page) head(i sessionInfo, agent string) {
	if agent != "" {
		p.heading("subagent %s of session %s", agent, i.Session)
	} else {
		p.heading("session %s", i.Session)
	}
	about := []string{}
	if i.Step != "" {
		about = append(about, "step "+i.Step)
	}
	if i.Model != "" {
		about = append(about, i.Model)
	}
	about = append(about, count(i.Turns, "turn"), count(i.ToolCalls, "tool call"))
	if i.Context > 0 {
		about = append(about, "context "+grouped(i.Context)+" tokens")
	}
	if i.First != nil {
		about = append(about, i.First.Local().Format("2006-01-02 15:04:05")+" to "+i.Last.Local().Format("2006-01-02 15:04:05"))
	}
	p.text("", strings.Join(about, ", "))
}

// foot tells what comes after the entries: subagents and the view.
func (p *page) foot(s *session, key transcript.Key, r transcript.Report, dead int) {
	fmt.Fprintln(p)
	if key.Sub == "" {
		for _, a := range s.agents {
			p.text("", fmt.Sprintf("subagent %s: %s (--agent %s)", a.Key.AgentID(), entryCount(a.Head.Count), a.Key.AgentID()))
		}
	}
	p.text("", fmt.Sprintf("view: expired %d, cleared %d, kept %d, chars_saved %d, pruned %d, denials_dropped %d",
		r.Expired, r.Cleared, r.Kept, r.CharsSaved, r.Pruned, r.DenialsDropped))
	for _, more := range []struct {
		n    int
		text string
	}{
		{r.Neutralized, "results of interrupted calls are told neutrally"},
		{r.Healed, "calls without a result get one"},
		{r.Duplicates, "entries come twice and count once"},
		{r.Mended, "entries hold what is no Unicode"},
		{dead, "entries are on branches that were left"},
	} {
		if more.n > 0 {
			p.text("      ", fmt.Sprintf("%s %s", grouped(more.n), more.text))
		}
	}
}

// teller prints entries for a person.
type teller struct {
	*page
	verbose bool
	agent   bool              // the transcript is a subagent's
	names   map[string]string // tools by call
}

const (
	maxInput       = 200 // characters of a call
	maxResultChars = 300
	maxResultLines = 3
)

func (t *teller) entry(e *transcript.Entry) {
	c := contentOf(e)
	who, parts := t.who(e, &c)
	if who == "" {
		return
	}
	at := ""
	if !e.Time.IsZero() {
		at = "  " + e.Time.Local().Format("15:04:05")
	}
	fmt.Fprintln(t)
	t.heading("%d  %s%s", e.Seq, who, at)
	for i := range parts {
		t.part(&parts[i])
	}
}

// who speaks, and what; nobody where there is nothing to see.
func (t *teller) who(e *transcript.Entry, c *content) (who string, parts []block) {
	parts = blocks(c.Message.Content)
	switch {
	case e.Type == "assistant" && e.Flags.Has(transcript.APIError):
		return "error of the provider", parts
	case e.Type == "assistant":
		return "model", t.seen(parts)
	case e.Type == "user" && len(e.ToolResults) > 0:
		return "result", parts
	case e.Type == "user" && e.Flags.Has(transcript.CompactSummary):
		return "summary of what came before", parts
	case e.Type == "user" && e.Flags.Has(transcript.Meta):
		return "note", parts
	case e.Type == "user":
		return "prompt", parts
	case e.Subtype == transcript.PrefixSubtype && c.System != nil:
		text := fmt.Sprintf("for %s, with %s", c.Model, count(len(c.Tools), "tool"))
		if c.Agent.Type != "" {
			text = c.Agent.Type + ", " + text
		}
		return "instructions", []block{{Type: "text", Text: text}}
	case e.Subtype == transcript.PrefixSubtype && !t.verbose:
		return "", nil
	case e.Type == "summary":
		return "title", []block{{Type: "text", Text: c.Summary}}
	case e.Type == "system":
		return strings.TrimSpace("system " + e.Subtype), blocks(c.Content)
	case t.verbose:
		return cmp.Or(e.Type, "entry"), nil
	}
	return "", nil
}

// seen leaves out thinking that cannot or need not be read.
func (t *teller) seen(parts []block) []block {
	return slices.DeleteFunc(parts, func(b block) bool {
		return b.Type == "redacted_thinking" || b.Type == "thinking" && (!t.verbose || b.Thinking == "")
	})
}

func (t *teller) part(b *block) {
	const indent = "   "
	switch b.Type {
	case "text":
		t.text(indent, b.Text)
	case "thinking":
		t.text(indent+". ", b.Thinking)
	case "tool_use", "server_tool_use":
		t.names[b.ID] = b.Name
		input := b.inputText()
		if t.verbose {
			t.text(indent+"> ", b.Name+": "+string(b.Input))
			return
		}
		t.line(indent+"> ", b.Name+": "+cut(input, maxInput))
	case "tool_result":
		t.result(indent, b)
	default:
		t.line(indent, "("+b.Type+")")
	}
}

func (t *teller) result(indent string, b *block) {
	mark := "< "
	if b.IsError {
		mark = "! "
	}
	name := cmp.Or(t.names[b.ToolUseID], "result")
	text := strings.TrimRight(clean(b.resultText()), "\n ")
	short := text
	if !t.verbose {
		lines := strings.SplitN(short, "\n", maxResultLines+1)
		short = cut(strings.Join(lines[:min(len(lines), maxResultLines)], "\n"), maxResultChars)
	}
	t.text(indent+mark, name+": "+cmp.Or(short, "(nothing)"))
	if short != text {
		t.line(indent+"  ", fmt.Sprintf("(%s characters in %s; -v shows all)", grouped(utf8.RuneCountInString(text)), count(strings.Count(text, "\n")+1, "line")))
	}
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
