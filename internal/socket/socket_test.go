package socket_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/internal/socket"
)

func listen(t *testing.T, key, dir string) net.Listener {
	t.Helper()
	ln, err := socket.Listen(key, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() }) // twice where the test closed it
	return ln
}

func TestListen_is_for_this_user_alone_and_goes_away(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ln := listen(t, "/a/store", "")
	path := ln.Addr().String()
	if filepath.Base(path) != socket.Name("/a/store") {
		t.Errorf("the socket is %s", path)
	}
	for file, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if err := socket.Check(path); err != nil {
		t.Error(err)
	}
	done := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			err = conn.Close()
		}
		done <- err
	}()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if err := socket.Check(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
}

func TestListen_replaces_what_a_dead_one_left(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first := listen(t, "key", "")
	path := first.Addr().String()
	first.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if second := listen(t, "key", ""); second.Addr().String() != path {
		t.Errorf("another socket: %s", second.Addr())
	}
}

func TestListen_goes_on_to_a_folder_that_will_do(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	open := t.TempDir()
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tmp := range []string{long, open} {
		t.Setenv("TMPDIR", tmp)
		if tmp == open { // somebody else could put something there
			folder := filepath.Join(open, fmt.Sprint("flower-", os.Getuid()))
			if err := errors.Join(os.Mkdir(folder, 0o777), os.Chmod(folder, 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		if path := listen(t, tmp, "").Addr().String(); strings.HasPrefix(path, tmp) {
			t.Errorf("the socket is %s", path)
		}
	}
}

func TestCheck_refuses_what_is_no_socket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := socket.Check(file); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("%v", err)
	}
}
