package store

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// batch is pairs that are written at once, in the form in which the journal holds them:
//
//	length 4, CRC-32C 4, kind, then for each pair: key length 2, value length 4, key, value
//
// A pair that is to be removed has no value, and the largest length.
type batch struct {
	b  []byte
	at int // of the pair begun last
}

const (
	noteBatch = 'w'
	frame     = 9 // bytes before the first pair
	pairLead  = 6 // bytes before a key
	removed   = math.MaxUint32
	// batchMost is the size above which a write goes into several batches, in bytes. The
	// last makes all of them visible.
	batchMost = 1 << 20
)

// newBatch makes room for so many bytes.
func newBatch(size int) *batch { return &batch{b: make([]byte, frame, frame+size)} }

// begin adds a pair; what is appended to b until end is its value.
func (t *batch) begin(key []byte) {
	t.at = len(t.b)
	t.b = binary.LittleEndian.AppendUint16(t.b, uint16(len(key)))
	t.b = binary.LittleEndian.AppendUint32(t.b, removed)
	t.b = append(t.b, key...)
}

func (t *batch) end() {
	lead := t.b[t.at:]
	size := len(lead) - pairLead - int(binary.LittleEndian.Uint16(lead))
	binary.LittleEndian.PutUint32(lead[2:], uint32(size))
}

func (t *batch) set(key, value []byte) {
	t.begin(key)
	t.b = append(t.b, value...)
	t.end()
}

func (t *batch) remove(key []byte) { t.begin(key) }

// seal makes the batch a record of the journal.
func (t *batch) seal() []byte {
	t.b[8] = noteBatch
	binary.LittleEndian.PutUint32(t.b, uint32(len(t.b)-8))
	binary.LittleEndian.PutUint32(t.b[4:], crc32.Checksum(t.b[8:], crcTable))
	return t.b
}

// eachPair calls f for the pairs of a record, the frame taken off; value is nil for one
// to be removed. What f is given are parts of body.
func eachPair(body []byte, f func(key, value []byte) error) error {
	for len(body) > 0 {
		if len(body) < pairLead {
			return errRecord
		}
		keySize, size := int(binary.LittleEndian.Uint16(body)), binary.LittleEndian.Uint32(body[2:])
		body = body[pairLead:]
		var value []byte
		end := keySize
		if size != removed {
			end += int(size)
		}
		if keySize == 0 || end > len(body) {
			return errRecord
		}
		if size != removed {
			value = body[keySize:end:end]
		}
		if err := f(body[:keySize:keySize], value); err != nil {
			return err
		}
		body = body[end:]
	}
	return nil
}
