package workbench

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Everything here reads a tree that others change meanwhile, or that somebody
// filled with links and devices. So: what is gone is left out, what cannot be
// read is listed without a description, nothing but a regular file is read,
// and nothing is opened in a way that could wait for somebody.

const (
	maxFiles = 20_000 // files, and folders, of a category that are listed
	maxDepth = 32     // folders within folders
)

// file is one entry of the index.
type file struct {
	folder string // of the category, with slashes, "" for the category's own
	name   string
	size   int64
	desc   string
}

// listing is the files of one category, without sizes and descriptions: see
// take.
type listing struct {
	files []file
	more  bool // there are files beyond the limits
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens path for reading if it is, or links to, a regular file.
// O_NONBLOCK makes the open return at once where path has become a pipe
// without a writer.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readUpTo fills buffer as far as the file goes.
func readUpTo(f *os.File, buffer []byte) ([]byte, error) {
	n, err := io.ReadFull(f, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return buffer[:n], err
}

// list gives the files below dir, those of dir first, by name.
func list(dir string) listing {
	var found listing
	folders := []string{""}
	for visited := 0; len(folders) > 0; visited++ {
		if visited == maxFiles || found.more && len(found.files) >= maxFiles {
			found.more = true
			break
		}
		folder := folders[0]
		folders = folders[1:]
		names := found.readFolder(filepath.Join(dir, filepath.FromSlash(folder)), folder)
		if strings.Count(folder, "/") < maxDepth-1 {
			folders = append(folders, names...)
		} else if len(names) > 0 {
			found.more = true
		}
	}
	slices.SortFunc(found.files, func(a, b file) int {
		return cmp.Or(strings.Compare(a.folder, b.folder), strings.Compare(a.name, b.name))
	})
	return found
}

// readFolder adds the files of the folder at dir and gives the folders in it.
func (l *listing) readFolder(dir, folder string) (folders []string) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		for _, entry := range entries {
			name := entry.Name()
			switch {
			case strings.HasPrefix(name, "."):
			case entry.IsDir() && len(folders) < maxFiles:
				folders = append(folders, path.Join(folder, name))
			case entry.IsDir():
				l.more = true
			case !entry.Type().IsRegular() && !linksToFile(entry, filepath.Join(dir, name)):
			case len(l.files) >= maxFiles:
				l.more = true
				return folders
			default:
				l.files = append(l.files, file{folder: folder, name: name})
			}
		}
		if err != nil || len(entries) == 0 {
			return folders
		}
	}
}

func linksToFile(entry fs.DirEntry, path string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// take gives at most n of the files, with sizes and descriptions, and leaves
// out those that are gone. It overwrites files.
func take(dir string, files []file, n int) []file {
	buffer := make([]byte, headSize)
	taken := files[:0]
	for _, f := range files {
		if len(taken) == n {
			break
		}
		if f.look(filepath.Join(dir, filepath.FromSlash(f.folder), f.name), buffer) {
			taken = append(taken, f)
		}
	}
	return taken
}

// look reports false when the file is gone.
func (f *file) look(path string, buffer []byte) bool {
	opened, info, err := openRegular(path)
	if err != nil {
		if info, err = os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return false
		}
		f.size = info.Size()
		return true
	}
	defer opened.Close()
	f.size = info.Size()
	// Files of the kernel say that they are empty, and some wait when read.
	if f.size > 0 {
		head, _ := readUpTo(opened, buffer[:min(f.size, headSize)])
		f.desc = describe(head)
	}
	return true
}
