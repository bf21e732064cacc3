package document_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/flowerlua/flower/engine/document"
)

// field reads one field of a text by its name in the table.
func field(name, text string) string {
	switch kind, field, _ := strings.Cut(name, "."); kind {
	case "brief":
		b := document.ParseBrief(text)
		return map[string]string{"goal": b.Goal, "accept": b.Accept, "bounds": b.Bounds, "unknowns": b.Unknowns}[field]
	case "goal":
		g := document.ParseGoal(text)
		return map[string]string{"statement": g.Statement, "checks": strings.Join(g.Checks, "|")}[field]
	case "verdict":
		v := document.ParseVerdict(text)
		return map[string]string{"state": string(v.State), "reason": v.Reason, "failed": strings.Join(v.Failed, "|")}[field]
	default:
		h := document.ParseHandoff(text, "")
		return map[string]string{
			"doing": h.Doing, "decided": h.Decided, "deadends": h.DeadEnds, "next": h.Next, "scene": h.Scene,
		}[field]
	}
}

var plainVowels = strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u", "ä", "a", "ö", "o", "ü", "u")

// forms are ways to write a heading; X is the alias and T the text.
var forms = []string{
	"X: T", "X:T", "X：T", "X:\nT", "X\nT", "X\n\nT", "X - T", "X – T", "X — T", "X —— T", "  X: T", "   X\nT", "\u3000X：T",
	"# X\nT", "## X\nT", "###### X\n\nT", "## X ##\nT", "## X: T", "## X: T ##", "##\u3000X\nT", "## X (a remark)\nT", "## X（备注）:\nT",
	"**X**\nT", "**X** T", "**X**: T", "**X:** T", "**X：**T", "**X: T**", "__X__\nT", "__X__: T", "**X** - T", "**X (remark):** T",
	"## **X**\nT", "## **X:**\nT", "## __X__\nT", "## **X** ##\nT", "### **1. X**\nT",
	"1. X\nT", "2) X\nT", "3、X\nT", "4）X\nT", "(5) X\nT", "（6）X\nT", "七、X\nT", "十、X：T", "## 1. X\nT", "**2. X**\nT", "3. **X:** T",
	"- X: T", "* X: T", "- **X:** T", "- **X**\n  T", "1. X: T", "1. X — T",
	"【X】\nT", "【X】T", "【X】：T", "## 【X】\nT", "【1. X】\nT", "**【X】** T",
	"🎯 X\nT", "🎯 X: T", "## 🎯 X\nT", "⚠️ **X:** T", "## X 🎯\nT", "🧑‍🔧 **X** 🎯: T", "1️⃣ X\nT", "X 🎯 (a remark): T", "## 1. 🎯 **X** (remark) 🎯: T",
	"preface\n\n## X\nT", "\ufeff## X\r\nT\r\n", "```\n## X\nT\n```", "~~~~ markdown\nX: T\n~~~~", "```\n## X\nT", "---\n\n## X\n\n---\nT\n***",
	"X\n---\nT", "X\n=====\nT", "# Title\n\n- X: T", "## Other\nfoo\n\n## X\nT", "> quoted\n\n## X\nT",
}

// notForms look like headings and are none.
var notForms = []string{
	"*X*\nT", "_X_: T", "***X***\nT", "####### X\nT", "##X\nT", "    ## X\nT", "\tX: T", "> ## X\n> T", "| X | T |", "`X`: T",
	"X T", "X, T", "X-T: T", "## X T\nT", "a X: T", "the X\nT", "X1: T", "## X/Y\nT", "1.5 X: T",
	"```\n## X\nT\n```\nafter", "before\n```\n## X\nT\n```", "before\n~~~\nX: T", "````\nX: T\n```\nX: T\n````\nafter",
}

// spellingsOf are the ways to spell an alias that do not matter.
func spellingsOf(alias string) []string {
	digraphs := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")
	wide := strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r + 0xfee0
		}
		return r
	}, alias)
	return []string{
		alias, strings.ToUpper(alias), strings.ToLower(alias), norm.NFD.String(alias), plainVowels.Replace(alias),
		digraphs.Replace(strings.ToLower(alias)), wide, strings.ReplaceAll(alias, " ", "  "),
	}
}

func TestHeadings_every_alias_in_every_form(t *testing.T) {
	table, err := os.ReadFile("testdata/aliases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		cells := strings.Split(row, " | ")
		name := cells[0]
		text, want := "some words", "some words"
		if name == "verdict.state" {
			text, want = "achieved", "achieved"
		}
		for _, alias := range strings.Split(strings.Join(cells[1:], ", "), ", ") {
			for i, form := range forms {
				spellings := spellingsOf(alias)
				if i >= 10 && i != 13 {
					spellings = spellings[:1]
				}
				for _, spelling := range spellings {
					in := strings.NewReplacer("X", spelling, "T", text).Replace(form)
					if got := field(name, in); got != want {
						t.Errorf("%s of %q = %q, want %q", name, in, got, want)
					}
				}
			}
			for _, form := range notForms {
				in := strings.NewReplacer("X", alias, "T", text).Replace(form)
				got := field(name, in)
				if name == "verdict.state" && !strings.Contains(in, "\n") {
					continue // a reply of one line is a conclusion without a heading
				}
				if got != "" {
					t.Errorf("%s of %q = %q, want none", name, in, got)
				}
			}
		}
	}
}
