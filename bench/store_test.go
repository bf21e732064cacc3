package main

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

func TestMaker_makes_entries_of_the_size_and_each_another(t *testing.T) {
	m, err := newMaker()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		for _, e := range m.next(7) {
			parsed, err := transcript.Parse(e.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Raw) != entrySize || !reflect.DeepEqual(e, parsed) {
				t.Fatalf("%d bytes, %+v, want %d and %+v", len(e.Raw), e.Header, entrySize, parsed.Header)
			}
			seen[e.UUID] = true
		}
	}
	if len(seen) != 21 {
		t.Errorf("%d uuids of 21 entries", len(seen))
	}
}

func TestConversation_is_of_2_KiB_on_average(t *testing.T) {
	entries, err := conversation(1000)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, e := range entries {
		size += len(e.Raw)
	}
	if average := size / len(entries); average < 2048*9/10 || average > 2048*11/10 {
		t.Errorf("average = %d bytes", average)
	}
}

// told is what the fields of a header tell.
func told(h transcript.Header) (text string) {
	v := reflect.ValueOf(h)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			text += fmt.Sprintf("%s %v, ", f.Name, v.Field(i))
		}
	}
	return text
}

// The anchor must do the same work, or the ratio says nothing.
func TestDecode_finds_what_Parse_finds(t *testing.T) {
	entries, err := conversation(200)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range entries {
		got, err := decode(want.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if told(got.Header) != told(want.Header) {
			t.Fatalf("entry %d: %s, want %s", i, told(got.Header), told(want.Header))
		}
	}
}

func TestKeepers_give_back_what_was_written(t *testing.T) {
	entries, err := conversation(40)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"flower", "sqlite"} {
		for _, s := range []syncing{never, eachTime, eachTurn} {
			t.Run(engine+"/"+string(s), func(t *testing.T) {
				k, err := openKeeper(engine, t.TempDir(), s)
				if err != nil {
					t.Fatal(err)
				}
				write(t, k, entries)
				got, err := k.load(t.Context(), loaded)
				if err != nil {
					t.Fatal(err)
				}
				for i := range entries {
					want := entries[i]
					want.Seq = uint64(i + 1)
					if i >= len(got) || !sameEntry(got[i], want) {
						t.Fatalf("entry %d of %d is not the one that was written", i, len(got))
					}
				}
				other, err := conversation(41)
				if err != nil {
					t.Fatal(err)
				}
				if err := k.append(t.Context(), loaded, 3, other[40:]); err == nil {
					t.Error("a second writer is not fenced off")
				}
				if err := k.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// write appends one by one, then a batch.
func write(t *testing.T, k keeper, entries []transcript.Entry) {
	t.Helper()
	half := len(entries) / 2
	for i := range half {
		if err := k.append(t.Context(), loaded, uint64(i), entries[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.harden(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := k.append(t.Context(), loaded, uint64(half), entries[half:]); err != nil {
		t.Fatal(err)
	}
	if err := k.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func sameEntry(a, b transcript.Entry) bool {
	return a.Seq == b.Seq && told(a.Header) == told(b.Header) && bytes.Equal(a.Raw, b.Raw)
}

// What SQLite is set to decides what the ratios mean.
func TestSQLite_syncs_as_told(t *testing.T) {
	for s, want := range map[syncing]int{never: 1, eachTurn: 1, eachTime: 2} {
		l, err := openSQLite(t.TempDir()+"/x.db", s)
		if err != nil {
			t.Fatal(err)
		}
		check := func(want int) {
			t.Helper()
			var mode string
			var level int
			if err := l.db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
				t.Errorf("journal_mode = %q, %v", mode, err)
			}
			if err := l.db.QueryRow("PRAGMA synchronous").Scan(&level); err != nil || level != want {
				t.Errorf("%q: synchronous = %d, %v, want %d", s, level, err, want)
			}
		}
		check(want)
		if err := l.harden(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(2)
		if err := l.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(want)
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
}
