package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/flowerlua/flower/engine/transcript"
)

// The values of the database. The first byte of each is the version of its form.
// No value is empty: Badger gives an empty value, and no error, for one that it
// cannot read.
const recordVersion = 2

// errRecord: the bytes are no record that this program wrote.
var errRecord = errors.New("record unreadable")

// head is what is stored of a transcript beside its entries.
type head struct {
	log      uint64 // its own log
	last     uint64
	chain    [32]byte
	modified int64 // Unix nanoseconds
	// shared are the parts of other logs that the transcript begins with, in
	// order: part i holds the entries after part i-1's end up to its own.
	shared []part
}

// part is the beginning of a log, up to and including the entry with Seq end.
type part struct{ log, end uint64 }

// span is a run of entries, first to last, in one log.
type span struct{ log, first, last uint64 }

// spans says where the entries first to last are.
func (h *head) spans(first, last uint64) []span {
	var out []span
	from := uint64(1)
	for _, p := range append(h.shared[:len(h.shared):len(h.shared)], part{h.log, h.last}) {
		lo, hi := max(from, first), min(p.end, last)
		if lo <= hi {
			out = append(out, span{p.log, lo, hi})
		}
		from = p.end + 1
	}
	return out
}

// logOf says which log holds the entry seq.
func (h *head) logOf(seq uint64) uint64 {
	for _, p := range h.shared {
		if seq <= p.end {
			return p.log
		}
	}
	return h.log
}

// upTo is the list of parts that a fork at seq shares with h.
func (h *head) upTo(seq uint64) []part {
	var out []part
	for _, p := range h.shared {
		if seq <= p.end {
			return append(out, part{p.log, seq})
		}
		out = append(out, p)
	}
	return append(out, part{h.log, seq})
}

// public is h as the contract tells it.
func (h *head) public() transcript.Head {
	return transcript.Head{Count: h.last, Last: h.last, Chain: h.chain, Modified: time.Unix(0, h.modified).UTC()}
}

func (h *head) encode() []byte {
	b := append(make([]byte, 0, 64+20*len(h.shared)), recordVersion)
	b = binary.AppendUvarint(b, h.log)
	b = binary.AppendUvarint(b, h.last)
	b = append(b, h.chain[:]...)
	b = binary.AppendVarint(b, h.modified)
	b = binary.AppendUvarint(b, uint64(len(h.shared)))
	for _, p := range h.shared {
		b = binary.AppendUvarint(b, p.log)
		b = binary.AppendUvarint(b, p.end)
	}
	return b
}

func decodeHead(b []byte) (head, error) {
	r := reader{b: b}
	r.version()
	h := head{log: r.uint(), last: r.uint()}
	copy(h.chain[:], r.take(32))
	h.modified = r.int()
	n := r.uint()
	if n > uint64(len(r.b)) {
		return head{}, errRecord
	}
	for range n {
		h.shared = append(h.shared, part{r.uint(), r.uint()})
	}
	return h, r.end()
}

// record is one entry as it is stored.
type record struct {
	chain  [32]byte // over the transcript up to and including this entry
	header []byte
	raw    []byte   // nil when the bytes are a file
	blob   [32]byte // the file's hash
	size   uint64   // the file's size
}

const (
	rawInline = 0
	rawBlob   = 1
)

func (rec *record) encode() []byte {
	return rec.append(make([]byte, 0, 64+len(rec.header)+len(rec.raw)))
}

// append appends the form of rec to b.
func (rec *record) append(b []byte) []byte {
	b = append(b, recordVersion)
	b = append(b, rec.chain[:]...)
	b = binary.AppendUvarint(b, uint64(len(rec.header)))
	b = append(b, rec.header...)
	if rec.size > 0 {
		b = append(b, rawBlob)
		b = append(b, rec.blob[:]...)
		return binary.AppendUvarint(b, rec.size)
	}
	b = append(b, rawInline)
	return append(b, rec.raw...)
}

// decodeRecord reads a record; its slices are parts of b.
func decodeRecord(b []byte) (record, error) {
	r := reader{b: b}
	r.version()
	var rec record
	copy(rec.chain[:], r.take(32))
	rec.header = r.take(r.uint())
	switch kind := r.take(1); {
	case r.bad:
	case kind[0] == rawInline:
		rec.raw = r.take(uint64(len(r.b)))
	case kind[0] == rawBlob:
		copy(rec.blob[:], r.take(32))
		rec.size = r.uint()
		r.bad = r.bad || rec.size == 0
	default:
		r.bad = true
	}
	return rec, r.end()
}

// value is a small value as it is stored.
type value struct {
	rev  uint64
	data []byte
}

func (v *value) encode() []byte {
	b := append(make([]byte, 0, 12+len(v.data)), recordVersion)
	return append(binary.AppendUvarint(b, v.rev), v.data...)
}

func decodeValue(b []byte) (value, error) {
	r := reader{b: b}
	r.version()
	v := value{rev: r.uint()}
	v.data = r.take(uint64(len(r.b)))
	return v, r.end()
}

// number is a record that holds nothing but a number.
func number(n uint64) []byte { return binary.AppendUvarint([]byte{recordVersion}, n) }

func decodeNumber(b []byte) (uint64, error) {
	r := reader{b: b}
	r.version()
	n := r.uint()
	return n, r.end()
}

// reader takes a record apart. The first thing that does not fit sets bad, and
// from there on all is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) version() {
	if v := r.take(1); !r.bad && v[0] != recordVersion {
		r.bad = true
	}
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

// end is the verdict: nil when all of the record was read and made sense.
func (r *reader) end() error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w (%d bytes left)", errRecord, len(r.b))
	}
	return nil
}

// linker computes the hash chain: the next link is the SHA-256 of the link before it, of a
// checksum of the entry's bytes and of their number. Hashing all bytes with SHA-256 took a
// third of the time of a load. What the chain guards against is damage, against which 64
// bits are as good; who can write to the store can write another chain as well. The chain
// of an empty transcript is zero.
type linker struct{ sum [32]byte }

// add makes the link for raw and returns it.
func (l *linker) add(raw []byte) [32]byte {
	var b [48]byte
	copy(b[:], l.sum[:])
	binary.LittleEndian.PutUint64(b[32:], xxhash.Sum64(raw))
	binary.LittleEndian.PutUint64(b[40:], uint64(len(raw)))
	l.sum = sha256.Sum256(b[:])
	return l.sum
}
