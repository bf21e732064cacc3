package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// Limits of one page of a paged answer.
const (
	pageEntries = 1024
	pageBytes   = 4 << 20
	pageInfos   = 512
)

// errReplaced: the transcript was deleted while it was being read.
var errReplaced = fmt.Errorf("it was deleted while it was read: %w", transcript.ErrNotFound)

// view runs f on what was written before.
func (e *engine) view(f func(txn *badger.Txn) error) error {
	if err := e.settleQueue(); err != nil {
		return err
	}
	return e.snapshot(f)
}

// snapshot runs f on what the database holds, which may not be all that was written.
func (e *engine) snapshot(f func(txn *badger.Txn) error) error {
	txn := e.db.NewTransaction(false)
	defer txn.Discard()
	return f(txn)
}

func getBytes(txn *badger.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if err != nil {
		return nil, err
	}
	return item.ValueCopy(nil)
}

// readHead is nil when there is no such transcript.
func readHead(txn *badger.Txn, key transcript.Key) (*head, error) {
	b, err := getBytes(txn, headKey(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := decodeHead(b)
	if err != nil {
		return nil, fmt.Errorf("session %s: head: %w; restore a backup: %w", key, err, transcript.ErrDamaged)
	}
	return &h, nil
}

// lookup runs f with key's head, nil when there is no such transcript. lack is set
// when the witness remembers more than the database holds; what f is given is then
// what is left.
func (e *engine) lookup(key transcript.Key, f func(txn *badger.Txn, h *head, lack error) error) error {
	name := string(keyBytes(key))
	for {
		// The witness is asked first: it follows the database, except at deletion.
		m, known := e.witness.mark(name)
		again := false
		err := e.view(func(txn *badger.Txn) error {
			h, err := readHead(txn, key)
			if err != nil {
				return err
			}
			var lack error
			if known {
				lack = lacks(key, h, m)
			}
			if lack != nil {
				if now, still := e.witness.mark(name); !still || now != m {
					again = true
					return nil
				}
			}
			return f(txn, h, lack)
		})
		if !again {
			return err
		}
	}
}

// lacks says what h misses of what the witness knows.
func lacks(key transcript.Key, h *head, m mark) error {
	switch {
	case h == nil:
		return damagedShort(key, 0, m.last)
	case h.last < m.last:
		return damagedShort(key, h.last, m.last)
	case h.last == m.last && h.chain != m.chain:
		return fmt.Errorf("session %s: it does not hold the entries that were written to it; restore a backup: %w",
			key, transcript.ErrDamaged)
	}
	return nil
}

// record reads one entry.
func (e *engine) record(txn *badger.Txn, log, seq uint64) (record, error) {
	b, err := getBytes(txn, entryKey(log, seq))
	if err != nil {
		return record{}, err
	}
	return decodeRecord(b)
}

// fill reads rec's bytes from their file, if they are in one.
func (e *engine) fill(rec *record) (err error) {
	if rec.size > 0 {
		rec.raw, err = e.blobs.get(rec.blob, rec.size)
	}
	return err
}

// head is Head.
func (e *engine) head(key transcript.Key) (out transcript.Head, err error) {
	if err := checkKey(key); err != nil {
		return out, err
	}
	err = e.lookup(key, func(_ *badger.Txn, h *head, lack error) error {
		switch {
		case lack != nil:
			return lack
		case h == nil:
			return notFound("session " + key.String())
		}
		out = h.public()
		return nil
	})
	return out, err
}

// load gives the next page of key's entries after seq. With an error r still holds
// the entries before what could not be read.
func (e *engine) load(key transcript.Key, after uint64, page cursor, r *reply) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return e.lookup(key, func(txn *badger.Txn, h *head, lack error) (err error) {
		switch {
		case h == nil && lack != nil:
			return lack
		case h == nil && page.Log != 0, h != nil && page.Log != 0 && h.log != page.Log:
			return fmt.Errorf("session %s: %w", key, errReplaced)
		case h == nil:
			return notFound("session " + key.String())
		}
		if page.Log == 0 {
			page = cursor{Log: h.log, Last: h.last}
		}
		last := min(page.Last, h.last)
		if after >= last {
			return lack
		}
		if r.Entries, err = e.readPage(txn, key, h, r.Entries, after, last); err != nil {
			return e.unlessReplaced(key, h.log, err)
		}
		if n := len(r.Entries); n > 0 && r.Entries[n-1].Seq < last {
			r.More, r.Page = true, page
			return nil
		}
		return lack
	})
}

// unlessReplaced is err, unless what was read has been deleted in the meantime,
// when it is no wonder that files are gone.
func (e *engine) unlessReplaced(key transcript.Key, log uint64, err error) error {
	return e.view(func(txn *badger.Txn) error {
		if h, herr := readHead(txn, key); herr == nil && (h == nil || h.log != log) {
			return fmt.Errorf("session %s: %w", key, errReplaced)
		}
		return err
	})
}

// readPage reads entries after one, up to last at most, into room. With an error it gives
// those before what could not be read. Two halves are read side by side: they are checked
// each by itself, the second from the link of the chain at which the first ends.
func (e *engine) readPage(txn *badger.Txn, key transcript.Key, h *head, room []transcript.Entry, after, last uint64) ([]transcript.Entry, error) {
	const apart = 64 // so many are read as quickly by one
	last = min(last, after+pageEntries)
	room = slices.Grow(room[:0], int(last-after))
	if last-after < apart {
		p := pageReader{e: e, key: key, h: h, entries: room}
		err := p.read(txn, after, last)
		return p.entries, err
	}
	half := int(last-after) / 2
	mid := after + uint64(half)
	first := pageReader{e: e, key: key, h: h, entries: room[:0:half]}
	second := pageReader{e: e, key: key, h: h, entries: room[half:half:cap(room)]}
	done := make(chan error, 1)
	go func() { done <- safely(func() error { return second.read(txn, mid, last) }) }()
	err := safely(func() error { return first.read(txn, after, mid) })
	rest := <-done
	if err != nil || len(first.entries) < half {
		return first.entries, err
	}
	return room[:half+len(second.entries)], rest
}

// pageReader collects entries and follows the chain from one to the next.
type pageReader struct {
	e       *engine
	key     transcript.Key
	h       *head
	entries []transcript.Entry // has room for all
	link    linker
	size    int
	free    []byte // room for the bytes of entries
	// headers are the forms of the entries' headers, the i-th up to ends[i].
	headers []byte
	ends    []int
}

func (p *pageReader) read(txn *badger.Txn, after, last uint64) error {
	p.ends = make([]int, 0, last-after)
	p.headers = make([]byte, 0, (last-after)*headerSize)
	err := p.readRaw(txn, after, last)
	n, bad := transcript.DecodeHeaders(p.entries, p.headers, p.ends)
	if bad == nil {
		return err
	}
	seq := p.entries[n].Seq
	p.entries = p.entries[:n]
	return damagedAt(p.key, *p.h, seq, bad)
}

// readRaw reads all but the headers.
func (p *pageReader) readRaw(txn *badger.Txn, after, last uint64) error {
	if after > 0 {
		rec, err := p.e.record(txn, p.h.logOf(after), after)
		if err != nil {
			return damagedAt(p.key, *p.h, after, err)
		}
		p.link.sum = rec.chain
	}
	for _, s := range p.h.spans(after+1, last) {
		more, err := p.readSpan(txn, s)
		if err != nil || !more {
			return err
		}
	}
	if last == p.h.last && p.link.sum != p.h.chain {
		return damagedAt(p.key, *p.h, last, errChain)
	}
	return nil
}

// readSpan reads the entries of one log. more is false when the page is full.
func (p *pageReader) readSpan(txn *badger.Txn, s span) (more bool, err error) {
	it := keysOf(txn, logPrefix(tagEntry, s.log))
	defer it.Close()
	it.Seek(entryKey(s.log, s.first))
	for seq := s.first; seq <= s.last; seq++ {
		if p.size > pageBytes/2 {
			return false, nil
		}
		if !it.Valid() || keyNumber(it.Item().Key()) != seq {
			return false, damagedAt(p.key, *p.h, seq, errMissing)
		}
		if err := it.Item().Value(func(b []byte) error { return p.take(seq, b) }); err != nil {
			return false, damagedAt(p.key, *p.h, seq, err)
		}
		it.Next()
	}
	return true, nil
}

var (
	errChain   = errors.New("it is not what was written there")
	errMissing = errors.New("it is missing")
)

// take checks one stored record and adds it to the page; b is not kept.
func (p *pageReader) take(seq uint64, b []byte) error {
	rec, err := decodeRecord(b)
	if err != nil {
		return err
	}
	if rec.size > 0 {
		err = p.e.fill(&rec)
	} else {
		rec.raw = p.keep(rec.raw)
	}
	if err != nil {
		return err
	}
	if p.link.add(rec.raw) != rec.chain {
		return errChain
	}
	p.entries = append(p.entries, transcript.Entry{Seq: seq, Raw: rec.raw})
	p.headers = append(p.headers, rec.header...)
	p.ends = append(p.ends, len(p.headers))
	p.size += len(rec.raw)
	return nil
}

// pieceBytes is how much memory is taken for entries at a time. Small ones share a piece:
// memory of their own costs more time than their bytes, and a reader of a page mostly keeps
// all of it.
const pieceBytes = 64 << 10

// headerSize is about what the form of a header takes, in bytes.
const headerSize = 160

// keep copies b.
func (p *pageReader) keep(b []byte) []byte {
	if len(b) > pieceBytes/8 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if len(b) > cap(p.free) {
		p.free = make([]byte, 0, pieceBytes)
	}
	kept := append(p.free, b...)
	p.free = kept[len(kept):]
	return kept[:len(kept):len(kept)]
}

// list gives the next page of the transcripts below prefix. What the witness knows
// and the database has lost is an error behind the last of them.
func (e *engine) list(prefix transcript.Key, page cursor, r *reply) error {
	var lack error
	err := e.view(func(txn *badger.Txn) error {
		it := keysOf(txn, headPrefix(prefix))
		defer it.Close()
		if page.Key == nil {
			it.Rewind()
		} else {
			it.Seek(append(page.Key, 0)) // the least key behind the last one listed
		}
		for ; it.Valid(); it.Next() {
			if len(r.Infos) == pageInfos {
				r.More = true
				r.Page.Key = headKey(r.Infos[pageInfos-1].Key)
				return nil
			}
			if err := listOne(prefix, it.Item(), r); err != nil {
				lack = err
			}
		}
		return nil
	})
	if err != nil || r.More {
		return err
	}
	return errors.Join(lack, e.lost(prefix))
}

func listOne(prefix transcript.Key, item *badger.Item, r *reply) error {
	key, ok := parseKey(item.Key()[1:])
	if !ok {
		return fmt.Errorf("list: a head with a key that makes no sense: %w", transcript.ErrDamaged)
	}
	if !below(key, prefix) {
		return nil
	}
	return item.Value(func(b []byte) error {
		h, err := decodeHead(b)
		if err != nil {
			return fmt.Errorf("session %s: head: %w: %w", key, err, transcript.ErrDamaged)
		}
		r.Infos = append(r.Infos, transcript.Info{Key: key, Head: h.public()})
		return nil
	})
}

// lost is an error that names what below prefix the witness knows and the database
// holds less of. Only what was before the store was opened can be lost, so all of it
// is looked at once.
func (e *engine) lost(prefix transcript.Key) error {
	e.lostOnce.Do(func() {
		for _, name := range e.witness.keys() {
			if key, ok := parseKey([]byte(name)); ok && e.lack(key) != nil {
				e.lostKeys = append(e.lostKeys, key)
			}
		}
	})
	var all []error
	for _, key := range e.lostKeys {
		if below(key, prefix) {
			all = append(all, e.lack(key))
		}
	}
	return errors.Join(all...)
}

func (e *engine) lack(key transcript.Key) error {
	return e.lookup(key, func(_ *badger.Txn, _ *head, lack error) error { return lack })
}
