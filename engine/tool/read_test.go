package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/tool"
)

func TestRead_shows_numbered_lines(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	for _, c := range []struct{ name, content, want string }{
		{"plain", "one\ntwo\n", "1\tone\n2\ttwo"},
		{"no end", "one\ntwo", "1\tone\n2\ttwo"},
		{"empty lines", "\n\nx\n", "1\t\n2\t\n3\tx"},
		{"crlf", "one\r\ntwo\r\n", "1\tone\n2\ttwo"},
		{"bom", "\ufeffone\n", "1\tone"},
		{"bad bytes", "a\xffb\n\xf0\x9f\n", "1\ta\uFFFDb\n2\t\uFFFD"},
		{"empty", "", "[the file is empty]"},
	} {
		put(t, dir, c.name, c.content)
		if got := good(t, s, "Read", in{"file_path": c.name}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRead_pages(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	var b strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	put(t, dir, "f", b.String())
	for _, c := range []struct {
		input in
		want  []string
	}{
		{in{}, []string{"1\tline 1\n", "2000\tline 2000\n[a part of the file: lines 1 to 2000 of 5000; it goes on at offset 2001]"}},
		{in{"offset": 4990}, []string{"4990\tline 4990\n", "5000\tline 5000\n[a part of the file: lines 4990 to 5000 of 5000, its end]"}},
		{in{"offset": 7, "limit": 2}, []string{"7\tline 7\n8\tline 8\n[a part of the file: lines 7 to 8 of 5000; it goes on at offset 9]"}},
		{in{"offset": "7", "limit": "1"}, []string{"7\tline 7\n["}},
		{in{"offset": 5000}, []string{"5000\tline 5000\n"}},
		{in{"offset": 5001}, []string{"[the file has 5000 lines; offset 5001 is past its end]"}},
	} {
		c.input["file_path"] = "f"
		wants(t, good(t, s, "Read", c.input), c.want...)
	}
	bad(t, s, "Read", in{"file_path": "f", "offset": -1})
	bad(t, s, "Read", in{"file_path": "f", "offset": 1.5})
}

func TestRead_page_is_bounded_in_bytes_and_characters(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "wide", strings.Repeat(strings.Repeat("ä", 100)+"\n", 2000))
	s := newSet(t, tool.Options{Workspace: dir})
	text := good(t, s, "Read", in{"file_path": "wide"})
	if len(text) > 50<<10+200 || len(text) < 49<<10 {
		t.Errorf("a page has %d bytes", len(text))
	}
	wants(t, text, "goes on at offset")
	narrow := newSet(t, tool.Options{Workspace: dir, PageChars: 4000})
	for _, name := range []string{"wide", put(t, dir, "long", strings.Repeat("x", 100_000)+"\n"+strings.Repeat("y", 100_000))} {
		text = good(t, narrow, "Read", in{"file_path": name})
		if n := utf8.RuneCountInString(text); n >= 4000 || n < 1500 {
			t.Errorf("%s: a page has %d characters", name, n)
		}
	}
}

func TestRead_long_lines_are_cut_with_a_note(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	put(t, dir, "f", "short\n"+strings.Repeat("é", 2001)+"\n"+strings.Repeat("é", 2000)+"\nend\n")
	text := good(t, s, "Read", in{"file_path": "f"})
	wants(t, text, strings.Repeat("é", 2000)+" [… line 2 goes on", "3\t"+strings.Repeat("é", 2000)+"\n4\tend\n[long lines are cut", "Grep", "cut -c")
}

func TestF019_a_line_of_gigabytes_costs_no_memory(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "huge")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	// Sparse: it takes no room on the disk. Text at both ends, no line end.
	if _, err := f.WriteString(strings.Repeat("a", 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2 << 30); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s := newSet(t, tool.Options{Workspace: dir})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := good(t, s, "Read", in{"file_path": path, "offset": 1, "limit": 1})
	runtime.ReadMemStats(&after)
	wants(t, text, "line 1 goes on", "Grep")
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	// Passing over it takes reading it, which a cancelled call does not go on with.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := runCtx(t, ctx, s, "Read", in{"file_path": path, "offset": 2}); !r.IsError {
		t.Error("a cancelled call went on")
	}
}

func TestRead_says_what_to_do_with_what_is_not_text(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	put(t, dir, "sub/Main.go", "x")
	put(t, dir, "binary", "\x7fELF\x00\x01")
	put(t, dir, "utf16", "\xff\xfeh\x00i\x00")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"sub":          "is a folder",
		"binary":       "binary file (6 bytes)",
		"utf16":        "iconv",
		"pipe":         "not a regular file",
		"/dev/zero":    "not a regular file",
		"sub/main.go":  "did you mean " + filepath.Join(dir, "sub/Main.go"),
		"sub/Main.rs":  "did you mean " + filepath.Join(dir, "sub/Main.go"),
		"Main.go":      "does not exist",
		"/sub/Main.go": "did you mean " + filepath.Join(dir, "sub/Main.go"),
		"no/such/dir":  "the nearest folder that does is " + dir,
		"":             "the path is empty",
		"a\x00b":       "NUL",
	} {
		wants(t, bad(t, s, "Read", in{"file_path": path}), want)
	}
}

func TestRead_home_folder_and_proc_files(t *testing.T) {
	home := tempDir(t)
	t.Setenv("HOME", home)
	put(t, home, "x/y", "at home")
	s := newSet(t, tool.Options{})
	wants(t, good(t, s, "Read", in{"file_path": "~/x/y"}), "1\tat home")
	// Its size is given as 0.
	wants(t, good(t, s, "Read", in{"file_path": "/proc/self/status"}), "1\tName:")
}

func TestRead_keeps_receipts_with_the_result(t *testing.T) {
	dir := tempDir(t)
	s := newSet(t, tool.Options{Workspace: dir})
	path := put(t, dir, "f", "1\n2\n3\n")
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, "Read", in{"file_path": "link"})
	receipts := structured(t, r)["receipts"].([]any)
	got := receipts[0].(map[string]any)
	if len(receipts) != 1 || got["path"] != path || got["hash"] == "" || got["seen"] != nil {
		t.Errorf("receipts = %v", receipts)
	}
}

// FuzzRead_paging: going from page to page by the offsets that the results name
// shows every line once, whatever the content and the limits.
func FuzzRead_paging(f *testing.F) {
	f.Add("one\ntwo\r\nthree", uint8(1), uint16(300))
	f.Add(strings.Repeat("long line\n", 500), uint8(7), uint16(0))
	f.Add("\ufeff\xff\xfe\n\n\n"+strings.Repeat("ü", 5000), uint8(0), uint16(900))
	next := regexp.MustCompile(`goes on at offset (\d+)\]$`)
	number := regexp.MustCompile(`^(\d+)\t`)
	f.Fuzz(func(t *testing.T, text string, limit uint8, page uint16) {
		if strings.ContainsRune(text, 0) || strings.HasPrefix(text, "%PDF-") || strings.HasPrefix(text, "GIF8") || strings.HasPrefix(text, "BM") || strings.HasPrefix(text, "\xff\xd8") {
			t.Skip("not a text")
		}
		dir := t.TempDir()
		s := newSet(t, tool.Options{Workspace: dir, PageChars: int(page)})
		put(t, dir, "f", text)
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		shown := 0
		for offset := 1; offset > 0; {
			r := run(t, s, "Read", in{"file_path": "f", "offset": offset, "limit": int(limit)})
			got := r.Text()
			if r.IsError || !utf8.ValidString(got) {
				t.Fatalf("offset %d: %q", offset, got)
			}
			for line := range strings.SplitSeq(got, "\n") {
				m := number.FindStringSubmatch(line)
				if m == nil {
					continue
				}
				shown++
				if m[1] != strconv.Itoa(shown) {
					t.Fatalf("line %s comes after line %d", m[1], shown-1)
				}
				want := strings.TrimSuffix(strings.ToValidUTF8(lines[shown-1], "\uFFFD"), "\r")
				if shown == 1 {
					want = strings.TrimPrefix(want, "\ufeff")
				}
				if text, _, cut := strings.Cut(line[len(m[0]):], " [… line "); !cut && text != want || !strings.HasPrefix(want, text) {
					t.Fatalf("line %d is %q, want %q", shown, text, want)
				}
			}
			offset = 0
			if m := next.FindStringSubmatch(got); m != nil {
				offset, _ = strconv.Atoi(m[1])
			}
		}
		if shown != len(lines) {
			t.Errorf("%d lines shown of %d", shown, len(lines))
		}
	})
}
