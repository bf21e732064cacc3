package store

import (
	"bufio"
	"encoding/gob"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// Owner and clients exchange gob values over a Unix socket: first a hello each way,
// then any number of queries and answers, matched by number. A watch is a query
// with many answers, until it is stopped.

// protocol is the version of what follows; owner and client must have the same.
const protocol = 2

// writeLimit is how long one message may take to be written before the connection
// is given up.
const writeLimit = 30 * time.Second

type hello struct {
	Protocol int
	PID      int
}

type query struct {
	N       uint64 // 0 is a ping
	Stop    bool   // end the watch N
	Q       request
	Entries []wireEntry // of Q
}

type answer struct {
	N       uint64 // 0 answers a ping
	R       reply
	Entries []wireEntry // of R
	Kind    errorKind
	Text    string
}

// wireEntry is an Entry as it goes over the wire; an Entry itself would be taken
// for its header.
type wireEntry struct {
	Seq    uint64
	Header transcript.Header
	Raw    []byte
}

func toWire(es []transcript.Entry) []wireEntry {
	out := make([]wireEntry, len(es))
	for i, en := range es {
		out[i] = wireEntry{en.Seq, en.Header, en.Raw}
	}
	return out
}

func fromWire(es []wireEntry) []transcript.Entry {
	out := make([]transcript.Entry, len(es))
	for i, en := range es {
		out[i] = transcript.Entry{Seq: en.Seq, Header: en.Header, Raw: en.Raw}
	}
	return out
}

// errorKind keeps errors.Is working over the wire.
type errorKind uint8

const (
	errorNone errorKind = iota
	errorNotFound
	errorConflict
	errorUnavailable
	errorDamaged
	errorShut // the owner is closing: somebody else must take over
	errorOther
	errorClosed // its folder is gone: nobody can take over
)

func kindOf(err error) errorKind {
	switch {
	case err == nil:
		return errorNone
	case isRemoved(err):
		return errorClosed
	case errors.Is(err, errShut):
		return errorShut
	case errors.Is(err, transcript.ErrDamaged):
		return errorDamaged
	case errors.Is(err, transcript.ErrNotFound):
		return errorNotFound
	case errors.Is(err, transcript.ErrConflict):
		return errorConflict
	case errors.Is(err, transcript.ErrUnavailable):
		return errorUnavailable
	}
	return errorOther
}

// error is the error that the answer tells of.
func (a *answer) error() error {
	switch a.Kind {
	case errorNone:
		return nil
	case errorNotFound:
		return &toldError{a.Text, transcript.ErrNotFound}
	case errorConflict:
		return &toldError{a.Text, transcript.ErrConflict}
	case errorUnavailable:
		return &toldError{a.Text, transcript.ErrUnavailable}
	case errorDamaged:
		return &toldError{a.Text, transcript.ErrDamaged}
	case errorClosed:
		return &toldError{a.Text, transcript.ErrClosed}
	case errorShut:
		return errGone
	}
	return errors.New(a.Text)
}

// toldError is an error that the owner told of.
type toldError struct {
	text string
	kind error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// wire is one end of a connection. Reading is for one goroutine, writing for any.
type wire struct {
	conn net.Conn
	dec  *gob.Decoder

	mu  sync.Mutex
	out *bufio.Writer
	enc *gob.Encoder
}

func newWire(conn net.Conn) *wire {
	out := bufio.NewWriterSize(conn, 32<<10)
	return &wire{conn: conn, dec: gob.NewDecoder(bufio.NewReaderSize(conn, 32<<10)), out: out, enc: gob.NewEncoder(out)}
}

// send writes one message. After an error the connection is of no more use.
func (w *wire) send(v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if err == nil {
		err = w.enc.Encode(v)
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		w.conn.Close()
	}
	return err
}

// greet exchanges hellos, within limit.
func (w *wire) greet(mine hello, limit time.Duration) (theirs hello, err error) {
	if err := w.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return theirs, err
	}
	if err := w.send(mine); err != nil {
		return theirs, err
	}
	if err := w.dec.Decode(&theirs); err != nil {
		return theirs, err
	}
	if theirs.Protocol != mine.Protocol {
		return theirs, unavailable("process %d uses the store with another version of flower: end it, or use the same version", theirs.PID)
	}
	return theirs, w.conn.SetDeadline(time.Time{})
}
