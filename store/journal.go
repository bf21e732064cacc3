package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The journal is where a write goes first: a file that is written from front to back.
// What is in it has reached the operating system, which is all it takes to survive the end
// of a process, and only this file has to be synced to survive a power cut as well. The
// database gets it later, many writes at a time (see queue.go), and is synced when a
// journal has grown large: then another is begun, and the old one removed. Whoever opens
// the store gives the database what the journals hold, once more if need be.
//
// A journal consists of records in the frame of the witness's, behind a magic number. The
// first tells the start of the machine, the others are batches. Behind the last are zeros
// or nothing.

const (
	journalMagic  = "flower\x00j"
	journalPrefix = "journal-"
	// journalMost is the size at which another journal is begun, in bytes.
	journalMost = 16 << 20
	// journalAhead is by how much a journal is made longer when it is synced. A file that
	// does not grow is synced in half the time.
	journalAhead = 256 << 10
	// maxJournalRecord is longer than any record.
	maxJournalRecord = 64 << 20
)

// journal is the files that hold what the database may not hold for sure.
type journal struct {
	dir  string
	boot string

	mu     sync.Mutex
	old    []*journalFile // to be removed once the database is synced
	now    *journalFile   // being written; nil until there is something to write
	number uint64         // of the newest file
	named  uint64         // the newest file whose name is synced

	syncing sync.Mutex // held to sync, and to remove what may be being synced
}

// journalPlace is a place in one of the files.
type journalPlace struct{ file, end uint64 }

type journalFile struct {
	*os.File
	info  os.FileInfo // which file it is
	end   int64       // of what is written
	size  int64       // of the file
	dirty bool        // not synced since the last write
}

// openJournal finds the journals of earlier owners, oldest first, and what they hold.
func openJournal(dir, boot string) (*journal, []journalContent, error) {
	j := &journal{dir: dir, boot: boot}
	names, err := listNames(dir)
	if err != nil {
		return nil, nil, err
	}
	var found []journalContent
	for _, n := range names {
		number, err := strconv.ParseUint(strings.TrimPrefix(n, journalPrefix), 10, 64)
		if err != nil || !strings.HasPrefix(n, journalPrefix) {
			continue
		}
		j.number = max(j.number, number)
		path := filepath.Join(dir, n)
		data, err := os.ReadFile(path)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
				j.old = append(j.old, &journalFile{File: f, size: int64(len(data)), dirty: true})
			}
		}
		if err != nil {
			return nil, nil, errors.Join(err, j.close())
		}
		c := readJournal(data, boot)
		c.path, c.number = path, number
		found = append(found, c)
	}
	return j, found, nil
}

// append writes a record and tells where it ends. An error means that nothing was written,
// unless it is one of kind errTorn.
func (j *journal) append(record []byte) (journalPlace, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now == nil {
		if err := j.begin(); err != nil {
			return journalPlace{}, err
		}
	}
	err := j.now.append(record)
	return journalPlace{j.number, uint64(j.now.end)}, err
}

// begin makes the next file.
func (j *journal) begin() error {
	path := filepath.Join(j.dir, fmt.Sprintf("%s%06d", journalPrefix, j.number+1))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	next := &journalFile{File: f, info: info}
	if err := next.append(appendNote([]byte(journalMagic), noteBoot, []byte(j.boot))); err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	j.number++
	j.now = next
	return nil
}

// errTorn: a part of a record was written, and could not be taken back.
var errTorn = errors.New("a record is written in part")

func (f *journalFile) append(record []byte) error {
	f.dirty = true
	if _, err := f.WriteAt(record, f.end); err != nil {
		if terr := f.Truncate(f.end); terr != nil {
			return errors.Join(err, errTorn)
		}
		f.size = f.end
		return err
	}
	f.end += int64(len(record))
	f.size = max(f.size, f.end)
	return nil
}

// gone reports whether the file being written is not the one that its name leads to.
func (j *journal) gone() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now != nil && !isAt(j.now.info, j.now.Name())
}

// large reports whether another journal should be begun, or old ones removed.
func (j *journal) large() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.old) > 0 || j.now != nil && j.now.end > journalMost
}

// sync makes what was appended before safe against a power cut.
func (j *journal) sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	files := slices.DeleteFunc(j.all(), func(f *journalFile) bool { return !f.dirty })
	for _, f := range files {
		f.grow()
		f.dirty = false
	}
	number, named := j.number, j.named == j.number
	j.mu.Unlock()
	err := syncJournals(files, j.dir, named)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		for _, f := range files {
			f.dirty = true
		}
		return err
	}
	j.named = number
	return nil
}

func syncJournals(files []*journalFile, dir string, named bool) error {
	for _, f := range files {
		if err := dataSync(f.File); err != nil {
			return err
		}
	}
	if named {
		return nil
	}
	return syncPath(dir)
}

func (j *journal) all() []*journalFile {
	files := slices.Clone(j.old)
	if j.now != nil {
		files = append(files, j.now)
	}
	return files
}

// grow makes a file longer when it is about to grow anyway. What fails does no harm.
func (f *journalFile) grow() {
	if f.end == 0 || f.size-f.end >= journalAhead/16 {
		return // of an earlier owner, or long enough
	}
	if n, err := f.WriteAt(make([]byte, journalAhead), f.size); err == nil {
		f.size += int64(n)
	}
}

// turn begins another file with the next record, and returns those before and the number
// of the last of them. They may be removed once all that they hold is in the database for
// sure.
func (j *journal) turn() (last uint64, files []*journalFile) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.old = j.all()
	j.now = nil
	return j.number, slices.Clone(j.old)
}

// startBehind lets the numbers of new files begin behind one that was used.
func (j *journal) startBehind(number uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number = max(j.number, number)
}

// held is how much earlier owners left, in bytes.
func (j *journal) held() (size int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.old {
		size += int(f.size)
	}
	return size
}

// remove removes old files, oldest first: with a newer one gone and an older one there,
// the older one would be taken for the newest state.
func (j *journal) remove(files []*journalFile) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range files {
		if err := ignoreMissing(os.Remove(f.Name())); err != nil {
			return err
		}
		f.Close()
		j.old = slices.DeleteFunc(j.old, func(o *journalFile) bool { return o == f })
	}
	return nil
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []error
	for _, f := range j.all() {
		all = append(all, f.Close())
	}
	j.old, j.now = nil, nil
	return errors.Join(all...)
}

// journalContent is what a journal holds.
type journalContent struct {
	path    string
	number  uint64
	batches [][]byte
	ends    []uint64 // of the batches
	torn    bool     // records stand behind a place that cannot be read
	anew    bool     // the machine was started anew since
}

// readJournal finds the batches of a journal. Behind a place that cannot be read it goes
// on, except when the machine was started anew since: then the end of the journal may have
// been lost in pieces, and what is behind the first lost piece is no part of it.
func readJournal(data []byte, boot string) (c journalContent) {
	at := min(len(journalMagic), len(data))
	broken := string(data[:at]) != journalMagic
	for at >= 0 && at < len(data) {
		n, ok := parseNote(data[at:], maxJournalRecord)
		if !ok {
			broken = true
			at = nextUsed(data, at)
			continue
		}
		switch n.kind {
		case noteBoot:
			c.anew = boot == "" || string(n.body) != boot
		case noteBatch:
			c.torn = c.torn || broken
			if !broken || !c.anew {
				c.batches = append(c.batches, n.body)
				c.ends = append(c.ends, uint64(at+frame+len(n.body)))
			}
		}
		at += frame + len(n.body)
	}
	return c
}

// behind is the batches that end behind a place.
func (c *journalContent) behind(p journalPlace) [][]byte {
	switch {
	case c.number > p.file:
		return c.batches
	case c.number < p.file:
		return nil
	}
	n, _ := slices.BinarySearch(c.ends, p.end+1)
	return c.batches[n:]
}
