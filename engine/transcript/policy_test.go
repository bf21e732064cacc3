package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// Short forms of entries, each the child of the one before it.

type lines []string

func (l *lines) add(uuid, parent, fields string) *lines {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	*l = append(*l, fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,%s}`, uuid, p, fields))
	return l
}

func says(text string) string {
	return fmt.Sprintf(`"type":"user","message":{"role":"user","content":%q}`, text)
}

func replies(text string) string {
	return fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]}`, text)
}

func calls(id, tool, input string) string {
	return fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, id, tool, input)
}

func runs(id, command string) string {
	return calls(id, "Bash", fmt.Sprintf(`{"command":%q}`, command))
}

func gives(id, text string) string {
	return fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text)
}

func fails(id, text string) string {
	return fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":true}]}`, id, text)
}

// chain numbers the entries e0, e1, … and hangs each on the one before.
func chain(t testing.TB, fields ...string) []transcript.Entry {
	var l lines
	parent := ""
	for i, f := range fields {
		uuid := fmt.Sprintf("e%d", i)
		l.add(uuid, parent, f)
		parent = uuid
	}
	return parseAll(t, l...)
}

func uuids(entries []transcript.Entry) string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.UUID)
	}
	return strings.Join(ids, " ")
}

func heals() transcript.Policy {
	return transcript.Policy{Prune: transcript.PrunePolicy{DropAPIErrors: true, NeutralizeInterrupts: true, HealOrphans: true, KeepDenials: 1}, NewID: healIDs()}
}

func TestView_uses_its_own_texts_where_the_policy_has_none(t *testing.T) {
	p := heals()
	p.Expire = transcript.ExpirePolicy{Enabled: true}
	p.Trim = transcript.TrimPolicy{Enabled: true}
	long := strings.Repeat("x", 2000)
	view, report := transcript.View(chain(t, runs("t0", "ls"), gives("t0", "a b"), runs("t1", "make"), gives("t1", long), runs("t2", "make")), p)
	all := rawLines(view)
	for _, want := range []string{
		"[The output of `ls` was removed: 1 looks ago, no longer current. Run it again if you need it.]",
		"[2000 characters moved to .flower/spill/", transcript.DefaultOrphanText,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if report.Expired != 1 || report.Cleared != 1 || report.Healed != 1 || report.Spills[0].Text() != long {
		t.Errorf("report %+v", report)
	}
}

func TestView_cuts_long_commands_in_notes_between_characters(t *testing.T) {
	p := transcript.Policy{Expire: transcript.ExpirePolicy{Enabled: true, Text: "{cmd}"}}
	view, _ := transcript.View(chain(t, runs("t0", "ls "+strings.Repeat("é", 300)), gives("t0", "a")), p)
	want := "`ls " + strings.Repeat("é", 197) + "…`"
	if !strings.Contains(string(view[1].Raw), `"`+want+`"`) {
		t.Errorf("got %s", view[1].Raw)
	}
}

func TestView_drops_denials_the_caller_knows_of(t *testing.T) {
	entries := chain(t, runs("t0", "make"), fails("t0", "delegate this"), runs("t1", "make"), fails("t1", "delegate this"), replies("well"))
	p := heals()
	p.Denied = map[string]bool{"t0": true, "t1": true, "never seen": true}
	view, report := transcript.View(entries, p)
	if uuids(view) != "e2 e3 e4" || report.DenialsDropped != 1 || view[0].Parent != "" {
		t.Errorf("%s, %+v", uuids(view), report)
	}
}

func TestView_keeps_a_denied_call_that_has_another_result(t *testing.T) {
	p := heals()
	p.Prune.KeepDenials = 0
	entries := chain(t, runs("t0", "make"), fails("t0", "no")+`,"toolDenialKind":"permission-rule"`, gives("t0", "made"))
	if view, _ := transcript.View(entries, p); uuids(view) != "e0 e1 e2" {
		t.Errorf("got %s", uuids(view))
	}
}

func TestView_heals_behind_the_whole_reply(t *testing.T) {
	block := func(id string) string {
		return strings.Replace(runs(id, "make"), `"role"`, `"id":"msg_1","role"`, 1)
	}
	entries := chain(t, says("go"), block("t0"), gives("t0", "made"), block("t1"), block("t2"), says("what now?"))
	view, _ := transcript.View(entries, heals())
	if uuids(view) != "e0 e1 e2 e3 e4 HEAL-1 e5" {
		t.Fatalf("got %s", uuids(view))
	}
	if h := view[5]; h.Parent != "e4" || strings.Join(h.ToolResults, " ") != "t1 t2" || view[6].Parent != "HEAL-1" {
		t.Errorf("healed by %s, followed by %s", h.Raw, view[6].Raw)
	}
}

func TestView_leaves_calls_alone_whose_result_is_to_come(t *testing.T) {
	p := heals()
	p.Pending = []string{"q"}
	view, _ := transcript.View(chain(t, says("go"), calls("q", transcript.AskTool, `{"question":"?"}`)), p)
	if uuids(view) != "e0 e1" {
		t.Errorf("got %s", uuids(view))
	}
}

func TestView_derives_ids_that_stay_the_same(t *testing.T) {
	entries := chain(t, runs("t0", "make"), says("x"), runs("t1", "make"), says("y"))
	p := heals()
	p.NewID = nil
	first, _ := transcript.View(entries, p)
	again, _ := transcript.View(entries, p)
	if d := difference(again, first); d != "" {
		t.Error(d)
	}
	if len(first) != 6 || first[1].UUID == first[4].UUID || len(first[1].UUID) != 36 {
		t.Errorf("got %s", uuids(first))
	}
}

func TestView_mends_text_that_is_no_Unicode_and_nothing_else(t *testing.T) {
	entries := chain(t, says("fine"), `"type":"user","message":{"role":"user","content":"cut \ud834"}`, "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"raw \xf0\"}")
	view, report := transcript.View(entries, transcript.Policy{})
	if report.Mended != 2 || !strings.Contains(rawLines(view), `cut \ufffd`) || !strings.Contains(rawLines(view), "raw \uFFFD") {
		t.Errorf("%+v\n%s", report, rawLines(view))
	}
	if &view[0].Raw[0] != &entries[0].Raw[0] {
		t.Error("an entry in order was copied")
	}
}

func TestView_leaves_the_prefix_out_and_what_hangs_on_it_whole(t *testing.T) {
	entries := chain(t, says("go"), `"type":"system","subtype":"flower_prefix","system":[]`, replies("hello"))
	view, report := transcript.View(entries, transcript.Policy{})
	if uuids(view) != "e0 e2" || view[1].Parent != "e0" || report.Pruned != 0 {
		t.Errorf("%s, %+v", rawLines(view), report)
	}
}

func TestView_keeps_unchanged_bytes_of_changed_entries(t *testing.T) {
	const odd = `{ "uuid":"e1","n":1e3, "parentUuid":"gone", "type":"assistant","message":{"role":"assistant","content":[ {"type":"thinking","thinking":"\u00e9 <a>","signature":"s=="},{"type":"text","text":"x"} ]},"z":[1, 2.0] }`
	var l lines
	l.add("e0", "", says("go")).add("gone", "e0", replies("API Error")+`,"isApiErrorMessage":true`)
	l = append(l, odd)
	view, _ := transcript.View(parseAll(t, l...), heals())
	for _, part := range []string{`"n":1e3`, `[ {"type":"thinking","thinking":"\u00e9 <a>","signature":"s=="},{"type":"text","text":"x"} ]`, `"z":[1, 2.0]`, `"parentUuid":"e0"`} {
		if !strings.Contains(string(view[1].Raw), part) {
			t.Errorf("%s is not in %s", part, view[1].Raw)
		}
	}
}

func TestView_repeating_makes_only_decisions_about_what_was_not_sent(t *testing.T) {
	p := heals()
	p.Expire = transcript.ExpirePolicy{Enabled: true, KeepRecent: 1}
	fields := []string{runs("t0", "ls"), gives("t0", "a"), runs("t1", "ls"), gives("t1", "b"), replies("seen")}
	_, report := transcript.View(chain(t, fields...), p)
	p.Repeat = &report.Decisions
	p.Expire.Text = "another text"
	fields = append(fields,
		runs("t2", "ls"), fails("t2", "[Request interrupted by user for tool use]"), // sent: a reply follows
		runs("t3", "pwd"), fails("t3", "[Request interrupted by user for tool use]"),
		replies("API Error: overloaded")+`,"isApiErrorMessage":true`, says("go on"))
	view, report := transcript.View(chain(t, fields...), p)
	if uuids(view) != "e0 e1 e2 e3 e4 e5 e6 e7 e8 e10" {
		t.Fatalf("got %s", uuids(view))
	}
	all := rawLines(view)
	if strings.Count(all, "[Request interrupted") != 1 || strings.Count(all, transcript.DefaultInterruptText) != 1 || strings.Contains(all, "another text") {
		t.Errorf("got %s", all)
	}
	if report.Expired != 1 || report.Neutralized != 1 || report.Pruned != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestView_repeating_no_decisions_still_mends_what_was_not_sent(t *testing.T) {
	p := heals()
	p.Expire = transcript.ExpirePolicy{Enabled: true}
	p.Repeat = &transcript.Decisions{}
	view, report := transcript.View(chain(t, runs("t0", "ls"), gives("t0", "a"), runs("t1", "make"), says("stop"),
		runs("t2", "make"), fails("t2", "[Request interrupted by user for tool use]")), p)
	all := rawLines(view)
	if report.Expired != 0 || !strings.Contains(all, transcript.DefaultInterruptText) || !strings.Contains(all, transcript.DefaultOrphanText) {
		t.Errorf("%+v\n%s", report, all)
	}
}

func TestView_repeating_ignores_decisions_about_what_is_not_there(t *testing.T) {
	entries := chain(t, says("go"), runs("t0", "ls"), gives("t0", "a"))
	p := heals()
	p.Repeat = &transcript.Decisions{
		Expired: []transcript.Place{{Entry: "e2", Block: 7}, {Entry: "e2", Block: -1}, {Entry: "nobody"}, {Entry: "e1"}},
		Trimmed: []transcript.Place{{Entry: "e0"}}, Neutral: []transcript.Place{{Entry: "#99"}},
		Dropped: []string{"nobody"}, Healed: []transcript.Heal{{After: "e1", UUID: "x"}},
	}
	view, _ := transcript.View(entries, p)
	if d := difference(view, entries); d != "" {
		t.Error(d)
	}
}
