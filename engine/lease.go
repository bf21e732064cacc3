package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lease is the sole use of a workflow or a session by one process. It is a lock
// of the operating system on a file, so it ends with the process, however that
// ends; the file says who holds it.
type lease struct {
	file *os.File
	path string
}

// heldError: another holder is at work.
type heldError struct{ holder string }

func (e *heldError) Error() string { return "in use by " + e.holder }

// lease takes the lease on a name. A *heldError means that somebody has it.
func (b *base) lease(name string) (*lease, error) {
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(b.runDir, "locks", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	for {
		l, err := tryLease(path)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// tryLease is nil and no error when the file was removed by its last holder
// between opening and locking it.
func tryLease(path string) (*lease, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 256)) // what cannot be read is not named
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &heldError{holder: describeHolder(string(holder))}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	mine, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
		f.Close()
		return nil, nil
	}
	host, _ := os.Hostname() // a host without a name is not named
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), host), 0) // only for messages
	}
	return &lease{file: f, path: path}, nil
}

func describeHolder(text string) string {
	pid, host, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case pid == "":
		return "another process"
	case pid == fmt.Sprint(os.Getpid()):
		return "this process"
	case host == "":
		return "process " + pid
	}
	return "process " + pid + " on " + host
}

// release gives the lease back; nil and twice do no harm.
func (l *lease) release() {
	if l == nil || l.file == nil {
		return
	}
	_ = os.Remove(l.path) // while it is still locked; a file that stays does no harm
	l.file.Close()
	l.file = nil
}
