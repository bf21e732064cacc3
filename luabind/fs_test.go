package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

func TestFS_reads_and_writes_in_the_workspace(t *testing.T) {
	p := play(t, &echo{}, `
		local fs = flower.fs
		assert(fs.write("a/b/c.txt", "one") == true)
		assert(fs.read("a/b/c.txt") == "one" and fs.exists("a/b/c.txt") and fs.exists("a") and not fs.exists("a/x"))
		assert(fs.append("a/b/c.txt", " two") and fs.append("log/new.txt", "first"))
		assert(fs.read("a/b/c.txt") == "one two" and fs.read("log/new.txt") == "first")
		assert(fs.write("a/b/c.txt", 42) and fs.read("./a/../a/b/c.txt") == "42")
		assert(fs.read(flower.runtime.workspace .. "/a/b/c.txt") == "42")
		assert(fs.write("bytes", "\0\255\n") and fs.read("bytes") == "\0\255\n")
		assert(fs.write("empty", "") and fs.read("empty") == "")
		assert(fs.mkdir("d/e") and fs.mkdir("d/e"))
		assert(table.concat(fs.list("a/b"), ",") == "c.txt" and #fs.list("d/e") == 0)
		assert(table.concat(fs.list("."), ","):find("a,bytes,d,empty,log", 1, true))
		assert(fs.remove("d/e") and not fs.exists("d/e"))
		assert(table.concat(fs.glob("**/*.txt"), ",") == "a/b/c.txt,log/new.txt")
		assert(table.concat(fs.glob("{bytes,empty}"), ",") == "bytes,empty" and #fs.glob("*.none") == 0)
		assert(flower.json.encode(fs.glob("*.none")) == "[]")`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, "a", "b", ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestFS_says_in_words_what_is_not_there(t *testing.T) {
	p := play(t, &echo{}, `
		local fs = flower.fs
		fs.write("file", "x")
		fs.mkdir("folder/full")
		local function fails(part, fn, ...)
			local value, err = fn(...)
			assert(value == nil and err:find(part, 1, true), tostring(value) .. ": " .. tostring(err))
		end
		fails("none: no such file", fs.read, "none")
		fails("folder: is a folder", fs.read, "folder")
		fails("file/x: not a directory", fs.read, "file/x")
		fails("folder: is not a regular file", fs.write, "folder", "x")
		fails("folder: is a", fs.append, "folder", "x")
		fails("file/x", fs.write, "file/x", "y")
		fails("none: no such file", fs.list, "none")
		fails("file: ", fs.list, "file")
		fails("none: no such file", fs.remove, "none")
		fails("directory not empty", fs.remove, "folder")
		fails("file: ", fs.mkdir, "file")
		fails("syntax error in pattern", fs.glob, "[")
		fails("too long a pattern", fs.glob, ("{a,b}"):rep(20))
		fails("", fs.read, ("x"):rep(5000))
		fails("", fs.read, "nul\0byte")`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

// TestFS_does_not_lead_out_of_the_workspace: by no words and no link.
func TestFS_does_not_lead_out_of_the_workspace(t *testing.T) {
	parent := t.TempDir()
	dir, outside := filepath.Join(parent, "work"), filepath.Join(parent, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"file": secret, "folder": outside, "relative": "../outside", "relfile": "../outside/secret", "dangling": filepath.Join(outside, "new"),
		"hop": "folder", "loop": "loop", "inner": "real", "up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := playIn(t, dir, &echo{}, `
		local fs = flower.fs
		for _, path in ipairs{ "../outside/secret", "a/../../outside/secret", "/etc/passwd", "..", flower.runtime.workspace .. "/../outside/secret" } do
			for name, fn in pairs{ read = fs.read, write = fs.write, append = fs.append, list = fs.list, exists = fs.exists, remove = fs.remove, mkdir = fs.mkdir, glob = fs.glob } do
				local ok, err = pcall(fn, path, "pwned")
				assert(not ok and tostring(err):find("outside the workspace", 1, true), name .. " " .. path .. ": " .. tostring(err))
			end
		end
		for _, path in ipairs{ "file", "folder/secret", "relative/secret", "relfile", "hop/secret", "up/outside/secret" } do
			assert(fs.read(path) == nil and not fs.exists(path), "read " .. path)
			assert(fs.append(path, "pwned") == nil, "append " .. path)
			assert(fs.write(path, "pwned") == nil, "write " .. path)
		end
		for _, path in ipairs{ "folder", "relative", "hop", "up" } do
			assert(fs.list(path) == nil and fs.mkdir(path .. "/new") == nil and fs.write(path .. "/new", "x") == nil, path)
		end
		assert(fs.write("dangling", "x") == nil and fs.append("dangling", "x") == nil)
		assert(fs.read("loop") == nil and fs.write("loop", "x") == nil)
		assert(#fs.glob("**/secret") == 0 and #fs.glob("folder/*") == 0 and #fs.glob("*/outside/*") == 0)
		assert(fs.write("real", "through a link") and fs.write("inner", "changed") and fs.read("real") == "changed")
		assert(fs.remove("file") and fs.remove("folder"))`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "secret" {
		t.Errorf("%q, %v", raw, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside holds %v", entries)
	}
	if info, err := os.Lstat(filepath.Join(dir, "inner")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link that stayed inside is none any more: %v, %v", info, err)
	}
}

func TestFS_does_not_wait_for_pipes_and_devices(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	p := playIn(t, dir, &echo{}, `
		local fs = flower.fs
		for name, fn in pairs{ read = fs.read, write = fs.write, append = fs.append, list = fs.list } do
			local value, err = fn("pipe", "x")
			assert(value == nil and err, name)
		end
		assert(fs.exists("pipe") and #fs.glob("**") >= 1)
		assert(fs.remove("pipe"))`, &luabind.Options{ComputeLimit: 20 * time.Second})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestFS_read_has_a_largest_size(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(16<<20+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	p := playIn(t, dir, &echo{}, `
		local value, err = flower.fs.read("big")
		assert(value == nil and err == "big: has 16777217 bytes; at most 16777216 are read", err)
		flower.sh("truncate -s 16777216 big")
		assert(#flower.fs.read("big") == 16777216)`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestFS_write_replaces_the_file_whole_and_keeps_its_mode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.sh")
	if err := os.WriteFile(path, []byte("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	p := playIn(t, dir, &echo{}, `
		assert(flower.fs.write("run.sh", "new"))
		assert(flower.fs.write(("n"):rep(250), "long name") and flower.fs.read(("n"):rep(250)) == "long name")
		flower.sh("chmod 500 .")
		local ok, err = flower.fs.write("run.sh", "newer")
		flower.sh("chmod 700 .")
		assert(ok or err:find("run.sh: "), err)`, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	old := make([]byte, 10)
	if n, _ := reader.Read(old); string(old[:n]) != "old" {
		t.Errorf("who had the file open reads %q", old[:n])
	}
}

func TestFS_glob_ends_with_the_context(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	deep := filepath.Join(rt.Workspace(), strings.Repeat("d/", 40))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := luabind.Load("test.lua", "while true do flower.fs.glob(('**/'):rep(12) .. 'none') end", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := program.Run(ctx, rt, nil); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestDocuments_do_not_lead_out_of_the_workspace either, and wait for no pipe.
func TestDocuments_do_not_lead_out_of_the_workspace(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	if err := os.WriteFile(secret, []byte("## Goal\nsecret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.md": secret, "folder": outside, "new.md": filepath.Join(outside, "new.md")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o644); err != nil {
		t.Skip(err)
	}
	p := playIn(t, dir, &echo{}, `
		local d = flower.document
		local brief = d.parse("brief", "## Goal\nx")
		for _, path in ipairs{ "link.md", "folder/secret.md", "folder/other.md", "new.md", "../x.md", "/etc/passwd", "pipe.md" } do
			for name, fn in pairs{ text = d.text, append = d.append, load = function(p) return d.load("brief", p) end, write = function(p) return d.write(brief, p) end } do
				local ok, err = pcall(fn, path, "pwned")
				assert(not ok and err.code == "misuse", name .. " " .. path .. ": " .. tostring(err))
			end
		end
		assert(d.append("own.md", "one") and d.append("own.md", " two") and d.text("own.md") == "one two")
		assert(d.text("missing.md") == nil and d.text(".") == nil)
		assert(not pcall(flower.channel, { timeout = math.huge }) and not pcall(flower.channel, { timeout = 0/0 }) and flower.channel{ timeout = -5 })`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside holds %v", entries)
	}
}
