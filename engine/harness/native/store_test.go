package native_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// memory is a transcript.Store for tests: the contract, in memory, with a place to
// make writes fail.
type memory struct {
	mu     sync.Mutex
	lists  map[transcript.Key][]transcript.Entry
	syncs  int
	writes int
	// before is asked before every Append; nil allows all.
	before func(n int, key transcript.Key, es []transcript.Entry) error
}

func newMemory() *memory { return &memory{lists: map[transcript.Key][]transcript.Entry{}} }

var _ transcript.Store = (*memory)(nil)

func (m *memory) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.writes++
	if m.before != nil {
		if err := m.before(m.writes, key, es); err != nil {
			return 0, err
		}
	}
	list := m.lists[key]
	if n := uint64(len(list)); n != expect {
		if expect < n && sameEntries(list[expect:], es) {
			return n, nil
		}
		return 0, fmt.Errorf("%w: %s is at %d, not at %d", transcript.ErrConflict, key, n, expect)
	}
	for _, e := range es {
		if slices.ContainsFunc(list, func(o transcript.Entry) bool { return o.UUID == e.UUID && e.UUID != "" }) {
			continue
		}
		e.Seq = uint64(len(list) + 1)
		list = append(list, e)
	}
	m.lists[key] = list
	return uint64(len(list)), nil
}

func sameEntries(a, b []transcript.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y transcript.Entry) bool { return bytes.Equal(x.Raw, y.Raw) })
}

func (m *memory) entries(key transcript.Key) []transcript.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lists[key])
}

func (m *memory) Load(_ context.Context, key transcript.Key, from uint64) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		list := m.entries(key)
		if len(list) == 0 {
			yield(transcript.Entry{}, fmt.Errorf("%s: %w", key, transcript.ErrNotFound))
			return
		}
		for _, e := range list[min(from, uint64(len(list))):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) Head(_ context.Context, key transcript.Key) (transcript.Head, error) {
	list := m.entries(key)
	if len(list) == 0 {
		return transcript.Head{}, transcript.ErrNotFound
	}
	h := transcript.Head{Count: uint64(len(list)), Last: uint64(len(list))}
	for _, e := range list {
		h.Chain = sha256.Sum256(append(h.Chain[:], e.Raw...))
	}
	return h, nil
}

func (m *memory) Fork(_ context.Context, src transcript.Key, at string, dst transcript.Key) error {
	list := m.entries(src)
	end := len(list)
	if at != "" {
		end = 1 + slices.IndexFunc(list, func(e transcript.Entry) bool { return e.UUID == at })
	}
	if end == 0 {
		return transcript.ErrNotFound
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lists[dst]) > 0 {
		return transcript.ErrConflict
	}
	m.lists[dst] = slices.Clone(list[:end])
	return nil
}

func (m *memory) List(_ context.Context, prefix transcript.Key) iter.Seq2[transcript.Info, error] {
	return func(yield func(transcript.Info, error) bool) {
		for _, key := range m.keys() {
			in := (prefix.Project == "" || prefix.Project == key.Project) && (prefix.Session == "" || prefix.Session == key.Session)
			if in && strings.HasPrefix(key.Sub, prefix.Sub) && !yield(transcript.Info{Key: key}, nil) {
				return
			}
		}
	}
}

func (m *memory) keys() []transcript.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []transcript.Key
	for k := range m.lists {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b transcript.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func (m *memory) Sync(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs++
	return nil
}

var errNotHere = errors.New("the store of these tests has no small values")

func (m *memory) Delete(context.Context, transcript.Key) error { return errNotHere }

func (m *memory) Get(context.Context, string) ([]byte, uint64, error) { return nil, 0, errNotHere }

func (m *memory) Put(context.Context, string, []byte, uint64) (uint64, error) { return 0, errNotHere }

func (m *memory) Watch(context.Context, transcript.Key) iter.Seq2[transcript.Change, error] {
	return func(yield func(transcript.Change, error) bool) { yield(transcript.Change{}, errNotHere) }
}

func (m *memory) Close() error { return nil }

// imported puts entries of another writer into the store.
func (m *memory) imported(t testing.TB, key transcript.Key, lines ...string) {
	t.Helper()
	var es []transcript.Entry
	for _, line := range lines {
		e, err := transcript.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	last := uint64(len(m.entries(key)))
	if _, err := m.Append(t.Context(), key, last, es); err != nil {
		t.Fatal(err)
	}
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
