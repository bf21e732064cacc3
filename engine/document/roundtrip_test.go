package document_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	rounds = flag.Int("rounds", 800, "random documents to take through a file")
	seed   = flag.Uint64("seed", 1, "seed of the random documents")
)

// pieces are what random documents are made of: everything that means
// something to a reader, and what only looks like it.
var pieces = []string{
	"\n", "\n", "\n", "\n\n", "\n\n\n", " ", "  ", "\t", "\u3000", "   ", "    ", "\r\n", "\ufeff",
	"# ", "## ", "### ", "###### ", "####### ", "#", " ##", "**", "__", "*", "_", "***", "---", "___", "===", "- - -",
	"```", "~~~", "````", "```sh", "~~~~ md", "`", "\\", "\\\\", "> ", "|", "|---|",
	"- ", "* ", "+ ", "• ", "– ", "· ", "① ", "1. ", "2) ", "3、", "3、 ", "(4) ", "（5）", "一、", "6）", "[ ] ", "[x] ", "[X]", "-", "•",
	":", "：", " - ", " — ", " – ", "——", "(a remark)", "（备注）", "(", ")", "【", "】", "🎯", "⚠️", "1️⃣", "✅", "❌",
	"Goal", "goal", "Goals", "GOAL", "Acceptance criteria", "Acceptance", "Done when", "Boundaries", "Limits", "Non-goals",
	"Unknowns & assumptions", "目标", "目标用户", "验收标准", "边界", "未知与假设", "判定", "判定清单", "Límites", "Limites", "Pruefliste", "Prüfliste",
	"Pru\u0308fliste", "Ｇｏａｌ", "Checks", "Checklist", "Conclusion", "Verdict", "Reason", "Failed", "Not passed", "结论", "理由", "未通过", "Offen", "Fazit",
	"In progress", "Decided", "Dead ends", "Next", "Next step", "Scene", "Files", "现场", "下一步", "进度",
	"(none)", "(无)", "none", "n/a", "(not filled in).", "无", "。", ".", "achieved", "not yet", "未达成", "cannot be verified", "text", "续行", "é", "\x00", "\xff",
}

// Whatever a model writes, the document read from it is the same after a trip
// through its file, in both languages.
func TestRoundTrip_random_documents(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 0))
	for i := range *rounds {
		text := randomText(random)
		roundTrip(t, text, "en")
		roundTrip(t, text, "zh")
		if t.Failed() {
			t.Fatalf("document %d of seed %d: %q", i, *seed, text)
		}
	}
}

func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(40) {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// Whatever a caller puts into a field, no other field gets anything of it.
func TestMarkdown_keeps_any_fields_apart(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 1))
	for i := range *rounds {
		one, two := randomText(random), randomText(random)
		anyFields(t, one, two)
		if t.Failed() {
			t.Fatalf("fields %d of seed %d: %q and %q", i, *seed, one, two)
		}
	}
}
