package luabind

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/stdlib"
)

// moduleName is a name that require takes: words joined by dots. No path gets out
// of the script's folder this way.
var moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)

// luaRequire is our own require: flower and its parts, Go modules, then files in
// the folder of the script (a.b is a/b.lua or a/b/init.lua). Each is run once.
func (s *state) luaRequire(L *lua.LState) int {
	name, ok := L.Get(1).(lua.LString)
	if !ok || !moduleName.MatchString(string(name)) {
		s.misuse(L, "require takes a module's name, words joined by dots, not %s", L.Get(1))
	}
	value, err := s.require(L, string(name))
	if err != nil {
		s.raise(L, CodeMisuse, err)
	}
	L.Push(value)
	return 1
}

func (s *state) require(L *lua.LState, name string) (lua.LValue, error) {
	if v, ok := s.loaded[name]; ok {
		return v, nil
	}
	if isOurs(name) {
		return s.requireFile(L, name)
	}
	for _, m := range s.program.options.Modules {
		if m.Name == name {
			v := s.readOnly(name, s.moduleTable(m))
			s.loaded[name] = v
			return v, nil
		}
	}
	return s.requireFile(L, name)
}

func (s *state) requireFile(L *lua.LState, name string) (lua.LValue, error) {
	if s.loading[name] {
		return nil, fmt.Errorf("module %q requires itself, by way of others", name)
	}
	file, source, err := s.findModule(name)
	if err != nil {
		return nil, err
	}
	c, err := compile(file, source)
	if err != nil {
		return nil, err
	}
	s.chunks[file] = c
	s.loading[name] = true
	defer delete(s.loading, name)
	L.Push(L.NewFunctionFromProto(c.proto))
	L.Push(lua.LString(name))
	L.Call(1, 1)
	v := L.Get(-1)
	L.Pop(1)
	if v == lua.LNil {
		v = lua.LTrue
	}
	s.loaded[name] = v
	return v, nil
}

// findModule reads a module's file. os.Root keeps links from leading out of the
// script's folder.
func (s *state) findModule(name string) (file, source string, err error) {
	if isOurs(name) {
		raw, err := stdlib.Modules.ReadFile(strings.TrimPrefix(name, "flower.") + ".lua")
		if err != nil {
			return "", "", fmt.Errorf("flower has no module %q", name)
		}
		return name + ".lua", string(raw), nil
	}
	dir := s.program.dir
	if dir == "" {
		return "", "", fmt.Errorf("there is no module %q", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", fmt.Errorf("module %q: %w", name, cause(err))
	}
	defer root.Close()
	base := strings.ReplaceAll(name, ".", "/")
	for _, rel := range []string{base + ".lua", base + "/init.lua"} {
		f, err := root.OpenFile(rel, os.O_RDONLY|openFlag, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("module %q: %s: %w", name, rel, cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return "", "", fmt.Errorf("module %q: %s %w", name, rel, errNotRegular)
		}
		data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
		if err == nil && len(data) > maxSource {
			err = tooLong("module "+name, int64(len(data)))
		}
		shown := filepath.Join(filepath.Dir(s.program.main.name), rel)
		return shown, string(data), err
	}
	return "", "", fmt.Errorf("there is no module %q: neither %s.lua nor %s/init.lua is beside the script", name, base, base)
}
