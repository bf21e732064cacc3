package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/internal/atomicfile"
)

func TestAppend_begins_a_line_behind_what_is_there(t *testing.T) {
	for there, want := range map[string]string{
		"":             "new\n",
		"old\n":        "old\nnew\n",
		"cut off here": "cut off here\nnew\n",
	} {
		path := filepath.Join(t.TempDir(), "a", "log")
		if there != "" {
			if err := atomicfile.Write(path, []byte(there), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := atomicfile.Append(path, []byte("new\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Errorf("behind %q: %q, want %q", there, got, want)
		}
	}
}

func TestAppend_where_nothing_can_be_is_an_error(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Append(dir, []byte("x"), 0o644); err == nil {
		t.Error("a folder was appended to")
	}
	file := filepath.Join(dir, "file")
	if err := atomicfile.Write(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Append(filepath.Join(file, "below"), []byte("x"), 0o644); err == nil {
		t.Error("a file has something below it")
	}
}

func TestMove_makes_the_folder(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "a", "b", "to")
	if err := atomicfile.Write(from, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Move(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(from); !os.IsNotExist(err) || read(t, to) != "x" {
		t.Errorf("the old name: %v", err)
	}
	if err := atomicfile.Move(from, to); err == nil {
		t.Error("what is not there was moved")
	}
}

// TestWatch_sees_every_change_before_and_after lets each be refused before it, and
// fail behind it.
func TestWatch_sees_every_change_before_and_after(t *testing.T) {
	boom := errors.New("boom")
	changes := map[string]func(path string) error{
		"write":  func(path string) error { return atomicfile.Write(path, []byte("new\n"), 0o644) },
		"append": func(path string) error { return atomicfile.Append(path, []byte("new\n"), 0o644) },
		"move":   func(path string) error { return atomicfile.Move(path, path+".moved") },
		"update": func(path string) error {
			return atomicfile.Update(path, 0o644, func([]byte) ([]byte, error) { return []byte("new\n"), nil })
		},
	}
	for name, change := range changes {
		for failAt := range 3 { // 2: not at all
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			var seen []string
			stop := atomicfile.Watch(func(c atomicfile.Change) error {
				seen = append(seen, fmt.Sprintf("%s %q %v %v", filepath.Base(c.Path), c.Data, c.Appended, c.Made))
				if len(seen) == failAt+1 {
					return boom
				}
				return nil
			})
			err := change(path)
			stop()
			content, _ := os.ReadFile(path) // gone when it was moved
			if made := string(content) != "old\n"; made != (failAt > 0) {
				t.Errorf("%s, error at %d: made: %v", name, failAt, made)
			}
			if errors.Is(err, boom) != (failAt < 2) || len(seen) != min(failAt+1, 2) {
				t.Errorf("%s, error at %d: %v, seen %s", name, failAt, err, strings.Join(seen, "; "))
			}
		}
	}
	if err := atomicfile.Write(filepath.Join(t.TempDir(), "file"), nil, 0o644); err != nil {
		t.Errorf("nobody watches any more: %v", err)
	}
}
