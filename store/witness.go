package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
)

// The witness is a second, independent memory of how long each transcript is. It
// is needed because the database cannot tell damage from a crash: what it cannot
// read at the end of a log it cuts off, and a log that is gone it does not miss.
// Both look like a store in which the last hours never happened.
//
// It is a file of small records, one after every commit. When the process dies
// between the two, the database is ahead of the witness, which is fine; a database
// that is behind it has lost something.
//
// A power cut may rightly lose what was not synced. A record binds if it was
// written since the last start of the machine, or before the last sync.

// mark is what the witness knows of one transcript.
type mark struct {
	last  uint64
	chain [32]byte
}

// The kinds of records.
const (
	noteBoot    = 'b' // a store was opened; the machine's boot id
	noteStored  = 'h' // a transcript is this long
	noteDeleted = 'd' // a transcript is about to be deleted
	noteValue   = 'v' // a small value has this revision; 0: nothing is known of it
	noteSynced  = 's' // everything before this offset is synced
)

const (
	witnessMagic   = "flower\x00\x01"
	compactAtBytes = 256 << 10
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

type witness struct {
	mu     sync.Mutex
	path   string
	boot   string
	f      *os.File
	size   int64
	kept   int64 // size after the last rewrite
	marks  map[string]mark
	values map[string]uint64
	buf    []byte
}

// recall is what a witness found when it was opened.
type recall struct {
	// lost: there was no witness or it was unreadable. The marks must be made
	// anew, from the database.
	lost bool
	// stale: there are notes that do not bind. The file must be rewritten, since
	// they would bind the next time.
	stale bool
	// unsure are the transcripts of which such notes speak: a power cut may have
	// taken or torn their newest entries.
	unsure []string
}

// openWitness reads the witness at path. boot names the present start of the
// machine; empty when that cannot be known.
func openWitness(path, boot string) (*witness, recall, error) {
	w := &witness{path: path, boot: boot, marks: map[string]mark{}, values: map[string]uint64{}}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, recall{}, err
	}
	notes, ok := parseNotes(data)
	if !ok {
		return w, recall{lost: true}, nil
	}
	if found := w.replay(notes); found.stale {
		return w, found, nil
	}
	w.f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, recall{}, err
	}
	w.size, w.kept = int64(len(data)), w.estimate()
	return w, recall{}, w.write(noteBoot, []byte(boot))
}

// note is one record and where it begins.
type note struct {
	kind byte
	body []byte
	at   int64
}

// parseNotes reads all records; ok is false when there is anything else.
func parseNotes(data []byte) (notes []note, ok bool) {
	if len(data) < len(witnessMagic) || string(data[:len(witnessMagic)]) != witnessMagic {
		return nil, false
	}
	for at := len(witnessMagic); at < len(data); {
		n, ok := parseNote(data[at:], len(data))
		if !ok {
			return nil, false
		}
		n.at = int64(at)
		notes = append(notes, n)
		at += frame + len(n.body)
	}
	return notes, true
}

// parseNote reads the record that b begins with, of at most so many bytes behind the
// lengths.
func parseNote(b []byte, most int) (n note, ok bool) {
	if len(b) < frame {
		return n, false
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size < 1 || size > min(most, len(b)-8) {
		return n, false
	}
	body := b[8 : 8+size]
	if crc32.Checksum(body, crcTable) != binary.LittleEndian.Uint32(b[4:]) {
		return n, false
	}
	return note{kind: body[0], body: body[1:]}, true
}

// replay fills the marks from the notes that bind. Deletions always bind: what
// was to be deleted is not missed.
func (w *witness) replay(notes []note) recall {
	var found recall
	binding := w.bindingEnd(notes)
	doubt := map[string]bool{}
	for _, n := range notes {
		switch n.kind {
		case noteStored:
			key, m, ok := parseStored(n.body)
			switch {
			case !ok:
			case n.at < binding:
				w.marks[key] = m
			default:
				found.stale = true
				doubt[key] = true
			}
		case noteDeleted:
			delete(w.marks, string(n.body))
			delete(doubt, string(n.body))
		case noteValue:
			rev, size := binary.Uvarint(n.body)
			switch {
			case size <= 0:
			case rev == 0:
				delete(w.values, string(n.body[size:]))
			case n.at < binding:
				w.values[string(n.body[size:])] = rev
			default:
				found.stale = true
			}
		}
	}
	for key := range doubt {
		found.unsure = append(found.unsure, key)
	}
	return found
}

// bindingEnd is the offset before which notes bind.
func (w *witness) bindingEnd(notes []note) int64 {
	boot, synced := "", int64(0)
	for _, n := range notes {
		switch n.kind {
		case noteBoot:
			boot = string(n.body)
		case noteSynced:
			if at, size := binary.Uvarint(n.body); size > 0 {
				synced = max(synced, int64(at))
			}
		}
	}
	if boot != "" && boot == w.boot {
		return 1<<63 - 1
	}
	return synced
}

func parseStored(b []byte) (string, mark, bool) {
	r := reader{b: b}
	m := mark{last: r.uint()}
	copy(m.chain[:], r.take(32))
	return string(r.b), m, !r.bad
}

// mark tells what is known of a transcript.
func (w *witness) mark(key string) (mark, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.marks[key]
	return m, ok
}

// keys are the transcripts that are known.
func (w *witness) keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.marks))
}

// names are the small values that are known.
func (w *witness) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.values))
}

// rev is the known revision of a small value, 0 when there is none.
func (w *witness) rev(name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.values[name]
}

// stored notes that a transcript is now this long. An error means that the
// witness lags behind, which loses no data.
func (w *witness) stored(key string, m mark) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks[key] = m
	return w.writeLocked(noteStored, storedBody(key, m))
}

func storedBody(key string, m mark) []byte {
	b := binary.AppendUvarint(make([]byte, 0, 48+len(key)), m.last)
	b = append(b, m.chain[:]...)
	return append(b, key...)
}

// deleted notes that a transcript will be deleted; it comes before the deletion.
func (w *witness) deleted(key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.marks[key]; !ok {
		return nil
	}
	if err := w.writeLocked(noteDeleted, []byte(key)); err != nil {
		return err
	}
	delete(w.marks, key)
	return nil
}

// valued notes the revision of a small value.
func (w *witness) valued(name string, rev uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values[name] = rev
	return w.writeLocked(noteValue, append(binary.AppendUvarint(nil, rev), name...))
}

// unvalued notes that a small value is as it is, whatever was known of it.
func (w *witness) unvalued(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.writeLocked(noteValue, append(binary.AppendUvarint(nil, 0), name...)); err != nil {
		return err
	}
	delete(w.values, name)
	return nil
}

// offset is how far the witness has been written. What was committed before the
// notes up to here is safe after the next sync.
func (w *witness) offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// synced notes that all before offset is on disk.
func (w *witness) synced(offset int64) error {
	return w.write(noteSynced, binary.AppendUvarint(nil, uint64(offset)))
}

func (w *witness) write(kind byte, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeLocked(kind, body)
}

// writeLocked appends one record, or nothing.
func (w *witness) writeLocked(kind byte, body []byte) error {
	if w.f == nil {
		return fs.ErrClosed
	}
	w.buf = appendNote(w.buf[:0], kind, body)
	n, err := w.f.Write(w.buf)
	if err != nil {
		// Half a record would make all of the witness unreadable.
		if n > 0 && w.f.Truncate(w.size) != nil {
			w.drop()
		}
		return err
	}
	w.size += int64(n)
	return nil
}

// drop gives the file up: none is better than one that tells less than is true.
func (w *witness) drop() {
	w.f.Close()
	w.f = nil
	os.Remove(w.path)
}

func appendNote(b []byte, kind byte, body []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, kind)
	b = append(b, body...)
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)+1))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(b[start+8:], crcTable))
	return b
}

// large reports whether most of the file is of the past.
func (w *witness) large() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f == nil || (w.size > compactAtBytes && w.size > 4*w.kept)
}

func (w *witness) estimate() int64 {
	n := int64(len(witnessMagic))
	for key := range w.marks {
		n += int64(len(key)) + 48
	}
	for name := range w.values {
		n += int64(len(name)) + 16
	}
	return n
}

// rewrite replaces the file by one that holds the present marks alone. sync runs
// first, while nothing can be noted, so that all of them bind.
func (w *witness) rewrite(sync func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.marks)+len(w.values) > 0 {
		if err := sync(); err != nil {
			return err
		}
	}
	b := append(make([]byte, 0, w.estimate()+64), witnessMagic...)
	b = appendNote(b, noteBoot, []byte(w.boot))
	for key, m := range w.marks {
		b = appendNote(b, noteStored, storedBody(key, m))
	}
	for name, rev := range w.values {
		b = appendNote(b, noteValue, append(binary.AppendUvarint(nil, rev), name...))
	}
	b = appendNote(b, noteSynced, binary.AppendUvarint(nil, uint64(len(b))))
	if err := replaceFile(w.path, b); err != nil {
		return err
	}
	if w.f != nil {
		w.f.Close() // it is of the file that was replaced
		w.f = nil
	}
	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	w.f, w.size, w.kept = f, int64(len(b)), int64(len(b))
	return nil
}

func (w *witness) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	return err
}
