package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

// edited puts a file, reads it, edits it and returns the result and the content.
func edited(t testing.TB, text string, input in) (tool.Result, string) {
	t.Helper()
	dir := tempDir(t)
	path := put(t, dir, "f", text)
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Read", in{"file_path": "f"})
	input["file_path"] = "f"
	return run(t, s, "Edit", input), content(t, path)
}

func TestEdit_replaces_and_keeps_everything_else(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new, want string
		all                        bool
	}{
		{"one line", "a\nb\nc\n", "b", "B", "a\nB\nc\n", false},
		{"no end of file line", "a\nb", "b", "B", "a\nB", false},
		{"delete a line", "a\nb\nc\n", "b\n", "", "a\nc\n", false},
		{"everywhere", "a b a b", "a", "x", "x b x b", true},
		{"everywhere, once", "a b", "a", "x", "x b", true},
		{"inside itself", "aXa", "a", "aa", "aaXaa", true},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n", false},
		{"crlf, one line becomes two", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", false},
		{"crlf, at the end without one", "a\r\nb", "b", "x\ny", "a\r\nx\r\ny", false},
		{"crlf, a line goes", "a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n", false},
		{"crlf given", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", false},
		{"crlf given, lf wanted", "a\r\nb\r\n", "a\r\nb", "x\ny", "x\ny\r\n", false},
		{"mixed ends, what stays keeps its own", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nX\nd", "a\r\nb\nX\r\nd\n", false},
		{"mixed ends, lf beside", "a\r\nb\nc\n", "b\nc", "b\nx\nc", "a\r\nb\nx\nc\n", false},
		{"mixed ends, everywhere", "k\nv\r\nk\r\nv\n", "k\nv", "k\nw", "k\nw\r\nk\r\nw\n", true},
		{"bom", "\ufefffirst\nx\n", "first", "1st", "\ufeff1st\nx\n", false},
		{"bad bytes beside", "a\xff\xfeb\nold\n\xf0\n", "old", "new", "a\xff\xfeb\nnew\n\xf0\n", false},
		{"lone carriage returns", "a\rb\rold\r", "old", "new", "a\rb\rnew\r", false},
		{"full width", "ｏｌｄ（１）\n", "（１）", "（２）", "ｏｌｄ（２）\n", false},
		{"dollars are not special", "x", "x", "$1 \\1 %s", "$1 \\1 %s", false},
		{"tabs", "\tif x {\n\t}\n", "\tif x {\n\t}", "\tif y {\n\t}", "\tif y {\n\t}\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, got := edited(t, c.text, in{"old_string": c.old, "new_string": c.new, "replace_all": c.all})
			if r.IsError || got != c.want {
				t.Errorf("%q, want %q; result: %s", got, c.want, r.Text())
			}
		})
	}
}

func TestEdit_says_where(t *testing.T) {
	r, _ := edited(t, "x\ny\nx\n", in{"old_string": "x", "new_string": "z", "replace_all": "true"})
	wants(t, r.Text(), "edited f: 2 replacements, line 1, 3")
}

func TestEdit_refuses_a_place_that_is_not_certain(t *testing.T) {
	for _, c := range []struct {
		name, text, old string
		want            []string
	}{
		{"twice", "a\nb\na\n", "a", []string{"2 times (lines 1, 3)", "replace_all"}},
		{"overlapping", "aaa", "aa", []string{"2 times"}},
		{"looks the same, other line ends", "a\nb\n--\na\r\nb\r\n", "a\nb", []string{"2 times (lines 1, 4)"}},
		{"many", strings.Repeat("a\n", 30), "a", []string{"30 times", "10, …)"}},
		{"empty", "a", "", []string{"old_string is empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, got := edited(t, c.text, in{"old_string": c.old, "new_string": "new"})
			if !r.IsError || got != c.text {
				t.Errorf("content = %q; %s", got, r.Text())
			}
			wants(t, r.Text(), c.want...)
		})
	}
	r, _ := edited(t, "a", in{"old_string": "a", "new_string": "a"})
	wants(t, r.Text(), "nothing to change")
}

func TestF086_a_miss_changes_nothing_and_shows_the_nearest_lines(t *testing.T) {
	text := "first\n\tname := \"全角　ＡＢＣ\"\nlast\n"
	for _, c := range []struct {
		old  string
		want []string
	}{
		{"name := \"全角 ＡＢＣ\"", []string{"2\t\tname :=", "line 2 differs"}},
		{"\tname := \"全角 ＡＢＣ\"", []string{"line 2 differs at character 13: the file has \"\\u3000\" (U+3000), old_string has \" \" (U+0020)"}},
		{"    name := \"全角　ＡＢＣ\"", []string{"only white space differs, first in line 2"}},
		{"first\n\tnames := \"全角　ＡＢＣ\"\nlast", []string{"1\tfirst\n2\t\tname", "3\tlast", "line 2 differs at character 6"}},
		{"something else entirely 1234567890", []string{"no line in the file is like it"}},
	} {
		r, got := edited(t, text, in{"old_string": c.old, "new_string": "x"})
		if !r.IsError || got != text {
			t.Errorf("%q: content = %q", c.old, got)
		}
		wants(t, r.Text(), append(c.want, "old_string is not in")...)
	}
}

func TestF088_typographic_quotes_stay(t *testing.T) {
	text := "say “hello” and ‘bye’ — now\n"
	r, got := edited(t, text, in{"old_string": "now", "new_string": "then"})
	if r.IsError || got != "say “hello” and ‘bye’ — then\n" {
		t.Errorf("content = %q; %s", got, r.Text())
	}
	r, got = edited(t, text, in{"old_string": "say \"hello\" and", "new_string": "x"})
	if !r.IsError || got != text {
		t.Errorf("straight quotes matched: %q", got)
	}
	wants(t, r.Text(), "the file has \"“\" (U+201C), old_string has \"\\\"\" (U+0022)")
}

func TestEdit_bytes_that_are_not_text_are_pointed_out(t *testing.T) {
	r, _ := edited(t, "caf\xe9 au lait\n", in{"old_string": "caf\uFFFD au lait", "new_string": "x"})
	wants(t, r.Text(), "is not in")
	r, _ = edited(t, "caf\xe9 au lait\n", in{"old_string": "café au lait", "new_string": "x"})
	wants(t, r.Text(), "not UTF-8")
}

func TestEdit_needs_a_receipt(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "f", "a\n")
	s := newSet(t, tool.Options{Workspace: dir})
	edit := in{"file_path": "f", "old_string": "a", "new_string": "b"}
	wants(t, bad(t, s, "Edit", edit), "has not been read")
	good(t, s, "Read", in{"file_path": filepath.Join(dir, "f")})
	good(t, s, "Edit", edit)
	wants(t, bad(t, s, "Edit", in{"file_path": "g", "old_string": "a", "new_string": "b"}), "does not exist")
}

func TestEdit_of_a_file_that_changed_since_it_was_read(t *testing.T) {
	dir := tempDir(t)
	path := put(t, dir, "f", "one\ntwo\n")
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Read", in{"file_path": "f"})

	put(t, dir, "f", "zero\none\ntwo\n")
	wants(t, good(t, s, "Edit", in{"file_path": "f", "old_string": "two", "new_string": "2"}), "had changed since it was read")
	if got := content(t, path); got != "zero\none\n2\n" {
		t.Errorf("content = %q", got)
	}
	// Its line zero was never seen: that is not enough to replace it all.
	wants(t, bad(t, s, "Write", in{"file_path": "f", "content": "x"}), "in part only")

	put(t, dir, "f", "one\none\n")
	wants(t, bad(t, s, "Edit", in{"file_path": "f", "old_string": "one", "new_string": "1", "replace_all": true}), "has changed since it was read", "2 times")
	wants(t, bad(t, s, "Edit", in{"file_path": "f", "old_string": "2", "new_string": "3"}), "is not in", "it has changed since")
}

func TestF020_a_file_that_is_too_large_is_refused_by_its_size(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "huge")
	if err := os.WriteFile(path, []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 3<<29); err != nil {
		t.Fatal(err)
	}
	s := newSet(t, tool.Options{Workspace: dir})
	for _, name := range []string{"Edit", "Write"} {
		wants(t, bad(t, s, name, in{"file_path": "huge", "old_string": "a", "new_string": "b", "content": "c"}), "1.5 GiB", "10.0 MiB", "Bash")
	}
}
