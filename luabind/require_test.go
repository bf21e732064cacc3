package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/luabind"
)

// folder writes files and gives their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runFile runs main.lua of a folder, in a workspace elsewhere.
func runFile(t *testing.T, dir string, o *luabind.Options) (printed []string, err error) {
	t.Helper()
	program, err := luabind.LoadFile(filepath.Join(dir, "main.lua"), o)
	if err != nil {
		return nil, err
	}
	rt, seen := newRuntime(t, &echo{})
	_, err = program.Run(context.Background(), rt, nil)
	rt.Close()
	return seen.texts(event.Task), err
}

func TestRequire_finds_modules_beside_the_script_and_runs_each_once(t *testing.T) {
	dir := folder(t, map[string]string{
		"main.lua": `
			local m = require("lib.text")
			assert(m == require("lib.text") and m.twice("x") == "xx" and m.name == "lib.text")
			assert(require("lib").here and require("nothing") == true and require("with-dash") == 7)
			assert(loads == 1)
			assert(flower.script_dir == ...  or flower.script_dir:sub(1, 1) == "/")`,
		"lib/text.lua":  `loads = (loads or 0) + 1 local M = { name = ... } function M.twice(s) return s .. s end return M`,
		"lib/init.lua":  `return { here = true, text = require("lib.text") }`,
		"nothing.lua":   `-- returns nothing`,
		"with-dash.lua": `return 7`,
	})
	if _, err := runFile(t, dir, nil); err != nil {
		t.Error(err)
	}
}

func TestRequire_names_the_module_whose_fault_it_is(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		line  int
		text  string
	}{
		"syntax":        {map[string]string{"main.lua": `require("broken")`, "broken.lua": "local x\nx = = 1"}, "broken.lua", 2, "syntax error"},
		"raises":        {map[string]string{"main.lua": `require("broken")`, "broken.lua": "\n\nerror('when loaded')"}, "broken.lua", 3, "when loaded"},
		"in a function": {map[string]string{"main.lua": `require("m").f()`, "m.lua": "return { f = function()\n  return nil .. 'x'\nend }"}, "m.lua", 2, "attempt to concatenate a nil value"},
		"itself":        {map[string]string{"main.lua": `require("a")`, "a.lua": `require("b")`, "b.lua": "\nrequire('a')"}, "b.lua", 2, `module "a" requires itself, by way of others`},
		"missing":       {map[string]string{"main.lua": "\nrequire('a.b')"}, "main.lua", 2, "neither a/b.lua nor a/b/init.lua is beside the script"},
		"too large":     {map[string]string{"main.lua": "require('a')", "a.lua": strings.Repeat("-", 300<<10)}, "main.lua", 1, "a script may have 262144"},
		"a folder":      {map[string]string{"main.lua": "require('a')", "a.lua/x": ""}, "main.lua", 1, "a.lua is not a regular file"},
		"a field of a module": {map[string]string{
			"main.lua":  `return flower.workflow{ steps = require("steps") }`,
			"steps.lua": "local a = flower.agent{ name = 'a' }\nreturn {\n  flower.step{\n    name = 's',\n    spec = a,\n    prompt = 'p',\n    retrys = 1,\n  },\n}",
		}, "steps.lua", 7, "steps[1].retrys: is not a field"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			_, err := runFile(t, dir, nil)
			var one *luabind.Error
			var many *luabind.Mistakes
			file, line, text := "", 0, ""
			switch {
			case errors.As(err, &many):
				file, line, text = many.List[0].File, many.List[0].Line, many.List[0].Path+": "+many.List[0].Text
			case errors.As(err, &one):
				file, line, text = one.File, one.Line, one.Message
			}
			if file != filepath.Join(dir, c.file) || line != c.line || !strings.Contains(text, c.text) {
				t.Errorf("%s:%d: %s\nwant %s:%d: %s", file, line, text, c.file, c.line, c.text)
			}
		})
	}
}

func TestRequire_fails_again_after_a_failure_and_works_when_mended(t *testing.T) {
	dir := folder(t, map[string]string{
		"main.lua": `
			for i = 1, 2 do
				local ok, err = pcall(require, "flaky")
				assert(not ok and tostring(err):find("not yet"), tostring(err))
			end
			ready = true
			assert(require("flaky") == "ready")`,
		"flaky.lua": `if not ready then error("not yet") end return "ready"`,
	})
	if _, err := runFile(t, dir, nil); err != nil {
		t.Error(err)
	}
}

func TestRequire_does_not_leave_the_folder(t *testing.T) {
	outside := folder(t, map[string]string{"secret.lua": "return 'secret'"})
	dir := folder(t, map[string]string{"main.lua": `
		for _, name in ipairs{ "../secret", "..secret", "/etc/passwd", "a..b", "", ".", "a.", "a/b", "a\0b", "link", "linked.secret" } do
			local ok, err = pcall(require, name)
			assert(not ok, name)
		end
		for _, value in ipairs{ 1, {}, true } do assert(not pcall(require, value)) end
		assert(not pcall(require))`})
	if err := os.Symlink(filepath.Join(outside, "secret.lua"), filepath.Join(dir, "link.lua")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	if _, err := runFile(t, dir, nil); err != nil {
		t.Error(err)
	}
}

func TestRequire_of_flower_cannot_be_shadowed(t *testing.T) {
	dir := folder(t, map[string]string{
		"main.lua": `
			assert(require("flower") == flower and require("flower.fs") == flower.fs and require("flower.json") == flower.json)
			local ok, err = pcall(require, "flower.mine")
			assert(not ok and tostring(err):find('flower has no module "flower.mine"', 1, true), tostring(err))`,
		"flower.lua": "return 'shadow'", "flower/fs.lua": "return 'shadow'", "flower/mine.lua": "return 'shadow'",
	})
	if _, err := runFile(t, dir, nil); err != nil {
		t.Error(err)
	}
}

func TestRequire_without_a_file_finds_Go_modules_only(t *testing.T) {
	modules := []luabind.Module{{Name: "host", Functions: map[string]any{"hello": func() string { return "hello" }}}}
	p := play(t, &echo{}, `
		assert(require("host").hello() == "hello" and require("host") == require("host"))
		local ok, err = pcall(require, "main_test")
		assert(not ok and tostring(err):find('there is no module "main_test"', 1, true))`, &luabind.Options{Modules: modules})
	if p.err != nil {
		t.Error(p.err)
	}
}
