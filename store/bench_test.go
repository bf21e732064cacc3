package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

var text2K = strings.Repeat("0123456789", 190)

// entryOf2K makes an entry of 2 KiB, without the cost of parsing it.
func entryOf2K(id uint64) []transcript.Entry {
	uuid := fmt.Sprintf("0190a5c2-7f3e-7c44-9b1d-%012x", id)
	raw := []byte(`{"uuid":"` + uuid + `","type":"user","message":{"role":"user","content":"` + text2K + `"}}`)
	h := transcript.Header{UUID: uuid, Parent: uuid, Type: "user", Role: "user", Size: len(raw)}
	return []transcript.Entry{{Header: h, Raw: raw}}
}

func BenchmarkAppend_2KiB(b *testing.B) {
	for _, synced := range []bool{false, true} {
		for _, writers := range []int{1, 8} {
			b.Run(fmt.Sprintf("synced=%v/writers=%d", synced, writers), func(b *testing.B) {
				st := open(b, b.TempDir(), &store.Options{SyncAlways: synced})
				b.SetBytes(2048)
				benchmarkAppend(b, st, writers)
			})
		}
	}
	b.Run("synced=false/writers=1/at another process", func(b *testing.B) {
		dir := b.TempDir()
		open(b, dir, nil)
		st := open(b, dir, nil)
		b.SetBytes(2048)
		benchmarkAppend(b, st, 1)
	})
}

// benchmarkAppend has each writer append to a session of its own.
func benchmarkAppend(b *testing.B, st transcript.Store, writers int) {
	var left, id atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			last := uint64(0)
			for left.Add(-1) >= 0 {
				var err error
				if last, err = st.Append(ctx, key(fmt.Sprint(w)), last, entryOf2K(uint64(id.Add(1)))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkTurn is a turn of eight entries, one append each, synced once.
func BenchmarkTurn_8_entries_synced_once(b *testing.B) {
	st := open(b, b.TempDir(), nil)
	last := uint64(0)
	for b.Loop() {
		for range 8 {
			var err error
			if last, err = st.Append(ctx, key("s"), last, entryOf2K(last)); err != nil {
				b.Fatal(err)
			}
		}
		if err := st.Sync(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad_5000_entries_of_2KiB(b *testing.B) {
	dir := b.TempDir()
	owner := fillWith(b, dir, 5000)
	for name, st := range map[string]*store.Store{"owner": owner, "another process": open(b, dir, nil)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(5000 * 2048)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range st.Load(ctx, key("s"), 0) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 5000 {
					b.Fatal(n)
				}
			}
		})
	}
}

func fillWith(b *testing.B, dir string, entries int) *store.Store {
	b.Helper()
	st := open(b, dir, nil)
	var es []transcript.Entry
	for i := range entries {
		es = append(es, entryOf2K(uint64(i))...)
	}
	if _, err := st.Append(ctx, key("s"), 0, es); err != nil {
		b.Fatal(err)
	}
	return st
}

func BenchmarkOpen(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			st := open(b, b.TempDir(), nil)
			b.StopTimer()
			st.Close()
			b.StartTimer()
		}
	})
	b.Run("with 5000 entries", func(b *testing.B) {
		dir := b.TempDir()
		fillWith(b, dir, 5000).Close()
		for b.Loop() {
			st := open(b, dir, nil)
			b.StopTimer()
			st.Close()
			b.StartTimer()
		}
	})
	b.Run("at another process", func(b *testing.B) {
		dir := b.TempDir()
		open(b, dir, nil)
		for b.Loop() {
			open(b, dir, nil).Close()
		}
	})
}

func BenchmarkClose(b *testing.B) {
	dir := b.TempDir()
	last := uint64(0)
	for b.Loop() {
		b.StopTimer()
		st := open(b, dir, nil)
		for range 100 {
			var err error
			if last, err = st.Append(ctx, key("s"), last, entryOf2K(last)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
