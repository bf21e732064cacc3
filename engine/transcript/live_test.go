package transcript_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

func TestLive_selects_the_branch_that_leads_to_the_leaf(t *testing.T) {
	reply := func(id, call string) string {
		return strings.Replace(runs(call, "make"), `"role"`, `"id":"`+id+`","role"`, 1)
	}
	const attachment = `"type":"attachment","attachment":{}`
	for name, c := range map[string]struct {
		lines *lines
		at    string
		want  string
	}{
		"a line without branches": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", replies("2")).add("c", "b", says("3")),
			want:  "a b c",
		},
		"rewound, so that the newest message counts": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", replies("2")).add("dead", "b", says("3")).
				add("dead2", "dead", replies("4")).add("c", "b", says("other")).add("d", "c", replies("5")),
			want: "a b c d",
		},
		"back at a message": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", replies("2")).add("c", "b", says("3")).add("d", "c", replies("4")),
			at:    "b", want: "a b",
		},
		"calls side by side: every block and result of a live reply": {
			lines: new(lines).add("a", "", says("1")).add("b1", "a", reply("m", "t1")).add("b2", "b1", reply("m", "t2")).
				add("r1", "b1", gives("t1", "x")).add("r2", "b2", gives("t2", "y")).add("c", "r1", replies("done")),
			want: "a b1 b2 r1 r2 c",
		},
		"a result of a dead branch does not come twice": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", reply("m", "t1")).add("dead", "b", gives("t1", "interrupted")).
				add("r", "b", gives("t1", "real")).add("c", "r", replies("done")),
			want: "a b r c",
		},
		"back at a reply, without the results that came later": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", reply("m", "t1")).add("r", "b", gives("t1", "x")),
			at:    "b", want: "a b",
		},
		"what hangs on the branch without being a message": {
			lines: new(lines).add("a", "", says("1")).add("x", "a", attachment).add("b", "x", replies("2")).add("dead", "b", says("3")).
				add("y", "dead", attachment).add("c", "b", says("4")).add("z", "c", attachment).add("zz", "z", attachment),
			want: "a x b c z zz",
		},
		"after a compaction, what came before does not count": {
			lines: new(lines).add("a", "", says("1")).add("b", "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"a"`).add("c", "b", says("summary")),
			want:  "b c",
		},
		"after a compaction, what it preserved comes behind the summary": {
			lines: new(lines).add("a", "", says("1")).add("k1", "a", reply("m", "t1")).add("k2", "k1", gives("t1", "x")).
				add("b", "", `"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["k1","k2","gone"]}}`).
				add("s", "b", says("summary")).add("c", "s", replies("2")),
			want: "b s k1 k2 c",
		},
		"back before a compaction": {
			lines: new(lines).add("a", "", says("1")).add("k1", "a", replies("2")).
				add("b", "", `"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["k1"]}}`).
				add("s", "b", says("summary")),
			at: "k1", want: "a k1",
		},
		"a missing parent is passed by": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", replies("2")).add("c", "torn", says("3")),
			want:  "a b c",
		},
		"parents in a circle are passed by": {
			lines: new(lines).add("a", "", says("1")).add("b", "d", replies("2")).add("c", "b", says("3")).add("d", "c", replies("4")),
			want:  "a b c d",
		},
		"an entry that is its own parent": {
			lines: new(lines).add("a", "", says("1")).add("b", "b", replies("2")),
			want:  "a b",
		},
		"the entries of subagents in an old transcript": {
			lines: new(lines).add("a", "", says("1")).add("s", "", says("task")+`,"isSidechain":true`).add("b", "a", replies("2")).add("s2", "s", replies("report")+`,"isSidechain":true`),
			want:  "a b",
		},
		"a transcript of a subagent": {
			lines: new(lines).add("s", "", says("task")+`,"isSidechain":true`).add("s2", "s", replies("report")+`,"isSidechain":true`),
			want:  "s s2",
		},
		"nothing but what is no message": {
			lines: new(lines).add("x", "", attachment).add("y", "x", attachment),
			want:  "x y",
		},
		"a uuid that comes twice": {
			lines: new(lines).add("a", "", says("1")).add("b", "a", replies("2")).add("a", "b", says("again")),
			want:  "a b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, err := transcript.Live(parseAll(t, *c.lines...), c.at)
			if err != nil || uuids(live) != c.want {
				t.Errorf("got %q, %v, want %q", uuids(live), err, c.want)
			}
		})
	}
}

func TestLive_keeps_what_is_not_in_the_tree(t *testing.T) {
	entries := parseAll(t,
		`{"type":"summary","summary":"t"}`, `{"uuid":"a","parentUuid":null,"type":"user"}`,
		`{"uuid":"p","type":"system","subtype":"flower_prefix"}`,
		`{"uuid":"b","parentUuid":"a","type":"assistant"}`, `{"type":"mode","mode":"normal"}`)
	if live, err := transcript.Live(entries, ""); err != nil || rawLines(live) != rawLines(entries) {
		t.Errorf("got %s, %v", rawLines(live), err)
	}
	if live, err := transcript.Live(entries, "a"); err != nil || len(live) != 2 {
		t.Errorf("got %s, %v", rawLines(live), err)
	}
}

func TestLive_says_when_there_is_no_such_message(t *testing.T) {
	if _, err := transcript.Live(chain(t, says("1")), "nobody"); !errors.Is(err, transcript.ErrNotFound) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}
}
