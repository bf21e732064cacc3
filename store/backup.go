package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/flowerlua/flower/engine/transcript"
)

// A backup is a stream of records, framed like those of the witness. Entries come
// before the transcripts that consist of them, each once, however many forks share
// it. The last record counts the others, so that a part is not taken for the whole.
const (
	backupMagic    = "flower-backup\x00\x02"
	backupEntry    = 'E' // log, seq, record with its bytes inline
	backupHead     = 'T' // key length, key, head
	backupValue    = 'V' // name length, name, value
	backupEnd      = 'Z' // number of records
	maxBackupBytes = 1 << 30
)

// backup writes what the store holds at this moment. What is damaged is written as
// far as it can be read; the error names it.
func (e *engine) backup(ctx context.Context, w io.Writer) error {
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.closed {
		return errClosed()
	}
	out := bufio.NewWriterSize(w, 1<<20)
	b := &backupWriter{e: e, ctx: ctx, w: out, dumped: map[uint64]uint64{}}
	if _, err := out.WriteString(backupMagic); err != nil {
		return err
	}
	err := safely(func() error { return e.view(b.all) })
	if err == nil {
		err = b.put(backupEnd, binary.AppendUvarint(nil, b.n))
	}
	if err == nil {
		err = out.Flush()
	}
	if b.wrote != nil {
		return b.wrote
	}
	if err != nil {
		return translate(err)
	}
	return errors.Join(append(b.damaged, e.lost(transcript.Key{}))...)
}

type backupWriter struct {
	e       *engine
	ctx     context.Context
	w       io.Writer
	n       uint64            // records
	dumped  map[uint64]uint64 // up to which entry a log has been written
	damaged []error
	wrote   error // of w, which is the caller's
	buf     []byte
}

func (b *backupWriter) put(kind byte, body []byte) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.e.life.Err() != nil {
		return errClosed()
	}
	b.buf = appendNote(b.buf[:0], kind, body)
	b.n++
	_, b.wrote = b.w.Write(b.buf)
	return b.wrote
}

func (b *backupWriter) all(txn *badger.Txn) error {
	err := eachKey(txn, []byte{tagHead}, func(item *badger.Item) error {
		key, ok := parseKey(item.Key()[1:])
		if !ok {
			return nil
		}
		h, err := readHead(txn, key)
		if err != nil || h == nil {
			b.damaged = append(b.damaged, err)
			return nil
		}
		return b.transcript(txn, key, h)
	})
	if err != nil {
		return err
	}
	return eachKey(txn, []byte{tagValue}, func(item *badger.Item) error {
		name := string(item.Key()[1:])
		v, err := readValue(txn, name)
		if err != nil {
			b.damaged = append(b.damaged, err)
			return nil
		}
		body := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
		return b.put(backupValue, append(body, v.encode()...))
	})
}

// transcript writes the entries that have not been written yet, and the head.
func (b *backupWriter) transcript(txn *badger.Txn, key transcript.Key, h *head) error {
	var link linker
	for seq := uint64(1); seq <= h.last; seq++ {
		log := h.logOf(seq)
		rec, err := b.e.record(txn, log, seq)
		if err == nil {
			err = b.e.fill(&rec)
		}
		good := link.sum
		if err == nil && link.add(rec.raw) != rec.chain {
			err = errChain
		}
		if err != nil {
			b.damaged = append(b.damaged, damagedAt(key, *h, seq, err))
			h.last, h.chain = seq-1, good
			break
		}
		if seq <= b.dumped[log] {
			continue
		}
		b.dumped[log] = seq
		rec.size = 0 // its bytes are inline here
		body := binary.AppendUvarint(binary.AppendUvarint(nil, log), seq)
		if err := b.put(backupEntry, append(body, rec.encode()...)); err != nil {
			return err
		}
	}
	if h.last == 0 {
		return nil
	}
	name := keyBytes(key)
	body := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	return b.put(backupHead, append(body, h.encode()...))
}

// restoreFolder is Restore.
func restoreFolder(ctx context.Context, dir string, from io.Reader, o Options) error {
	names, err := listNames(dir)
	if len(names) > 0 || ignoreMissing(err) != nil {
		return unavailable("restore to %s: it is not empty: choose another folder", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return unavailable("restore to %s (%v)", dir, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-restore-")
	if err != nil {
		return unavailable("restore to %s (%v)", dir, err)
	}
	defer os.RemoveAll(work)
	if err := restoreTo(ctx, work, from, o); err != nil {
		return fmt.Errorf("restore to %s: %w", dir, err)
	}
	if err := ignoreMissing(os.Remove(dir)); err != nil {
		return unavailable("restore to %s (%v)", dir, err)
	}
	if err := os.Rename(work, dir); err != nil {
		return unavailable("restore to %s (%v)", dir, err)
	}
	return syncPath(filepath.Dir(dir))
}

func restoreTo(ctx context.Context, dir string, from io.Reader, o Options) error {
	w, err := own(dir, o)
	if err != nil {
		return err
	}
	err = w.engine.restore(ctx, from)
	if err == nil {
		l := &link{dir: dir, o: o, b: w}
		var report CheckReport
		if report, err = l.check(ctx); err == nil && len(report.Damaged) > 0 {
			err = report.Damaged[0].Err
		}
	}
	return errors.Join(err, w.close())
}

// errBackup: the stream is no backup, or only a part of one.
var errBackup = fmt.Errorf("this is not a whole backup: take another: %w", transcript.ErrDamaged)

// restore reads a backup into an empty store.
func (e *engine) restore(ctx context.Context, from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<20)
	magic := make([]byte, len(backupMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != backupMagic {
		return errBackup
	}
	t := &restorer{e: e}
	for n := uint64(0); ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.writable(0); err != nil {
			return err
		}
		kind, body, err := readNote(in)
		if err != nil {
			return err
		}
		if kind == backupEnd {
			if count, size := binary.Uvarint(body); size <= 0 || count != n {
				return errBackup
			}
			break
		}
		if err := t.take(kind, body); err != nil {
			return err
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := e.commit(pair{[]byte(keyNextLog), number(t.maxLog + 1)}); err != nil {
		return err
	}
	if err := e.remark(); err != nil {
		return err
	}
	return e.witness.rewrite(e.syncJournal)
}

// readNote reads one record of a stream.
func readNote(in io.Reader) (kind byte, body []byte, err error) {
	var lead [8]byte
	if _, err := io.ReadFull(in, lead[:]); err != nil {
		return 0, nil, errBackup
	}
	n := binary.LittleEndian.Uint32(lead[:])
	if n < 1 || n > maxBackupBytes {
		return 0, nil, errBackup
	}
	body, err = io.ReadAll(io.LimitReader(in, int64(n)))
	if err != nil || len(body) != int(n) || crc32.Checksum(body, crcTable) != binary.LittleEndian.Uint32(lead[4:]) {
		return 0, nil, errBackup
	}
	return body[0], body[1:], nil
}

// restorer gathers what is read into batches.
type restorer struct {
	e      *engine
	maxLog uint64
	body   []pair
	size   int
}

func (t *restorer) take(kind byte, body []byte) error {
	r := reader{b: body}
	switch kind {
	case backupEntry:
		log, seq := r.uint(), r.uint()
		rec, err := decodeRecord(r.b)
		if err != nil || r.bad || rec.size > 0 {
			return errBackup
		}
		return t.entry(log, seq, rec)
	case backupHead:
		name := r.take(r.uint())
		h, err := decodeHead(r.b)
		key, ok := parseKey(name)
		if err != nil || r.bad || !ok {
			return errBackup
		}
		return t.head(key, h)
	case backupValue:
		name := r.take(r.uint())
		if _, err := decodeValue(r.b); err != nil || r.bad {
			return errBackup
		}
		return t.put(pair{valueKey(string(name)), r.b})
	}
	return errBackup
}

func (t *restorer) entry(log, seq uint64, rec record) error {
	t.maxLog = max(t.maxLog, log)
	var hd transcript.Header
	if err := hd.UnmarshalBinary(rec.header); err != nil {
		return errBackup
	}
	if len(rec.raw) > maxInline {
		hash, err := t.e.blobs.put(rec.raw)
		if err != nil {
			return err
		}
		rec.blob, rec.size, rec.raw = hash, uint64(len(rec.raw)), nil
		if err := t.put(pair{blobKey(hash, log, seq), number(rec.size)}); err != nil {
			return err
		}
	}
	if hd.UUID != "" {
		if err := t.put(pair{uuidKey(log, hd.UUID), number(seq)}); err != nil {
			return err
		}
	}
	return t.put(pair{entryKey(log, seq), rec.encode()})
}

func (t *restorer) head(key transcript.Key, h head) error {
	t.maxLog = max(t.maxLog, h.log)
	for _, p := range h.shared {
		if err := t.put(pair{readerKey(p.log, key), number(p.end)}); err != nil {
			return err
		}
	}
	if err := t.put(pair{readerKey(h.log, key), number(ownerReads)}); err != nil {
		return err
	}
	return t.put(pair{headKey(key), h.encode()})
}

func (t *restorer) put(p pair) error {
	t.body = append(t.body, p)
	if t.size += len(p.key) + len(p.value); t.size > batchMost {
		return t.flush()
	}
	return nil
}

func (t *restorer) flush() error {
	if len(t.body) == 0 {
		return nil
	}
	err := t.e.commit(t.body...)
	t.body, t.size = nil, 0
	return err
}
