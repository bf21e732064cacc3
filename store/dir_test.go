package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// openFails opens a store and checks that it is refused with an error of that kind
// which holds the words.
func openFails(t *testing.T, dir string, kind error, words string) {
	t.Helper()
	st, err := store.Open(dir, nil)
	if err == nil {
		st.Close()
		t.Fatal("it was opened")
	}
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Fatalf("error %v, want %v and %q", err, kind, words)
	}
}

// filled is a closed store with a session "a" of three entries.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "sub", "store")
	st := open(t, dir, nil)
	for i := range uint64(3) {
		appendOne(t, st, key("a"), i)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestClose_of_a_store_whose_folder_was_removed_says_so_and_ends(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	st, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	appendOne(t, st, key("a"), 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err == nil || !strings.Contains(err.Error(), "was removed or moved away") {
		t.Errorf("error %v", err)
	}
}

func TestOpen_refuses_a_folder_of_something_else_and_leaves_it_alone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, transcript.ErrUnavailable, "not a flower store")
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

func TestOpen_refuses_a_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	openFails(t, path, transcript.ErrUnavailable, "is a file")
}

func TestOpen_refuses_another_form(t *testing.T) {
	for newer, words := range map[int]string{1: "use a newer version of flower", -1: "export its sessions with the flower that made it"} {
		dir := filled(t)
		if err := store.WriteMarker(dir, newer); err != nil {
			t.Fatal(err)
		}
		openFails(t, dir, transcript.ErrUnavailable, words)
	}
}

func TestOpen_refuses_a_store_whose_database_is_gone(t *testing.T) {
	for name, spoil := range map[string]func(db string) error{
		"folder removed": os.RemoveAll,
		"folder emptied": func(db string) error {
			return errors.Join(os.RemoveAll(db), os.Mkdir(db, 0o700))
		},
		"folder and marker removed": func(db string) error {
			return errors.Join(os.RemoveAll(db), os.Remove(filepath.Join(filepath.Dir(db), "flower-store")))
		},
		"list of tables removed": func(db string) error { return os.Remove(filepath.Join(db, "MANIFEST")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			if err := spoil(filepath.Join(dir, "db")); err != nil {
				t.Fatal(err)
			}
			openFails(t, dir, transcript.ErrDamaged, "p/a (3 entries)")
			openFails(t, dir, transcript.ErrDamaged, "p/a (3 entries)")
		})
	}
}

func TestOpen_refuses_the_database_of_another_store(t *testing.T) {
	a, b := filled(t), filled(t)
	if err := errors.Join(os.RemoveAll(filepath.Join(a, "db")), os.Rename(filepath.Join(b, "db"), filepath.Join(a, "db"))); err != nil {
		t.Fatal(err)
	}
	openFails(t, a, transcript.ErrDamaged, "another store")
}

func TestOpen_makes_a_lost_marker_and_a_lost_witness_anew(t *testing.T) {
	for _, name := range []string{"flower-store", "witness"} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			st := open(t, dir, nil)
			if n := len(loadAll(t, st, key("a"))); n != 3 {
				t.Errorf("%d entries", n)
			}
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpen_finds_a_store_that_was_moved_or_copied(t *testing.T) {
	dir := filled(t)
	copied := filepath.Join(t.TempDir(), "copy")
	copyTree(t, dir, copied)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{copied, moved} {
		if n := len(loadAll(t, open(t, dir, nil), key("a"))); n != 3 {
			t.Errorf("%s: %d entries", dir, n)
		}
	}
}

// A process without rights is needed: for root nothing is read-only.
func TestOpen_refuses_a_folder_that_is_read_only(t *testing.T) {
	if dir := os.Getenv("FLOWER_STORE_TEST_READ_ONLY"); dir != "" {
		openFails(t, dir, transcript.ErrUnavailable, "cannot be written")
		openFails(t, filepath.Join(dir, "new"), transcript.ErrUnavailable, "cannot be made")
		return
	}
	dir := filled(t)
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			_ = os.Chmod(d, 0o755)
		}
	})
	program := os.Args[0]
	if os.Getuid() == 0 {
		// Others may not run what the test was built into.
		program = filepath.Join(t.TempDir(), "test")
		if err := os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(program, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.run=^TestOpen_refuses_a_folder_that_is_read_only$")
	cmd.Env = append(os.Environ(), "FLOWER_STORE_TEST_READ_ONLY="+dir)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWrites_are_refused_when_space_is_short_and_nothing_is_lost(t *testing.T) {
	dir := filled(t)
	st := open(t, dir, &store.Options{MinFree: 1 << 60})
	_, appendErr := st.Append(ctx, key("a"), 3, []transcript.Entry{storetest.Entry("x", "x")})
	_, putErr := st.Put(ctx, "v", nil, 0)
	for name, err := range map[string]error{"append": appendErr, "put": putErr, "fork": st.Fork(ctx, key("a"), "", key("b"))} {
		if !errors.Is(err, transcript.ErrUnavailable) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(loadAll(t, st, key("a"))); n != 3 {
		t.Errorf("%d entries", n)
	}
	// Deleting makes room, so it is not refused.
	if err := st.Delete(ctx, key("a")); err != nil {
		t.Error(err)
	}
}

func TestOpen_does_not_touch_a_database_in_use_whose_lock_was_removed(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, nil)
	appendOne(t, st, key("a"), 0)
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, transcript.ErrUnavailable, "end that process")
	appendOne(t, st, key("a"), 1)
	if n := len(loadAll(t, st, key("a"))); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestOpen_says_who_owns_a_store_that_does_not_answer(t *testing.T) {
	dir := t.TempDir()
	c := spawn(t, "hold", "-", dir)
	c.hear()
	c.pause()
	st, err := store.Open(dir, &store.Options{Patience: 300e6})
	if err == nil {
		st.Close()
	}
	var n struct{ PID int }
	b, _ := os.ReadFile(filepath.Join(dir, "owner"))
	if jerr := json.Unmarshal(b, &n); jerr != nil || n.PID != c.cmd.Process.Pid {
		t.Errorf("owner file %s", b)
	}
	if !errors.Is(err, transcript.ErrUnavailable) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v", err)
	}
}

func TestCalls_give_up_an_owner_that_stops_in_the_middle(t *testing.T) {
	dir := t.TempDir()
	c := spawn(t, "hold", "-", dir)
	c.hear()
	st := open(t, dir, &store.Options{Patience: 400e6})
	appendOne(t, st, key("a"), 0)
	c.pause()
	if _, err := st.Head(ctx, key("a")); !errors.Is(err, transcript.ErrUnavailable) {
		t.Errorf("head: %v", err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Head(ctx, key("a")); err != nil {
		t.Errorf("head, when the owner goes on: %v", err)
	}
}
