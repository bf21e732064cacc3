package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// Random does n random operations with a store and with a model, and compares what
// they say. The same seed gives the same operations. Now and then it calls reopen,
// which closes the store and opens it again, or kills its process; nil means never.
func Random(t *testing.T, st transcript.Store, seed uint64, n int, reopen func(transcript.Store) transcript.Store) {
	t.Helper()
	t.Logf("seed %d, %d operations", seed, n)
	w := &walk{t: t, st: st, m: newModel(), r: rand.New(rand.NewPCG(seed, 1))}
	for i := range n {
		if reopen != nil && w.r.IntN(400) == 0 {
			w.st = reopen(w.st)
		}
		if err := w.step(); err != nil {
			t.Fatalf("seed %d, operation %d: %v", seed, i, err)
		}
	}
	if err := w.compareAll(); err != nil {
		t.Fatalf("seed %d, at the end: %v", seed, err)
	}
}

// walk is a store and a model on the same way.
type walk struct {
	t  *testing.T
	st transcript.Store
	m  *model
	r  *rand.Rand
	id int
}

func (w *walk) step() error {
	switch p := w.r.IntN(100); {
	case p < 50:
		return w.append()
	case p < 60:
		return w.fork()
	case p < 65:
		return w.delete()
	case p < 75:
		return w.put()
	case p < 79:
		return w.list()
	case p < 80:
		return w.st.Sync(ctx)
	}
	return w.load(w.key())
}

// key is one of few, so that operations meet.
func (w *walk) key() transcript.Key {
	k := transcript.Key{Project: "p", Session: fmt.Sprint("s", w.r.IntN(8))}
	if w.r.IntN(4) == 0 {
		return k.Subagent(fmt.Sprint(w.r.IntN(2)))
	}
	return k
}

// entry is a new one, or one that has been used before.
func (w *walk) entry(key transcript.Key) transcript.Entry {
	switch old := w.m.sessions[key]; {
	case len(old) > 0 && w.r.IntN(6) == 0:
		return old[w.r.IntN(len(old))]
	case w.r.IntN(10) == 0:
		return Entry("", fmt.Sprint("no uuid ", w.r.IntN(3)))
	}
	w.id++
	size := w.r.IntN(300)
	switch w.r.IntN(300) {
	case 0:
		size = 1 << 20
	case 1, 2, 3, 4, 5, 6, 7, 8, 9:
		size = w.r.IntN(20_000)
	}
	return Entry(fmt.Sprint("u", w.id), strings.Repeat("z", size))
}

func (w *walk) append() error {
	key := w.key()
	old := w.m.sessions[key]
	expect := uint64(len(old))
	var es []transcript.Entry
	switch w.r.IntN(8) {
	case 0: // a stale writer, or a retry
		expect -= min(expect, uint64(w.r.IntN(4)))
		es = append(es, old[expect:]...)
		if w.r.IntN(3) == 0 {
			es = append(es, w.entry(key))
		}
	case 1:
		expect += uint64(w.r.IntN(3))
		fallthrough
	default:
		for range 1 + w.r.IntN(5) {
			es = append(es, w.entry(key))
		}
	}
	got, err := w.st.Append(ctx, key, expect, es)
	want, wantErr := w.m.append(key, expect, es)
	if !errors.Is(err, wantErr) || got != want {
		return fmt.Errorf("append of %d to %s after %d: %d, %v, want %d, %v", len(es), key, expect, got, err, want, wantErr)
	}
	return nil
}

func (w *walk) fork() error {
	src, dst := w.key(), w.key()
	at := ""
	if es := w.m.sessions[src]; len(es) > 0 && w.r.IntN(3) > 0 {
		at = es[w.r.IntN(len(es))].UUID
	}
	err, want := w.st.Fork(ctx, src, at, dst), w.m.fork(src, at, dst)
	if !errors.Is(err, want) {
		return fmt.Errorf("fork %s at %q to %s: %v, want %v", src, at, dst, err, want)
	}
	return nil
}

func (w *walk) delete() error {
	key := w.key()
	w.m.delete(key)
	return w.st.Delete(ctx, key)
}

func (w *walk) put() error {
	name := fmt.Sprint("v", w.r.IntN(5))
	rev := w.m.values[name].rev
	if w.r.IntN(5) == 0 {
		rev += uint64(w.r.IntN(3))
	}
	data := fmt.Sprint("value ", w.r.IntN(1000))
	got, err := w.st.Put(ctx, name, []byte(data), rev)
	want, wantErr := w.m.put(name, data, rev)
	if !errors.Is(err, wantErr) || got != want {
		return fmt.Errorf("put %s at %d: %d, %v, want %d, %v", name, rev, got, err, want, wantErr)
	}
	return nil
}

func (w *walk) load(key transcript.Key) error {
	want, ok := w.m.sessions[key]
	from := uint64(w.r.IntN(len(want) + 2))
	got, err := collect(w.st, key, from)
	if !ok {
		if !errors.Is(err, transcript.ErrNotFound) {
			return fmt.Errorf("load %s: %v, want ErrNotFound", key, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("load %s from %d: %w", key, from, err)
	}
	if err := sameEntries(got, want[min(from, uint64(len(want))):], from); err != nil {
		return fmt.Errorf("load %s from %d: %w", key, from, err)
	}
	return nil
}

func (w *walk) list() error {
	prefix := w.key()
	switch w.r.IntN(3) {
	case 0:
		prefix = transcript.Key{}
	case 1:
		prefix.Sub = ""
	}
	var got []string
	for info, err := range w.st.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		got = append(got, fmt.Sprint(info.Key, " ", info.Head.Last))
	}
	var want []string
	for _, k := range w.m.keys(prefix) {
		want = append(want, fmt.Sprint(k, " ", len(w.m.sessions[k])))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("list %s: %q, want %q", prefix, got, want)
	}
	return nil
}

func (w *walk) compareAll() error {
	for _, key := range w.m.keys(transcript.Key{}) {
		if err := w.load(key); err != nil {
			return err
		}
	}
	for name, v := range w.m.values {
		b, rev, err := w.st.Get(ctx, name)
		if err != nil || string(b) != v.data || rev != v.rev {
			return fmt.Errorf("value %s: %q, revision %d (%v), want %q, revision %d", name, b, rev, err, v.data, v.rev)
		}
	}
	return w.list()
}
