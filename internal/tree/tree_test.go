package tree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/internal/tree"
)

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func hash(t *testing.T, root string, skip ...string) string {
	t.Helper()
	sum, err := tree.Hash(context.Background(), root, skip...)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// sample is a folder with what may lie in one.
func sample(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "src")
	write(t, filepath.Join(root, "a.txt"), "content", 0o644)
	write(t, filepath.Join(root, "bin", "run"), "#!/bin/sh", 0o755)
	write(t, filepath.Join(root, "locked.txt"), "read only", 0o444)
	write(t, filepath.Join(root, "runs", "big"), "left out", 0o644)
	if err := os.Symlink("nowhere", filepath.Join(root, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "a.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestCopy_is_the_same_without_what_is_skipped(t *testing.T) {
	root := sample(t)
	dst := filepath.Join(t.TempDir(), "dst")
	runs := filepath.Join(root, "runs")
	if err := tree.Copy(context.Background(), root, dst, runs); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "pipe")); err != nil { // pipes are not copied
		t.Fatal(err)
	}
	if hash(t, root, runs) != hash(t, dst) {
		t.Error("the copy is not the same")
	}
	if _, err := os.Stat(filepath.Join(dst, "runs")); !os.IsNotExist(err) {
		t.Errorf("runs was copied: %v", err)
	}
	was, err := os.Stat(filepath.Join(root, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(filepath.Join(dst, "a.txt"))
	if err != nil || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("time %v, %v; want %v", is.ModTime(), err, was.ModTime())
	}
}

func TestHash_sees_every_change(t *testing.T) {
	for name, change := range map[string]func(root string) error{
		"content": func(root string) error { return os.WriteFile(filepath.Join(root, "a.txt"), []byte("changed"), 0o644) },
		"mode":    func(root string) error { return os.Chmod(filepath.Join(root, "bin", "run"), 0o644) },
		"new":     func(root string) error { return os.WriteFile(filepath.Join(root, "new"), nil, 0o644) },
		"removed": func(root string) error { return os.Remove(filepath.Join(root, "a.txt")) },
		"renamed": func(root string) error { return os.Rename(filepath.Join(root, "a.txt"), filepath.Join(root, "b.txt")) },
		"link": func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "dangling")), os.Symlink("else", filepath.Join(root, "dangling")))
		},
		"empty folder": func(root string) error { return os.Mkdir(filepath.Join(root, "empty"), 0o755) },
	} {
		root := sample(t)
		before := hash(t, root)
		if err := change(root); err != nil {
			t.Fatal(err)
		}
		if hash(t, root) == before {
			t.Errorf("%s: the hash is the same", name)
		}
	}
}

func TestHash_touching_changes_nothing(t *testing.T) {
	root := sample(t)
	before := hash(t, root)
	now := time.Now()
	if err := os.Chtimes(filepath.Join(root, "a.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	if hash(t, root) != before {
		t.Error("a new time counts as a change")
	}
}

func TestCopy_ends_with_its_context_and_names_a_missing_source(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tree.Copy(ctx, sample(t), filepath.Join(t.TempDir(), "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if err := tree.Copy(context.Background(), "/nowhere/at/all", filepath.Join(t.TempDir(), "x")); !os.IsNotExist(err) {
		t.Errorf("err = %v", err)
	}
}
