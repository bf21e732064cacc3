package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// fillMixed puts something of every kind into a store.
func fillMixed(t *testing.T, st transcript.Store) {
	t.Helper()
	for session, n := range map[string]uint64{"a": 120, "b": 5} {
		for seq := uint64(1); seq <= n; seq++ {
			if _, err := st.Append(ctx, key(session), seq-1, []transcript.Entry{numbered(session, seq, 0)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	appendOne(t, st, key("a").Subagent("x"), 0)
	for dst, src := range map[string]string{"fork": "a", "fork of fork": "fork"} {
		if src == "fork" {
			continue
		}
		if err := st.Fork(ctx, key(src), "a-100", key(dst)); err != nil {
			t.Fatal(err)
		}
	}
	appendOne(t, st, key("fork"), 100)
	if err := st.Fork(ctx, key("fork"), "", key("fork of fork")); err != nil {
		t.Fatal(err)
	}
	appendOne(t, st, key("fork of fork"), 101)
	if err := st.Delete(ctx, key("fork")); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]string{"one": "1", "large": strings.Repeat("v", 5000)} {
		if _, err := st.Put(ctx, name, []byte(v), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// contents is all that a store tells, to compare it with another.
func contents(t *testing.T, st transcript.Store) string {
	t.Helper()
	var b strings.Builder
	for info, err := range st.List(ctx, transcript.Key{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, info.Key, info.Head.Last, info.Head.Chain, info.Head.Modified.UnixNano())
		for _, en := range loadAll(t, st, info.Key) {
			fmt.Fprintln(&b, en.Seq, en.UUID, en.Time, len(en.Raw))
		}
	}
	for _, name := range []string{"one", "large"} {
		v, rev, err := st.Get(ctx, name)
		fmt.Fprintln(&b, name, len(v), rev, err)
	}
	return b.String()
}

func TestBackup_and_restore_give_the_same_store(t *testing.T) {
	dir := t.TempDir()
	owner := open(t, dir, nil)
	fillMixed(t, owner)
	for name, st := range map[string]*store.Store{"owner": owner, "another process": open(t, dir, nil)} {
		t.Run(name, func(t *testing.T) {
			var backup bytes.Buffer
			if err := st.Backup(ctx, &backup); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "new", "store")
			if err := store.Restore(ctx, dir, bytes.NewReader(backup.Bytes()), nil); err != nil {
				t.Fatal(err)
			}
			restored := open(t, dir, nil)
			if got, want := contents(t, restored), contents(t, st); got != want {
				t.Errorf("restored:\n%.2000s\nwant:\n%.2000s", got, want)
			}
			// It goes on as the old one would have: uuids are known, forks share.
			appendOne(t, restored, key("b"), 5)
			if last, err := restored.Append(ctx, key("b"), 6, []transcript.Entry{numbered("b", 2, 0)}); err != nil || last != 6 {
				t.Errorf("append: %d, %v", last, err)
			}
			if err := restored.Delete(ctx, key("a")); err != nil {
				t.Fatal(err)
			}
			if n := len(loadAll(t, restored, key("fork of fork"))); n != 102 {
				t.Errorf("the fork has %d entries", n)
			}
			appendOne(t, restored, key("brand new"), 0)
			if n := len(loadAll(t, restored, key("brand new"))); n != 1 {
				t.Errorf("a new session has %d entries", n)
			}
		})
	}
}

func TestBackup_holds_shared_entries_once(t *testing.T) {
	st := open(t, t.TempDir(), nil)
	var before, after bytes.Buffer
	fillMixed(t, st)
	if err := st.Backup(ctx, &before); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := st.Fork(ctx, key("a"), "", key(fmt.Sprint("f", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Backup(ctx, &after); err != nil {
		t.Fatal(err)
	}
	if grown := after.Len() - before.Len(); grown > 10*500 {
		t.Errorf("ten forks made the backup grow by %d bytes", grown)
	}
}

func TestRestore_refuses_what_is_no_whole_backup_and_leaves_nothing(t *testing.T) {
	st := open(t, t.TempDir(), nil)
	fillMixed(t, st)
	var backup bytes.Buffer
	if err := st.Backup(ctx, &backup); err != nil {
		t.Fatal(err)
	}
	whole := backup.Bytes()
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	parent := t.TempDir()
	for name, data := range map[string][]byte{
		"empty": nil, "another file": []byte(strings.Repeat("text ", 100)), "bit flipped": flipped,
		"end missing": whole[:len(whole)-9], "second half missing": whole[:len(whole)/2],
	} {
		dir := filepath.Join(parent, "store")
		if err := store.Restore(ctx, dir, bytes.NewReader(data), nil); !errors.Is(err, transcript.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if names, _ := filepath.Glob(filepath.Join(parent, "*")); len(names) > 0 {
			t.Errorf("%s: left %v", name, names)
		}
		if names, _ := filepath.Glob(filepath.Join(parent, ".*")); len(names) > 0 {
			t.Errorf("%s: left %v", name, names)
		}
	}
}

func TestRestore_refuses_a_folder_in_use(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, nil)
	if err := store.Restore(ctx, dir, bytes.NewReader(nil), nil); !errors.Is(err, transcript.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestBackup_and_Check_name_what_is_damaged_and_save_the_rest(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	fillMixed(t, st)
	st.Close()
	flipIn(t, dir, "db/*.vlog", []byte(`"uuid":"a-40"`))
	st = open(t, dir, nil)

	report, err := st.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// The fork shares the entry.
	if len(report.Damaged) != 2 || report.Transcripts != 4 || report.Values != 2 {
		t.Fatalf("report %+v", report)
	}
	for _, d := range report.Damaged {
		if d.Good != 39 || d.Want < 100 || !errors.Is(d.Err, transcript.ErrDamaged) || !strings.Contains(d.Err.Error(), d.Key.String()) {
			t.Errorf("damage %+v", d)
		}
	}
	var backup bytes.Buffer
	if err := st.Backup(ctx, &backup); !errors.Is(err, transcript.ErrDamaged) || !strings.Contains(err.Error(), "p/a:") {
		t.Errorf("backup: %v", err)
	}
	to := filepath.Join(t.TempDir(), "saved")
	if err := store.Restore(ctx, to, &backup, nil); err != nil {
		t.Fatal(err)
	}
	saved := open(t, to, nil)
	if a, b := checkNumbered(t, saved, "a", 0), checkNumbered(t, saved, "b", 0); a != 39 || b != 5 {
		t.Errorf("saved %d entries of a, %d of b", a, b)
	}
}

func TestCheck_of_a_sound_store_counts(t *testing.T) {
	dir := t.TempDir()
	fillMixed(t, open(t, dir, nil))
	report, err := open(t, dir, nil).Check(ctx)
	if err != nil || len(report.Damaged) > 0 || report.Transcripts != 4 || report.Entries != 120+5+1+102 || report.Values != 2 {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestGC_gives_space_back_and_keeps_what_forks_share(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, &store.Options{GCEvery: -1})
	big := strings.Repeat("b", 2<<20)
	for i := range 3 {
		k := key(fmt.Sprint("waste", i))
		es := []transcript.Entry{storetest.Entry("big", fmt.Sprint(i, big)), storetest.Entry("shared", big)}
		for n := range 300 {
			es = append(es, storetest.Entry(fmt.Sprint(i, "-", n), strings.Repeat("w", 20_000)))
		}
		if _, err := st.Append(ctx, k, 0, es); err != nil {
			t.Fatal(err)
		}
		if err := st.Fork(ctx, k, fmt.Sprint(i, "-9"), key(fmt.Sprint("kept", i))); err != nil {
			t.Fatal(err)
		}
		if err := st.Delete(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	appendOne(t, st, key("alone"), 0)
	stray := filepath.Join(dir, "blobs", "ab")
	if err := os.MkdirAll(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stray, strings.Repeat("cd", 31)), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := st.GC(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if report.Blobs != 1 || report.Files == 0 || report.After > report.Before/2 {
		t.Errorf("report %+v", report)
	}
	for i := range 3 {
		if got := loadAll(t, st, key(fmt.Sprint("kept", i))); len(got) != 12 {
			t.Errorf("fork %d has %d entries", i, len(got))
		}
		if err := st.Delete(ctx, key(fmt.Sprint("kept", i))); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "files of large entries are removed", func() bool { return countFiles(t, filepath.Join(dir, "blobs")) == 0 })
	if got := loadAll(t, st, key("alone")); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
}

func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happened that " + what)
		}
	}
}
