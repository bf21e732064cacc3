package luabind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
	lua "github.com/yuin/gopher-lua"
)

// maxFile is the largest file flower.fs.read returns, in bytes.
const maxFile = 16 << 20

// openFlag keeps an open from waiting for the other end of a pipe.
const openFlag = syscall.O_NONBLOCK

var errNotRegular = errors.New("is not a regular file")

// fsTable is flower.fs: files of the workspace. os.Root keeps every path, links
// included, inside it. What is not there comes back as nil and a text.
func (s *state) fsTable() *lua.LTable {
	t := s.L.CreateTable(0, 8)
	for name, fn := range map[string]func(L *lua.LState, path string) (lua.LValue, error){
		"read":   s.fsRead,
		"write":  s.fsWrite,
		"append": s.fsAppend,
		"list":   s.fsList,
		"glob":   s.fsGlob,
		"mkdir":  s.fsMkdir,
		"remove": s.fsRemove,
		"exists": s.fsExists,
	} {
		t.RawSetString(name, s.L.NewFunction(s.fsFunction("flower.fs."+name, fn)))
	}
	return t
}

func (s *state) fsFunction(name string, fn func(*lua.LState, string) (lua.LValue, error)) lua.LGFunction {
	return func(L *lua.LState) int {
		p := s.fsPath(L, name)
		value, err := fn(L, p)
		if err != nil {
			L.Push(lua.LNil)
			L.Push(lua.LString(fmt.Sprintf("%s: %v", clip(p), cause(err))))
			return 2
		}
		L.Push(value)
		return 1
	}
}

// fsPath is the first argument as a path below the workspace.
func (s *state) fsPath(L *lua.LState, function string) string {
	text, ok := L.Get(1).(lua.LString)
	if !ok || text == "" {
		s.misuse(L, "%s takes a path, a string that is not empty, not %s", function, shown(s, L.Get(1)))
	}
	p, err := s.relative(string(text))
	if err != nil {
		s.misuse(L, "%s: %v", function, err)
	}
	return p
}

// shown names an argument's type, and the text when it is empty.
func shown(s *state, v lua.LValue) string {
	if v == lua.LString("") {
		return `""`
	}
	return "a " + s.describe(v)
}

// relative is a path as os.Root takes it; one that leads out of the workspace by
// its own words is an error.
func (s *state) relative(text string) (string, error) {
	p := text
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(s.rt.Workspace(), p)
		if err != nil {
			return "", fmt.Errorf("%s is outside the workspace %s", clip(text), s.rt.Workspace())
		}
		p = rel
	}
	p = path.Clean(filepath.ToSlash(p))
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", fmt.Errorf("%s is outside the workspace %s", clip(text), s.rt.Workspace())
	}
	return p, nil
}

func (s *state) content(L *lua.LState, function string) []byte {
	switch v := L.Get(2).(type) {
	case lua.LString:
		return []byte(v)
	case lua.LNumber:
		return []byte(v.String())
	}
	s.misuse(L, "%s takes the content, a string, as its second argument, not a %s", function, s.describe(L.Get(2)))
	return nil
}

// quick runs a file operation off the state's goroutine, so that a slow disk does
// not stop callbacks.
func (s *state) quick(work func(ctx context.Context) error) (err error) {
	ctx := s.clock.context()
	s.serve(func() { err = work(ctx) })
	return err
}

func (s *state) fsRead(_ *lua.LState, p string) (lua.LValue, error) {
	var data []byte
	err := s.quick(func(context.Context) (err error) {
		data, err = s.readRegular(p)
		return err
	})
	return lua.LString(data), err
}

func (s *state) readRegular(p string) ([]byte, error) {
	return readRegular(s.root.OpenFile(p, os.O_RDONLY|openFlag, 0))
}

// readRegular reads what an open gave, and closes it.
func readRegular(f *os.File, err error) ([]byte, error) {
	f, info, err := regular(f, err)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil, fmt.Errorf("has %d bytes; at most %d are read", info.Size(), maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("has more than %d bytes, which are not read", maxFile)
	}
	return data, err
}

// regular makes sure that what an open gave is a file: a pipe or a device could be
// read or written for ever.
func regular(f *os.File, err error) (*os.File, fs.FileInfo, error) {
	if errors.Is(err, syscall.ENXIO) {
		return nil, nil, errNotRegular // a pipe that nobody reads
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a folder; list it with flower.fs.list")
	} else if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (s *state) fsWrite(L *lua.LState, p string) (lua.LValue, error) {
	data := s.content(L, "flower.fs.write")
	err := s.quick(func(context.Context) error { return s.replace(p, data) })
	return lua.LTrue, err
}

// replace writes a file whole: temporary beside it, sync, rename, all inside the
// root. A link is followed, as far as it stays inside.
func (s *state) replace(p string, data []byte) error {
	p, err := s.target(p)
	if err != nil {
		return err
	}
	if err := s.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := s.root.Stat(p); err == nil {
		if !info.Mode().IsRegular() {
			return errNotRegular
		}
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf("%s/.%s.%d.tmp", path.Dir(p), path.Base(p), os.Getpid())
	if len(path.Base(temporary)) > 255 {
		temporary = fmt.Sprintf("%s/.flower.%d.tmp", path.Dir(p), os.Getpid())
	}
	if err := s.writeSynced(temporary, data, mode); err != nil {
		_ = s.root.Remove(temporary) // the first error says what went wrong
		return err
	}
	if err := s.root.Rename(temporary, p); err != nil {
		_ = s.root.Remove(temporary)
		return err
	}
	return nil
}

// target is the file that a path stands for, after links.
func (s *state) target(p string) (string, error) {
	for range 16 {
		info, err := s.root.Lstat(p)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return p, nil // what is wrong with it shows when it is written
		}
		to, err := s.root.Readlink(p)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = path.Join(path.Dir(p), filepath.ToSlash(to))
		}
		if p, err = s.relative(to); err != nil {
			return "", errors.New("is a link that leads out of the workspace")
		}
	}
	return "", errors.New("is a link to too many links")
}

func (s *state) writeSynced(p string, data []byte, mode fs.FileMode) error {
	f, err := s.root.OpenFile(p, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (s *state) fsAppend(L *lua.LState, p string) (lua.LValue, error) {
	data := s.content(L, "flower.fs.append")
	return lua.LTrue, s.quick(func(context.Context) error {
		if err := s.root.MkdirAll(path.Dir(p), 0o755); err != nil {
			return err
		}
		f, _, err := regular(s.root.OpenFile(p, os.O_CREATE|os.O_APPEND|os.O_WRONLY|openFlag, 0o644))
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	})
}

// fsList gives the names in a folder, sorted.
func (s *state) fsList(_ *lua.LState, p string) (lua.LValue, error) {
	var entries []fs.DirEntry
	err := s.quick(func(ctx context.Context) (err error) {
		entries, err = folder{s.root, ctx}.ReadDir(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return s.toLua(names), nil
}

// fsGlob lists the files that a pattern with *, ** and {a,b} matches, sorted.
func (s *state) fsGlob(_ *lua.LState, pattern string) (lua.LValue, error) {
	// Each group of alternatives doubles the work.
	if len(pattern) > 4096 || strings.Count(pattern, "{") > 8 {
		return nil, errors.New("is too long a pattern")
	}
	var names []string
	err := s.quick(func(ctx context.Context) error {
		err := doublestar.GlobWalk(folder{s.root, ctx}, pattern, func(p string, _ fs.DirEntry) error {
			names = append(names, p)
			if len(names) > maxGlob {
				return fmt.Errorf("matches more than %d files", maxGlob)
			}
			return nil
		}, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err == nil {
			err = context.Cause(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return s.toLua(slices.Compact(names)), nil
}

// folder is a root as a file system for reading folders. It opens nothing that
// could make it wait, and when ctx ends it has no files any more.
type folder struct {
	root *os.Root
	ctx  context.Context
}

// Open opens a file or folder.
func (d folder) Open(name string) (fs.File, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	return d.root.OpenFile(name, os.O_RDONLY|openFlag, 0)
}

// Stat follows links.
func (d folder) Stat(name string) (fs.FileInfo, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	return d.root.Stat(name)
}

// ReadDir gives the entries of a folder by name.
func (d folder) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.(fs.ReadDirFile).ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (s *state) fsMkdir(_ *lua.LState, p string) (lua.LValue, error) {
	return lua.LTrue, s.root.MkdirAll(p, 0o755)
}

// fsRemove removes a file or an empty folder.
func (s *state) fsRemove(_ *lua.LState, p string) (lua.LValue, error) {
	return lua.LTrue, s.root.Remove(p)
}

func (s *state) fsExists(_ *lua.LState, p string) (lua.LValue, error) {
	_, err := s.root.Stat(p)
	return lua.LBool(err == nil), nil
}
