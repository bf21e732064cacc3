package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"
)

// A pager shows one page of a text as numbered lines. It holds the page and a
// small buffer, whatever the size of the file and of its lines.
type pager struct {
	r     *bufio.Reader
	hash  hash.Hash // of everything read; nil where the file is too large for a receipt
	first int       // the first line wanted

	lines     int // room left on the page, in lines,
	bytes     int // in bytes,
	chars     int // and in characters
	lineChars int

	number int // the lines that have been passed
	last   int // the last line shown
	total  int // the lines of the file; -1 where it was not read to its end
	shown  []string
	long   bool // some line was cut
}

// footRoom is kept free on a page that is bounded in characters, for the footer.
const footRoom = 256

func (s *Set) newPager(f io.Reader, fileSize int64, in readInput) *pager {
	p := &pager{
		first:     max(int(in.Offset), 1),
		lines:     s.lim.PageLines,
		bytes:     s.lim.PageBytes,
		chars:     1 << 40,
		lineChars: s.lim.LineChars,
		total:     -1,
	}
	if in.Limit > 0 {
		p.lines = min(p.lines, int(in.Limit))
	}
	if s.o.PageChars > 0 {
		p.chars = max(s.o.PageChars-footRoom, footRoom)
		p.lineChars = min(p.lineChars, p.chars/2)
	}
	if fileSize <= s.lim.EditBytes {
		p.hash = sha256.New()
		f = io.TeeReader(f, p.hash)
	}
	p.r = bufio.NewReaderSize(f, 64<<10)
	return p
}

// run fills the page. A file small enough for a receipt is read to its end.
func (p *pager) run(ctx context.Context) error {
	full := false
	for {
		if err := ctx.Err(); err != nil {
			return errors.New("the call was cancelled")
		}
		if full && p.hash == nil {
			return nil
		}
		keep := 0
		if !full && p.number+1 >= p.first {
			keep = (p.lineChars + 1) * utf8.UTFMax
		}
		line, length, err := p.next(ctx, keep)
		if errors.Is(err, io.EOF) && length == 0 {
			p.total = p.number
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		p.number++
		if keep > 0 {
			full = !p.show(line, length)
		}
	}
}

// next reads a line and keeps its first bytes. length counts all of it with its
// end; io.EOF with a length is a last line without an end. On the last line of a
// page of a large file the rest of the line is left unread.
func (p *pager) next(ctx context.Context, keep int) (line []byte, length int64, err error) {
	for {
		part, err := p.r.ReadSlice('\n')
		length += int64(len(part))
		if room := keep - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, length, err
		}
		if p.hash == nil && keep > 0 && p.lines == 1 && len(line) >= keep {
			return line, length, nil
		}
		if ctx.Err() != nil {
			return nil, length, errors.New("the call was cancelled")
		}
	}
}

// show puts a line on the page; false when it, or the next, has no room.
func (p *pager) show(line []byte, length int64) bool {
	text := p.format(line, length)
	n := chars(text) + 1
	if len(p.shown) > 0 && (len(text)+1 > p.bytes || n > p.chars) {
		return false
	}
	p.shown = append(p.shown, text)
	p.last = p.number
	p.lines--
	p.bytes -= len(text) + 1
	p.chars -= n
	return p.lines > 0
}

func (p *pager) format(line []byte, length int64) string {
	if int64(len(line)) == length {
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	if p.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	text := clean(line)
	if cut := firstChars(text, p.lineChars); cut != text {
		p.long = true
		text = cut + fmt.Sprintf(" [… line %d goes on: it is longer than %d characters]", p.number, p.lineChars)
	}
	return fmt.Sprintf("%d\t%s", p.number, text)
}

// footer says what of the file the page is, where it is not all.
func (p *pager) footer() string {
	text := ""
	if p.long {
		text = "\n[long lines are cut: search in them with Grep, or take a part with Bash, such as sed -n 7p FILE | cut -c 2001-4000]"
	}
	switch {
	case p.total < 0:
		return text + fmt.Sprintf("\n[a part of the file: lines %d to %d; it goes on at offset %d]", p.first, p.last, p.last+1)
	case p.last < p.total:
		return text + fmt.Sprintf("\n[a part of the file: lines %d to %d of %d; it goes on at offset %d]", p.first, p.last, p.total, p.last+1)
	case p.first > 1:
		return text + fmt.Sprintf("\n[a part of the file: lines %d to %d of %d, its end]", p.first, p.last, p.total)
	}
	return text
}
