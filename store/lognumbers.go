package store

import (
	"errors"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// logNumbers hands out the numbers of logs, leased from the database in runs.
type logNumbers struct {
	mu        sync.Mutex
	at, limit uint64
}

const logLease = 1024

func (l *logNumbers) next(e *engine) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == l.limit {
		from, err := e.unusedLog()
		if err != nil {
			return 0, err
		}
		if err := e.commit(pair{[]byte(keyNextLog), number(from + logLease)}); err != nil {
			return 0, err
		}
		l.at, l.limit = from, from+logLease
	}
	l.at++
	return l.at - 1, nil
}

// unusedLog is a number above which no log has one. What is noted of it may be lost to
// damage; a log that is there must not be written to again all the same.
func (e *engine) unusedLog() (from uint64, err error) {
	err = e.view(func(txn *badger.Txn) error {
		b, err := getBytes(txn, []byte(keyNextLog))
		if err == nil {
			from, err = decodeNumber(b)
		}
		if errors.Is(err, badger.ErrKeyNotFound) {
			err = nil
		}
		for _, tag := range []byte{tagEntry, tagReader} {
			from = max(from, newestLog(txn, tag)+1)
		}
		return err
	})
	return from, err
}

// newestLog is the highest number of a log in keys with that tag, 0 when there is none.
func newestLog(txn *badger.Txn, tag byte) uint64 {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues, o.Reverse = false, true
	it := txn.NewIterator(o)
	defer it.Close()
	it.Seek([]byte{tag + 1})
	if !it.ValidForPrefix([]byte{tag}) {
		return 0
	}
	return keyLog(it.Item().Key())
}
