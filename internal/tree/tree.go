// Package tree copies folders and tells whether they changed.
package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy makes dst, which must not exist, a copy of the folder src: files with their
// modes and times, folders, symbolic links as links. Pipes, sockets and devices
// are left out, and everything below the absolute paths in skip. Where the file
// system can, files share their blocks. What vanishes while it is copied is left
// out too.
func Copy(ctx context.Context, src, dst string, skip ...string) error {
	return walk(ctx, src, skip, func(path, rel string, info fs.FileInfo) error {
		to := filepath.Join(dst, rel)
		switch {
		case info.IsDir():
			// Writable while it is filled; a folder that was not stays so.
			return os.MkdirAll(to, info.Mode().Perm()|0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		case info.Mode().IsRegular():
			return copyFile(path, to, info)
		}
		return nil
	})
}

func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // by reference where the system knows how
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// Hash is a digest of the paths, kinds, modes and contents below root, without
// what is below the absolute paths in skip.
func Hash(ctx context.Context, root string, skip ...string) (string, error) {
	sum := sha256.New()
	err := walk(ctx, root, skip, func(path, rel string, info fs.FileInfo) error {
		fmt.Fprintf(sum, "%s\x00%o\x00%d\x00", rel, info.Mode(), sizeOf(info))
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			fmt.Fprintf(sum, "%s\x00", target)
			return err
		case info.Mode().IsRegular():
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(sum, f)
			return err
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// sizeOf leaves out what a folder says of its own size.
func sizeOf(info fs.FileInfo) int64 {
	if info.IsDir() {
		return 0
	}
	return info.Size()
}

// walk visits everything below root in order, root itself first.
func walk(ctx context.Context, root string, skip []string, visit func(path, rel string, info fs.FileInfo) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, s := range skip {
			if path == s {
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				var rel string
				if rel, err = filepath.Rel(root, path); err == nil {
					err = visit(path, rel, info)
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) && path != root {
			return nil // it vanished meanwhile
		}
		return err
	})
}
