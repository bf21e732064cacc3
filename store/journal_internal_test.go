package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// journalOf is a journal with n batches of different sizes; it also gives where each ends.
func journalOf(boot string, n int) (data []byte, ends []int) {
	data = appendNote([]byte(journalMagic), noteBoot, []byte(boot))
	for i := range n {
		t := newBatch(0)
		t.set([]byte(fmt.Sprint("key", i)), bytes.Repeat([]byte{byte(i)}, 1+i*37%200))
		t.remove([]byte("gone"))
		data = append(data, t.seal()...)
		ends = append(ends, len(data))
	}
	return data, ends
}

// keysIn are the keys set in batches.
func keysIn(t *testing.T, batches [][]byte) (keys []string) {
	t.Helper()
	for _, body := range batches {
		err := eachPair(body, func(key, value []byte) error {
			if value != nil {
				keys = append(keys, string(key))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func TestReadJournal_takes_a_torn_end_for_what_it_is(t *testing.T) {
	data, ends := journalOf("boot", 6)
	for cut := ends[2]; cut < ends[5]; cut++ {
		for _, tail := range []int{0, 700} {
			c := readJournal(append(bytes.Clone(data[:cut]), make([]byte, tail)...), "boot")
			whole := 0
			for _, end := range ends {
				if end <= cut {
					whole++
				}
			}
			if c.torn || len(c.batches) != whole {
				t.Fatalf("cut at %d: torn %v, %d batches, want %d", cut, c.torn, len(c.batches), whole)
			}
		}
	}
}

func TestReadJournal_goes_on_behind_damage_but_not_behind_a_power_cut(t *testing.T) {
	data, ends := journalOf("boot", 6)
	for at := ends[1]; at < ends[4]; at++ {
		bad := bytes.Clone(data)
		bad[at] ^= 0x10
		hit := 0
		for at >= ends[hit] {
			hit++
		}
		c := readJournal(bad, "boot")
		if keys := keysIn(t, c.batches); !c.torn || c.anew || len(keys) != 5 || fmt.Sprint(keys[:hit]) != fmt.Sprint([]string{"key0", "key1", "key2", "key3"}[:hit]) {
			t.Fatalf("byte %d: torn %v, %v", at, c.torn, keys)
		}
		c = readJournal(bad, "another boot")
		if keys := keysIn(t, c.batches); !c.torn || !c.anew || len(keys) != hit {
			t.Fatalf("byte %d, another boot: torn %v, %v", at, c.torn, keys)
		}
	}
}

func TestReadJournal_saves_what_stands_behind_a_bad_beginning(t *testing.T) {
	data, _ := journalOf("boot", 3)
	for at := range len(journalMagic) + frame + len("boot") {
		bad := bytes.Clone(data)
		bad[at] ^= 1
		if c := readJournal(bad, "boot"); !c.torn || len(c.batches) != 3 {
			t.Errorf("byte %d: torn %v, %d batches", at, c.torn, len(c.batches))
		}
	}
}

func FuzzReadJournal(f *testing.F) {
	data, _ := journalOf("boot", 2)
	f.Add(data)
	f.Add(data[5:])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, body := range append(readJournal(data, "boot").batches, data) {
			_ = eachPair(body, func(key, _ []byte) error {
				if len(key) == 0 {
					t.Error("a pair without a key")
				}
				return nil
			})
		}
	})
}

func TestBatch_gives_back_its_pairs(t *testing.T) {
	b := newBatch(10)
	b.set([]byte("a"), []byte{})
	b.remove([]byte("b"))
	b.begin([]byte("c"))
	b.b = append(b.b, bytes.Repeat([]byte("v"), 70_000)...)
	b.end()
	n, ok := parseNote(b.seal(), maxJournalRecord)
	if !ok || n.kind != noteBatch {
		t.Fatalf("%v, kind %c", ok, n.kind)
	}
	got := ""
	err := eachPair(n.body, func(key, value []byte) error {
		got += fmt.Sprintf("%s %d %v, ", key, len(value), value == nil)
		return nil
	})
	if want := "a 0 false, b 0 true, c 70000 false, "; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestJournal_keeps_its_files_in_order_and_removes_them(t *testing.T) {
	dir := t.TempDir()
	j, found, err := openJournal(dir, "boot")
	if err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	record := func(name string) []byte {
		b := newBatch(0)
		b.set([]byte(name), []byte("v"))
		return b.seal()
	}
	for i := range 3 {
		if _, err := j.append(record(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if err := j.sync(); err != nil { // it grows ahead of time
			t.Fatal(err)
		}
		if i == 0 {
			j.turn()
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j, found, err = openJournal(dir, "boot")
	if err != nil || len(found) != 2 || fmt.Sprint(keysIn(t, found[0].batches), keysIn(t, found[1].batches)) != "[0] [1 2]" {
		t.Fatalf("%v, %v", found, err)
	}
	if !j.large() {
		t.Error("what an earlier owner left is not to be removed")
	}
	if p, err := j.append(record("3")); err != nil || p.file != 3 {
		t.Fatal(p, err)
	}
	for p, want := range map[journalPlace]string{{0, 0}: "[1 2]", {1, 99}: "[1 2]", {2, 0}: "[1 2]", {2, found[1].ends[0] - 1}: "[1 2]", {2, found[1].ends[0]}: "[2]", {2, found[1].ends[1]}: "[]", {3, 0}: "[]"} {
		if got := fmt.Sprint(keysIn(t, found[1].behind(p))); got != want {
			t.Errorf("behind %v: %s, want %s", p, got, want)
		}
	}
	last, files := j.turn()
	if err := j.remove(files); err != nil || last != 3 || len(files) != 3 {
		t.Fatalf("%d, %d files, %v", last, len(files), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestJournal_takes_nothing_of_a_record_that_does_not_fit(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "j"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	j := &journalFile{File: f}
	if err := j.append([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// It cannot be written, and not be cut either.
	if err := j.append([]byte("two")); err == nil || j.end != 3 {
		t.Errorf("%v, ends at %d", err, j.end)
	}
	if data, err := os.ReadFile(f.Name()); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestTails_are_bounded(t *testing.T) {
	e := &engine{seed: maphash.MakeSeed(), tails: tails{at: map[string]*tail{}}}
	uuid := uint64(0)
	entries := func(n int) (es []transcript.Entry) {
		for range n {
			uuid++
			es = append(es, transcript.Entry{Header: transcript.Header{UUID: string(binary.BigEndian.AppendUint64(nil, uuid))}})
		}
		return es
	}
	for i := range maxTails + 100 {
		e.moved(fmt.Sprint(i), &tail{known: map[uint64]struct{}{}}, &head{}, entries(1))
	}
	if n := len(e.tails.at); n > maxTails {
		t.Errorf("%d tails", n)
	}
	long := &tail{known: map[uint64]struct{}{}}
	for range 3 {
		e.moved("long", long, &head{}, entries(maxKnown/2))
	}
	known := 0
	for _, t := range e.tails.at {
		known += len(t.known)
	}
	if known > maxKnown || known != e.tails.known {
		t.Errorf("%d hashes, counted %d", known, e.tails.known)
	}
}
