package store

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/internal/socket"
)

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

// listen opens the owner's socket; the lock is held, so no other owner lives.
func listen(dir string) (net.Listener, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	return socket.Listen(real, real)
}
