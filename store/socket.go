package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxSocketPath is what every system takes as the path of a Unix socket, in bytes.
const maxSocketPath = 100

// notice is the content of the owner file: how to reach the owner.
type notice struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket"`
	// Error is why there is no socket.
	Error string `json:"error,omitempty"`
}

func readNotice(dir string) (n notice, err error) {
	b, err := os.ReadFile(filepath.Join(dir, fileOwner))
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(b, &n)
}

// writeNotice replaces the owner file; the lock is held.
func writeNotice(dir string, n notice) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, fileOwner), append(b, '\n'))
}

// listen opens the owner's socket. The paths of folders are too long for one, so
// it lies in the folder for temporary files, in a folder that only this user may
// enter, under a name made from the store's path.
func listen(dir string) (net.Listener, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(real))
	name := hex.EncodeToString(sum[:10]) + ".sock"
	user := "flower-" + strconv.Itoa(os.Getuid())
	var errs []error
	for _, folder := range []string{filepath.Join(os.TempDir(), user), filepath.Join("/tmp", user), real} {
		path := filepath.Join(folder, name)
		if len(path) > maxSocketPath {
			errs = append(errs, fmt.Errorf("%s is too long", path))
			continue
		}
		if folder != real {
			if err := privateFolder(folder); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		ln, err := listenAt(path)
		if err == nil {
			return ln, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// listenAt replaces what an owner that died has left; the lock is held, so no other
// lives.
func listenAt(path string) (net.Listener, error) {
	if err := checkSocket(path); err == nil {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen("unix", path)
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

// checkSocket makes sure that path is a socket of this user.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket || !ownedByUs(info) {
		return fmt.Errorf("%s is no socket of this user", path)
	}
	return nil
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
