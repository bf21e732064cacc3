package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Append adds text to the end of a file, which gets perm when it is new; parent
// folders are made with mode 0755. The text begins a line: where the last line was
// cut off by a crash it is ended first. The text is on disk when Append returns nil.
func Append(path string, text []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, perm)
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	if inLine(f) {
		text = append([]byte("\n"), text...)
	}
	return errors.Join(AppendTo(f, text), f.Close())
}

// inLine reports whether a file ends within a line.
func inLine(f *os.File) bool {
	end, err := f.Stat()
	if err != nil || end.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, end.Size()-1)
	return err == nil && last[0] != '\n'
}

// AppendTo adds data to a file that was opened for appending, and syncs it. The
// caller closes the file.
func AppendTo(f *os.File, data []byte) error {
	err := watched(Change{Path: f.Name(), Data: data, Appended: true}, func() error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	})
	if err != nil {
		return fmt.Errorf("append to %s: %w", f.Name(), err)
	}
	return nil
}

// Move gives a file another name in the same file system, which nothing has yet.
// The folder of the new name is made. Both names are on disk when Move returns nil.
func Move(from, to string) error {
	return watched(Change{Path: from}, func() error {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("move %s: %w", from, err)
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		return errors.Join(syncDir(filepath.Dir(to)), syncDir(filepath.Dir(from)))
	})
}
