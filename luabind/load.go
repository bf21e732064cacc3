package luabind

import (
	"fmt"
	"io"
	"os"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// readScript reads a file that may be a script: no folder, and no larger than one
// may be.
func readScript(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("script %s: %w", path, cause(err))
	case info.IsDir():
		return "", fmt.Errorf("script %s is a folder", path)
	case !info.Mode().IsRegular(): // a pipe or a device might never end
		return "", fmt.Errorf("script %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("script %s: %w", path, cause(err))
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return "", fmt.Errorf("script %s: %w", path, cause(err))
	}
	if len(source) > maxSource {
		return "", tooLong("script "+path, max(info.Size(), int64(len(source))))
	}
	return string(source), nil
}

// loadString is loadstring(source [, name]).
func (s *state) loadString(L *lua.LState) int {
	return s.loadSource(L, L.CheckString(1), L.OptString(2, "<string>"))
}

// load is load(function [, name]): the source in pieces, until there is none.
func (s *state) load(L *lua.LState) int {
	piece, name := L.CheckFunction(1), L.OptString(2, "?")
	var source strings.Builder
	for source.Len() <= maxSource {
		L.Push(piece)
		L.Call(0, 1)
		v := L.Get(-1)
		L.Pop(1)
		if v == lua.LNil || v == lua.LString("") {
			break
		}
		text, ok := v.(lua.LString)
		if !ok {
			L.Push(lua.LNil)
			L.Push(lua.LString("reader function must return a string"))
			return 2
		}
		if len(text) > maxSource {
			text = text[:maxSource+1]
		}
		source.WriteString(string(text))
	}
	return s.loadSource(L, source.String(), name)
}

// loadSource pushes the function that a source is, or nil and what is wrong.
func (s *state) loadSource(L *lua.LState, source, name string) int {
	if len(source) > maxSource {
		return pushResult(L, lua.LNil, tooLong(clip(name), int64(len(source))))
	}
	c, err := compile(clip(name), source)
	if err != nil {
		return pushResult(L, lua.LNil, err)
	}
	if s.chunks[c.name] == nil {
		// The name alone: several chunks may have the same, so lines of fields do not
		// count.
		s.chunks[c.name] = &chunk{name: c.name}
	}
	L.Push(L.NewFunctionFromProto(c.proto))
	return 1
}

// loadFile is loadfile(path) of trusted scripts: as gopher-lua's, but with our
// compiler and its bounds.
func (s *state) loadFile(L *lua.LState) int {
	path := L.CheckString(1)
	source, err := readScript(path)
	if err != nil {
		return pushResult(L, lua.LNil, err)
	}
	return s.loadSource(L, source, path)
}

// doFile is dofile(path).
func (s *state) doFile(L *lua.LState) int {
	top := L.GetTop()
	if s.loadFile(L) != 1 {
		L.RaiseError("%s", L.Get(-1).String())
	}
	L.Call(0, lua.MultRet)
	return L.GetTop() - top
}
