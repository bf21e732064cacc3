package document

import "strings"

// A line of a field that would be read as something else than text (a heading,
// a fence, a rule line) is written with a backslash before its first visible
// character, and read without it. That is how Markdown escapes too, and it
// makes parsing what was written give the same fields for any text.

// unescape returns the text that an escaped line stands for.
func (t *headings) unescape(line string) (string, bool) {
	indent := blanksLen(line)
	if indent == len(line) || line[indent] != '\\' {
		return "", false
	}
	literal := line[:indent] + line[indent+1:]
	if !t.structural(line[:indent] + strings.TrimLeft(line[indent:], `\`)) {
		return "", false
	}
	return literal, true
}

// structural tells whether a line may be read as something else than text.
func (t *headings) structural(line string) bool {
	if _, ok := t.scan(line); ok {
		return true
	}
	_, fenced := openFence(line)
	return fenced || isRule(line)
}

// escape makes a line of a field safe to write below a heading of the given
// level.
func (t *headings) escape(line string, level int) string {
	if !t.needsEscape(line, level) {
		return line
	}
	indent := blanksLen(line)
	return line[:indent] + `\` + line[indent:]
}

func (t *headings) needsEscape(line string, level int) bool {
	if _, escaped := t.unescape(line); escaped || isRule(line) {
		return true
	}
	if _, ok := openFence(line); ok {
		return true
	}
	h, ok := t.scan(line)
	switch {
	case !ok:
		return false
	case h.foreign:
		return h.level <= level
	case h.weight == dashed:
		return false // an item, since # headings come before it
	case h.weight == numbered:
		return h.alone
	}
	return true
}

// escapeText escapes the lines of a field.
func (t *headings) escapeText(text string, level int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = t.escape(line, level)
	}
	return strings.Join(lines, "\n")
}

// escapeItem returns the line of one item. A checkbox keeps an item that reads
// like a heading, or begins with a checkbox, what it is.
func (t *headings) escapeItem(item string) string {
	line := "- " + item
	if h, ok := t.scan(line); ok && h.weight == strong || markerLen(line) != len("- ") {
		return "- [ ] " + item
	}
	return line
}

// hasSubheading tells whether text holds a foreign heading of a level.
func (t *headings) hasSubheading(text string, level int) bool {
	if !strings.Contains(text, strings.Repeat("#", level)) {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if h, ok := t.scan(line); ok && h.foreign && h.level == level {
			return true
		}
	}
	return false
}
