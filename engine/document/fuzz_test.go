package document_test

import (
	"testing"

	"github.com/flowerlua/flower/engine/document"
)

// seeds are texts in which content looks like structure.
var seeds = []string{
	"",
	"## Goal\nx\n## Acceptance criteria\n- a\n- [ ] **Goal:** b\n## Boundaries\nc\n## Unknowns\nd",
	"# Goal\nx\n## Sub\ny\n### Deeper\n# Checks\n### Build\n- a\n  more\n- [ ] [x] b\n",
	"Goal: ```\nChecks: ---\n- - a\n* * b\n1. c",
	"## Goal\n\\## Checks\n\\\\```\n \\---\n\\plain\n## Checks\n\\- Goal: x\n- \\Goal",
	"1. Goal\na\n2. Checks\n- x\n3. Limits: 3\n3. Goal",
	"Conclusion: not yet\nReason: Failed\n\n  ~~~~\nx\n~~~~\nFailed:\n- none\n- **Reason:** y\n• z\n· w",
	"结论:达成\n理由:**缺导出**\n未通过:\n1、一\n  续行\n(1) 二",
	"## In progress\n[degraded: handoff not written]\n## Next step\n(none).\n\n\n\n## Scene\n    code\n\n\n\ntail",
	"\ufeff```\n## Ziel\r\nx\r## Prüfliste\n- y [hier nicht überprüfbar: z]\n```",
	"**Goal: a**\n__Checks__ (two) 🎯: b\n【Goal】c\n(none)",
	"Goal\n====\n===\nChecks\n----\n\u3000- x\n-\u3000y",
}

// FuzzRoundTrip shows that what was parsed and written reads back the same,
// whatever the text, and that nothing panics on the way.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, lang := range []string{document.English, document.Chinese} {
			roundTrip(t, text, lang)
		}
	})
}

func roundTrip(t *testing.T, text, lang string) {
	t.Helper()
	if b := document.ParseBrief(text); !document.ParseBrief(b.Markdown(lang)).Equal(b) {
		t.Errorf("brief %+v\nwritten %q\nreads %+v", b, b.Markdown(lang), document.ParseBrief(b.Markdown(lang)))
	}
	if g := document.ParseGoal(text); !document.ParseGoal(g.Markdown(lang)).Equal(g) {
		t.Errorf("goal %+v\nwritten %q\nreads %+v", g, g.Markdown(lang), document.ParseGoal(g.Markdown(lang)))
	}
	if v := document.ParseVerdict(text); !document.ParseVerdict(v.Markdown(lang)).Equal(v) {
		t.Errorf("verdict %+v\nwritten %q\nreads %+v", v, v.Markdown(lang), document.ParseVerdict(v.Markdown(lang)))
	}
	if h := document.ParseHandoff(text, "work"); !document.ParseHandoff(h.Markdown(lang), "work").Equal(h) {
		t.Errorf("handoff %+v\nwritten %q\nreads %+v", h, h.Markdown(lang), document.ParseHandoff(h.Markdown(lang), "work"))
	}
}

// FuzzAnyField shows the same for fields that no parser made: after one trip
// through a file they stay as they are, and no field leaks into another.
func FuzzAnyField(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed, seed)
	}
	f.Fuzz(anyFields)
}

func anyFields(t *testing.T, one, two string) {
	b := document.Brief{Goal: "the goal", Accept: one, Bounds: "the bounds", Unknowns: two}
	once := document.ParseBrief(b.Markdown(document.English))
	if once.Goal != b.Goal || once.Bounds != b.Bounds {
		t.Errorf("%+v leaks into %+v", b, once)
	}
	if !document.ParseBrief(once.Markdown(document.Chinese)).Equal(once) {
		t.Errorf("%+v changes again", once)
	}
	g := document.Goal{Statement: one, Checks: []string{"first", two, "last"}}
	again := document.ParseGoal(g.Markdown(document.English))
	if n := len(again.Checks); n < 2 || n > 3 || again.Checks[0] != "first" || again.Checks[n-1] != "last" {
		t.Errorf("%+v reads back as %+v", g, again)
	}
	v := document.Verdict{State: document.NotYet, Reason: one, Failed: []string{two}}
	if back := document.ParseVerdict(v.Markdown(document.English)); back.State != v.State || len(back.Failed) > 1 {
		t.Errorf("%+v reads back as %+v", v, back)
	}
	h := document.DegradedHandoff("work", one, two, document.English)
	if back := document.ParseHandoff(h.Markdown(document.Chinese), "work"); !back.Equal(h) || !back.Degraded() {
		t.Errorf("degraded %+v reads back as %+v", h, back)
	}
}

// FuzzVerdict shows that no text becomes achieved by a negation in front of it
// or a failed conclusion before it.
func FuzzVerdict(f *testing.F) {
	for _, group := range conclusions {
		for _, text := range group.texts {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := document.ParseVerdict(text)
		if v.OK() != (v.State != "") {
			t.Errorf("ok = %v with state %q", v.OK(), v.State)
		}
		if got := document.ParseVerdict("Conclusion: not achieved.\n\nVerdict: " + text); got.State == document.Achieved {
			t.Errorf("%q behind a failed conclusion is achieved", text)
		}
	})
}
