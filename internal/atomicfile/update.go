package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPatience is how long Update waits for another process: each holds the
// lock for one small file's write.
const lockPatience = 30 * time.Second

// Update replaces the content of path with what change makes of it, while no
// other process that uses Update is between its read and its write of a file in
// the same folder. old is nil when the file does not exist. When change returns
// an error, or nil for the new content, nothing is written. The lock is a file
// named .lock beside path.
func Update(path string, perm fs.FileMode, change func(old []byte) ([]byte, error)) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		return fmt.Errorf("update %s: the lock %s is held by another process: %w", path, lock.Path(), err)
	}
	defer lock.Close() // releases the lock

	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("update %s: %w", path, err)
	}
	next, err := change(old)
	if err != nil || next == nil {
		return err
	}
	return Write(path, next, perm)
}
