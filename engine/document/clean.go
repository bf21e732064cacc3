package document

import (
	"strings"
	"unicode"
)

// Before headings are looked for, a reply becomes clean lines: one line ending,
// no byte order mark, nothing behind the last visible character, and fenced
// blocks and rule lines replaced by one empty line each.

// source is a reply in clean lines.
type source struct {
	lines  []string
	fenced bool // a fenced block was removed
}

func clean(text string) source {
	lines := splitLines(text)
	if inner, ok := unwrap(lines); ok {
		lines = inner
	}
	var src source
	src.lines, src.fenced = dropFences(lines)
	for i, line := range src.lines {
		if isRule(line) {
			src.lines[i] = ""
		}
	}
	return src
}

// splitLines cuts text into lines without trailing blanks.
func splitLines(text string) []string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.ReplaceAll(text, "\ufeff", "")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for more := true; more; {
		var line string
		line, text, more = strings.Cut(text, "\n")
		lines = append(lines, strings.TrimRightFunc(line, unicode.IsSpace))
	}
	return lines
}

// fence is an opening fence: its character and how often it stands there.
// info is what follows, the name of a language as a rule.
type fence struct {
	char byte
	size int
	info string
}

func openFence(line string) (fence, bool) {
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return fence{}, false
	}
	f := fence{char: rest[0]}
	info := strings.TrimLeft(rest, rest[:1])
	f.size = len(rest) - len(info)
	// A backtick in the rest makes it inline code: ```x``` is no fence.
	if f.size < 3 || f.char == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false
	}
	f.info = strings.TrimSpace(info)
	return f, true
}

// closes tells whether line ends the block that f opened.
func (f fence) closes(line string) bool {
	end, ok := openFence(line)
	return ok && end.char == f.char && end.size >= f.size && end.info == ""
}

// unwrap returns the inside of a reply that as a whole is one fenced block,
// closed or not. Replies nest fences of one length (a block of shell inside a
// block of Markdown), so blocks that open with an info string are counted.
func unwrap(lines []string) ([]string, bool) {
	lines = trimEmpty(lines)
	if len(lines) == 0 {
		return nil, false
	}
	outer, ok := openFence(lines[0])
	if !ok {
		return nil, false
	}
	depth := 1
	for i, line := range lines[1:] {
		f, ok := openFence(line)
		switch {
		case !ok || f.char != outer.char:
		case outer.closes(line):
			depth--
		case f.info != "":
			depth++
		}
		if depth == 0 {
			whole := i+1 == len(lines)-1
			return lines[1 : i+1], whole
		}
	}
	return lines[1:], true
}

// dropFences puts an empty line in the place of each fenced block and drops
// what follows an unclosed one.
// The slice is used again.
func dropFences(lines []string) (kept []string, dropped bool) {
	kept = lines[:0]
	for i := 0; i < len(lines); i++ {
		f, ok := openFence(lines[i])
		if !ok {
			kept = append(kept, lines[i])
			continue
		}
		dropped = true
		for i++; i < len(lines) && !f.closes(lines[i]); i++ {
		}
		kept = append(kept, "")
	}
	return kept, dropped
}

// isRule tells a line of three or more -, * or _ and nothing else.
func isRule(line string) bool {
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	if len(rest) < 3 || rest[0] != '-' && rest[0] != '*' && rest[0] != '_' {
		return false
	}
	return strings.Trim(rest, rest[:1]) == ""
}

// trimEmpty cuts the empty lines at both ends.
func trimEmpty(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// joinBody makes the text of a field of lines: nothing empty at its ends, runs
// of empty lines as one, and no indentation on the first line.
func joinBody(lines []string) string {
	lines = trimEmpty(lines)
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(strings.TrimLeftFunc(lines[0], unicode.IsSpace))
	for i, line := range lines[1:] {
		if line == "" && lines[i] == "" {
			continue
		}
		b.WriteByte('\n')
		b.WriteString(line)
	}
	return b.String()
}

// normalize brings text from elsewhere (a person's words, a task) into the form
// in which fields are kept, fences and headings left in place.
func normalize(text string) string { return joinBody(splitLines(text)) }

// oneLine is text as a single line, for headers and list items.
func oneLine(text string) string {
	var parts []string
	for _, line := range splitLines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}
