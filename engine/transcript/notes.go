package transcript

import (
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
}

func newNotes(t Texts) *notes {
	return &notes{
		Texts:   t,
		longest: 2*maxCommand + len(t.SpillDir) + max(len(t.Expire), len(t.Trim), len(t.Interrupt), len(t.Orphan)),
		expired: pattern(t.Expire, map[string]string{"{cmd}": "(?s:(`.*`))", "{age}": `\d+`}),
		trimmed: pattern(t.Trim, map[string]string{"{n}": `\d+`, "{path}": regexp.QuoteMeta(spillPath(t.SpillDir, "")) + `[0-9a-f]{16}\.txt`}),
	}
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
	return strings.NewReplacer("{cmd}", quoteCommand(command), "{age}", strconv.Itoa(age)).Replace(n.Texts.Expire)
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
	return strings.NewReplacer("{n}", strconv.Itoa(chars), "{path}", path).Replace(n.Texts.Trim)
}

func (n *notes) isTrimmed(text string) bool { return n.trimmed.MatchString(text) }

// isMade reports whether text is what pruning puts in the place of a result.
func (n *notes) isMade(text string) bool {
	return text != "" && (text == n.Interrupt || text == n.Orphan)
}

// isInterrupt reports whether a result with is_error says no more than that a
// person interrupted the call.
func isInterrupt(text string) bool {
	return len(text) <= 200 && strings.HasPrefix(text, "[Request interrupted by user")
}

func quoteCommand(command string) string {
	if utf8.RuneCountInString(command) > maxCommand {
		command = string([]rune(command)[:maxCommand]) + "…"
	}
	return "`" + command + "`"
}

// spillPath is where a text is moved to; with an empty text, only the directory.
func spillPath(dir, text string) string {
	dir = strings.TrimRight(dir, "/") + "/"
	if text == "" {
		return dir
	}
	sum := sha256.Sum256([]byte(text))
	return dir + hex.EncodeToString(sum[:8]) + ".txt"
}
