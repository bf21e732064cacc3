package tool

// Matching for Edit. The model does not see which line ends a file has: Read
// shows none, and JSON strings come with "\n". So a line end in old_string that
// is a plain "\n" matches "\r\n" too, and new lines get the ends of those beside
// them. Nothing else is ever taken for something else.

import (
	"bytes"
	"strings"
)

// span is the place of a match: the bytes from up to, not including, to.
type span struct{ from, to int }

// findAll is every match of old in content, from the left. Matches overlap only
// if overlap says so: to know that a match is the only one, they have to.
func findAll(content []byte, old string, overlap bool) []span {
	crs := []int(nil)
	if strings.Contains(old, "\n") && !strings.Contains(old, "\r") {
		content, crs = withoutCR(content)
	}
	step := len(old)
	if overlap {
		step = 1
	}
	var found []span
	passed := 0 // of crs
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(old))
		if i < 0 {
			return found
		}
		from := at + i
		for passed < len(crs) && crs[passed] < from {
			passed++
		}
		within := 0
		for passed+within < len(crs) && crs[passed+within] < from+len(old) {
			within++
		}
		found = append(found, span{from + passed, from + len(old) + passed + within})
		at = from + step
	}
}

// withoutCR is content with plain "\n" for every "\r\n", and where, in the
// result, those line ends are. Without any, it is content itself.
func withoutCR(content []byte) ([]byte, []int) {
	n := bytes.Count(content, []byte("\r\n"))
	if n == 0 {
		return content, nil
	}
	out := make([]byte, 0, len(content)-n)
	crs := make([]int, 0, n)
	for {
		i := bytes.Index(content, []byte("\r\n"))
		if i < 0 {
			return append(out, content...), crs
		}
		out = append(out, content[:i]...)
		crs = append(crs, len(out))
		content = content[i+1:]
	}
}

// replaceAll puts new in the place of every span; all other bytes stay.
func replaceAll(content []byte, found []span, old, new string) []byte {
	var out []byte
	at := 0
	for _, f := range found {
		out = append(out, content[at:f.from]...)
		out = append(out, replacement(content, f, old, new)...)
		at = f.to
	}
	return append(out, content[at:]...)
}

// replacement is what takes the place of one match. What old and new have in
// common at both ends stays as it is in the file, whatever line ends it has.
func replacement(content []byte, f span, old, new string) []byte {
	if strings.Contains(old, "\r") || strings.Contains(new, "\r") {
		return []byte(new) // they name their line ends
	}
	matched := content[f.from:f.to]
	head := commonPrefix(old, new)
	tail := commonPrefix(reversed(old[head:]), reversed(new[head:]))
	keepHead := advance(matched, head)
	keepTail := advance(matched, len(old)-tail)
	middle := new[head : len(new)-tail]
	if lineEnd(content, f.from) == "\r\n" {
		middle = strings.ReplaceAll(middle, "\n", "\r\n")
	}
	out := append([]byte(nil), matched[:keepHead]...)
	out = append(out, middle...)
	return append(out, matched[keepTail:]...)
}

// advance is how many bytes of b the first n are when "\r\n" counts as one.
func advance(b []byte, n int) int {
	i := 0
	for ; n > 0; n-- {
		if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
			i++
		}
		i++
	}
	return i
}

// lineEnd is the line end that is next at or after a place, else the last before
// it, else "\n".
func lineEnd(content []byte, at int) string {
	i := bytes.IndexByte(content[at:], '\n')
	if i >= 0 {
		i += at
	} else {
		i = bytes.LastIndexByte(content[:at], '\n')
	}
	if i > 0 && content[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
