package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCommand is how many characters of a command stand in a note: the whole of it
// is still there, in the call.
const maxCommand = 200

// notes renders the texts that stand for what a view took away, and knows them
// again: a view of a view must not take a note for a result.
type notes struct {
	Texts
	expired, trimmed *regexp.Regexp
	longest          int // at least as many characters as a note has
	beginnings       []string
}

// interrupted begins a result that says that a person interrupted the call.
const interrupted = "[Request interrupted by user"

const (
	sure      = 12 // so many bytes of a text are looked at before it is decoded as a whole
	charBytes = 12 // a character in a JSON string takes no more: the two escapes of a pair
)

func newNotes(t Texts) *notes {
	n := &notes{
		Texts:   t,
		longest: 2*maxCommand + len(t.SpillDir) + max(len(t.Expire), len(t.Trim), len(t.Interrupt), len(t.Orphan)),
		expired: pattern(t.Expire, map[string]string{"{cmd}": "(?s:(`.*`))", "{age}": `\d+`}),
		trimmed: pattern(t.Trim, map[string]string{"{n}": `\d+`, "{path}": regexp.QuoteMeta(spillDir(t.SpillDir)) + `[0-9a-f]{16}\.txt`}),
	}
	for _, text := range []string{t.Expire, t.Trim, t.Interrupt, t.Orphan, interrupted} {
		text, _, _ = strings.Cut(text, "{")
		n.beginnings = append(n.beginnings, text[:min(len(text), sure)])
	}
	return n
}

// mayBegin reports whether a text, inner being between its quotes in JSON, may be
// one that stands for a result.
func (n *notes) mayBegin(inner []byte) bool {
	var buf [sure]byte
	begin := inner[:min(len(inner), sure)]
	if bytes.IndexByte(begin, '\\') >= 0 {
		begin = appendDecoded(buf[:0], inner[:min(len(inner), sure*charBytes)])
	}
	for _, b := range n.beginnings {
		if bytes.HasPrefix(begin, []byte(b)) {
			return true
		}
	}
	return false
}

// pattern matches what template renders to.
func pattern(template string, values map[string]string) *regexp.Regexp {
	p := regexp.QuoteMeta(template)
	for name, value := range values {
		p = strings.ReplaceAll(p, regexp.QuoteMeta(name), value)
	}
	return regexp.MustCompile(`\A` + p + `\z`)
}

func (n *notes) expire(command string, age int) string {
	// The command last: it may hold a placeholder itself.
	text := strings.ReplaceAll(n.Texts.Expire, "{age}", strconv.Itoa(age))
	return strings.ReplaceAll(text, "{cmd}", quoteCommand(command))
}

// isExpired reports whether text stands for an expired result of command.
func (n *notes) isExpired(text, command string) bool {
	found := n.expired.FindStringSubmatch(text)
	for i := 1; i < len(found); i++ {
		if found[i] != quoteCommand(command) {
			return false
		}
	}
	return found != nil
}

func (n *notes) trim(chars int, path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(n.Texts.Trim, "{n}", strconv.Itoa(chars)), "{path}", path)
}

func (n *notes) isTrimmed(text string) bool { return n.trimmed.MatchString(text) }

// isMade reports whether text is what pruning puts in the place of a result.
func (n *notes) isMade(text string) bool {
	return text != "" && (text == n.Interrupt || text == n.Orphan)
}

// isInterrupt reports whether a result with is_error says no more than that a
// person interrupted the call.
func isInterrupt(text string) bool {
	return len(text) <= 200 && strings.HasPrefix(text, interrupted)
}

func quoteCommand(command string) string {
	if utf8.RuneCountInString(command) > maxCommand {
		command = string([]rune(command)[:maxCommand]) + "…"
	}
	return "`" + command + "`"
}

// spillPath is where a text is moved to.
func spillPath(dir string, text []byte) string {
	sum := sha256.Sum256(text)
	return spillDir(dir) + hex.EncodeToString(sum[:8]) + ".txt"
}

func spillDir(dir string) string { return strings.TrimRight(dir, "/") + "/" }
