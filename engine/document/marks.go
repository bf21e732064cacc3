package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marked tells whether text holds one of the given marks in brackets, with or
// without a reason: "[cannot verify here: no device]".
func marked(text string, marks []string) bool {
	if !strings.ContainsAny(text, "[［【") {
		return false
	}
	folded := foldMark(text)
	for _, mark := range marks {
		for _, spelling := range spellings(mark) {
			if bracketed(folded, "["+spelling) {
				return true
			}
		}
	}
	return false
}

// bracketed tells whether text holds mark as whole words and, somewhere behind
// it, the closing bracket.
func bracketed(text, mark string) bool {
	for {
		_, after, ok := strings.Cut(text, mark)
		if !ok || strings.IndexByte(after, ']') < 0 {
			return false
		}
		next, _ := utf8.DecodeRuneInString(after)
		last, _ := utf8.DecodeLastRuneInString(mark)
		if isHan(last) || !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
		text = after
	}
}

// foldMark is text folded for the search of marks: one blank where there are
// several, none behind an opening bracket, one kind of bracket.
func foldMark(text string) string {
	folded := strings.Join(strings.Fields(fold(text)), " ")
	return strings.NewReplacer("【", "[", "】", "]", "[ ", "[", "【 ", "[").Replace(folded)
}

// isDegraded tells whether text holds the mark of a degraded handoff in any
// language.
func isDegraded(text string) bool {
	if !strings.ContainsAny(text, "[［【") {
		return false
	}
	squeeze := func(s string) string { return strings.ReplaceAll(foldMark(s), " ", "") }
	squeezed := squeeze(text)
	for _, mark := range degradedMarks {
		if strings.Contains(squeezed, squeeze(mark)) {
			return true
		}
	}
	return false
}
