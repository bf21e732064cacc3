package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPruneOutputs_removes_what_is_old_or_beyond_the_bound_and_nothing_else(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	day := 24 * time.Hour
	for name, age := range map[string]time.Duration{
		"output-1.txt": time.Hour, "output-2.txt": 2 * time.Hour, "output-3.txt": 3 * time.Hour, // too many, and too young to go
		"output-4.txt": 2 * day, "output-5.txt": 31 * day, "notes.txt": 90 * day,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	pruneOutputs(dir, now, 400)
	if diff := cmp.Diff([]string{"notes.txt", "output-1.txt", "output-2.txt", "output-3.txt", "output-4.txt"}, left()); diff != "" {
		t.Errorf("within the bound: %s", diff)
	}
	pruneOutputs(dir, now, 200)
	if diff := cmp.Diff([]string{"notes.txt", "output-1.txt", "output-2.txt", "output-3.txt"}, left()); diff != "" {
		t.Errorf("beyond the bound: %s", diff)
	}
}
