package store

import (
	"errors"
	"os"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// settle compares the database with the marker and the witness.
func (e *engine) settle(m marker, found recall) error {
	if err := e.checkID(m); err != nil {
		return err
	}
	if found.lost {
		if err := e.remark(); err != nil {
			return err
		}
	}
	for _, name := range found.unsure {
		if key, ok := parseKey([]byte(name)); ok {
			if err := e.settleOne(key); err != nil {
				return err
			}
		}
	}
	if found.lost || found.stale {
		if err := e.witness.rewrite(e.syncJournal); err != nil {
			return err
		}
	}
	if len(e.found.aside) > 0 && e.lost(transcript.Key{}) == nil {
		for _, path := range e.found.aside {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkID makes sure that the database is the one that the marker speaks of.
func (e *engine) checkID(m marker) error {
	var id []byte
	err := e.view(func(txn *badger.Txn) (err error) {
		id, err = getBytes(txn, []byte(keyStoreID))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	now, err := readMarker(e.dir)
	if err != nil {
		return err
	}
	switch {
	case len(id) > 0 && now.Store == "": // the marker is lost; the database tells
		e.id = string(id)
		return writeMarker(e.dir, marker{Store: "flower", Format: format, ID: e.id, Ready: true})
	case len(id) == 0 && (m.Ready || now.Store == "") && !e.o.repair:
		return e.damaged("its database is empty")
	case len(id) == 0 && now.Store == "":
		now = newMarker()
	case len(id) > 0 && string(id) != now.ID:
		return e.damaged("its database belongs to another store")
	}
	e.id = now.ID
	if now.Ready && len(id) > 0 {
		return nil
	}
	e.unready = true
	return e.commit(pair{[]byte(keyStoreID), []byte(e.id)})
}

// ready lets the marker say that the database holds the id, once it surely does.
func (e *engine) ready() error {
	if !e.unready {
		return nil
	}
	if err := e.syncJournal(); err != nil {
		return err
	}
	return writeMarker(e.dir, marker{Store: "flower", Format: format, ID: e.id, Ready: true})
}

// remark makes the marks anew, from the database.
func (e *engine) remark() error {
	return e.view(func(txn *badger.Txn) error {
		err := eachKey(txn, []byte{tagHead}, func(item *badger.Item) error {
			name := string(item.Key()[1:])
			return item.Value(func(b []byte) error {
				if h, err := decodeHead(b); err == nil {
					e.witness.marks[name] = mark{h.last, h.chain}
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		return eachKey(txn, []byte{tagValue}, func(item *badger.Item) error {
			name := string(item.Key()[1:])
			return item.Value(func(b []byte) error {
				if v, err := decodeValue(b); err == nil {
					e.witness.values[name] = v.rev
				}
				return nil
			})
		})
	})
}

// settleOne looks at a transcript whose newest entries a power cut may have torn,
// and ends it before the first that cannot be read.
func (e *engine) settleOne(key transcript.Key) error {
	name := string(keyBytes(key))
	m := e.witness.marks[name]
	var h *head
	good := linker{sum: m.chain}
	last := m.last
	err := e.view(func(txn *badger.Txn) (err error) {
		if h, err = readHead(txn, key); err != nil || h == nil {
			return err
		}
		for seq := m.last + 1; seq <= h.last; seq++ {
			rec, err := e.record(txn, h.logOf(seq), seq)
			if err == nil {
				err = e.fill(&rec)
			}
			link := linker{sum: good.sum}
			if err != nil || link.add(rec.raw) != rec.chain {
				return nil
			}
			good, last = link, seq
		}
		return nil
	})
	switch {
	case err != nil || h == nil || h.last < m.last:
		return err // what is missing shows when the session is read
	case last == 0:
		return e.remove([][]byte{headKey(key)})
	case last < h.last:
		h.last, h.chain = last, good.sum
		if err := e.commit(pair{headKey(key), h.encode()}); err != nil {
			return err
		}
	}
	e.witness.marks[name] = mark{last, good.sum}
	return nil
}
