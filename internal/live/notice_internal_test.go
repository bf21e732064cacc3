package live

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowerlua/flower/internal/socket"
)

// leave writes a notice as a process does, and gives its socket.
func leave(t *testing.T, dir, run string, change func(*Notice)) net.Listener {
	t.Helper()
	key, err := socketKey(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := socket.Listen(key, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() }) // twice where the test closed it
	n := Notice{V: Version, Run: run, PID: os.Getpid(), Host: hostname(), Socket: ln.Addr().String()}
	if change != nil {
		change(&n)
	}
	raw, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, run+noticeSuffix), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// abandon closes a socket as kill -9 does: its file stays.
func abandon(t *testing.T, ln net.Listener) {
	t.Helper()
	ln.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestList_removes_what_killed_processes_left(t *testing.T) {
	dir := t.TempDir()
	ln := leave(t, dir, "killed", nil)
	abandon(t, ln)
	found, err := List(dir)
	if err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := socket.Check(ln.Addr().String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestList_a_socket_that_was_taken_away_is_no_proof_of_death(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		run  string
		pid  func() int
		want bool
	}{
		{"lives", os.Getpid, true},
		{"died", func() int {
			cmd := exec.Command("true")
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			return cmd.Process.Pid
		}, false},
	} {
		ln := leave(t, dir, x.run, func(n *Notice) { n.PID = x.pid() })
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		found, err := List(dir)
		if err != nil || len(found) == 1 != x.want {
			t.Errorf("%s: found %v, %v", x.run, found, err)
		}
		if x.want {
			if err := os.Remove(filepath.Join(dir, x.run+noticeSuffix)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestList_what_lies_elsewhere_or_is_not_ours_stays(t *testing.T) {
	dir := t.TempDir()
	abandon(t, leave(t, dir, "container", func(n *Notice) { n.Host = "another" }))
	foreign := filepath.Join(t.TempDir(), "agent.sock")
	other, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	leave(t, dir, "trap", func(n *Notice) { n.Socket = foreign })
	if err := os.WriteFile(filepath.Join(dir, "half.json"), []byte(`{"v":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := List(dir)
	if err != nil || len(found) != 1 || !found[0].Elsewhere() {
		t.Errorf("found %+v, %v", found, err)
	}
	if left := names(t, dir); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

func TestList_of_a_folder_that_is_not_there_is_empty(t *testing.T) {
	if found, err := List(filepath.Join(t.TempDir(), "live")); err != nil || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestDial_one_that_says_nothing_is_silent(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, "stopped", nil)
	found, err := List(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	if _, err := dial(t.Context(), found[0], 20*time.Millisecond); !errors.Is(err, ErrSilent) {
		t.Errorf("%v", err)
	}
}

func TestDial_one_that_speaks_a_newer_language_is_left_alone(t *testing.T) {
	dir := t.TempDir()
	ln := leave(t, dir, "newer", nil)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(`{"kind":"hello","v":99}` + "\n")) // List connects too, and goes
			conn.Close()
		}
	}()
	found, err := List(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	if _, err := Dial(t.Context(), found[0]); !errors.Is(err, ErrVersion) {
		t.Errorf("%v", err)
	}
}
