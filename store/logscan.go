package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
)

// Badger's two kinds of log, the value log and the log of a memory table, have one
// form: a header of 20 bytes, then records
//
//	meta 1, user meta 1, key length, value length, expiry (all uvarint), key, value, CRC-32C
//
// up to the end of the file or a stretch of zeros. Badger reads up to the first
// record that does not fit and cuts off the rest, which after a crash is right and
// after damage is not. Here both are told apart: behind a torn write there is
// nothing any more, behind damage there are more records.

const (
	logHeader   = 20
	metaTxn     = 1 << 6                       // the record belongs to a transaction
	metaTxnEnd  = 1 << 7                       // and this is its last
	metaKnown   = 1 | 2 | metaTxn | metaTxnEnd // with deletion and pointer, all that are used here
	maxLogKey   = 4096                         // longer than any key here, time stamp included
	maxLogValue = maxInline + maxInline/2      // longer than any value here
	txnEndKey   = "!badger!txn"                // the key of the last record of a transaction
)

// logRecord is where a record lies in the file, and what it is.
type logRecord struct {
	start, end int
	meta       byte
	key        []byte // with Badger's time stamp, the last 8 bytes
	value      []byte
}

// logScan is what was found in one file.
type logScan struct {
	data    []byte
	records []logRecord
	end     int // of the first unbroken run of records
	beyond  int // records found behind a place that cannot be read
}

// torn reports whether something in the middle cannot be read.
func (s *logScan) torn() bool { return s.beyond > 0 }

// scanLog reads a log file, but for the hole at its end.
func scanLog(path string) (*logScan, error) {
	end, err := dataEnd(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, end))
	if err != nil {
		return nil, err
	}
	return scanBytes(data), nil
}

func scanBytes(data []byte) *logScan {
	s := &logScan{data: data, end: min(logHeader, len(data))}
	at := s.end
	broken := false
	for at < len(data) {
		rec, ok := parseLogRecord(data, at)
		if ok {
			s.records = append(s.records, rec)
			if broken {
				s.beyond++
			} else {
				s.end = rec.end
			}
			at = rec.end
			continue
		}
		broken = true
		if at = nextUsed(data, at); at < 0 {
			break
		}
	}
	return s
}

// nextUsed is the next place behind at where a record may begin, -1 if there is
// none: a record holds a key, so it is never all zeros.
func nextUsed(data []byte, at int) int {
	rest := bytes.TrimLeft(data[at+1:], "\x00")
	if len(rest) == 0 {
		return -1
	}
	// A record may itself begin with two zeros.
	return max(at+1, len(data)-len(rest)-2)
}

// parseLogRecord reads the record at a place, ok only when its checksum is right.
func parseLogRecord(data []byte, at int) (rec logRecord, ok bool) {
	b := data[at:]
	if len(b) < 9 || b[0]&^metaKnown != 0 || b[1] != 0 {
		return rec, false
	}
	pos := 2
	var lens [3]uint64
	for i := range lens {
		n, size := binary.Uvarint(b[pos:min(len(b), pos+binary.MaxVarintLen64)])
		if size <= 0 {
			return rec, false
		}
		lens[i], pos = n, pos+size
	}
	klen, vlen := lens[0], lens[1]
	if klen <= 8 || klen > maxLogKey || vlen > maxLogValue || lens[2] != 0 || uint64(len(b)) < uint64(pos)+klen+vlen+4 {
		return rec, false
	}
	end := pos + int(klen) + int(vlen)
	if crc32.Checksum(b[:end], crcTable) != binary.BigEndian.Uint32(b[end:]) {
		return rec, false
	}
	return logRecord{
		start: at, end: at + end + 4, meta: b[0],
		key: b[pos : pos+int(klen)], value: b[pos+int(klen) : end],
	}, true
}

// mended is the file without what cannot be read. Of a transaction that is hit the rest
// stays: those here are of many writes, which have nothing to do with each other.
func (s *logScan) mended() []byte {
	out := append([]byte(nil), s.data[:min(logHeader, len(s.data))]...)
	var open []logRecord // of a transaction that has not ended
	emit := func(records ...logRecord) {
		for _, r := range records {
			out = append(out, s.data[r.start:r.end]...)
		}
	}
	for _, r := range s.records {
		if len(open) > 0 && stampOf(open[0]) != stampOf(r) {
			// Its end mark is what was hit.
			emit(open...)
			out = append(out, endRecord(stampOf(open[0]))...)
			open = nil
		}
		switch {
		case r.meta&metaTxnEnd != 0:
			if len(open) > 0 {
				emit(append(open, r)...)
			}
			open = nil
		case r.meta&metaTxn != 0:
			open = append(open, r)
		default:
			emit(r)
		}
	}
	return out
}

// stampOf is the commit time in a record's key.
func stampOf(r logRecord) uint64 {
	return math.MaxUint64 - binary.BigEndian.Uint64(r.key[len(r.key)-8:])
}

// endRecord is the end mark of the transaction with that commit time.
func endRecord(stamp uint64) []byte {
	value := strconv.FormatUint(stamp, 10)
	b := []byte{metaTxnEnd, 0, byte(len(txnEndKey) + 8), byte(len(value)), 0}
	b = append(b, txnEndKey...)
	b = binary.BigEndian.AppendUint64(b, math.MaxUint64-stamp)
	b = append(b, value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}
