package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
	// Within the process a mutex keeps the order; the file keeps others out.
	mine := folder(dir)
	mine.Lock()
	defer mine.Unlock()
	lock := flock.New(filepath.Join(dir, ".lock"))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("another process has held it for %v", lockPatience)
		}
		return fmt.Errorf("update %s: the lock %s: %w", path, lock.Path(), err)
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

// folders has a mutex for every folder that Update was used in: few, as they are
// run directories.
var folders sync.Map

func folder(dir string) *sync.Mutex {
	mu, _ := folders.LoadOrStore(filepath.Clean(dir), new(sync.Mutex))
	return mu.(*sync.Mutex)
}
