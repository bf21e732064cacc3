package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// maxOwners is how many owners may go away during one call before it gives up.
const maxOwners = 20

// link connects a Store with whatever answers its requests at the time: the engine
// when this process owns the store, else a remote. When the owner goes away, the
// next call looks for a new one, and becomes it if there is none.
type link struct {
	dir  string
	o    Options
	ctx  context.Context // ends with the Store
	stop context.CancelFunc
	turn chan struct{} // held by the one who connects

	mu     sync.Mutex
	b      backend
	closed bool
}

func (l *link) open(dir string, o Options) error {
	l.dir, l.o = dir, o
	if err := prepareDir(dir); err != nil {
		return err
	}
	l.turn = make(chan struct{}, 1)
	l.ctx, l.stop = context.WithCancel(context.Background())
	_, err := l.backend(l.ctx)
	if err != nil {
		l.stop()
	}
	return err
}

// backend is the present one; it connects if there is none.
func (l *link) backend(ctx context.Context) (backend, error) {
	if b, err := l.current(); b != nil || err != nil {
		return b, err
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.ctx.Done():
		return nil, errClosed()
	}
	if b, err := l.current(); b != nil || err != nil {
		return b, err
	}
	b, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = b
	return b, nil
}

func (l *link) current() (backend, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed()
	}
	return l.b, nil
}

// lose forgets a backend that is gone.
func (l *link) lose(b backend) {
	l.mu.Lock()
	if l.b == b {
		l.b = nil
	}
	l.mu.Unlock()
	_ = b.close() // a remote, whose connection has ended
}

// connect becomes the owner or finds it, trying both by turns: an owner that
// begins or ends does not answer for a moment.
func (l *link) connect(ctx context.Context) (backend, error) {
	begun, pause := time.Now(), 2*time.Millisecond
	for {
		o, err := own(l.dir, l.o)
		if err == nil {
			return o, nil
		}
		if !errors.Is(err, errBusy) {
			return nil, err
		}
		n, err := readNotice(l.dir)
		if err == nil && n.Error != "" {
			err = errors.New(n.Error)
		}
		if err == nil {
			var r *remote
			if r, err = dial(ctx, n.Socket, l.o.Patience); err == nil {
				return r, nil
			}
		}
		if errors.Is(err, transcript.ErrUnavailable) {
			return nil, err
		}
		if time.Since(begun) > l.o.Patience {
			return nil, unavailable("store %s is owned by process %d, which does not answer (%v): wait for it, or end it", l.dir, n.PID, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.ctx.Done():
			return nil, errClosed()
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// call sends a request until somebody answers it.
func (l *link) call(ctx context.Context, q request) (*reply, error) {
	for range maxOwners {
		b, err := l.backend(ctx)
		if err != nil {
			return new(reply), err
		}
		r, err := l.ask(ctx, b, &q)
		if !errors.Is(err, errGone) {
			return r, err
		}
		l.lose(b)
		q.Again = true
	}
	return new(reply), unavailable("store %s: its owners end as soon as they begin", l.dir)
}

// ask has b carry out a request. An owner does not know whether this process wants
// every write to be synced.
func (l *link) ask(ctx context.Context, b backend, q *request) (*reply, error) {
	r, err := b.call(ctx, q)
	_, elsewhere := b.(*remote)
	if err != nil || !elsewhere || !l.o.SyncAlways || !q.Op.writes() {
		return r, err
	}
	_, err = b.call(ctx, &request{Op: opSync})
	return r, err
}

// backup is not begun anew when the owner goes away: a part has been written.
func (l *link) backup(ctx context.Context, w io.Writer) error {
	b, err := l.backend(ctx)
	if err != nil {
		return err
	}
	err = b.backup(ctx, w)
	if errors.Is(err, errGone) {
		l.lose(b)
		return unavailable("backup of %s: its owner ended meanwhile: begin again", l.dir)
	}
	return err
}

// close ends the link, and with it the owner, if it is one.
func (l *link) close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.turn <- struct{}{} // whoever connects has noticed
	defer func() { <-l.turn }()
	if l.b == nil {
		return nil
	}
	return l.b.close()
}

// owner is the backend of the process that owns the store.
type owner struct {
	*engine
	dir    string
	lock   *os.File
	server *server // nil when it could not listen
}

// own takes the lock, opens the engine and begins to serve; errBusy when another
// has the lock.
func own(dir string, o Options) (*owner, error) {
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	e, err := openEngine(dir, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	w := &owner{engine: e, dir: dir, lock: lock}
	n := notice{PID: os.Getpid()}
	ln, err := listen(dir)
	if err != nil {
		n.Error = "it cannot listen: " + err.Error()
	} else {
		n.Socket = ln.Addr().(*net.UnixAddr).Name
		w.server = serve(e, ln)
	}
	if err := writeNotice(dir, n); err != nil {
		return nil, errors.Join(unavailable("store %s (%v)", dir, err), w.close())
	}
	return w, nil
}

// close serves to the last, so that the others wait only while files are closed.
func (w *owner) close() error {
	err := w.rest()
	if w.server != nil {
		w.server.shut()
	}
	err = errors.Join(err, w.engine.close())
	if rerr := os.Remove(filepath.Join(w.dir, fileOwner)); !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return errors.Join(err, w.lock.Close())
}

// watch watches from now on; the loop reads what was seen.
func (l *link) watch(ctx context.Context, prefix transcript.Key) iter.Seq2[transcript.Change, error] {
	w := &watch{l: l, prefix: prefix, seen: map[transcript.Key]uint64{}}
	begun := w.begin(ctx)
	release := context.AfterFunc(ctx, w.stop)
	return func(yield func(transcript.Change, error) bool) {
		defer func() { release(); w.stop() }()
		if begun != nil {
			yield(transcript.Change{}, begun)
			return
		}
		for {
			changes, err := w.next(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(transcript.Change{}, err)
				return
			}
			for _, c := range changes {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// watch is one watch over all the owners that come and go.
type watch struct {
	l      *link
	prefix transcript.Key
	seen   map[transcript.Key]uint64 // what was told last

	mu  sync.Mutex
	b   backend
	w   watcher
	end bool
}

// begin finds a backend to watch at.
func (w *watch) begin(ctx context.Context) error {
	for range maxOwners {
		b, err := w.l.backend(ctx)
		if err != nil {
			return err
		}
		sub, err := b.watch(ctx, w.prefix)
		if err == nil {
			w.mu.Lock()
			w.b, w.w = b, sub
			end := w.end
			w.mu.Unlock()
			if end {
				sub.stop()
			}
			return nil
		}
		if !errors.Is(err, errGone) {
			return err
		}
		w.l.lose(b)
	}
	return errClosed()
}

// next waits for changes. When the owner goes away, it watches at the next one, and
// tells of all that may have changed in between.
func (w *watch) next(ctx context.Context) ([]transcript.Change, error) {
	changes, err := w.w.next(ctx)
	if errors.Is(err, errGone) {
		w.l.lose(w.b)
		if err = w.begin(ctx); err == nil {
			changes, err = w.missed(ctx)
		}
	}
	for _, c := range changes {
		w.seen[c.Key] = c.Last
		if c.Last == 0 {
			delete(w.seen, c.Key)
		}
	}
	return changes, err
}

// missed are the transcripts that are not as they were told of last.
func (w *watch) missed(ctx context.Context) (out []transcript.Change, err error) {
	now := map[transcript.Key]bool{}
	q := request{Op: opList, Key: w.prefix}
	for more := true; more; {
		r, err := w.l.call(ctx, q)
		if err != nil && !errors.Is(err, transcript.ErrDamaged) {
			return nil, err
		}
		for _, info := range r.Infos {
			now[info.Key] = true
			if w.seen[info.Key] != info.Head.Last {
				out = append(out, transcript.Change{Key: info.Key, Last: info.Head.Last})
			}
		}
		more, q.Page = r.More, r.Page
	}
	for key := range w.seen {
		if !now[key] {
			out = append(out, transcript.Change{Key: key})
		}
	}
	return out, nil
}

// stop may be called from any goroutine.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = true
	if w.w != nil {
		w.w.stop()
	}
}
