package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// sessionInfo is a session for machines.
type sessionInfo struct {
	Session   string      `json:"session"`
	Project   string      `json:"project"`
	Step      string      `json:"step"`
	Title     string      `json:"title"`
	Model     string      `json:"model"`
	First     *time.Time  `json:"first,omitempty"`
	Last      *time.Time  `json:"last,omitempty"`
	Modified  time.Time   `json:"modified"`
	Entries   uint64      `json:"entries"`
	Prompts   int         `json:"prompts"`
	Turns     int         `json:"turns"`
	ToolCalls int         `json:"tool_calls"`
	Context   int         `json:"context"`
	Agents    []agentInfo `json:"agents"`
}

// agentInfo is a subagent for machines.
type agentInfo struct {
	ID       string    `json:"id"`
	Entries  uint64    `json:"entries"`
	Modified time.Time `json:"modified"`
}

func (f *runFolder) info(s *session, sum transcript.Summary) sessionInfo {
	info := sessionInfo{
		Session: s.id(), Project: s.Key.Project, Step: f.label(s.id()), Title: sum.Title, Model: sum.Model,
		Modified: s.Head.Modified, Entries: s.Head.Count, Prompts: sum.Prompts, Turns: sum.Turns,
		ToolCalls: sum.ToolCalls, Context: sum.Context, Agents: []agentInfo{},
	}
	if !sum.First.IsZero() {
		info.First, info.Last = &sum.First, &sum.Last
	}
	for _, a := range s.agents {
		info.Agents = append(info.Agents, agentInfo{a.Key.AgentID(), a.Head.Count, a.Head.Modified})
	}
	return info
}

// listSessions prints the sessions, the newest first. What is damaged is told
// behind what can be read.
func (a *app) listSessions(ctx context.Context, c *cli, f *runFolder) error {
	if c.Sessions.List.Limit < 0 {
		return wrongUse("--limit is %d; 0 means all", c.Sessions.List.Limit)
	}
	all, damage := f.list(ctx)
	short := shortIDs(all)
	newest(all)
	shown := all
	if limit := c.Sessions.List.Limit; limit > 0 && len(all) > limit {
		shown = all[:limit]
	}
	infos := make([]sessionInfo, 0, len(shown))
	for _, s := range shown {
		sum := transcript.Summary{}
		if s.Head.Count > 0 {
			var err error
			sum, err = transcript.Summarize(f.db.Load(ctx, s.Key, 0))
			if err != nil && !errors.Is(err, transcript.ErrDamaged) {
				return err
			}
			damage = errors.Join(damage, err)
		}
		infos = append(infos, f.info(s, sum))
	}
	if c.JSON {
		return errors.Join(writeJSON(a, infos), damage)
	}
	p := newPage(a.out)
	printSessions(p, infos, short)
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(p, "and %d older (--limit 0 shows all)\n", more)
	}
	return errors.Join(p.Flush(), damage)
}

func printSessions(p *page, infos []sessionInfo, short map[string]string) {
	if len(infos) == 0 {
		fmt.Fprintln(p, "no sessions")
		return
	}
	columns := []column{{head: "session"}, {head: "step", flex: true}, {head: "turns", right: true, drop: 2}, {head: "calls", right: true, drop: 4},
		{head: "context", right: true, drop: 5}, {head: "agents", right: true, drop: 6}, {head: "changed", drop: 3}, {head: "title", flex: true, drop: 1}}
	var rows [][]string
	for _, i := range infos {
		rows = append(rows, []string{short[i.Session], i.Step, fmt.Sprint(i.Turns), fmt.Sprint(i.ToolCalls), known(i.Context),
			fmt.Sprint(len(i.Agents)), i.Modified.Local().Format("2006-01-02 15:04"), i.Title})
	}
	p.table(columns, rows, 0)
}

// known is a number of tokens; unknown is a dash.
func known(tokens int) string {
	if tokens == 0 {
		return "-"
	}
	return tokenText(tokens)
}

// writeJSON prints a value for machines.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
