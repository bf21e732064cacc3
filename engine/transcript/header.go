package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// headerVersion is the first byte of an encoded Header.
const headerVersion = 2

// errHeader: the bytes are no Header that this program wrote.
var errHeader = errors.New("transcript header: not a header in a known form; parse the entry again")

// AppendBinary appends the header's compact form to b. A Time outside of UTC is
// stored as the same instant in UTC.
func (h Header) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, headerVersion)
	b = binary.AppendUvarint(b, uint64(h.Flags))
	b = binary.AppendUvarint(b, uint64(h.Size))
	if h.Time.IsZero() {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = binary.AppendVarint(b, h.Time.Unix())
		b = binary.AppendUvarint(b, uint64(h.Time.Nanosecond()))
	}
	for _, s := range [...]string{h.UUID, h.Parent, h.Type, h.Subtype, h.Role, h.MessageID} {
		b = appendText(b, s)
	}
	b = appendTexts(b, h.ToolUses)
	b = appendTexts(b, h.ToolResults)
	if !h.toolsKnown() {
		return append(b, 0), nil
	}
	return appendBlocks(b, h.tools), nil
}

// MarshalBinary is the header's compact form, about 120 bytes with two UUIDs.
// Entry inherits it: the form of an Entry is that of its header alone.
func (h Header) MarshalBinary() ([]byte, error) {
	return h.AppendBinary(make([]byte, 0, 128))
}

// UnmarshalBinary sets h to what MarshalBinary wrote. It keeps nothing of data.
// An error means data is damaged or from a newer program; h is then unchanged, and
// Parse of the entry's bytes gives the header anew.
func (h *Header) UnmarshalBinary(data []byte) error {
	return h.read(string(data), &slabs{})
}

// DecodeHeaders sets the headers of entries from their binary forms, which stand in forms
// one behind the other, that of the i-th up to ends[i]. n is how many it has set; the error
// is about the next. The headers share their memory, which is quicker to get than a piece
// for each: it lives as long as one of them.
func DecodeHeaders(entries []Entry, forms []byte, ends []int) (n int, err error) {
	text, from := string(forms), 0
	shared := &slabs{size: 128}
	for i := range entries {
		if err := entries[i].Header.read(text[from:ends[i]], shared); err != nil {
			return i, err
		}
		from = ends[i]
	}
	return len(entries), nil
}

// read sets h from text, of which it keeps parts.
func (h *Header) read(text string, from *slabs) error {
	if len(text) == 0 || text[0] != headerVersion {
		return errHeader
	}
	d := headerReader{text: text, pos: 1, slabs: from}
	var n Header
	n.Flags = Flags(d.uint(1<<16 - 1))
	n.Size = int(d.uint(1<<62 - 1))
	if d.uint(1) == 1 {
		n.Time = time.Unix(d.int(), int64(d.uint(1e9-1))).UTC()
	}
	for _, s := range [...]*string{&n.UUID, &n.Parent, &n.Type, &n.Subtype, &n.Role, &n.MessageID} {
		*s = d.string()
	}
	n.ToolUses = d.strings()
	n.ToolResults = d.strings()
	n.tools = d.blocks(n.ToolUses, n.ToolResults)
	if d.bad || d.pos != len(d.text) {
		return fmt.Errorf("%w (damaged near byte %d of %d)", errHeader, d.pos, len(text))
	}
	*h = n
	return nil
}

// slabs are where the lists of headers are taken from: pieces of size elements, or as many
// as are needed when it is 0.
type slabs struct {
	size   int
	texts  []string
	blocks []block
}

// take cuts room for n elements off a slab.
func take[T any](slab *[]T, n, size int) []T {
	if len(*slab) < n {
		*slab = make([]T, max(n, size))
	}
	room := (*slab)[:0:n]
	*slab = (*slab)[n:]
	return room
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

// toolsKnown reports whether h.tools are those of h's ids, each at a place.
func (h *Header) toolsKnown() bool {
	uses, results := h.ToolUses, h.ToolResults
	for i := range h.tools {
		b := &h.tools[i]
		ids := &uses
		if b.kind == toolResult {
			ids = &results
		}
		if len(*ids) == 0 || (*ids)[0] != b.id || b.lo < 0 || b.hi < b.lo || b.value.hi < b.value.lo {
			return false
		}
		*ids = (*ids)[1:]
	}
	return len(uses)+len(results) == 0
}

// The marks of a block in its form.
const (
	formResult = 1 << iota // else it is a call
	formError
	formBash
	formLooks
	formAll = 1<<iota - 1
)

// appendBlocks appends the form of the tool blocks; their ids stand before it.
func appendBlocks(b []byte, blocks []block) []byte {
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	for i := range blocks {
		k := &blocks[i]
		b = append(b, bit(k.kind == toolResult, formResult)|bit(k.isError, formError)|bit(k.bash, formBash)|bit(k.looks, formLooks))
		b = binary.AppendUvarint(b, uint64(k.n))
		b = appendSpan(b, k.span)
		b = appendSpan(b, k.value)
		b = binary.AppendUvarint(b, uint64(k.chars+1))
	}
	return b
}

func bit(set bool, mark byte) byte {
	if set {
		return mark
	}
	return 0
}

func appendSpan(b []byte, s span) []byte {
	b = binary.AppendUvarint(b, uint64(s.lo))
	return binary.AppendUvarint(b, uint64(s.hi-s.lo))
}

// headerReader reads an encoded header. Its strings are parts of the text.
// The first thing that does not fit sets bad, and from there on all is zero.
type headerReader struct {
	text  string
	pos   int
	bad   bool
	slabs *slabs
}

// uint reads a number of at most limit.
func (d *headerReader) uint(limit uint64) uint64 {
	var v uint64
	for shift := uint(0); !d.bad && d.pos < len(d.text) && shift < 64; shift += 7 {
		c := d.text[d.pos]
		d.pos++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > limit {
				break
			}
			return v
		}
	}
	d.bad = true
	return 0
}

// int reads a signed number in zigzag form.
func (d *headerReader) int() int64 {
	u := d.uint(1<<64 - 1)
	return int64(u>>1) ^ -int64(u&1)
}

func (d *headerReader) string() string {
	n := d.uint(uint64(len(d.text) - d.pos))
	if d.bad || n > uint64(len(d.text)-d.pos) {
		d.bad = true
		return ""
	}
	s := d.text[d.pos : d.pos+int(n)]
	d.pos += int(n)
	return s
}

func (d *headerReader) strings() []string {
	n := d.uint(uint64(len(d.text) - d.pos)) // each takes a byte at least
	if n == 0 || d.bad {
		return nil
	}
	list := take(&d.slabs.texts, int(min(n, 64)), d.slabs.size)
	for range n {
		if d.bad {
			return nil
		}
		list = append(list, d.string())
	}
	return list
}

// blocks reads the tool blocks with the given ids. There is one of each id, in the order
// of the ids of their kind.
func (d *headerReader) blocks(uses, results []string) []block {
	n := d.uint(uint64(len(uses) + len(results)))
	if n == 0 || d.bad {
		return nil
	}
	list := take(&d.slabs.blocks, int(n), d.slabs.size)[:n]
	for i := range list {
		b := &list[i]
		marks := d.uint(formAll)
		b.kind, b.isError, b.bash, b.looks = toolUse, marks&formError != 0, marks&formBash != 0, marks&formLooks != 0
		ids := &uses
		if marks&formResult != 0 {
			b.kind, ids = toolResult, &results
		}
		b.n, b.span, b.value, b.chars = int(d.uint(1<<40)), d.span(), d.span(), int(d.uint(1<<40))-1
		if len(*ids) == 0 {
			d.bad = true
			return nil
		}
		b.id, *ids = (*ids)[0], (*ids)[1:]
	}
	d.bad = d.bad || len(uses)+len(results) > 0
	return list
}

func (d *headerReader) span() span {
	lo := int(d.uint(1 << 40))
	return span{lo, lo + int(d.uint(1<<40))}
}
