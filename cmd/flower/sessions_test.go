package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// called is what the program prints for words, and its exit code.
func called(words ...string) (out, errOut string, code int) {
	var o, e bytes.Buffer
	code, _ = run(words, &o, &e)
	return o.String(), e.String(), code
}

// damagedRun is a run directory with the session good, and the session bad whose
// third entry of four cannot be read.
func damagedRun(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"bad", "good"} {
		var es []transcript.Entry
		for _, n := range []string{"1", "2", "3", "4"} {
			es = append(es, storetest.Entry(session+n, strings.Repeat("text of "+session+n+" ", 200)))
		}
		if _, err := db.Append(context.Background(), transcript.Key{Project: "p", Session: session}, 0, es); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "db", "*.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(raw, []byte("text of bad3")); at >= 0 {
			raw[at] ^= 1
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	t.Fatal("the entry to damage is in no file")
	return ""
}

func TestSessions_tell_damage_and_show_the_rest(t *testing.T) {
	dir := damagedRun(t)
	backup := filepath.Join(t.TempDir(), "backup")
	const told = "entry 3 of 4 cannot be read"
	for _, c := range []struct {
		words []string
		out   string
	}{
		{[]string{"list"}, "\ngood"},
		{[]string{"list", "--json"}, `"session": "good"`},
		{[]string{"show", "bad"}, "text of bad2"},
		{[]string{"show", "bad", "--raw"}, "text of bad2"},
		{[]string{"show", "bad", "--json"}, "text of bad2"},
		{[]string{"check"}, told},
		{[]string{"check", "--json"}, `"good": 2`},
		{[]string{"export", "bad", "-"}, "text of bad2"},
		{[]string{"export", "bad", t.TempDir()}, ""},
		{[]string{"backup", backup}, "backup: "},
		{[]string{"fork", "bad", "--at", "3"}, ""},
	} {
		out, errOut, code := called(append([]string{"-r", dir, "sessions"}, c.words...)...)
		if code != exitFailed || !strings.Contains(out, c.out) || !strings.Contains(errOut+out, told) {
			t.Errorf("%v: exit code %d\n%.500s\n%s", c.words, code, out, errOut)
		}
	}
	// Everything of the good session is as it was, and so is the beginning of the bad.
	if out, errOut, code := called("-r", dir, "-v", "sessions", "show", "good"); code != exitDone || !strings.Contains(out, "text of good4") {
		t.Errorf("good: %d\n%s%s", code, out, errOut)
	}
	id, errOut, code := called("-r", dir, "sessions", "fork", "bad", "--at", "2")
	if code != exitDone {
		t.Fatal(errOut)
	}
	if out, errOut, code := called("-r", dir, "sessions", "show", strings.TrimSpace(id)); code != exitDone || !strings.Contains(out, "text of bad2") {
		t.Errorf("the fork: %d\n%s%s", code, out, errOut)
	}
	again := filepath.Join(t.TempDir(), "again")
	if out, errOut, code := called("-r", again, "sessions", "restore", backup); code != exitDone || !strings.Contains(out, "2 transcripts, 6 entries") {
		t.Errorf("restore: %d\n%s%s", code, out, errOut)
	}
	if _, errOut, code := called("-r", dir, "sessions", "delete", "--yes", "bad"); code != exitDone {
		t.Error(errOut)
	}
	if out, errOut, code := called("-r", dir, "sessions", "check"); code != exitDone {
		t.Errorf("%s%s", out, errOut)
	}
}

func TestSessions_repair_makes_a_store_that_does_not_open_one_that_does(t *testing.T) {
	dir := damagedRun(t)
	if err := os.Remove(filepath.Join(dir, "sessions", "db", "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := called("-r", dir, "sessions"); code != exitFailed || !strings.Contains(errOut, "damaged") {
		t.Errorf("%d %s", code, errOut)
	}
	if out, errOut, code := called("-r", dir, "sessions", "repair"); code != exitDone {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	// What is missing is told from then on, until it is deleted.
	if _, errOut, code := called("-r", dir, "sessions", "check"); code != exitFailed {
		t.Errorf("%d %s", code, errOut)
	}
	for _, name := range []string{"good", "bad"} {
		if _, errOut, code := called("-r", dir, "sessions", "delete", "-y", name); code != exitDone {
			t.Error(errOut)
		}
	}
	if out, errOut, code := called("-r", dir, "sessions", "check"); code != exitDone {
		t.Errorf("%d %s%s", code, out, errOut)
	}
}
