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

	"github.com/bmatcuk/doublestar/v4"
	lua "github.com/yuin/gopher-lua"
)

// maxFile is the largest file flower.fs.read returns, in bytes.
const maxFile = 16 << 20

// fsTable is flower.fs: files of the workspace. os.Root keeps every path, links
// included, inside it. What is not there comes back as nil and a text.
func (s *state) fsTable() *lua.LTable {
	t := s.L.NewTable()
	for name, fn := range map[string]func(L *lua.LState, path string) (lua.LValue, error){
		"read":   s.fsRead,
		"write":  s.fsWrite,
		"append": s.fsAppend,
		"list":   s.fsList,
		"glob":   s.fsGlob,
		"mkdir":  s.fsMkdir,
		"remove": s.fsRemove,
	} {
		t.RawSetString(name, s.L.NewFunction(s.fsFunction("flower.fs."+name, fn)))
	}
	t.RawSetString("exists", s.L.NewFunction(func(L *lua.LState) int {
		_, err := s.root.Stat(s.fsPath(L, "flower.fs.exists"))
		L.Push(lua.LBool(err == nil))
		return 1
	}))
	return t
}

// fsFunction runs a file operation off the state's goroutine, so that a slow disk
// or a pipe does not stop callbacks.
func (s *state) fsFunction(name string, fn func(*lua.LState, string) (lua.LValue, error)) lua.LGFunction {
	return func(L *lua.LState) int {
		p := s.fsPath(L, name)
		value, err := fn(L, p)
		if err != nil {
			L.Push(lua.LNil)
			L.Push(lua.LString(fmt.Sprintf("%s: %v", p, cause(err))))
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
		s.misuse(L, "%s takes a path, a string, not a %s", function, s.describe(L.Get(1)))
	}
	p := string(text)
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(s.rt.Workspace(), p)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			s.misuse(L, "%s: %s is outside the workspace %s", function, p, s.rt.Workspace())
		}
		p = rel
	}
	if p = path.Clean(filepath.ToSlash(p)); p == ".." || strings.HasPrefix(p, "../") {
		s.misuse(L, "%s: %s is outside the workspace", function, string(text))
	}
	return p
}

func (s *state) content(L *lua.LState, function string) []byte {
	text, ok := L.Get(2).(lua.LString)
	if !ok {
		s.misuse(L, "%s takes the content, a string, as its second argument, not a %s", function, s.describe(L.Get(2)))
	}
	return []byte(text)
}

func (s *state) fsRead(_ *lua.LState, p string) (lua.LValue, error) {
	var data []byte
	var err error
	s.block(func(context.Context) { data, err = s.readRegular(p) })
	return lua.LString(data), err
}

func (s *state) readRegular(p string) ([]byte, error) {
	// A pipe or device would be read for ever.
	info, err := s.root.Stat(p)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a folder; list it with flower.fs.list")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("has %d bytes; at most %d are read", info.Size(), maxFile)
	}
	f, err := s.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

func (s *state) fsWrite(L *lua.LState, p string) (lua.LValue, error) {
	data := s.content(L, "flower.fs.write")
	var err error
	s.block(func(context.Context) { err = s.replace(p, data) })
	return lua.LTrue, err
}

// replace writes a file whole: temporary beside it, sync, rename, all inside the
// root.
func (s *state) replace(p string, data []byte) error {
	if err := s.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := s.root.Stat(p); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("is not a regular file")
		}
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf("%s/.%s.%d.tmp", path.Dir(p), path.Base(p), os.Getpid())
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
	if err := s.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return nil, err
	}
	if info, err := s.root.Stat(p); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := s.root.OpenFile(p, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	return lua.LTrue, errors.Join(err, f.Close())
}

func (s *state) fsList(_ *lua.LState, p string) (lua.LValue, error) {
	entries, err := fs.ReadDir(s.root.FS(), p)
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
	var names []string
	var err error
	s.block(func(context.Context) {
		names, err = doublestar.Glob(s.root.FS(), pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return s.toLua(names), nil
}

func (s *state) fsMkdir(_ *lua.LState, p string) (lua.LValue, error) {
	return lua.LTrue, s.root.MkdirAll(p, 0o755)
}

// fsRemove removes a file or an empty folder.
func (s *state) fsRemove(_ *lua.LState, p string) (lua.LValue, error) {
	return lua.LTrue, s.root.Remove(p)
}
