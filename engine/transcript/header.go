package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// headerVersion is the first byte of an encoded Header.
const headerVersion = 1

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
	return appendTexts(b, h.ToolResults), nil
}

// MarshalBinary is the header's compact form, about 110 bytes with two UUIDs.
// Entry inherits it: the form of an Entry is that of its header alone.
func (h Header) MarshalBinary() ([]byte, error) {
	return h.AppendBinary(make([]byte, 0, 128))
}

// UnmarshalBinary sets h to what MarshalBinary wrote. It keeps nothing of data.
// An error means data is damaged or from a newer program; h is then unchanged, and
// Parse of the entry's bytes gives the header anew.
func (h *Header) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != headerVersion {
		return errHeader
	}
	d := headerReader{text: string(data), pos: 1}
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
	if d.bad || d.pos != len(d.text) {
		return fmt.Errorf("%w (damaged near byte %d of %d)", errHeader, d.pos, len(data))
	}
	*h = n
	return nil
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

// headerReader reads an encoded header. Its strings share one copy of the bytes.
// The first thing that does not fit sets bad, and from there on all is zero.
type headerReader struct {
	text string
	pos  int
	bad  bool
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
	list := make([]string, 0, min(n, 64))
	for range n {
		if d.bad {
			return nil
		}
		list = append(list, d.string())
	}
	return list
}
