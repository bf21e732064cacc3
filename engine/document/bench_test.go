package document_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/document"
)

const typicalReply = `I checked out the branch, built it and went through the list.

## Conclusion
Not yet achieved: two of the five checks do not hold.

## Reason
The export button is shown, but the file it writes is empty: ` + "`out/2024-01.csv`" + ` has 0 bytes.
The mail check could not be run to its end because of that.

## Not passed
- The export writes one line for each invoice
- The mail has the export attached
`

const typicalReplyZh = `看了产物,逐条跑过。

## 结论
尚未达成,还差两条。

## 理由
导出按钮有了,但写出的文件是空的:out/2024-01.csv 为 0 字节。

## 未通过
- 导出每张发票一行
- 邮件带上导出文件
`

func BenchmarkParseVerdict(b *testing.B) {
	for name, text := range map[string]string{"en": typicalReply, "zh": typicalReplyZh} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if document.ParseVerdict(text).State != document.NotYet {
					b.Fatal("not the verdict")
				}
			}
		})
	}
}

func BenchmarkParseBrief(b *testing.B) {
	text := "## Goal\nA tool.\n\n## Acceptance criteria\n" + strings.Repeat("- it prints a line\n", 40) +
		"\n## Boundaries\nNo web.\n\n## Unknowns\nNone that matter.\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		document.ParseBrief(text)
	}
}

// BenchmarkHostile takes text made to be slow; the time for each byte must not
// grow with the size.
func BenchmarkHostile(b *testing.B) {
	for name, unit := range map[string]string{
		"quotes": "“", "fences": "```\n~~~\n", "parens": "## Goal ((", "numbers": "3. Goal\n", "negations": "not ", "bold": "**Goal",
		"items": "- a\n  b\n", "backslashes": "\\\n\\\\", "failed": "Conclusion:\n\nFailed\n", "paragraphs": "a\n\n", "json": "{\"a\":", "hyphens": "not-",
	} {
		for _, size := range []int{1 << 10, 1 << 16} {
			text := "Conclusion: " + strings.Repeat(unit, size/len(unit))
			b.Run(name+"/"+map[bool]string{true: "1K", false: "64K"}[size == 1<<10], func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					document.ParseVerdict(text)
					document.ParseGoal(text)
				}
			})
		}
	}
}
