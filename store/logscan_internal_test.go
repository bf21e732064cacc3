package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"
)

// appendLogRecord adds a record in Badger's form.
func appendLogRecord(b []byte, meta byte, key string, stamp uint64, value []byte) []byte {
	start := len(b)
	b = append(b, meta, 0)
	b = binary.AppendUvarint(b, uint64(len(key)+8))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = append(b, 0)
	b = append(b, key...)
	b = binary.BigEndian.AppendUint64(b, math.MaxUint64-stamp)
	b = append(b, value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], crcTable))
}

// logOfTransactions has n transactions of three records each, and zeros behind. It
// also gives where each transaction ends.
func logOfTransactions(n int) (data []byte, ends []int) {
	data = make([]byte, logHeader)
	for i := 1; i <= n; i++ {
		for k := range 3 {
			value := bytes.Repeat([]byte{byte(i)}, 10+40*k)
			data = appendLogRecord(data, metaTxn, fmt.Sprintf("e%04d.%d", i, k), uint64(i), value)
		}
		data = append(data, endRecord(uint64(i))...)
		ends = append(ends, len(data))
	}
	return append(data, make([]byte, 4096)...), ends
}

// stamps lists the transactions of a log, and how many records each has.
func stamps(s *logScan) map[uint64]int {
	out := map[uint64]int{}
	for _, r := range s.records {
		out[stampOf(r)]++
	}
	return out
}

func TestScanLog_reads_a_sound_log(t *testing.T) {
	data, ends := logOfTransactions(20)
	s := scanBytes(data)
	if s.torn() || s.end != ends[19] || len(s.records) != 80 {
		t.Fatalf("torn %v, end %d of %d, %d records", s.torn(), s.end, ends[19], len(s.records))
	}
	if !bytes.Equal(s.mended(), data[:ends[19]]) {
		t.Error("mending changed it")
	}
}

func TestScanLog_takes_a_torn_end_for_what_it_is(t *testing.T) {
	data, ends := logOfTransactions(5)
	for cut := ends[3]; cut < ends[4]; cut++ {
		torn := append(bytes.Clone(data[:cut]), make([]byte, 300)...)
		if s := scanBytes(torn); s.torn() || s.end < ends[3] {
			t.Fatalf("cut at %d: torn %v, end %d", cut, s.torn(), s.end)
		}
	}
}

func TestMended_log_loses_the_record_that_was_hit_and_no_other(t *testing.T) {
	data, ends := logOfTransactions(12)
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		at := logHeader + r.IntN(ends[10]-logHeader)
		bad := bytes.Clone(data)
		bad[at] ^= 1 << r.IntN(8)
		s := scanBytes(bad)
		if !s.torn() {
			t.Fatalf("byte %d: damage in the middle is not noticed", at)
		}
		mended := scanBytes(s.mended())
		if mended.torn() || mended.end != len(mended.data) {
			t.Fatalf("byte %d: the mended log is not sound", at)
		}
		got := stamps(mended)
		for i := uint64(1); i <= 12; i++ {
			hit := uint64(at) >= start(ends, i) && at < ends[i-1]
			// An end mark that was hit is made anew.
			if n := got[i]; n != 4 && (n != 3 || !hit) {
				t.Fatalf("byte %d: %d records of transaction %d are left (it was hit: %v)", at, n, i, hit)
			}
		}
	}
}

func start(ends []int, i uint64) uint64 {
	if i == 1 {
		return logHeader
	}
	return uint64(ends[i-2])
}

func FuzzScanLog(f *testing.F) {
	data, ends := logOfTransactions(3)
	f.Add(data, 0, byte(0))
	f.Add(data[:ends[1]-3], 70, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if at >= 0 && at < len(data) {
			data = bytes.Clone(data)
			data[at] ^= flip
		}
		mended := scanBytes(scanBytes(data).mended())
		if mended.torn() {
			t.Fatal("a mended log is torn")
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	h := head{log: 3, last: 7, modified: -5, shared: []part{{1, 2}, {9, 4}}}
	rec := record{header: []byte("header"), raw: []byte("raw")}
	f.Add(h.encode())
	f.Add(rec.encode())
	f.Add(number(12345))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHead(b); err == nil {
			if again, err := decodeHead(h.encode()); err != nil || fmt.Sprint(again) != fmt.Sprint(h) {
				t.Errorf("head %+v became %+v, %v", h, again, err)
			}
		}
		if rec, err := decodeRecord(b); err == nil {
			if again, err := decodeRecord(rec.encode()); err != nil || fmt.Sprint(again) != fmt.Sprint(rec) {
				t.Errorf("record %+v became %+v, %v", rec, again, err)
			}
		}
		if _, err := decodeValue(b); err == nil && len(b) == 0 {
			t.Error("nothing was taken for a value")
		}
		parseNotes(append([]byte(witnessMagic), b...))
	})
}

func TestSpans_cover_a_transcript_once(t *testing.T) {
	h := head{log: 9, last: 10, shared: []part{{1, 3}, {2, 3}, {4, 7}}}
	for first := uint64(1); first <= 10; first++ {
		for last := first; last <= 10; last++ {
			next := first
			for _, s := range h.spans(first, last) {
				if s.first != next || s.log != h.logOf(s.first) || s.log != h.logOf(s.last) {
					t.Fatalf("spans %d to %d: %+v", first, last, h.spans(first, last))
				}
				next = s.last + 1
			}
			if next != last+1 {
				t.Fatalf("spans %d to %d end at %d", first, last, next-1)
			}
		}
	}
}
