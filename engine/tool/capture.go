package tool

import (
	"fmt"
	"os"
	"sync"
	"unicode/utf8"
)

// A capture takes what a command prints, in bounded memory: the beginning, the
// end, and, once that is not all any more, the whole in a file up to a limit.
type capture struct {
	dir   string // of the file
	keep  int    // bytes of the beginning, and of the end
	limit int64  // bytes of the file

	mu     sync.Mutex
	head   []byte
	tail   []byte // the last bytes, at least keep of them where there are as many
	total  int64
	file   *os.File
	path   string
	err    error // why there is no whole file
	read   int64 // how far BashOutput has got
	closed bool
}

func newCapture(dir string, chars int, limit int64) *capture {
	return &capture{dir: dir, keep: chars * utf8.UTFMax, limit: limit}
}

// write takes the next bytes and reports whether the limit still holds.
func (c *capture) write(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := c.keep - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
	}
	whole := int64(len(c.head)) == c.total+int64(len(p))
	if !whole || c.file != nil {
		c.spill(p)
	}
	c.total += int64(len(p))
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.keep:]...)
	}
	return c.total <= c.limit
}

// spill adds p to the file, which is begun with what came before it.
func (c *capture) spill(p []byte) {
	if c.file == nil && c.err == nil && !c.closed {
		c.open()
		if c.err == nil && c.total > 0 {
			// What came before is all in head: the file begins where head ends.
			_, c.err = c.file.Write(c.head[:min(int64(len(c.head)), c.total)])
		}
	}
	if c.err != nil || c.file == nil {
		return
	}
	if room := c.limit - c.total; room > 0 {
		_, c.err = c.file.Write(p[:min(room, int64(len(p)))])
	}
}

func (c *capture) open() {
	if c.err = os.MkdirAll(c.dir, 0o755); c.err != nil {
		return
	}
	if c.file, c.err = os.CreateTemp(c.dir, "output-*.txt"); c.err == nil {
		c.path = c.file.Name()
	}
}

// close ends the file; what was taken stays readable.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.file != nil {
		_ = c.file.Close() // a write error has been seen before; a reader looks at the file itself
		c.file = nil
	}
}

// text is everything so far, cut in the middle to n characters; file is the
// path of the whole where it was cut.
func (c *capture) text(n int) (text, file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= int64(len(c.head)) {
		text = clean(c.head)
		if chars(text) <= n {
			return text, ""
		}
		if c.path == "" && c.err == nil {
			c.spillHead()
		}
		return cutMiddle(text, text, n, c.note(chars(text)-n)), c.path
	}
	return cutMiddle(clean(c.head), clean(skipPartial(c.tail)), n, c.note(0)), c.path
}

// spillHead makes the file of an output that fits into head and yet is cut.
func (c *capture) spillHead() {
	c.open()
	if c.err != nil {
		return
	}
	_, c.err = c.file.Write(c.head)
	if c.closed {
		_ = c.file.Close()
		c.file = nil
	}
}

// note is the line in place of what is cut: dropped characters, if known.
func (c *capture) note(dropped int) string {
	what := "the middle is cut"
	if dropped > 0 {
		what = plural(dropped, "character") + " cut"
	}
	return fmt.Sprintf("[… %s; %s …]", what, c.where())
}

// where tells where the whole output is.
func (c *capture) where() string {
	switch {
	case c.err != nil:
		return fmt.Sprintf("the whole (%s) could not be kept: %v", size(c.total), c.err)
	case c.total > c.limit:
		return fmt.Sprintf("the first %s are in %s", size(c.limit), c.path)
	}
	return fmt.Sprintf("the whole (%s) is in %s", size(c.total), c.path)
}

func cutMiddle(head, tail string, n int, note string) string {
	return firstChars(head, n-n/2) + "\n" + note + "\n" + lastChars(tail, n/2)
}

// skipPartial drops the rest of a character whose beginning is gone.
func skipPartial(b []byte) []byte {
	for i := 0; i < utf8.UTFMax-1 && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// news is what came since the last call, cut in the middle to n characters. A
// character that has arrived in part stays for the next call unless done.
func (c *capture) news(n int, done bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.total - c.read
	var b []byte
	switch from := c.total - int64(len(c.tail)); {
	case c.read >= from:
		b = c.tail[c.read-from:]
	case c.total <= int64(len(c.head)):
		b = c.head[c.read:]
	default:
		// More than the memory holds has come; the file has it.
		c.read = c.total
		tail := clean(skipPartial(c.tail))
		return fmt.Sprintf("[… %s since the last look; their end follows; %s …]\n%s", size(fresh), c.where(), lastChars(tail, n))
	}
	if !done {
		b = b[:len(b)-partial(b)]
	}
	c.read += int64(len(b))
	text := clean(b)
	if over := chars(text) - n; over > 0 {
		if c.path == "" && c.err == nil {
			c.spillHead()
		}
		text = cutMiddle(text, text, n, fmt.Sprintf("[… %s cut; %s …]", plural(over, "character"), c.where()))
	}
	return text
}

// partial is how many bytes at the end of b begin a character that is not whole.
func partial(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}
