package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

func TestSandbox_has_no_way_to_files_or_commands(t *testing.T) {
	for _, name := range []string{"io", "dofile", "loadfile", "package", "debug", "module", "newproxy", "os.execute", "os.getenv",
		"os.exit", "os.remove", "os.rename", "os.tmpname", "string.dump", "collectgarbage", "channel"} {
		_, err := run(t, "assert("+rooted(name)+" == nil, 'it is there')", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rooted makes a.b safe to ask for where a may be missing.
func rooted(name string) string {
	if lib, _, ok := strings.Cut(name, "."); ok {
		return lib + " and " + name
	}
	return name
}

func TestSandbox_trust_opens_io_and_os(t *testing.T) {
	p := play(t, &echo{}, `
		assert(io.open and os.getenv)
		local path = flower.runtime.workspace .. "/part.lua"
		flower.fs.write("part.lua", "local a, b = 1, 2 a, b = b, a return a .. b, ...")
		assert(select("#", dofile(path)) == 1 and dofile(path) == "21" and loadfile(path)() == "21")
		local fn, err = loadfile(path .. "x")
		assert(fn == nil and err:find("no such file") and not pcall(dofile, path .. "x"))
		flower.fs.write("part.lua", "return = 1")
		fn, err = loadfile(path)
		assert(fn == nil and err:find("part.lua:1: syntax error"), err)
		local ok, exit = pcall(os.exit, 3)
		assert(not ok and exit.message:find("a script ends by returning"))`, &luabind.Options{Trust: true})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestSandbox_libraries_cannot_be_changed(t *testing.T) {
	for _, line := range []string{
		"string.upper = nil", "flower.sh = print", "flower.fs.read = print", "flower.json.x = 1", "math.pi = 3",
		"rawset(string, 'upper', nil)", "rawset(flower, 'sh', nil)", "getmetatable('').__index = {}",
		"flower.runtime.id = 'x'", "setmetatable(string, {})", "setmetatable(flower, nil)",
	} {
		if _, err := run(t, line, nil); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	if _, err := run(t, "assert(('a'):upper() == 'A')", nil); err != nil {
		t.Error(err)
	}
}

func TestComputing_without_end_is_stopped_whatever_the_script_catches(t *testing.T) {
	for name, source := range map[string]string{
		"loop":             "while true do end",
		"pcall":            "while true do pcall(function() while true do end end) end",
		"xpcall":           "xpcall(function() while true do end end, function() while true do end end)",
		"coroutine":        "coroutine.wrap(function() while true do end end)()",
		"coroutine in old": "local co = coroutine.create(function() while true do coroutine.yield() end end) while true do coroutine.resume(co) end",
		"recursion":        "local function f() return f() end f()",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, "\n"+source, &luabind.Options{ComputeLimit: 30 * time.Millisecond})
			var e *luabind.Error
			if !errors.As(err, &e) || e.Code != luabind.CodeLimit || e.Line < 2 {
				t.Errorf("err = %#v, want a limit with its line", err)
			}
		})
	}
}

func TestWaiting_for_a_command_does_not_count_as_computing(t *testing.T) {
	if _, err := run(t, "flower.sh('sleep 0.3')", &luabind.Options{ComputeLimit: 100 * time.Millisecond}); err != nil {
		t.Error(err)
	}
}

func TestRun_ends_with_its_context(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	p, err := luabind.Load("test.lua", "pcall(function() while true do end end) flower.sh('sleep 60')", nil)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop now")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(30*time.Millisecond, func() { cancel(stop) })
	if _, err := p.Run(ctx, rt, nil); !errors.Is(err, stop) {
		t.Errorf("err = %v, want the context's cause", err)
	}
}

func TestTables_with_far_indexes_take_no_room_for_what_is_between(t *testing.T) {
	if _, err := run(t, "local t = {} t[1e9] = 1 for i = 21, 60 do t[2^i] = i end assert(t[2^40] == 40 and t[1e9] == 1 and #t == 0)", nil); err != nil {
		t.Error(err)
	}
}

func TestPrint_is_an_event(t *testing.T) {
	printed, err := run(t, "print('a', 1, nil, true)", nil)
	if err != nil || len(printed) != 1 || printed[0] != "a\t1\tnil\ttrue" {
		t.Errorf("printed %q, %v", printed, err)
	}
}

func TestScript_gets_its_arguments(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	p, err := luabind.Load("test.lua", "local a, b = ... assert(a == 'x' and b == '-v' and arg[1] == 'x' and arg[2] == '-v' and arg[0] == 'test.lua')", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), rt, []string{"x", "-v"}); err != nil {
		t.Error(err)
	}
}

func TestLoadFile_says_what_is_wrong_with_the_file(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.lua")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.lua"): "no such file",
		dir:                            "is a folder",
		big:                            "a script may have",
	} {
		if _, err := luabind.LoadFile(path, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q and the path", path, err, want)
		}
	}
}

func TestSyntax_errors_name_the_line(t *testing.T) {
	for source, line := range map[string]int{
		"local x = 1\nlocal = 2":            2,
		"return {\n  a = 1,\n":              2,
		"local s = 'abc\nreturn s":          1,
		"x = = 1":                           1,
		"if true then\n  print('a')\n\n":    2,
		"for i = 1 do\nend":                 1,
		"#!/usr/bin/env flower\nlocal = 1":  2,
		"\ufeffprint('bom')\nreturn return": 2,
	} {
		_, err := luabind.Load("bad.lua", source, nil)
		var e *luabind.Error
		if !errors.As(err, &e) || e.File != "bad.lua" || e.Line != line || e.Code != luabind.CodeSyntax {
			t.Errorf("%q: %#v, want line %d", source, err, line)
		}
	}
}
