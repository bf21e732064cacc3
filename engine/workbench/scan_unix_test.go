//go:build unix

package workbench_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/workbench"
)

// within fails the test when do waits for somebody: a pipe that is opened the
// wrong way waits for ever.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("blocked")
	}
}

func TestScan_passes_over_what_is_no_file(t *testing.T) {
	// Names of sockets are short.
	workspace, err := os.MkdirTemp("", "bench")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(workspace) })
	bench := open(t, "", workspace, nil)
	dir := bench.Scripts()
	write(t, filepath.Join(dir, "real.sh"), "# desc: real\n")
	write(t, filepath.Join(bench.Spills(), "elsewhere.sh"), "# desc: linked\n")

	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, target := range map[string]string{
		"to-pipe":   "pipe",
		"to-device": "/dev/zero",
		"to-tty":    "/dev/tty",
		"to-self":   "to-self",
		"to-a":      "to-b",
		"to-b":      "to-a",
		"to-folder": ".",
		"to-parent": "../..",
		"to-none":   "none",
		"to-file":   "../spill/elsewhere.sh",
		"to-proc":   "/proc/self/status",
	} {
		symlink(t, target, filepath.Join(dir, name))
	}
	within(t, func() {
		index := refreshed(t, bench)
		for line, want := range map[string]bool{
			"real.sh` — real":   true,
			"to-file` — linked": true,
			"pipe":              false,
			"socket":            false,
			"to-device":         false,
			"to-tty":            false,
			"to-self":           false,
			"to-a":              false,
			"to-folder":         false,
			"to-parent":         false,
			"to-none":           false,
		} {
			if got := strings.Contains(index, line); got != want {
				t.Errorf("%q listed: %t, want %t, in\n%s", line, got, want, index)
			}
		}
		bench.Prompt()
	})
}

func TestScan_folders_and_index_that_are_pipes(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	spilled, err := workbench.WriteSpill(bench.Spills(), "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bench.IndexFile(), spilled, bench.Notes()} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	within(t, func() {
		bench.Prompt()
		if err := bench.Refresh(); err == nil || !strings.Contains(err.Error(), "is not a folder: move it away") {
			t.Errorf("error %v", err)
		}
		if err := os.Remove(bench.Notes()); err != nil {
			t.Error(err)
		}
		if got := refreshed(t, bench); !strings.HasPrefix(got, "# Workbench\n") {
			t.Errorf("index %q", got)
		}
		if path, err := workbench.WriteSpill(bench.Spills(), "text"); err != nil || read(t, path) != "text" {
			t.Errorf("spill %s: %v", path, err)
		}
	})
}

// TestScan_while_others_write lets files and folders come, go and change
// their kind as fast as they can while the bench is looked at.
func TestScan_while_others_write(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	write(t, filepath.Join(bench.Scripts(), "stays.sh"), "# desc: stays\n")
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for n, change := range []func(path string, i int){
		func(path string, i int) { // files that come and go, between them in folders
			_ = os.MkdirAll(path, 0o755)
			_ = os.WriteFile(filepath.Join(path, fmt.Sprint(i%7)), []byte("# desc: comes and goes\n"), 0o644)
			if i%5 == 0 {
				_ = os.RemoveAll(path)
			}
		},
		func(path string, i int) { // a name that is a file, a pipe, a link, a folder in turn
			_ = os.RemoveAll(path)
			switch i % 4 {
			case 0:
				_ = os.WriteFile(path, []byte("# desc: a file\n"), 0o644)
			case 1:
				_ = syscall.Mkfifo(path, 0o644)
			case 2:
				_ = os.Symlink(path, path)
			case 3:
				_ = os.Mkdir(path, 0o755)
			}
		},
		func(path string, i int) { // a link that goes back and forth between a file and a pipe
			pipe, next := path+"-pipe", path+"-next"
			_ = syscall.Mkfifo(pipe, 0o644)
			_ = os.Symlink([]string{"stays.sh", pipe}[i%2], next)
			_ = os.Rename(next, path)
		},
		func(_ string, i int) { // the whole folder of notes
			_ = os.MkdirAll(filepath.Join(bench.Notes(), "deep", "er"), 0o755)
			_ = os.WriteFile(filepath.Join(bench.Notes(), "deep", "er", "x"), nil, 0o644)
			_ = os.RemoveAll(bench.Notes())
		},
	} {
		path := filepath.Join(bench.Scripts(), fmt.Sprint("busy", n))
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					change(path, i)
				}
			}
		})
	}
	within(t, func() {
		for range 40 {
			if err := bench.Refresh(); err != nil {
				t.Error(err)
			}
			index, prompt := read(t, bench.IndexFile()), bench.Prompt()
			for _, text := range []string{index, prompt} {
				if !strings.Contains(text, "- `.flower/scripts/stays.sh` — stays") {
					t.Errorf("what stays is missing in\n%s", text)
				}
			}
		}
	})
	close(stop)
	writers.Wait()
}

func TestRefresh_from_many_goroutines_ends_with_the_last_state(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			write(t, filepath.Join(bench.Notes(), fmt.Sprint(i)), "# desc: note\n")
			if err := bench.Refresh(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := strings.Count(read(t, bench.IndexFile()), "— note"); got != 8 {
		t.Errorf("the index lists %d notes, want 8", got)
	}
}

func TestScan_unreadable(t *testing.T) {
	workspace := t.TempDir()
	bench := open(t, "", workspace, nil)
	write(t, filepath.Join(bench.Scripts(), "open.sh"), "# desc: open\n")
	write(t, filepath.Join(bench.Scripts(), "closed.sh"), "# desc: closed\n")
	write(t, filepath.Join(bench.Scripts(), "folder", "inner.sh"), "# desc: inner\n")
	write(t, filepath.Join(bench.Artifacts(), "a.log"), "// desc: log\n")
	for _, path := range []string{filepath.Join(bench.Scripts(), "closed.sh"), filepath.Join(bench.Scripts(), "folder"), bench.Artifacts()} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	}
	asOrdinaryUser(t, workspace, func() {
		if _, err := os.ReadFile(filepath.Join(bench.Scripts(), "closed.sh")); !errors.Is(err, os.ErrPermission) {
			t.Skipf("this user may read everything: %v", err)
		}
		index := refreshed(t, bench)
		for line, want := range map[string]bool{
			"- `.flower/scripts/open.sh` — open (13 B)\n": true,
			"- `.flower/scripts/closed.sh` (15 B)\n":      true,
			"inner.sh":                                    false,
			"## artifacts (0)":                            true,
		} {
			if got := strings.Contains(index, line); got != want {
				t.Errorf("%q listed: %t, want %t, in\n%s", line, got, want, index)
			}
		}
	})
}
