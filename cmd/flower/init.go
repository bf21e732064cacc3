package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/stdlib"
)

// initCommand makes what a first workflow needs.
type initCommand struct {
	Dir string `arg:"" optional:"" placeholder:"DIR" help:"The folder; made if it is not there (the workspace)."`
}

//go:embed template
var template embed.FS

// metaDir is where the editor finds the annotations of flower.*, as luarc.json says.
const metaDir = ".flower/meta"

// initFile is a file to make, by its path below the folder.
type initFile struct {
	path    string
	content []byte
}

// makeFirst makes the files that are not there, leaves those that are, and prints the
// commands to type next. The annotations are flower's own: old ones are replaced.
func (a *app) makeFirst(c *cli) error {
	dir := c.Init.Dir
	if dir == "" {
		dir = c.Workspace
	}
	files, err := initFiles()
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return wrongUse("%s is not a folder", dir)
	}
	changed, foreign := 0, false
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if strings.HasPrefix(f.path, metaDir+"/") {
			new, err := renewFile(path, f.content)
			if err != nil {
				return fmt.Errorf("init: %w", err)
			}
			if new {
				changed++
			}
			continue
		}
		made, err := makeFile(path, f.content)
		if err != nil {
			return fmt.Errorf("init: %w", err)
		}
		if made {
			fmt.Fprintf(a, "made  %s\n", clean(path))
			continue
		}
		foreign = foreign || strings.HasPrefix(f.path, "workflow.") && !same(path, f.content)
		fmt.Fprintf(a, "kept  %s (it is there)\n", clean(path))
	}
	state := "kept "
	if changed > 0 {
		state = "made "
	}
	fmt.Fprintf(a, "%s %s: what flower has, for the editor's Lua language server\n", state, clean(filepath.Join(dir, metaDir)))
	a.tellNext(dir, foreign)
	return nil
}

// tellNext prints what to type next. A person's own script may want another rehearsal.
func (a *app) tellNext(dir string, foreign bool) {
	steps := []string{"flower --rehearse workflow.rehearsal.lua workflow.lua", "flower test"}
	if foreign {
		steps = []string{"flower check workflow.lua workflow.rehearsal.lua workflow.test.lua"}
	}
	if filepath.Clean(dir) != "." {
		steps = append([]string{"cd " + shellWord(dir)}, steps...)
	}
	fmt.Fprintf(a, "\nNext, without a key:\n\n  %s\n", strings.Join(steps, "\n  "))
	if !foreign {
		fmt.Fprint(a, "\nand with one, which flower setup asks for: flower workflow.lua\n")
	}
}

// shellWord is a text as one word of a shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@", r)
	}
	if text != "" && text[0] != '-' && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	if strings.HasPrefix(text, "-") {
		text = "./" + text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// initFiles are those of the template and the annotations.
func initFiles() ([]initFile, error) {
	var files []initFile
	for _, name := range []string{"workflow.lua", "workflow.rehearsal.lua", "workflow.test.lua", ".luarc.json"} {
		content, err := template.ReadFile("template/" + strings.TrimPrefix(name, "."))
		if err != nil {
			return nil, err
		}
		files = append(files, initFile{name, content})
	}
	err := fs.WalkDir(stdlib.Meta, "meta", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := stdlib.Meta.ReadFile(p)
		files = append(files, initFile{path.Join(metaDir, strings.TrimPrefix(p, "meta/")), content})
		return err
	})
	return files, err
}

// makeFile makes a file unless there is one, whatever it is.
func makeFile(path string, content []byte) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path))
	}
	return true, nil
}

func same(path string, content []byte) bool {
	old, err := os.ReadFile(path)
	return err == nil && bytes.Equal(old, content)
}

// renewFile makes a file that is ours, or replaces an older one. What is there and is
// no file stays.
func renewFile(path string, content []byte) (changed bool, err error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || same(path, content)) {
		return false, nil
	}
	return true, atomicfile.Write(path, content, 0o644)
}
