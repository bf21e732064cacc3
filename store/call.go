package store

import (
	"context"
	"fmt"
	"io"

	"github.com/flowerlua/flower/engine/transcript"
)

// A Store turns each method into a request and hands it to its backend: the engine
// when this process owns the store, a remote when another does. Both answer the
// same requests, so there is one implementation of every operation.

type op uint8

const (
	opAppend op = iota + 1
	opLoad
	opHead
	opFork
	opList
	opDelete
	opGet
	opPut
	opSync
	opWatch
	opGC
	opCheck
	opCheckValues
	opLost
	opBackup
)

// writes reports whether the operation changes the store.
func (o op) writes() bool { return o == opAppend || o == opFork || o == opDelete || o == opPut }

// request is one call of an operation; which fields matter depends on Op.
type request struct {
	Op      op
	Key     transcript.Key // or a prefix
	Dst     transcript.Key
	Entries []transcript.Entry
	Seq     uint64 // the expected newest, or the one to load after
	At      string // a uuid, or a small value's name
	Value   []byte
	Rev     uint64
	Page    cursor
	room    []transcript.Entry // of the last page, to be used again
	// Again: the request was sent before, to an owner that may have carried it
	// out and gone away before it answered.
	Again bool
}

// cursor says how far a paged answer has come. The zero cursor is the beginning.
type cursor struct {
	Log  uint64 // of the transcript being loaded, to notice that it was replaced
	Last uint64 // the entry to stop at
	Key  []byte // the last key listed
}

// reply is the answer. It may hold entries although there is an error too: what
// was readable before the damage.
type reply struct {
	Seq     uint64
	Head    transcript.Head
	Entries []transcript.Entry
	Infos   []transcript.Info
	Changes []transcript.Change
	Value   []byte
	Rev     uint64
	GC      GCReport
	More    bool // ask again, with Page
	Page    cursor
}

// backend answers requests; the reply is never nil. It is safe for concurrent use.
type backend interface {
	call(ctx context.Context, q *request) (*reply, error)
	watch(ctx context.Context, prefix transcript.Key) (watcher, error)
	backup(ctx context.Context, w io.Writer) error
	close() error
}

// watcher gives the changes since the last time it was asked. Only one goroutine
// may ask; stop may be called from any.
type watcher interface {
	next(ctx context.Context) ([]transcript.Change, error)
	stop()
}

// call carries out one request.
func (e *engine) call(ctx context.Context, q *request) (r *reply, err error) {
	r = new(reply)
	if err := ctx.Err(); err != nil {
		return r, err
	}
	if q.Op == opGC {
		r.GC, err = e.reclaim(ctx)
		return r, translate(err)
	}
	return r, e.inside(func() error { return e.dispatch(ctx, q, r) })
}

func (e *engine) dispatch(ctx context.Context, q *request, r *reply) (err error) {
	switch q.Op {
	case opAppend:
		r.Seq, err = e.append(ctx, q.Key, q.Seq, q.Entries)
	case opLoad:
		r.Entries = q.room
		err = e.load(q.Key, q.Seq, q.Page, r)
	case opHead:
		r.Head, err = e.head(q.Key)
	case opFork:
		err = e.fork(ctx, q)
	case opList:
		err = e.list(q.Key, q.Page, r)
	case opDelete:
		err = e.delete(ctx, q.Key)
	case opGet:
		r.Value, r.Rev, err = e.get(q.At)
	case opPut:
		r.Rev, err = e.put(ctx, q)
	case opSync:
		err = e.sync(ctx)
	case opCheck:
		err = e.checkTranscript(ctx, q.Key, r)
	case opCheckValues:
		err = e.checkValues(ctx, r)
	case opLost:
		err = e.lostInfos(r)
	default:
		err = fmt.Errorf("request %d is not known to the owner of the store: use the same version of flower everywhere", q.Op)
	}
	return err
}

func (e *engine) watch(_ context.Context, prefix transcript.Key) (watcher, error) {
	w, err := e.hub.subscribe(prefix)
	if err != nil {
		return nil, err
	}
	return w, nil
}
