package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flowerlua/flower/internal/atomicfile"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite_makes_parents_and_uses_mode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file")
	if err := atomicfile.Write(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "one" {
		t.Errorf("content = %q", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
}

func TestWrite_keeps_mode_of_existing_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sh")
	if err := os.WriteFile(path, []byte("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o755 || read(t, path) != "new" {
		t.Errorf("mode %v content %q, want 0755 and new", info.Mode().Perm(), read(t, path))
	}
}

func TestWrite_replaces_the_target_of_a_link(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"made through a dangling link", "replaced"} {
		if err := atomicfile.Write(link, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, "target")); got != content {
			t.Errorf("target = %q, want %q", got, content)
		}
	}
	if _, err := os.Readlink(link); err != nil {
		t.Errorf("the link is gone: %v", err)
	}
}

func TestWrite_failure_leaves_the_old_file_and_no_litter(t *testing.T) {
	dir := t.TempDir()
	// A folder where the file should be: the rename must fail.
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("x"), 0o644); err == nil {
		t.Fatal("writing over a folder succeeded")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWrite_loop_of_links_is_an_error(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.Symlink(a, b); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b, a); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(a, nil, 0o644); err == nil {
		t.Error("no error")
	}
}
