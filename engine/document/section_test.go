package document_test

import (
	"slices"
	"testing"

	"github.com/flowerlua/flower/engine/document"
)

func TestSections(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     document.Brief
	}{
		{"an item in a section is no heading", "## Goal\nx\n## Acceptance criteria\n1. Goal: x exists\n- Limits: 100/min\n* Boundaries\n2) Aim",
			document.Brief{Goal: "x", Accept: "1. Goal: x exists\n- Limits: 100/min\n* Boundaries\n2) Aim"}},
		{"nor behind a colon heading", "Goal: x\nLimits: y\n- Goal: z", document.Brief{Goal: "x", Bounds: "y\n\n- Goal: z"}},
		{"nor below headings that are numbered", "1. Goal\nx\n2. Boundaries\n- Limits: 100/min\n- none of it",
			document.Brief{Goal: "x", Bounds: "- Limits: 100/min\n- none of it"}},
		{"nor deeper than the headings", "- Goal: x\n- Boundaries:\n  - Limits: 100/min", document.Brief{Goal: "x", Bounds: "- Limits: 100/min"}},
		{"nor where the numbers start again", "1. Goal\nx\n2. Boundaries\n1. Limits: 100/min\n3. Assumptions\nz",
			document.Brief{Goal: "x", Bounds: "1. Limits: 100/min", Unknowns: "z"}},
		{"nor under a heading of something else", "## Plan\n- Goal: x\n## Boundaries\ny", document.Brief{Bounds: "y"}},
		{"a title is nothing else", "# Brief\n\n- Goal: x\n- Boundaries: y", document.Brief{Goal: "x", Bounds: "y"}},
		{"a bold item is a heading", "## Goal\nx\n- **Boundaries:** y", document.Brief{Goal: "x", Bounds: "y"}},
		{"a sentence is text", "Goal\nGoal users are operators.\n目标用户是客服\nLimits apply.", document.Brief{Goal: "Goal users are operators.\n目标用户是客服\nLimits apply."}},
		{"a # line that goes on is a foreign heading", "## Goal\nx\n## Goal users are operators\ny\n## Limits\nz", document.Brief{Goal: "x", Bounds: "z"}},
		{"a deeper foreign heading is text", "## Acceptance criteria\n### Functional\n- a\n#### Load\n- b\n## Other\nc", document.Brief{Accept: "### Functional\n- a\n#### Load\n- b"}},
		{"one as high ends the section", "### Goal\nx\n### Other\ny\n## Aim", document.Brief{Goal: "x"}},
		{"a higher one too", "### Goal\nx\n# Other\ny", document.Brief{Goal: "x"}},
		{"without # any # line ends it", "**Goal**\nx\n###### Other\ny", document.Brief{Goal: "x"}},
		{"a deeper alias is a heading", "# Goal\nx\n### Boundaries\ny", document.Brief{Goal: "x", Bounds: "y"}},
		{"the first with content wins", "## Goal\n\n## goal\n(none)\n## GOAL\nx\n## Goal\ny", document.Brief{Goal: "x"}},
		{"two aliases are joined", "## Aim\na\n## Limits\nl\n## Goal\nb\n## Aim\nc", document.Brief{Goal: "a\n\nb", Bounds: "l"}},
		{"text on the line and below", "**Goal:** a\nb\n\n\n\nc", document.Brief{Goal: "a\n\nb\n\nc"}},
		{"placeholders", "## Goal\n- (Not filled in).\n## Acceptance criteria\n（无）。\n## Boundaries\n(nicht ausgefuellt)\n## Unknowns\n_(none)_", document.Brief{}},
		{"words for none are content here", "## Goal\nnone\n## Boundaries\n无", document.Brief{Goal: "none", Bounds: "无"}},
		{"fences inside lists", "## Acceptance criteria\n- run:\n    ```sh\n    # Goal\n    make\n    ```\n- see", document.Brief{Accept: "- run:\n\n- see"}},
		{"inline code is no fence", "## Goal\n```x``` is code\n## Limits\ny", document.Brief{Goal: "```x``` is code", Bounds: "y"}},
		{"a shorter fence does not close", "## Goal\na\n````\n```\n## Limits\n````\nb", document.Brief{Goal: "a\n\nb"}},
		{"another character does not close", "## Goal\na\n~~~\n```\n## Limits\n~~~\nb", document.Brief{Goal: "a\n\nb"}},
		{"a fence with a name does not close", "## Goal\na\n```\nx\n```sh\n## Limits\ny", document.Brief{Goal: "a"}},
		{"a whole reply in a fence, with one inside", "```markdown\n## Goal\na\n```sh\nmake\n```\n## Limits\nb\n```", document.Brief{Goal: "a", Bounds: "b"}},
		{"two fences are not a whole", "```\n## Goal\na\n```\n\n```\n## Limits\nb\n```", document.Brief{}},
		{"bold around heading and text", "**Goal: use **x** now**\n**Limits: y** z", document.Brief{Goal: "use **x** now", Bounds: "y z"}},
		{"a dash inside a word ends no alias", "Ziel-URL bleibt\nNon-goals: x", document.Brief{Bounds: "x"}},
		{"the third section by its number", "**Goal**\nx\n**Acceptance**\n- a\n\n3. Boundaries\ny", document.Brief{Goal: "x", Accept: "- a", Bounds: "y"}},
		{"but not inside a numbered list", "**Goal**\nx\n**Acceptance**\n1. a\n2. b\n3. Boundaries", document.Brief{Goal: "x", Accept: "1. a\n2. b\n3. Boundaries"}},
		{"escaped lines are text", "## Goal\n\\## Limits\n\\\\## Limits\n\\---\nC:\\dir", document.Brief{Goal: "## Limits\n\\## Limits\n---\nC:\\dir"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := document.ParseBrief(tc.in); !got.Equal(tc.want) {
				t.Errorf("ParseBrief(%q)\n = %+v\nwant %+v", tc.in, got, tc.want)
			}
		})
	}
}

func TestItems(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"markers", "- a\n* b\n+ c\n• d\n– e\n1. f\n2) g\n3、 h\n10. i", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}},
		{"checkboxes", "- [ ] a\n[x] b\n1. [X] c\n- [y] d", []string{"a", "b", "c", "[y] d"}},
		{"a blank is needed", "- 3.5 s\n- -5 °C\n--help\n*.go\n**bold**", []string{"3.5 s", "-5 °C"}},
		{"without markers every line", "3.5 s\n-5 °C\n--help\n\n*.go\n**bold**\n1.5\n2、x", []string{"3.5 s", "-5 °C", "--help", "*.go", "**bold**", "1.5", "2、x"}},
		{"an indented line goes on", "- `make test` is green\n  on Linux\n\n  and macOS\n- b", []string{"`make test` is green on Linux and macOS", "b"}},
		{"other lines behind an item are dropped", "- a\nAll of these must hold.\n- b\n\nThat is all.", []string{"a", "b"}},
		{"a lead-in is no item", "These must hold:\n\n- a\n- b", []string{"a", "b"}},
		{"headings are no items", "### Build\n- a\n### Run\n- b", []string{"a", "b"}},
		{"marks of other kinds keep the list whole", "① a\n② b\n- c\nd", []string{"① a", "② b", "c"}},
		{"nesting is flattened", "- a\n  - b\n\t- c\n      1. d", []string{"a", "b", "c", "d"}},
		{"placeholders are no items", "- (none)\n- a\n- (无)", []string{"a"}},
		{"empty items", "-\n- \n- [ ]\n- a", []string{"-", "-", "a"}},
		{"ideographic blanks", "-\u3000a\n\u3000-\u3000b", []string{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := document.ParseGoal("## Goal\nx\n## Checks\n" + tc.in).Checks; !slices.Equal(got, tc.want) {
				t.Errorf("checks of %q\n = %q\nwant %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestGoal_Unverifiable_in_all_languages(t *testing.T) {
	marked := []string{
		"a [cannot verify here: no device]", "[Cannot verify here] b", "c [ cannot  verify here ]", "d 【cannot verify here】 e", "[CANNOT VERIFY HERE：x]",
		"f [此环境无法验证：没有设备]", "[无法验证] g", "【此环境无法验证:x】", "［无法验证：x］", "h [此环境无法验证]",
		"i [no verificable aquí: x]", "j [No verificable aqui]", "k [hier nicht überprüfbar: x]", "[Hier nicht ueberpruefbar] l", "m [x] [hier nicht überprüfbar]",
	}
	plain := []string{
		"cannot verify here", "(cannot verify here)", "[verify here]", "[cannot verify hereafter]", "[cannot verify here", "无法验证", "[x] hier nicht überprüfbar", "a [b]",
	}
	g := document.Goal{Statement: "x", Checks: slices.Concat(plain, marked)}
	if got := g.Unverifiable(); !slices.Equal(got, marked) {
		t.Errorf("unverifiable = %q\nwant %q", got, marked)
	}
}

func TestParseVerdict_sections(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     document.Verdict
	}{
		{"failed as the first content is the conclusion", "## Conclusion\nFailed\n\n## Reason\nx\n\n## Failed\n- a",
			document.Verdict{State: document.NotYet, Reason: "x", Failed: []string{"a"}}},
		{"bold too", "Conclusion:\n**Not passed**\nReason: x", document.Verdict{State: document.NotYet, Reason: "x"}},
		{"later it is a heading", "## Conclusion\nNot yet\n\nFailed\n- a", document.Verdict{State: document.NotYet, Failed: []string{"a"}}},
		{"with a colon too", "## Conclusion\nFailed: a", document.Verdict{Failed: []string{"a"}}},
		{"nothing failed", "Conclusion: achieved\nFailed:\n- None.", document.Verdict{State: document.Achieved}},
		{"nothing failed, zh", "结论:达成\n未通过:无。", document.Verdict{State: document.Achieved}},
		{"nothing failed, n/a", "Conclusion: achieved\nNot passed: N/A", document.Verdict{State: document.Achieved}},
		{"two conclusions that agree", "Conclusion: achieved\nVerdict: done", document.Verdict{State: document.Achieved}},
		{"two that do not", "Conclusion: achieved\nVerdict: not yet", document.Verdict{}},
		{"the same heading again", "Conclusion: not yet\nConclusion: achieved", document.Verdict{State: document.NotYet}},
		{"but no success that is taken back", "Conclusion: achieved\nConclusion: not yet", document.Verdict{}},
		{"a sentence over the line of the heading", "Conclusion: the goal has not been\nachieved", document.Verdict{State: document.NotYet}},
		{"a conclusion without a state is not looked for elsewhere", "## Conclusion\nsee below\n\n## Notes\nachieved", document.Verdict{}},
		{"several lines without a heading", "The goal is achieved.\nAll checks pass.", document.Verdict{}},
		{"one line and a fence", "Achieved.\n```\nlog\n```", document.Verdict{}},
		{"one line in a fence", "```\nAchieved.\n```", document.Verdict{State: document.Achieved}},
		{"a list of checks before it", "## Checks\n- Verdict: achieved\n- build: achieved\n\n## Conclusion\nNot yet", document.Verdict{State: document.NotYet}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := document.ParseVerdict(tc.in); !got.Equal(tc.want) {
				t.Errorf("ParseVerdict(%q)\n = %+v\nwant %+v", tc.in, got, tc.want)
			}
		})
	}
}
