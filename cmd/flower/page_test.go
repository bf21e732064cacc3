package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
)

// printed is what a function prints on a page of that width.
func printed(width int, print func(*page)) string {
	var out bytes.Buffer
	p := &page{Writer: bufio.NewWriter(&out), width: width}
	print(p)
	p.Flush()
	return out.String()
}

func widest(text string) (w int) {
	for line := range strings.Lines(text) {
		w = max(w, ansi.StringWidth(strings.TrimSuffix(line, "\n")))
	}
	return w
}

// A run of everything that is large: many tokens, long names in two scripts, unknown
// prices.
func largeRun() account {
	cost := 1234.5
	var r account
	r.id = "20260102-030405-abcdef"
	for i := range 40 {
		row := engine.Result{Run: r.id, Step: fmt.Sprintf("a step with a long name 步骤%d#round2", i), Stop: "max_budget", DurationS: 40000}
		row.Usage.Main.Turns, row.Usage.Main.ToolCalls = 5000, 12345
		row.Usage.Main.Tokens.Input, row.Usage.Main.Tokens.CacheRead, row.Usage.Sub.Tokens.CacheWrite = 123_456_789, 987_654_321, 11_111_111
		if i%2 == 0 {
			row.CostUSD = &cost
		}
		r.rows = append(r.rows, row)
	}
	return r
}

func TestPage_fits_every_width(t *testing.T) {
	run := largeRun()
	infos := []sessionInfo{{Session: "0123456789ab", Step: strings.Repeat("步骤", 20), Title: strings.Repeat("title ", 30), Turns: 12345, ToolCalls: 99999, Context: 1e6}}
	report := &contextReport{Run: run.id, Main: newSide(), Sub: newSide(), Missing: []string{"0123456789ab"}}
	report.Main.Usage, report.Sub.Usage = run.rows[0].Usage.Main, run.rows[0].Usage.Sub
	report.Scripts.Written = slices.Repeat([]string{"a_long_name.py"}, 20)
	for i := range 12 {
		report.Main.Tools[fmt.Sprintf("mcp__server__a_long_tool_name_%d", i)] = toolUse{12345, 123_456_789}
	}
	for i := range 700 {
		report.Context = append(report.Context, contextTurn{Step: run.rows[i/70].Step, Tokens: 1000 * i})
	}
	for width := minWidth; width <= maxWidth; width++ {
		for name, print := range map[string]func(*page){
			"accounts": func(p *page) { p.accounts([]account{run, run}) },
			"sessions": func(p *page) { printSessions(p, infos, map[string]string{"0123456789ab": "0123456789ab"}) },
			"report":   func(p *page) { p.report(report) },
			"head":     func(p *page) { p.head(infos[0], "") },
		} {
			if text := printed(width, print); widest(text) > width || text == "" {
				t.Fatalf("%s in %d columns has %d:\n%s", name, width, widest(text), text)
			}
		}
	}
}

func TestWrap_breaks_no_word_that_fits_a_line(t *testing.T) {
	for text, want := range map[string]string{
		"a question (--timeout 0 asks nobody)":       "a question|(--timeout 0 asks|nobody)",
		"kept as manifest.json.broken-2026":          "kept as|manifest.json.broken|-2026",
		"kept as manifest.broken-26 now":             "kept as|manifest.broken-26|now",
		"- one well-known thing\n- another":          "- one well-known|thing|- another",
		"a-word-that-is-wider-than-the-whole-line x": "a-word-that-is-wider|-than-the-whole-line|x",
	} {
		if got := strings.ReplaceAll((&screen{width: 20}).wrap("", text), "\n", "|"); got != want {
			t.Errorf("%q gives %q, not %q", text, got, want)
		}
	}
}

func TestTable_drops_columns_in_order_and_keeps_the_others(t *testing.T) {
	columns := []column{{head: "name", flex: true}, {head: "first to go", drop: 9}, {head: "second", drop: 5, right: true}, {head: "stays", right: true}}
	rows := [][]string{{strings.Repeat("x", 40), "1", "2", "3"}, {"a\nb\x1b[31m", "1", "2", "3"}}
	for width, want := range map[int]string{
		80: "name                                      first to go  second  stays",
		40: "name         first to go  second  stays",
		30: "name           second  stays",
		20: "name          stays",
	} {
		text := printed(width, func(p *page) { p.table(columns, rows, 0) })
		if got, _, _ := strings.Cut(text, "\n"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
		if widest(text) > width || !strings.Contains(text, "\na b ") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
}

func TestPlot_shows_every_turn_and_where_steps_begin(t *testing.T) {
	var turns []contextTurn
	for i, tokens := range []int{100, 50, 1, 60} {
		turns = append(turns, contextTurn{Step: []string{"one", "one", "two", "two"}[i], Tokens: tokens})
	}
	want := `
context by turn
main thread, 4 turns, at most 100 tokens
    100 |###
        |###
        |###      ###
     50 |######   ###
        |######   ###
        |############
      0 +------------
         a     b
a one, b two
`
	if got := printed(60, func(p *page) { p.plot(turns) }); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	many := slices.Repeat(turns, 100)
	if got := printed(60, func(p *page) { p.plot(many) }); !strings.Contains(got, "100 |"+strings.Repeat("#", 51)+"\n") {
		t.Errorf("the largest of several turns is not shown:\n%s", got)
	}
}

func parse(t *testing.T, lines ...string) (es []transcript.Entry) {
	t.Helper()
	for i, line := range lines {
		e, err := transcript.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = uint64(i + 1)
		es = append(es, e)
	}
	return es
}

func TestTeller_tells_who_said_what(t *testing.T) {
	long, err := json.Marshal(strings.Repeat("line\n", 100))
	if err != nil {
		t.Fatal(err)
	}
	entries := parse(t,
		`{"type":"system","subtype":"flower_prefix","model":"m","system":[{}],"tools":[{},{}],"agent":{"type":"scout"}}`,
		`{"type":"system","subtype":"flower_prefix","view":{}}`,
		`{"type":"user","message":{"role":"user","content":"Do \u001b[2Jit."},"uuid":"1"}`,
		`{"type":"user","isMeta":true,"message":{"role":"user","content":"A note."},"uuid":"2"}`,
		`{"type":"assistant","message":{"id":"a","role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"Bash","input":{"description":"look","command":"ls"}}]},"uuid":"3"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":`+string(long)+`}]},"uuid":"4"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image"}]}]},"uuid":"5"}`,
		`{"type":"assistant","isApiErrorMessage":true,"message":{"role":"assistant","content":[{"type":"text","text":"overloaded"}]},"uuid":"6"}`,
		`{"type":"mode","mode":"normal"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"image"},{"type":7},5]},"uuid":"8"}`,
	)
	tell := func(verbose bool) string {
		return printed(80, func(p *page) {
			teller := teller{page: p, verbose: verbose, names: map[string]string{}}
			for i := range entries {
				teller.entry(&entries[i])
			}
		})
	}
	want := `
1  instructions
   scout, for m, with 2 tools

3  prompt
   Do it.

4  note
   A note.

5  model
   I look.
   > Bash: ls

6  result
   < Bash: line
     line
     line
     (499 characters in 100 lines; -v shows all)

7  result
   ! result: no
     (image)

8  error of the provider
   overloaded

10  prompt
   (image)
`
	if got := tell(false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, more := range []string{"\n   . Hm.\n", "9  mode", `> Bash: {"description"`, strings.Repeat("     line\n", 99)} {
		if !strings.Contains(tell(true), more) {
			t.Errorf("-v does not show %q:\n%s", more, tell(true))
		}
	}
}

func TestViewReport_counts_what_a_continuation_would_leave_out(t *testing.T) {
	lines := []string{`{"type":"user","message":{"role":"user","content":"go"},"uuid":"p","parentUuid":null}`}
	parent := "p"
	for i := range 9 { // three more than stay
		call, result := fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", i)
		lines = append(lines,
			fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"git status"}}]},"uuid":%q,"parentUuid":%q}`, i, i, call, parent),
			fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"clean"}]},"uuid":%q,"parentUuid":%q}`, i, result, call))
		parent = result
	}
	lines = append(lines, `{"type":"user","message":{"role":"user","content":"another way"},"uuid":"q","parentUuid":"r7"}`)
	report, dead := viewReport(parse(t, lines...))
	if report.Expired != 2 || dead != 2 {
		t.Errorf("expired %d, on left branches %d; want 2 and 2", report.Expired, dead)
	}
}

func TestReporter_counts_sides_spills_and_scripts(t *testing.T) {
	rep := reporter{contextReport: &contextReport{Main: newSide(), Sub: newSide()}, account: &account{},
		spills: map[string]bool{}, written: map[string]bool{}, run: map[string]bool{}, resultsOfTools: map[string]string{}}
	for _, e := range parse(t,
		`{"type":"user","message":{"role":"user","content":"four"},"uuid":"1"}`,
		`{"type":"assistant","message":{"id":"a","role":"assistant","content":[{"type":"text","text":"né"}]},"uuid":"2"}`,
		`{"type":"assistant","message":{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"/w/.flower/scripts/count.py","content":""}}]},"uuid":"3"}`,
		`{"type":"assistant","message":{"id":"b","role":"assistant","content":[{"type":"tool_use","id":"u","name":"Bash","input":{"command":"python .flower/scripts/count.py; sh scripts/other.sh"}}]},"uuid":"4"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"[9000 characters in .flower/spill/0123456789abcdef.txt]"}]},"uuid":"5"}`,
		`{"type":"assistant","message":{"id":"c","role":"assistant","content":[{"type":"tool_use","id":"v","name":"Read","input":{"file_path":".flower/spill/0123456789abcdef.txt"}}]},"uuid":"6"}`,
		`{"type":"assistant","isApiErrorMessage":true,"message":{"id":"d","role":"assistant","content":"overloaded"},"uuid":"7"}`,
	) {
		rep.add(&rep.Main, &e)
	}
	rep.finish(&runFolder{workspace: t.TempDir()})
	m := rep.Main
	if m.Turns != 3 || m.ToolCalls != 3 || m.Chars["prompts"] != 4 || m.Chars["text"] != 2 || m.Chars["results"] != 55 || m.Tools["Bash"].Calls != 1 {
		t.Errorf("%+v", m)
	}
	if rep.Spills.Files != 1 || rep.Spills.ReadBack != 1 {
		t.Errorf("%+v", rep.Spills)
	}
	if s := rep.Scripts; !slices.Equal(s.Written, []string{"count.py"}) || !slices.Equal(s.Run, []string{"count.py"}) || s.Runs != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAccount_names_the_step_of_a_time(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := account{rows: []engine.Result{
		{Step: "fix", SessionID: "s", StartedAt: at},
		{Step: "fix#round2", SessionID: "s", Retired: []string{"old"}, StartedAt: at.Add(time.Minute)},
	}}
	for _, c := range []struct {
		session string
		at      time.Time
		want    string
	}{{"s", at, "fix"}, {"s", at.Add(2 * time.Minute), "fix#round2"}, {"old", at, "fix#round2"}, {"none", at, ""}} {
		if got := r.label(c.session, c.at); got != c.want {
			t.Errorf("%s at %v: %q, want %q", c.session, c.at, got, c.want)
		}
	}
	if got := r.sessions(); !slices.Equal(got, []string{"s", "old"}) {
		t.Errorf("sessions %v", got)
	}
}

func TestMeta_files_keep_their_bytes(t *testing.T) {
	for in, want := range map[string]string{
		`{"agentType": "scout",  "n":1.50}`: `{"agentType": "scout",  "n":1.50}`,
		"{\n  \"agentType\": \"scout\"\n}":  `{"agentType":"scout"}`,
		`{}`:                                `{}`,
	} {
		e, err := metaEntry([]byte(in))
		if err != nil || e.Type != metaType {
			t.Fatalf("%s: %s, %v", in, e.Type, err)
		}
		if got := string(metaFile(e.Raw)); got != want {
			t.Errorf("%s came back as %s", in, got)
		}
	}
	if got := string(metaFile([]byte(`{"agentType":"scout","type":"agent_metadata"}`))); got != `{"agentType":"scout"}` {
		t.Errorf("a foreign entry became %s", got)
	}
	if _, err := metaEntry([]byte(`[`)); err == nil {
		t.Error("no JSON was taken")
	}
}

func TestShortIDs_are_unique(t *testing.T) {
	var all []*session
	for _, id := range []string{"aaaaaaaaaaaa1", "aaaaaaaaaaaa2", "bbbbbbbbbbbb", "c"} {
		s := &session{}
		s.Key.Session = id
		all = append(all, s)
	}
	want := map[string]string{"aaaaaaaaaaaa1": "aaaaaaaaaaaa1", "aaaaaaaaaaaa2": "aaaaaaaaaaaa2", "bbbbbbbbbbbb": "bbbbbbbb", "c": "c"}
	for id, short := range shortIDs(all) {
		if short != want[id] {
			t.Errorf("%s: %s, want %s", id, short, want[id])
		}
	}
}
