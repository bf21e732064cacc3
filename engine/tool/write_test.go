package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

func TestWrite_makes_files_and_folders(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	wants(t, good(t, s, "Write", in{"file_path": "a/b/new.txt", "content": "one\ntwo"}), "written a/b/new.txt: 2 lines")
	if got := content(t, filepath.Join(dir, "a/b/new.txt")); got != "one\ntwo" {
		t.Errorf("content = %q", got)
	}
	// What it wrote it knows.
	wants(t, good(t, s, "Write", in{"file_path": "a/b/new.txt", "content": ""}), "replaced a/b/new.txt: 0 lines")
	wants(t, good(t, s, "Write", in{"file_path": "a/b/new.txt", "content": "x\n"}), "1 line")
	wants(t, bad(t, s, "Write", in{"file_path": "a/b", "content": "x"}), "is a folder")
	wants(t, bad(t, s, "Write", in{"file_path": "x"}), "content is missing")
	wants(t, bad(t, s, "Write", in{"file_path": "a/b/new.txt/below", "content": "x"}), "not a directory")
}

func TestWrite_replaces_only_what_was_read_and_has_not_changed(t *testing.T) {
	dir := tempDir(t)
	path := put(t, dir, "f", "one\ntwo\nthree\n")
	s := newSet(t, tool.Options{Workspace: dir})
	write := in{"file_path": "f", "content": "new\n"}
	wants(t, bad(t, s, "Write", write), "has not been read")
	good(t, s, "Read", in{"file_path": "f", "limit": 1})
	wants(t, bad(t, s, "Write", write), "read in part only")
	good(t, s, "Read", in{"file_path": "f", "offset": 3})
	wants(t, bad(t, s, "Write", write), "read in part only")
	good(t, s, "Read", in{"file_path": "f", "offset": 2, "limit": 1})
	put(t, dir, "f", "one\ntwo\nthree!\n")
	wants(t, bad(t, s, "Write", write), "has changed since it was read")
	put(t, dir, "f", "one\ntwo\nthree\n")
	good(t, s, "Write", write) // the pages add up to all of it
	if got := content(t, path); got != "new\n" {
		t.Errorf("content = %q", got)
	}
}

func TestWrite_keeps_mode_line_ends_and_link(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	path := put(t, dir, "run.bat", "\ufeffone\r\ntwo\r\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.bat", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	good(t, s, "Read", in{"file_path": "link"})
	good(t, s, "Write", in{"file_path": "link", "content": "three\nfour\n"})
	if got := content(t, path); got != "\ufeffthree\r\nfour\r\n" {
		t.Errorf("content = %q", got)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "link")); err != nil || to != "run.bat" {
		t.Errorf("link = %q, %v", to, err)
	}
	// Mixed ends say nothing about what is wanted, and ends that are given are kept.
	for old, want := range map[string]string{"a\r\nb\n": "x\ny\n", "a\nb\n": "x\ny\n"} {
		put(t, dir, "mixed", old)
		good(t, s, "Read", in{"file_path": "mixed"})
		good(t, s, "Write", in{"file_path": "mixed", "content": "x\ny\n"})
		if got := content(t, filepath.Join(dir, "mixed")); got != want {
			t.Errorf("from %q: %q, want %q", old, got, want)
		}
	}
}

func TestWrite_permissions(t *testing.T) {
	base := tempDir(t)
	ws, bench, more, out := filepath.Join(base, "ws"), filepath.Join(base, "bench"), filepath.Join(base, "more"), filepath.Join(base, "out")
	for _, dir := range []string{ws, bench, more, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"ws/folder":   out,
		"ws/file":     filepath.Join(out, "target"),
		"ws/chain":    "file",
		"ws/inner":    "real",
		"ws/loop":     "loop",
		"out/back":    ws,
		"ws/relative": "../out/new",
	} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path    string
		allowed bool
	}{
		{"new", true},
		{ws + "/sub/new", true},
		{bench + "/new", true},
		{more + "/new", true},
		{"inner", true},
		{out + "/back/new2", true}, // really inside
		{out + "/new", false},
		{"../out/new", false},
		{"folder/new", false},
		{"folder/deep/new", false},
		{"file", false},
		{"chain", false},
		{"relative", false},
		{"loop", false},
		{base + "/ws-2/new", false}, // the name begins the same
		{"/proc/sys/x", false},
	} {
		for mode, may := range map[string]bool{"": c.allowed, "acceptEdits": c.allowed, "plan": false, "nonsense": false} {
			s := newSet(t, tool.Options{Workspace: ws, Writable: []string{bench}, AddDirs: []string{more}, PermissionMode: mode})
			r := run(t, s, "Write", in{"file_path": c.path, "content": "x"})
			if r.IsError == may {
				t.Errorf("%s, mode %q: error = %v: %s", c.path, mode, r.IsError, r.Text())
			}
			if may {
				real, err := filepath.EvalSymlinks(filepath.Join(ws, c.path))
				if filepath.IsAbs(c.path) {
					real, err = filepath.EvalSymlinks(c.path)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(real); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("files were written outside: %v", left)
	}
	free := newSet(t, tool.Options{Workspace: ws, PermissionMode: "bypassPermissions"})
	good(t, free, "Write", in{"file_path": out + "/new", "content": "x"})
	denied := newSet(t, tool.Options{Workspace: ws})
	wants(t, bad(t, denied, "Write", in{"file_path": "../out/new", "content": "y"}), out+"/new", "outside the folders", ws)
	wants(t, bad(t, denied, "Edit", in{"file_path": "../out/new", "old_string": "x", "new_string": "y"}), "outside the folders")
}

func TestWrite_refuses_what_is_no_regular_file(t *testing.T) {
	dir := tempDir(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSet(t, tool.Options{Workspace: dir})
	wants(t, bad(t, s, "Write", in{"file_path": "pipe", "content": "x"}), "not a regular file")
	wants(t, bad(t, s, "Edit", in{"file_path": "pipe", "old_string": "x", "new_string": "y"}), "not a regular file")
}

func TestWrite_failure_leaves_the_old_file(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := tempDir(t)
	path := put(t, dir, "sub/f", "old")
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Read", in{"file_path": path})
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Dir(path), 0o755) }()
	wants(t, bad(t, s, "Write", in{"file_path": path, "content": "new"}), "the file is as it was")
	if got := content(t, path); got != "old" {
		t.Errorf("content = %q", got)
	}
}

func TestReceipts_survive_in_a_new_session(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "f", "one\n")
	put(t, dir, "g", "one\ntwo\n")
	first := newSet(t, tool.Options{Workspace: dir})
	results := []tool.Result{
		run(t, first, "Read", in{"file_path": "f"}),
		run(t, first, "Read", in{"file_path": "g", "limit": 1}),
		run(t, first, "Edit", in{"file_path": "f", "old_string": "one", "new_string": "two"}),
	}
	second := newSet(t, tool.Options{Workspace: dir})
	wants(t, bad(t, second, "Edit", in{"file_path": "f", "old_string": "two", "new_string": "three"}), "has not been read")
	for _, r := range results {
		second.Restore(r.Structured)
	}
	good(t, second, "Edit", in{"file_path": "f", "old_string": "two", "new_string": "three"})
	good(t, second, "Write", in{"file_path": "f", "content": "four\n"})
	wants(t, bad(t, second, "Write", in{"file_path": "g", "content": "x"}), "read in part only")
	good(t, second, "Read", in{"file_path": "g", "offset": 2})
	good(t, second, "Write", in{"file_path": "g", "content": "x"})
}

func TestF079_what_a_formatter_does_after_an_edit_is_shown_and_known(t *testing.T) {
	dir := tempDir(t)
	path := put(t, dir, "f.go", "package  x\n")
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Read", in{"file_path": "f.go"})
	r := run(t, s, "Edit", in{"file_path": "f.go", "old_string": "package", "new_string": "// Package x.\npackage"})
	if same := s.Refresh(r); len(same.Content) != len(r.Content) || string(same.Structured) != string(r.Structured) {
		t.Errorf("an unchanged file was refreshed: %+v", same)
	}
	put(t, dir, "f.go", strings.ReplaceAll(content(t, path), "package  x", "package x"))
	fresh := s.Refresh(r)
	wants(t, fresh.Text(), "edited f.go", "changed right after the call", "-package  x", "+package x")
	if len(r.Content) != 1 {
		t.Error("the given result was changed")
	}
	// Known in this session, and in one that is opened from the stored result.
	again := newSet(t, tool.Options{Workspace: dir})
	again.Restore(fresh.Structured)
	good(t, again, "Edit", in{"file_path": "f.go", "old_string": "package x", "new_string": "package y"})
	put(t, dir, "f.go", "// Package x.\npackage x\n")
	text := good(t, s, "Edit", in{"file_path": "f.go", "old_string": "package x", "new_string": "package y"})
	lacks(t, text, "had changed")

	// A difference too long to be shown is not taken for seen.
	r = run(t, s, "Write", in{"file_path": "long", "content": strings.Repeat("a\n", 5000)})
	put(t, dir, "long", strings.Repeat("b\n", 5000))
	wants(t, s.Refresh(r).Text(), "the rest is cut")
	wants(t, bad(t, s, "Write", in{"file_path": "long", "content": "x"}), "has changed since")
}
