package luabind

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/workbench"
	"github.com/flowerlua/flower/internal/tree"
)

// openPlaces adds what a script can learn of where it runs: flower.workbench,
// flower.system, flower.lineage, flower.workspace_hash, flower.options.
func (s *state) openPlaces(flower *lua.LTable) {
	s.benches = map[*lua.LTable]*workbench.Bench{}
	for name, fn := range map[string]lua.LGFunction{
		"workbench": s.luaWorkbench, "system": s.luaSystem, "lineage": s.luaLineage,
		"archive": s.luaArchive, "workspace_hash": s.luaWorkspaceHash,
	} {
		flower.RawSetString(name, s.L.NewFunction(fn))
	}
	flower.RawSetString("lang", lua.LString(s.rt.Lang()))
	options := map[string]any{}
	for name, value := range s.program.options.Values {
		options[name] = value
	}
	flower.RawSetString("options", s.toLua(options))
}

// homes are the folders whose files scripts can name: the workspace, the workbench
// outside it, and the run directory.
func (s *state) homes() []string {
	return []string{s.rt.Workspace(), workbench.Home(s.rt.Workspace(), true), s.rt.RunDir()}
}

// inside reports whether a path lies in one of the folders.
func inside(path string, folders []string) bool {
	for _, folder := range folders {
		rel, err := filepath.Rel(folder, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// real is a path without links, as far as it exists; one whose links have no end
// is the root.
func real(path string) string {
	for range 40 {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			return to
		}
		to, err := os.Readlink(path)
		if err != nil { // not there, and no link either
			if dir := filepath.Dir(path); dir != path {
				return filepath.Join(real(dir), filepath.Base(path))
			}
			return path
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return string(filepath.Separator)
}

// place is the argument at a place as an absolute path that scripts may use.
func (s *state) place(L *lua.LState, at int, function string) string {
	text, ok := L.Get(at).(lua.LString)
	if !ok || text == "" {
		s.misuse(L, "%s takes a path, a string, as argument %d, not a %s", function, at, s.describe(L.Get(at)))
	}
	path, err := s.placed(string(text))
	if err != nil {
		s.misuse(L, "%s: %v", function, err)
	}
	return path
}

func (s *state) placed(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.rt.Workspace(), path)
	}
	path = filepath.Clean(path)
	homes := s.homes()
	if !inside(path, homes) {
		return "", fmt.Errorf("%s is outside the workspace %s", clip(path), s.rt.Workspace())
	}
	for i, home := range homes {
		homes[i] = real(home)
	}
	if !inside(real(path), homes) {
		return "", fmt.Errorf("%s leads out of the workspace by a link", clip(path))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return "", fmt.Errorf("%s %w", clip(path), errNotRegular)
	}
	return path, nil
}

// placeField is a field that names a path; "" when it is not there.
func (s *state) placeField(r *reader, field string) string {
	text := r.text(field)
	if text == "" {
		return ""
	}
	path, err := s.placed(text)
	if err != nil {
		r.wrong(field, "%v", err)
	}
	return path
}

// luaWorkbench is flower.workbench([{outside = bool, make = bool}]): the folders of
// the workbench, which are made unless make is false.
func (s *state) luaWorkbench(L *lua.LState) int {
	var found []Mistake
	r := s.reader(L, s.optionTable(L, 1, "flower.workbench"), "", &found)
	root := workbench.Home(s.rt.Workspace(), r.boolean("outside"))
	open := workbench.Open
	if r.off("make") {
		open = workbench.New
	}
	r.finish()
	if len(found) > 0 {
		s.raise(L, CodeMisuse, newMistakes(found))
	}
	bench, err := open(root, s.rt.Workspace(), &workbench.Options{Lang: s.rt.Lang()})
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	t := s.toLua(map[string]any{"root": bench.Root(), "notes": bench.Notes(), "scripts": bench.Scripts(),
		"artifacts": bench.Artifacts(), "spill": bench.Spills(), "index": bench.IndexFile()}).(*lua.LTable)
	s.benches[t] = bench
	L.Push(t)
	return 1
}

// readWorkbench reads the field workbench of a workflow.
func (s *state) readWorkbench(r *reader) *workbench.Bench {
	v := r.get("workbench")
	if t, ok := v.(*lua.LTable); ok && s.benches[t] != nil {
		return s.benches[t]
	}
	if v != lua.LNil {
		r.mustBe("workbench", "what flower.workbench() gave", v)
	}
	return nil
}

// programs are looked for on the PATH: what a goal may be checked with.
var programs = []string{"git", "go", "node", "npm", "python3", "pip", "cargo", "rustc", "java", "mvn", "make", "gcc", "docker", "curl", "rg", "bash"}

// luaSystem is flower.system(): {os, arch, shell, git, tools}.
func (s *state) luaSystem(L *lua.LState) int {
	tools := []string{}
	shell := "sh"
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			tools = append(tools, name)
			if name == "bash" {
				shell = name
			}
		}
	}
	_, err := s.root.Stat(".git")
	L.Push(s.toLua(map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "shell": shell, "git": err == nil, "tools": tools}))
	return 1
}

// luaLineage is flower.lineage(): {woke, steps}; it writes nothing.
func (s *state) luaLineage(L *lua.LState) int {
	l := engine.OpenLineage(s.rt.RunDir(), s.rt.Workspace())
	L.Push(s.toLua(map[string]any{"woke": l.Woke(), "steps": l.Steps()}))
	return 1
}

// luaArchive is flower.archive(into, file, …): moves the lineage and the files
// together and begins anew.
func (s *state) luaArchive(L *lua.LState) int {
	into := s.place(L, 1, "flower.archive")
	var files []string
	for i := 2; i <= L.GetTop(); i++ {
		files = append(files, s.place(L, i, "flower.archive"))
	}
	dir, err := engine.OpenLineage(s.rt.RunDir(), s.rt.Workspace()).Archive(into, files...)
	return pushResult(L, lua.LString(dir), err)
}

// luaWorkspaceHash is flower.workspace_hash(): a digest of the workspace's files,
// without .git, the workbench and the run directory.
func (s *state) luaWorkspaceHash(L *lua.LState) int {
	var sum string
	var err error
	w := s.rt.Workspace()
	s.block(func(ctx context.Context) {
		sum, err = tree.Hash(ctx, w, filepath.Join(w, ".git"), filepath.Join(w, ".flower"), s.rt.RunDir())
	})
	return pushResult(L, lua.LString(sum), err)
}
