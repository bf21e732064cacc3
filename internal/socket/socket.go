// Package socket opens Unix sockets that only this user can use.
//
// The paths of folders are often too long for a socket, so it lies in the folder
// for temporary files, in a folder that only this user may enter, under a name made
// from a key: what the socket belongs to. Whoever is told the path of a socket
// checks it before connecting.
//
//	ln, err := socket.Listen("/home/me/project/runs/sessions", "")
//	path := ln.Addr().String() // tell others
//	err = socket.Check(path)   // the others
package socket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxPath is what every system takes as the path of a Unix socket, in bytes.
const maxPath = 100

// Listen opens the socket of key; where no folder for temporary files will do, it
// lies in dir (empty: nowhere). What is there under its name is replaced, so the
// caller makes sure that nobody listens there. Connections of other users are
// closed before Accept returns them, where the system tells who they are. Close
// removes the socket.
func Listen(key, dir string) (net.Listener, error) {
	user := "flower-" + strconv.Itoa(os.Getuid())
	var errs []error
	for _, folder := range []string{filepath.Join(os.TempDir(), user), filepath.Join("/tmp", user), dir} {
		if folder == "" {
			continue
		}
		path := filepath.Join(folder, Name(key))
		if len(path) > maxPath {
			errs = append(errs, fmt.Errorf("%s is too long", path))
			continue
		}
		if folder != dir {
			if err := privateFolder(folder); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		ln, err := listenAt(path)
		if err == nil {
			return listener{ln}, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Name is the name that the socket of key has in its folder.
func Name(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:10]) + ".sock"
}

// Check makes sure that path is a socket of this user; fs.ErrNotExist when there is
// nothing.
func Check(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket || !ownedByUs(info) {
		return fmt.Errorf("%s is no socket of this user", path)
	}
	return nil
}

// listenAt replaces what one that died has left.
func listenAt(path string) (*net.UnixListener, error) {
	if err := Check(path); err == nil {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// privateFolder makes a folder for this user alone, or makes sure that it is one.
func privateFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to others", path)
	}
	return nil
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// listener accepts this user and root.
type listener struct{ *net.UnixListener }

func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, known := peer(conn); !known || uid == os.Getuid() || uid == 0 {
			return conn, nil
		}
		conn.Close()
	}
}
