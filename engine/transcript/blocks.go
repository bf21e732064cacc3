package transcript

// A view looks at the calls of tools and at their results, and at nothing else of a
// message. Where they stand, and what it asks of them, is found when an entry is parsed
// and kept in its Header. So a view of a stored session reads the bytes of those results
// only that it takes away.

// block is a tool_use or a tool_result in message.content.
type block struct {
	span    // of all of it
	kind    blockKind
	isError bool   // of a result
	bash    bool   // of a call: it is one of Bash
	looks   bool   // of a call of Bash: its command is ephemeral
	n       int    // index in the content
	id      string // of the call, in a tool_use and in a tool_result
	value   span   // of a call of Bash: its command; of a result: its content
	chars   int    // characters of a result that is text and nothing else; -1 of any other
}

type blockKind uint8

const (
	otherBlock blockKind = iota
	toolUse
	toolResult
)

// contentBlocks are the tool blocks of message.content. judge says whether a command is
// ephemeral.
func contentBlocks(raw []byte, judge func(command string) bool) []block {
	var blocks []block
	walk(raw, skipSpace(raw, 0), func(key []byte, _, at int) int {
		if string(key) != "message" {
			return skipValue(raw, at)
		}
		blocks = nil
		return walk(raw, at, func(key []byte, _, at int) int {
			if string(key) != "content" {
				return skipValue(raw, at)
			}
			blocks = nil
			return readTools(raw, at, judge, func(b block) { blocks = append(blocks, b) })
		})
	})
	return blocks
}

// readTools visits the tool blocks of the content at the given place and returns the
// place behind it.
func readTools(raw []byte, at int, judge func(command string) bool, visit func(block)) int {
	return readBlocks(raw, at, func(b block, name, input span) {
		if b.kind != otherBlock {
			b.judge(raw, name, input, judge)
			visit(b)
		}
	})
}

// judge finds what a view asks of a block.
func (b *block) judge(raw []byte, name, input span, ephemeral func(string) bool) {
	b.chars = -1
	switch {
	case b.kind == toolResult:
		b.chars = textSize(raw, b.value)
	case string(name.in(raw)) == `"Bash"`:
		b.bash = true
		b.value = lastField(raw, input, "command")
		command, ok := textAt(raw, b.value)
		b.looks = ok && ephemeral(command)
	}
}

// readBlocks visits the blocks of the content at the given place, with the name and the
// input of those that have them, and returns the place behind it.
func readBlocks(raw []byte, at int, visit func(b block, name, input span)) int {
	n := 0
	return walkItems(raw, at, func(at int) int {
		b, name, input := readBlock(raw, at)
		b.n = n
		n++
		visit(b, name, input)
		return b.hi
	})
}

func readBlock(raw []byte, at int) (b block, name, input span) {
	var id, useID, content span
	b.span = span{at, walk(raw, at, func(key []byte, _, at int) int {
		end := skipValue(raw, at)
		if end < 0 {
			return end
		}
		val := span{at, end}
		switch string(key) {
		case "type":
			b.kind = kindOf(val.in(raw))
		case "id":
			id = val
		case "tool_use_id":
			useID = val
		case "name":
			name = val
		case "input":
			input = val
		case "content":
			content = val
		case "is_error":
			b.isError = isTrue(raw, val)
		}
		return end
	})}
	switch b.kind {
	case toolUse:
		b.id, _ = textAt(raw, id)
		b.isError = false
	case toolResult:
		b.id, _ = textAt(raw, useID)
		b.value = content
	}
	return b, name, input
}

func kindOf(quoted []byte) blockKind {
	switch string(quoted) {
	case `"tool_use"`:
		return toolUse
	case `"tool_result"`:
		return toolResult
	}
	return otherBlock
}

// textSize is how many characters the text of a result's content has; -1 when it holds
// anything but text, or nothing.
func textSize(raw []byte, content span) int {
	if content.none() {
		return -1
	}
	if raw[content.lo] == '"' {
		return chars(raw[content.lo+1 : content.hi-1])
	}
	n := -1
	for item := range items(raw, content) {
		text := textBlock(raw, item)
		if text.none() || raw[text.lo] != '"' {
			return -1
		}
		n = max(n, 0) + chars(raw[text.lo+1:text.hi-1])
	}
	return n
}

// fit reports whether blocks can be those of an entry of that size. They are when the
// header was made of its bytes; whoever has made one by hand must not bring a view down.
func fit(blocks []block, size int) bool {
	for i := range blocks {
		b := &blocks[i]
		if b.lo < 0 || b.lo >= b.hi || b.hi > size {
			return false
		}
		if v := b.value; !v.none() && (v.lo <= b.lo || v.hi-v.lo < len(`""`) || v.hi >= b.hi) {
			return false
		}
	}
	return true
}
