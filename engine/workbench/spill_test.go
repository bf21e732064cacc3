package workbench_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine/workbench"
)

func TestWriteSpill_is_named_after_its_content(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "spill")
	for _, text := range []string{"", "a result", strings.Repeat("好\n", 5000), "not UTF-8: \xff\x00"} {
		path, err := workbench.WriteSpill(dir, text)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]+".txt"); path != want {
			t.Errorf("path %s, want %s", path, want)
		}
		if got := read(t, path); got != text {
			t.Errorf("%s holds %q, want %q", path, got, text)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, error %v, want 0600", info.Mode(), err)
		}
	}
}

func TestWriteSpill_writes_the_same_text_once(t *testing.T) {
	dir := t.TempDir()
	path, err := workbench.WriteSpill(dir, "a result")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workbench.WriteSpill(dir, "a result"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced, error %v", err)
	}
}

func TestWriteSpill_mends_a_file_that_holds_something_else(t *testing.T) {
	dir := t.TempDir()
	text := "a result"
	path, err := workbench.WriteSpill(dir, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"", "a resul", "A RESULT", "a result and more"} {
		write(t, path, damage)
		if _, err := workbench.WriteSpill(dir, text); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Errorf("after %q it holds %q", damage, got)
		}
	}
}

func TestWriteSpill_from_many_goroutines(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			text := fmt.Sprint("result ", i%3)
			path, err := workbench.WriteSpill(dir, text)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("%s holds %q, error %v", path, got, err)
			}
		})
	}
	group.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%d files, error %v, want 3", len(entries), err)
	}
}

func TestWriteSpill_error_names_the_file(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	write(t, dir, "no folder")
	if _, err := workbench.WriteSpill(dir, "x"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
}

func TestBench_WriteSpill_gives_the_shown_path(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "project")
	for outside, want := range map[bool]string{
		false: ".flower/spill/2d711642b726b044.txt",
		true:  filepath.Join(workbench.Home(workspace, true), "spill", "2d711642b726b044.txt"),
	} {
		bench := open(t, workbench.Home(workspace, outside), workspace, nil)
		shown, err := bench.WriteSpill("x")
		if err != nil || shown != want {
			t.Errorf("shown %s, error %v, want %s", shown, err, want)
		}
		if !filepath.IsAbs(shown) {
			shown = filepath.Join(workspace, shown)
		}
		if got := read(t, shown); got != "x" {
			t.Errorf("%s holds %q", shown, got)
		}
	}
}
