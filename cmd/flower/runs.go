package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/internal/spell"
)

type runsCommand struct {
	Run    string `arg:"" optional:"" help:"The beginning of the ids of runs (a day), or last. Without it: all runs, and for --report the last."`
	Report bool   `help:"Show where the context went."`
}

// account is a run with its rows in the manifest.
type account struct {
	id   string
	rows []engine.Result
}

// runs prints the accounts.
func (a *app) runs(ctx context.Context, c *cli) error {
	cmd := &c.Runs
	_, dir, err := c.existing()
	if err != nil {
		return err
	}
	rows, err := readManifest(dir)
	if err != nil {
		return err
	}
	if rows == nil && cmd.Run != "" && cmd.Run != "last" {
		return wrongUse("there is no run %q: nothing has run in %s (name another place with -w or -r)", cmd.Run, shownPath(dir))
	}
	if rows == nil {
		return fmt.Errorf("there are no accounts in %s: nothing has run there (name another place with -w or -r)", shownPath(dir))
	}
	name := cmd.Run
	if name == "" && cmd.Report {
		name = "last"
	}
	if all := len(rows); all > 0 {
		rows = slices.DeleteFunc(rows, func(row engine.Result) bool { return row.Run == "" })
		if n := all - len(rows); n > 0 {
			a.complain(fmt.Sprintf("note: %s of %s without a run's id left out", count(n, "row"), shownPath(filepath.Join(dir, "manifest.json"))))
		}
	}
	accounts, err := choose(byRun(rows), name, !cmd.Report)
	if err != nil {
		return err
	}
	if cmd.Report {
		return a.reportContext(ctx, c, accounts)
	}
	if c.JSON {
		return a.runsJSON(dir, accounts)
	}
	p := newPage(a.out)
	p.accounts(accounts)
	return p.Flush()
}

// runsJSON prints the chosen rows as they are in the manifest.
func (a *app) runsJSON(dir string, accounts []account) error {
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return fmt.Errorf("accounts: %w", err)
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return fmt.Errorf("accounts: %w", err)
	}
	chosen := []json.RawMessage{}
	for _, row := range rows {
		var of struct {
			Run string `json:"run"`
		}
		if err := json.Unmarshal(row, &of); err != nil {
			return fmt.Errorf("accounts: %w", err)
		}
		if slices.ContainsFunc(accounts, func(r account) bool { return r.id == of.Run }) {
			chosen = append(chosen, row)
		}
	}
	return writeJSON(a, chosen)
}

// byRun groups rows by their run, in the order in which the runs began.
func byRun(rows []engine.Result) []account {
	var all []account
	for _, row := range rows {
		i := slices.IndexFunc(all, func(r account) bool { return r.id == row.Run })
		if i < 0 {
			all, i = append(all, account{id: row.Run}), len(all)
		}
		all[i].rows = append(all[i].rows, row)
	}
	slices.SortStableFunc(all, func(a, b account) int { return a.rows[0].StartedAt.Compare(b.rows[0].StartedAt) })
	return all
}

// choose is the run that a person named; all for no name. Where several are wanted
// they may share the beginning that was named: a day.
func choose(all []account, name string, several bool) ([]account, error) {
	if name == "" || len(all) == 0 {
		return all, nil
	}
	if name == "last" {
		return all[len(all)-1:], nil
	}
	var found []account
	var ids []string
	for _, r := range all {
		ids = append(ids, r.id)
		if strings.HasPrefix(r.id, name) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1, len(found) > 1 && several:
		return found, nil
	case len(found) == 0:
		return nil, wrongUse("there is no run %q%s (flower runs)", name, spell.Hint(name, append(ids, "last")))
	}
	return nil, wrongUse("%d runs begin with %q: write more of the id (%s, …)", len(found), name, found[0].id)
}

// accounts prints a table for each run and, of several, the total.
func (p *page) accounts(accounts []account) {
	if len(accounts) == 0 {
		fmt.Fprintln(p, "no accounts")
		return
	}
	var all []engine.Result
	for _, r := range accounts {
		p.heading("run %s  %s", r.id, r.rows[0].StartedAt.Local().Format("2006-01-02 15:04"))
		p.accountTable(r.rows)
		fmt.Fprintln(p)
		all = append(all, r.rows...)
	}
	if len(accounts) > 1 {
		t := totalOf(all)
		p.text("", fmt.Sprintf("%s: %s, %s, %s tokens, %s from the cache, %s", count(len(accounts), "run"), t.costText(),
			count(t.turns, "turn"), tokenText(t.tokens.Input+t.tokens.Output+t.tokens.CacheRead+t.tokens.CacheWrite), t.share(), elapsed(t.took)))
	}
}

func (p *page) accountTable(rows []engine.Result) {
	columns := []column{{head: "step", flex: true}, {head: "end", flex: true, drop: 1}, {head: "cost", right: true}, {head: "turns", right: true},
		{head: "tools", right: true, drop: 5}, {head: "input", right: true, drop: 3}, {head: "output", right: true, drop: 4},
		{head: "cache read", right: true, drop: 6}, {head: "written", right: true, drop: 7}, {head: "cached", right: true, drop: 2}, {head: "time", right: true}}
	var lines [][]string
	for _, row := range rows {
		lines = append(lines, accountLine(row.Step, ending(&row), totalOf([]engine.Result{row})))
	}
	lines = append(lines, accountLine("total", "", totalOf(rows)))
	p.table(columns, lines, 1)
}

func accountLine(step, end string, t total) []string {
	n := func(tokens int64) string { return grouped(tokens) }
	return []string{step, end, t.costText(), fmt.Sprint(t.turns), fmt.Sprint(t.calls), n(t.tokens.Input), n(t.tokens.Output),
		n(t.tokens.CacheRead), n(t.tokens.CacheWrite), t.share(), elapsed(t.took)}
}

// ending is why a step ended, in a word.
func ending(row *engine.Result) string {
	if row.OK {
		return "ok"
	}
	return cmp.Or(string(row.Stop), row.Error, "failed")
}

// total is what rows of the manifest come to.
type total struct {
	cost    float64
	unknown bool // a price is
	turns   int
	calls   int
	tokens  model.Usage
	took    time.Duration
}

func totalOf(rows []engine.Result) (t total) {
	var used harness.Usage
	for _, row := range rows {
		if row.CostUSD == nil {
			t.unknown = true
		} else {
			t.cost += *row.CostUSD
		}
		used = used.Add(row.Usage)
		t.took += time.Duration(row.DurationS * float64(time.Second))
	}
	both := used.Main.Add(used.Sub)
	t.turns, t.calls, t.tokens = both.Turns, both.ToolCalls, both.Tokens
	return t
}

// costText is the cost; where a price is not known, what is known of it.
func (t total) costText() string {
	text := fmt.Sprintf("$%.4f", t.cost)
	if t.cost >= 100 {
		text = fmt.Sprintf("$%.2f", t.cost)
	}
	switch {
	case t.unknown && t.cost == 0:
		return "?"
	case t.unknown:
		return ">" + text
	}
	return text
}

// share is the part of the input that came from the cache.
func (t total) share() string { return shareText(t.tokens) }

func shareText(u model.Usage) string {
	all := u.Input + u.CacheRead + u.CacheWrite
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(u.CacheRead)/float64(all))
}
