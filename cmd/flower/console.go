package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// console is where a run is printed for a person. On a terminal there is a block
// below everything printed: one status line and, where somebody can type, the line
// being typed. What is printed pushes it down and leaves it whole.
type console struct {
	out  io.Writer
	file *os.File // out, where it is a terminal; nil: no block
	keys *os.File // the terminal that is typed on; nil: nobody edits a line

	mu      sync.Mutex
	line    line
	prompt  string
	status  string
	drawn   []int // the widths of the block's rows on the screen; nil: none
	row     int   // of these, where the cursor is
	column  int
	entered chan string
	restore func() // the terminal's state before; nil: unchanged
	ended   bool
	lost    error // of the first write that failed

	resumed time.Time // after a Ctrl-Z
	signals chan os.Signal
	wait    sync.WaitGroup
}

// Limits of the console.
const (
	maxInputRows = 8   // of the line being typed; the rest is scrolled
	maxTyped     = 100 // lines entered and not yet read
)

// newConsole prints through out to where screen goes and, if in and screen are
// terminals, lets a person edit a line typed on in.
func newConsole(in io.Reader, screen, out io.Writer) *console {
	c := &console{out: out, entered: make(chan string, maxTyped), prompt: "> "}
	f, ok := screen.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) || os.Getenv("TERM") == "dumb" {
		return c
	}
	c.file = f
	c.signals = make(chan os.Signal, 1)
	signal.Notify(c.signals, syscall.SIGWINCH, syscall.SIGCONT)
	c.wait.Go(c.watch)
	if f, ok := in.(*os.File); ok && term.IsTerminal(f.Fd()) && inForeground(f) {
		if restore, err := byKey(f); err == nil {
			c.keys, c.restore = f, restore
			c.mu.Lock()
			c.flush(&bytes.Buffer{}, ansi.SetModeBracketedPaste)
			c.mu.Unlock()
			go c.read() // for as long as the process lives: a read cannot be called back
		}
	}
	return c
}

// edits: a person has a line to type on.
func (c *console) edits() bool { return c.keys != nil }

// width is that of what is printed: the terminal's within our limits.
func (c *console) width() int {
	if c.file == nil {
		return maxWidth
	}
	w, _ := c.size()
	return min(max(w, minWidth), maxWidth)
}

func (c *console) size() (w, h int) {
	w, h, err := term.GetSize(c.file.Fd())
	if err != nil || w < 1 || h < 1 {
		return 80, 24
	}
	return w, h
}

// print writes lines above the block.
func (c *console) print(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	c.erase(&b)
	b.WriteString(text + "\n")
	return c.redraw(&b)
}

// say prints a text of ours within the width, the first line behind the indent.
func (c *console) say(indent, text string) error {
	return c.print((&screen{width: c.width()}).wrap(indent, text))
}

// setStatus changes the status line; empty is none.
func (c *console) setStatus(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == text {
		return
	}
	c.status = text
	c.refresh()
}

// setPrompt changes what stands before the line being typed.
func (c *console) setPrompt(prompt string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompt = prompt
	c.refresh()
}

// close takes the block away and gives the terminal back. What is printed
// afterwards is plain.
func (c *console) close() {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	var b bytes.Buffer
	c.erase(&b)
	c.ended = true
	if c.restore != nil {
		c.flush(&b, ansi.ResetModeBracketedPaste)
		c.restore()
	} else {
		c.flush(&b)
	}
	c.mu.Unlock()
	if c.signals != nil {
		signal.Stop(c.signals)
		close(c.signals)
	}
	c.wait.Wait()
}

// watch redraws when the terminal has another size, and takes the keys again when
// the process comes back from a stop.
func (c *console) watch() {
	for sig := range c.signals {
		c.mu.Lock()
		if sig == syscall.SIGCONT && !c.ended {
			if time.Since(c.resumed) > time.Second { // who stopped us asked nobody
				c.drawn = nil // a shell has written there
			}
			c.takeKeys()
		}
		c.refresh()
		c.mu.Unlock()
	}
}

// read takes keys until the terminal is gone.
func (c *console) read() {
	defer close(c.entered)
	keys := newKeyReader(c.keys)
	for {
		k, err := keys.read()
		if err != nil {
			return
		}
		c.press(k)
	}
}

func (c *console) press(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	var b bytes.Buffer
	c.erase(&b)
	text, entered := c.line.press(k)
	switch {
	case entered:
		c.take(&b, text)
	case k.code == keySuspend:
		c.suspend(&b)
	case k.code == keyRedraw:
		b.WriteString(ansi.EraseEntireScreen + ansi.CursorHomePosition)
	case k.cut:
		b.WriteString(c.hint(fmt.Sprintf("what you pasted is longer than %d bytes; its end is dropped", maxLine)))
	}
	_ = c.redraw(&b) // a terminal that is gone ends the process by a signal
}

// take hands an entered line over, and leaves it on the screen.
func (c *console) take(b *bytes.Buffer, text string) {
	select {
	case c.entered <- text:
		if text != "" {
			width, _ := c.size()
			l := line{text: text}
			rows, _, _ := l.layout(c.prompt, width-1)
			b.WriteString(strings.Join(rows, "\n") + "\n")
		}
	default:
		b.WriteString(c.hint("nobody has read the lines typed before; this one is dropped"))
	}
}

// hint is what goes wrong with typing, as lines within the width.
func (c *console) hint(text string) string {
	return (&screen{width: c.width()}).wrap("  ! ", text) + "\n"
}

// What follows is called with the lock held.

// stopTime is how long a stop may take to come.
const stopTime = 100 * time.Millisecond

// suspend is Ctrl-Z: it stops the process, and those it runs with, with the terminal
// as it was before. Nothing is printed in the moment until then; where there is no
// shell that could let us go on, we are not stopped.
func (c *console) suspend(b *bytes.Buffer) {
	_ = c.flush(b, ansi.ResetModeBracketedPaste) // see press
	b.Reset()
	c.restore()
	_ = syscall.Kill(0, syscall.SIGTSTP) // on failure we go on
	time.Sleep(stopTime)
	c.resumed = time.Now()
	c.takeKeys()
}

// takeKeys gets the keys after a stop, unless we are in the background now.
func (c *console) takeKeys() {
	if c.restore == nil || !inForeground(c.keys) {
		return
	}
	if restore, err := byKey(c.keys); err == nil {
		c.restore = restore
	}
	c.flush(&bytes.Buffer{}, ansi.SetModeBracketedPaste)
}

func (c *console) refresh() {
	var b bytes.Buffer
	c.erase(&b)
	_ = c.redraw(&b) // see press
}

// erase takes the block off the screen. A terminal that has become narrower has
// broken its rows.
func (c *console) erase(b *bytes.Buffer) {
	if c.drawn == nil {
		return
	}
	width, _ := c.size()
	up := c.column / width
	for _, w := range c.drawn[:c.row] {
		up += max(1, (w+width-1)/width)
	}
	b.WriteByte('\r')
	if up > 0 {
		b.WriteString(ansi.CursorUp(up))
	}
	b.WriteString(ansi.EraseScreenBelow)
	c.drawn = nil
}

// redraw draws the block behind what b holds, and writes all of it at once.
func (c *console) redraw(b *bytes.Buffer) error {
	if c.file == nil || c.ended {
		return c.flush(b)
	}
	width, height := c.size()
	width-- // a full row would make the terminal wait with its end
	var rows []string
	if c.status != "" && height > 2 {
		rows = append(rows, ansi.Truncate(c.status, width, "…"))
	}
	row, column := len(rows)-1, 0
	if len(rows) > 0 {
		column = ansi.StringWidth(rows[0])
	}
	if c.edits() {
		typed, at, col := c.line.layout(c.prompt, width)
		room := max(1, min(maxInputRows, height-1-len(rows)))
		from := max(0, min(at-room+1, len(typed)-room))
		row, column = len(rows)+at-from, col
		rows = append(rows, typed[from:min(len(typed), from+room)]...)
	}
	if len(rows) == 0 {
		return c.flush(b)
	}
	for _, r := range rows {
		c.drawn = append(c.drawn, ansi.StringWidth(r))
	}
	c.row, c.column = row, column
	// Where a terminal and we disagree about a character's width, a row must not
	// run into the next.
	b.WriteString(ansi.ResetModeAutoWrap + strings.Join(rows, "\n") + ansi.SetModeAutoWrap)
	if up := len(rows) - 1 - row; up > 0 {
		b.WriteString(ansi.CursorUp(up))
	}
	b.WriteByte('\r')
	if column > 0 {
		b.WriteString(ansi.CursorForward(column))
	}
	return c.flush(b)
}

func (c *console) flush(b *bytes.Buffer, more ...string) error {
	for _, s := range more {
		b.WriteString(s)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := c.out.Write(b.Bytes())
	if c.lost == nil && err != nil && c.file == nil { // a terminal may be gone, and the run goes on
		c.lost = fmt.Errorf("what the run prints: %w", err)
	}
	return err
}

// failed is why something that was to be printed was not.
func (c *console) failed() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}
