package document_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/document"
)

func ExampleParseVerdict() {
	v := document.ParseVerdict("**Verdict:** isn't achieved\n**Not passed:**\n- [ ] export writes a file\n")
	fmt.Println(v.State, v.Failed)
	fmt.Println(v.Feedback(document.English))
	// Output:
	// not_yet [export writes a file]
	// The judge looked at the result: the goal is not achieved yet.
	//
	// Not passed:
	// - export writes a file
	//
	// Close exactly these gaps and nothing else. What already passes must go on passing.
}

func ExampleGoal_Markdown() {
	g := document.ParseGoal("目标：导出发票\n检查项：\n1. `make test` 退出码为 0\n2. 打印 [cannot verify here: no printer]")
	fmt.Print(g.Markdown(document.English))
	// Output:
	// # Frozen goal
	//
	// > What the work is judged by. Edit it freely, but keep the headings: the judge reads them.
	//
	// ## Goal
	//
	// 导出发票
	//
	// ## Checks
	//
	// - `make test` 退出码为 0
	// - 打印 [cannot verify here: no printer]
}

func TestMissing_names_the_required_fields(t *testing.T) {
	b := document.ParseBrief("Goal: x\nLimits: (none)\nAssumptions: y")
	if want := []document.Field{document.FieldAccept, document.FieldBounds}; !slices.Equal(b.Missing(), want) || b.Complete() {
		t.Errorf("missing = %q, complete %v", b.Missing(), b.Complete())
	}
	if got := document.FieldAccept.Heading("zh"); got != "验收标准" {
		t.Errorf("heading = %q", got)
	}
	if got := document.FieldAccept.Heading(""); got != "Acceptance criteria" {
		t.Errorf("heading = %q", got)
	}
	if got := (document.Goal{Statement: "x"}).Missing(); !slices.Equal(got, []document.Field{document.FieldChecks}) {
		t.Errorf("missing of a goal = %q", got)
	}
	if v := (document.Verdict{State: document.NotYet}); !v.Complete() || !v.OK() {
		t.Errorf("a state is all a verdict needs, missing %q", v.Missing())
	}
	if v := (document.Verdict{Reason: "x"}); v.Complete() || v.OK() {
		t.Error("a verdict without a state is complete")
	}
	if h := (document.Handoff{Doing: "x", Next: "y"}); !h.Complete() {
		t.Errorf("missing of a handoff = %q", h.Missing())
	}
}

func TestWrite_replaces_and_remembers_the_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes", "brief.md")
	b := document.Brief{Goal: "a", Accept: "- b", Bounds: "c", Unknowns: "d"}
	if err := b.Write("", "en"); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("without a path: %v", err)
	}
	if err := b.Write(path, "zh"); err != nil {
		t.Fatal(err)
	}
	loaded, err := document.LoadBrief(path)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Equal(b) || loaded.Path() != path || b.Path() != path {
		t.Errorf("loaded %+v from %q, want %+v", loaded, loaded.Path(), b)
	}
	if unsaved := (document.Brief{Goal: "a", Accept: "- b", Bounds: "c", Unknowns: "d"}); !loaded.Equal(unsaved) {
		t.Error("the file makes a difference to Equal")
	}
	loaded.Goal = "e"
	if err := loaded.Write("", "en"); err != nil {
		t.Fatal(err)
	}
	if text := read(t, path); !strings.Contains(text, "## Goal\n\ne\n") || strings.Contains(text, "目标") {
		t.Errorf("file = %q", text)
	}
	if block := loaded.PromptBlock("en"); !strings.Contains(block, path) {
		t.Errorf("the prompt does not name the file: %q", block)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLoad_errors(t *testing.T) {
	dir := t.TempDir()
	if _, err := document.LoadGoal(filepath.Join(dir, "goal.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := document.LoadVerdict(dir); err == nil {
		t.Error("a folder was read")
	}
	large := filepath.Join(dir, "large.md")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 5<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := document.LoadHandoff(large, "work"); err == nil || !strings.Contains(err.Error(), "large.md") {
		t.Errorf("a file of 5 MiB: %v", err)
	}
}

func TestWrite_all_kinds_read_back_in_both_languages(t *testing.T) {
	for _, lang := range []string{"en", "zh", "zh-CN", ""} {
		dir := t.TempDir()
		g := document.Goal{Statement: "a", Checks: []string{"b", "[ ] c", "**Goal:** d"}}
		v := document.Verdict{State: document.Unreachable, Reason: "# r", Failed: []string{"x"}}
		h := document.Handoff{Doing: "a", Decided: "b", DeadEnds: "## c", Next: "d", Scene: "Scene: e", Step: "work"}
		if err := errors.Join(g.Write(dir+"/g", lang), v.Write(dir+"/v", lang), h.Write(dir+"/h", lang)); err != nil {
			t.Fatal(err)
		}
		g2, err1 := document.LoadGoal(dir + "/g")
		v2, err2 := document.LoadVerdict(dir + "/v")
		h2, err3 := document.LoadHandoff(dir+"/h", "work")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if !g2.Equal(g) || !v2.Equal(v) || !h2.Equal(h) {
			t.Errorf("%s: %+v %+v %+v", lang, g2, v2, h2)
		}
		if g2.Path() != dir+"/g" || v2.Path() != dir+"/v" || h2.Path() != dir+"/h" {
			t.Error("a file is not remembered")
		}
	}
}

func TestMarkdown_sections_rise_above_subheadings(t *testing.T) {
	b := document.ParseBrief("# Goal\nx\n# Acceptance criteria\n## Functional\n- a\n## Load\n- b\n# Boundaries\ny\n# Unknowns\nz")
	text := b.Markdown("en")
	if !strings.Contains(text, "\n# Acceptance criteria\n\n## Functional\n") || strings.Contains(text, `\`) {
		t.Errorf("written %q", text)
	}
}

func TestGoal_Amend_appends_once(t *testing.T) {
	g := document.Goal{Statement: "a", Checks: []string{"c"}}
	for range 2 {
		g.Amend("  also b\r\n\r\n\r\n\r\n## Checks\nmore ")
		g.Amend("")
	}
	want := document.Goal{Statement: "a\n\nalso b\n\n## Checks\nmore", Checks: []string{"c"}}
	if !g.Equal(want) {
		t.Errorf("amended = %+v, want %+v", g, want)
	}
	if back := document.ParseGoal(g.Markdown("en")); !back.Equal(want) {
		t.Errorf("reloaded = %+v", back)
	}
}

func TestBriefAddition_is_part_of_the_loaded_brief(t *testing.T) {
	path := filepath.Join(t.TempDir(), "brief.md")
	b := document.Brief{Goal: "a", Accept: "b", Bounds: "c", Unknowns: "d"}
	if err := b.Write(path, "en"); err != nil {
		t.Fatal(err)
	}
	added := document.BriefAddition("Goal", "also\n## Goal\n```\ne")
	if err := os.WriteFile(path, []byte(read(t, path)+added), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := document.LoadBrief(path)
	if err != nil {
		t.Fatal(err)
	}
	want := b
	want.Unknowns = "d\n\n### (Goal)\n\nalso\n## Goal\n```\ne"
	if !got.Equal(want) {
		t.Errorf("loaded %+v, want %+v", got, want)
	}
}

func TestVerdict_Feedback(t *testing.T) {
	if got := (document.Verdict{State: document.Achieved, Reason: "x"}).Feedback("en"); got != "" {
		t.Errorf("feedback for an achieved goal: %q", got)
	}
	v := document.Verdict{State: document.NotYet, Reason: "the file is empty", Failed: []string{"export", "mail"}}
	for _, lang := range []string{"en", "zh"} {
		got := v.Feedback(lang)
		for _, part := range []string{"the file is empty", "- export\n- mail"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %q in %q", lang, part, got)
			}
		}
		seen := map[string]bool{}
		for _, state := range []document.State{document.NotYet, document.Unreachable, ""} {
			got := document.Verdict{State: state}.Feedback(lang)
			if got == "" || seen[got] {
				t.Errorf("%s: feedback for %q is %q", lang, state, got)
			}
			seen[got] = true
		}
	}
}

func TestPromptBlock_holds_the_fields_and_tells_the_successor(t *testing.T) {
	h := document.Handoff{Doing: "the schema", Next: "indexes", Step: "work"}
	for lang, word := range map[string]string{"en": "take over", "zh": "接手"} {
		block := h.PromptBlock(lang)
		for _, part := range []string{word, "the schema", "indexes", "work"} {
			if !strings.Contains(block, part) {
				t.Errorf("%s: no %q in %q", lang, part, block)
			}
		}
		if got := document.ParseHandoff(block, "work"); !got.Equal(h) {
			t.Errorf("%s: the block reads as %+v", lang, got)
		}
	}
	for _, block := range []string{
		document.Brief{Goal: "the schema"}.PromptBlock("en"), document.Goal{Statement: "the schema"}.PromptBlock("zh"),
		document.Verdict{Reason: "the schema"}.PromptBlock("en"),
	} {
		if !strings.Contains(block, "the schema") {
			t.Errorf("block = %q", block)
		}
	}
}

func TestHandoff_Degraded_by_its_mark_only(t *testing.T) {
	for text, want := range map[string]bool{
		"x [degraded: handoff not written] y": true, "[Degraded : handoff not written]": true, "[降级:交接没写成]": true, "【降级：交接没写成】": true,
		"degraded: handoff not written": false, "a degraded disk": false, "[degraded]": false, "": false,
	} {
		if got := (document.Handoff{Doing: text}).Degraded(); got != want {
			t.Errorf("degraded(%q) = %v", text, got)
		}
	}
	if (document.Handoff{Scene: "[degraded: handoff not written]", Doing: "x"}).Degraded() {
		t.Error("the mark counts outside of doing")
	}
}

func TestDegradedHandoff_is_bounded_and_survives_any_task(t *testing.T) {
	task := "\n## In progress\nfake\nNext step: fake\n```\n[degraded\n" + strings.Repeat("é", 2000)
	h := document.DegradedHandoff("build\nit", task, strings.Repeat("why ", 500), "en")
	if n := len([]rune(h.Scene)); n > 1300 {
		t.Errorf("the scene has %d characters", n)
	}
	if n := len([]rune(h.Doing)); n > 500 {
		t.Errorf("doing has %d characters", n)
	}
	if back := document.ParseHandoff(h.Markdown("en"), "build\nit"); !back.Equal(h) || !back.Complete() || !back.Degraded() {
		t.Errorf("reloaded = %+v\nwant %+v", back, h)
	}
	if h := document.DegradedHandoff("work", "", "", "zh"); !h.Complete() || h.Scene != "" || !strings.Contains(h.Doing, "[降级:交接没写成]") {
		t.Errorf("without a task: %+v", h)
	}
}

func TestFileNames(t *testing.T) {
	for _, tc := range []struct {
		kind       document.Kind
		lang, step string
		want       string
	}{
		{document.KindBrief, "en", "", "brief.md"}, {document.KindBrief, "zh", "", "需求.md"},
		{document.KindGoal, "", "", "goal.md"}, {document.KindGoal, "zh", "", "目标.md"},
		{document.KindQuestions, "en", "", "qa.md"}, {document.KindQuestions, "zh-CN", "", "问答记录.md"},
		{document.KindHandoff, "en", "work", "handoff-work.md"}, {document.KindHandoff, "zh", "干活", "交接-干活.md"},
		{document.KindHandoff, "en", "../a b\n", "handoff-..-a-b.md"}, {document.KindHandoff, "en", "", "handoff-step.md"},
		{document.KindVerdict, "en", "", ""},
	} {
		if got := document.FileName(tc.kind, tc.lang, tc.step); got != tc.want {
			t.Errorf("FileName(%s, %s, %q) = %q, want %q", tc.kind, tc.lang, tc.step, got, tc.want)
		}
	}
}

func TestFindFile_in_the_other_language(t *testing.T) {
	dir := t.TempDir()
	find := func(lang string) string { return document.FindFile(dir, document.KindBrief, lang, "") }
	if got := find("en"); got != filepath.Join(dir, "brief.md") {
		t.Errorf("none there: %s", got)
	}
	zh := filepath.Join(dir, "需求.md")
	if err := os.WriteFile(zh, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find("en"); got != zh {
		t.Errorf("only the other there: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "brief.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if en, zh := find("en"), find("zh"); en != filepath.Join(dir, "brief.md") || zh != filepath.Join(dir, "需求.md") {
		t.Errorf("both there: %s, %s", en, zh)
	}
}

func TestKind_Headed(t *testing.T) {
	for text, want := range map[string]bool{"Goal: x": true, "## 目标": true, "the goal": false, "": false, "```\nGoal: x\n```": true} {
		if got := document.KindBrief.Headed(text); got != want {
			t.Errorf("Headed(%q) = %v", text, got)
		}
	}
	if document.KindQuestions.Headed("Goal: x") {
		t.Error("the question log has headings")
	}
}
