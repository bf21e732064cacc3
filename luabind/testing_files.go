package luabind

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/internal/tree"
)

// rehearsal is flower.test.rehearsal(path): the function that a file with a rehearsal
// returns, for flower.test.stub.
func (b *bed) rehearsal(L *lua.LState) int {
	path, shown := b.beside(L, "flower.test.rehearsal", "the path of a rehearsal")
	L.Push(b.compile(L, path, shown))
	L.Call(0, 1)
	if _, ok := L.Get(-1).(*lua.LFunction); !ok {
		b.s.raise(L, CodeMisuse, &Error{File: shown, Line: b.s.chunks[shown].returns, Code: CodeMisuse,
			Message: "a rehearsal returns the function that plays the model, this returned a " + b.s.describe(L.Get(-1))})
	}
	return 1
}

// readRecorded is flower.test.recorded(folder): the accounts of a run directory,
// oldest first.
func (b *bed) readRecorded(L *lua.LState) int {
	path, shown := b.beside(L, "flower.test.recorded", "the path of a run directory")
	path, shown = filepath.Join(path, "manifest.json"), filepath.Join(shown, "manifest.json")
	b.file.read(path)
	var rows []engine.Result
	err := b.s.quick(func(context.Context) error {
		data, err := readRegular(os.OpenFile(path, os.O_RDONLY|openFlag, 0))
		if err != nil {
			return cause(err)
		}
		return json.Unmarshal(data, &rows)
	})
	if err != nil {
		b.s.misuse(L, "flower.test.recorded: %s: %v", shown, err)
	}
	out := L.CreateTable(len(rows), 0)
	for _, row := range rows {
		out.Append(b.s.viaJSON(row))
	}
	L.Push(out)
	return 1
}

// files is flower.test.files{ [path] = content }: writes files of the workspace.
func (b *bed) files(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || L.GetTop() != 1 {
		b.s.misuse(L, "flower.test.files takes one table of contents by path; it was given %s", b.s.describeArgs(L))
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		name, isText := k.(lua.LString)
		content, isContent := v.(lua.LString)
		if !isText || name == "" || !isContent {
			b.s.misuse(L, "flower.test.files: [%s] is a %s; it takes contents, strings, by path", b.s.showPlain(k), b.s.describe(v))
		}
		p, err := b.s.relative(string(name))
		if err == nil {
			err = b.s.quick(func(context.Context) error { return b.s.replace(p, []byte(content)) })
		}
		if err != nil {
			b.s.raise(L, CodeEngine, fmt.Errorf("flower.test.files: %s: %w", clip(string(name)), cause(err)))
		}
	}
	return 0
}

// copyIn is flower.test.copy(from [, to]): copies a file or folder that is beside the
// test into the workspace, by default under its own name.
func (b *bed) copyIn(L *lua.LState) int {
	from, shown := b.beside(L, "flower.test.copy", "the path of a file or folder")
	name := L.OptString(2, filepath.Base(from))
	to, err := b.s.placed(name)
	if err == nil {
		err = b.s.quick(func(ctx context.Context) error {
			b.readAll(from)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return tree.Copy(ctx, from, to)
		})
	}
	if err != nil {
		b.s.raise(L, CodeEngine, fmt.Errorf("flower.test.copy: %s: %w", shown, cause(err)))
	}
	return 0
}

// maxRead bounds of how many copied files is told that they are read.
const maxRead = 1000

// readAll tells that everything below a path is read.
func (b *bed) readAll(root string) {
	n := 0
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error { // the copy says what is wrong
		if n++; n > maxRead {
			return filepath.SkipAll
		}
		b.file.read(path)
		return nil
	})
}
