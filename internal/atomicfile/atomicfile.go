// Package atomicfile replaces files whole: a reader, or the process that comes
// after a crash, sees the old content or the new one, never a part of either. What
// only grows is appended, synced; what is put away is moved.
//
// The work is done by google/renameio; this package adds what flower needs
// everywhere: missing parent folders are made, a symbolic link stays a link
// (its target is replaced), and the folder is synced so that the new name
// itself survives a power cut.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write replaces the content of path with data. The file gets perm when it is
// new and keeps its own mode when it exists. Parent folders are made with mode
// 0755. On any error the old file is untouched. The data is on disk when Write
// returns nil. It is safe for concurrent use; of several writers of one path
// the last to return wins.
func Write(path string, data []byte, perm fs.FileMode) error {
	return watched(Change{Path: path, Data: data}, func() error { return write(path, data, perm) })
}

func write(path string, data []byte, perm fs.FileMode) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// The temporary file lies beside the target: a rename is only atomic
	// within one file system.
	err = renameio.WriteFile(target, data, perm, renameio.WithTempDir(dir), renameio.WithExistingPermissions())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(dir)
}

// resolve follows symbolic links, also one whose target does not exist yet.
func resolve(path string) (string, error) {
	for range 40 {
		link, err := os.Readlink(path)
		if err != nil {
			// Not a link, or not there: this is the name to write.
			if errors.Is(err, fs.ErrNotExist) || isNotLink(path) {
				return path, nil
			}
			return "", err
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", errors.New("too many symbolic links")
}

func isNotLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink == 0
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}
