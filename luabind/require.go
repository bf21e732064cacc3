package luabind

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	at := s.modulesOf(L)
	key := s.moduleKey(at, name)
	if v, ok := s.loaded[key]; ok {
		return v, nil
	}
	if isOurs(name) {
		return s.requireFile(L, at, name)
	}
	for _, m := range s.program.options.Modules {
		if m.Name == name {
			v := s.readOnly(name, s.moduleTable(m))
			s.loaded[name] = v
			return v, nil
		}
	}
	return s.requireFile(L, at, name)
}

// moduleDir is the folder in which the files of a script look for modules, and what
// messages call it.
type moduleDir struct{ dir, shown string }

// ownModules is that of the script that is run.
func (s *state) ownModules() moduleDir {
	return moduleDir{s.program.dir, filepath.Dir(s.program.main.name)}
}

// modulesOf is that of the file that is being executed.
func (s *state) modulesOf(L *lua.LState) moduleDir {
	if len(s.moduleDirs) > 0 {
		file, _ := s.caller(L)
		if h, ok := s.moduleDirs[file]; ok {
			return h
		}
	}
	return s.ownModules()
}

// moduleKey is the name under which a module is kept: files of the same name in
// another folder are others.
func (s *state) moduleKey(at moduleDir, name string) string {
	isGo := slices.ContainsFunc(s.program.options.Modules, func(m Module) bool { return m.Name == name })
	if at.dir == s.program.dir || isOurs(name) || isGo {
		return name
	}
	return at.dir + "/" + name
}

func (s *state) requireFile(L *lua.LState, at moduleDir, name string) (lua.LValue, error) {
	key := s.moduleKey(at, name)
	if s.loading[key] {
		return nil, fmt.Errorf("module %q requires itself, by way of others", name)
	}
	file, source, err := s.findModuleIn(at, name)
	if err != nil {
		return nil, err
	}
	c, err := compile(file, source)
	if err != nil {
		return nil, err
	}
	s.chunks[file] = c
	if at.dir != s.program.dir {
		s.moduleDirs[file] = at
	}
	s.loading[key] = true
	defer delete(s.loading, key)
	L.Push(L.NewFunctionFromProto(c.proto))
	L.Push(lua.LString(name))
	L.Call(1, 1)
	v := L.Get(-1)
	L.Pop(1)
	if v == lua.LNil {
		v = lua.LTrue
	}
	s.loaded[key] = v
	return v, nil
}

// findModule reads a module of the script that is run.
func (s *state) findModule(name string) (file, source string, err error) {
	return s.findModuleIn(s.ownModules(), name)
}

// findModuleIn reads a module's file. os.Root keeps links from leading out of the
// script's folder.
func (s *state) findModuleIn(at moduleDir, name string) (file, source string, err error) {
	if isOurs(name) {
		raw, err := stdlib.Modules.ReadFile(strings.TrimPrefix(name, "flower.") + ".lua")
		if err != nil {
			return "", "", fmt.Errorf("flower has no module %q", name)
		}
		return name + ".lua", string(raw), nil
	}
	if at.dir == "" {
		return "", "", fmt.Errorf("there is no module %q", name)
	}
	root, err := os.OpenRoot(at.dir)
	if err != nil {
		return "", "", fmt.Errorf("module %q: %w", name, cause(err))
	}
	defer root.Close()
	base := strings.ReplaceAll(name, ".", "/")
	for _, rel := range []string{base + ".lua", base + "/init.lua"} {
		if s.onRead != nil {
			s.onRead(filepath.Join(at.dir, rel))
		}
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
		return filepath.Join(at.shown, rel), string(data), err
	}
	return "", "", fmt.Errorf("there is no module %q: neither %s.lua nor %s/init.lua is beside the script", name, base, base)
}
