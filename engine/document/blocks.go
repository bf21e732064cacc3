package document

import "strings"

// block is a paragraph, or a list or table of several rows.
type block struct {
	lines []string
	list  bool
}

// layout cuts text into blocks and takes the marks off their lines.
func layout(text string) []block {
	var blocks []block
	var kinds []byte // of the lines of the last block
	open := false
	quoted := isQuoted(text)
	for line := range strings.SplitSeq(text, "\n") {
		content, kind := unmark(line)
		if !quoted && strings.HasPrefix(strings.TrimSpace(line), ">") {
			content = "" // what is quoted is not said
		}
		last := len(blocks) - 1
		if content == "" {
			// Lists go on behind an empty line, and a table has a row of dashes.
			open = open && kinds[last] != 0
			continue
		}
		if open && kind == 0 && kinds[last] == '-' && startsBlank(line) {
			kind = '-' // an item goes on
		}
		if !open || kind != kinds[last] {
			blocks = append(blocks, block{})
			kinds = append(kinds, kind)
			last++
		}
		b := &blocks[last]
		b.lines = append(b.lines, content)
		b.list = kind != 0 && len(b.lines) > 1
		open = true
	}
	return blocks
}

// isQuoted tells whether every line with text is a quoted one.
func isQuoted(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '>' {
			return false
		}
	}
	return true
}

// unmark strips the marks of a line. The kind tells list items (-), table rows
// (|) and lines led by an emoji (!) from plain lines (0).
func unmark(line string) (content string, kind byte) {
	line = strings.TrimSpace(line)
	for strings.HasPrefix(line, ">") {
		line = strings.TrimSpace(line[1:])
	}
	if strings.HasPrefix(line, "#") && isHashLine(line) {
		line = strings.Trim(line, "# ")
	}
	if strings.HasPrefix(line, "|") {
		if strings.Trim(line, "|-: ") == "" {
			return "", '|'
		}
		return line, '|'
	}
	if size := markerLen(line); size > 0 && size < len(line) {
		return line[size:], '-'
	}
	if emojiLen(line+" ") > 0 {
		return line, '!'
	}
	return line, 0
}
