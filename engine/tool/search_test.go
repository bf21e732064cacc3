package tool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/tool"
)

func TestGlob_matches(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{"a.go", "b.ts", "b.tsx", "-x.go", "src/c.go", "src/deep/d.go", "src/[x].go", ".hidden/e.go", "src/deep/f.md"} {
		put(t, dir, name, "")
	}
	s := newSet(t, tool.Options{Workspace: dir})
	for _, c := range []struct {
		pattern, path, want string
	}{
		{"*.go", "", "-x.go a.go"},
		{"**/*.go", "", "-x.go .hidden/e.go a.go src/[x].go src/c.go src/deep/d.go"},
		{"*.{ts,tsx}", "", "b.ts b.tsx"},
		{"src/*/*.go", "", "src/deep/d.go"},
		{"src/**", "", "src/[x].go src/c.go src/deep/d.go src/deep/f.md"},
		{"**/*.go", "src", "src/[x].go src/c.go src/deep/d.go"},
		{"src/c.go", "", "src/c.go"},
		{"src/\\[x\\].go", "", "src/[x].go"},
		{"../" + filepath.Base(dir) + "/a.go", "", "a.go"},
		{dir + "/src/*.go", "", "src/[x].go src/c.go"},
		{"[a-b].*", "", "a.go b.ts b.tsx"},
		{"-*", "", "-x.go"},
		{"nothing/*.go", "", ""},
	} {
		got := good(t, s, "Glob", in{"pattern": c.pattern, "path": c.path})
		if c.want == "" {
			wants(t, got, "no file matches")
			continue
		}
		if words := sorted(strings.Split(got, "\n")); strings.Join(words, " ") != c.want {
			t.Errorf("%s in %q: %v, want %s", c.pattern, c.path, words, c.want)
		}
	}
}

func TestF089_patterns_that_are_broken_or_odd(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "f.txt", "-e dash\nplain\n")
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = dir
		s := newSet(t, o)
		text := bad(t, s, "Grep", in{"pattern": "foo("})
		wants(t, text, "foo(", "pars")
		if !strings.Contains(text, "unclosed group") && !strings.Contains(text, "missing closing )") {
			t.Errorf("no diagnostic in %s", text)
		}
		wants(t, good(t, s, "Grep", in{"pattern": "-e dash", "output_mode": "content"}), "f.txt:1:-e dash")
		wants(t, good(t, s, "Grep", in{"pattern": "--files"}), "no match")
		wants(t, good(t, s, "Grep", in{"pattern": "a\x00b"}), "no match")
		wants(t, bad(t, s, "Grep", in{"pattern": "x", "glob": "a\x00b"}), "NUL")
		wants(t, strings.ToLower(bad(t, s, "Grep", in{"pattern": "x", "glob": "{a"})), "{a")
		wants(t, bad(t, s, "Grep", in{"pattern": "x", "type": "nonsense"}), "unrecognized file type: nonsense")
	})
	s := newSet(t, tool.Options{Workspace: dir})
	wants(t, bad(t, s, "Glob", in{"pattern": "[a"}), "is not a pattern")
	wants(t, good(t, s, "Glob", in{"pattern": "a\x00b"}), "no file matches")
	wants(t, good(t, s, "Glob", in{"pattern": "--help"}), "no file matches")
}

func TestGlob_newest_first_and_bounded(t *testing.T) {
	dir := tempDir(t)
	now := time.Now()
	for i := range 120 {
		path := put(t, dir, fmt.Sprintf("f%03d", i), "")
		if err := os.Chtimes(path, now, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	s := newSet(t, tool.Options{Workspace: dir})
	lines := strings.Split(good(t, s, "Glob", in{"pattern": "*"}), "\n")
	if len(lines) != 101 || lines[0] != "f119" || lines[99] != "f020" {
		t.Errorf("%d lines, %s … %s", len(lines), lines[0], lines[len(lines)-2])
	}
	wants(t, lines[len(lines)-1], "the newest 100 of 120 files")
}

func TestGlob_folders(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "f", "")
	put(t, dir, "real/x.go", "")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := newSet(t, tool.Options{Workspace: dir})
	wants(t, bad(t, s, "Glob", in{"pattern": "*", "path": "f"}), "is a file")
	wants(t, bad(t, s, "Glob", in{"pattern": "*", "path": "reel"}), "did you mean", "real")
	if got := good(t, s, "Glob", in{"pattern": "*.go", "path": "link"}); got != "link/x.go" {
		t.Errorf("below a link: %s", got)
	}
	wants(t, good(t, s, "Glob", in{"pattern": "x.go"}), "no file matches; **/x.go")
}

// ignoring makes a repository with ignored files.
func ignoring(t *testing.T) string {
	dir := tempDir(t)
	put(t, dir, ".git/config", "needle")
	put(t, dir, ".git/info/exclude", "excluded.txt\n")
	put(t, dir, ".gitignore", "# needle\n*.log\n!keep.log\n/build/\nnode_modules\ndocs/**/draft.*\ntrail.txt   \n\\#hash.txt\r\nonly/**\n!only/this\n")
	for _, name := range []string{
		"a.txt", "b.log", "keep.log", "build/x.txt", "sub/build/x.txt", "sub/node_modules/m/x.txt", "docs/one/two/draft.txt", "docs/final.txt",
		"trail.txt", "#hash.txt", "excluded.txt", "only/this", "only/that", "sub/c.log", "sub/d.txt", "sub/e.tmp", ".dot/f.txt",
	} {
		put(t, dir, name, "needle\n")
	}
	put(t, dir, "sub/.gitignore", "*.tmp\n!c.log\n/d.txt\n")
	return dir
}

const notIgnored = ".dot/f.txt .gitignore a.txt docs/final.txt keep.log only/this sub/build/x.txt sub/c.log"

func TestGlob_and_Grep_ignore_what_git_ignores(t *testing.T) {
	dir := ignoring(t)
	s := newSet(t, tool.Options{Workspace: dir})
	got := sorted(strings.Split(good(t, s, "Glob", in{"pattern": "**"}), "\n"))
	if want := ".dot/f.txt .gitignore a.txt docs/final.txt keep.log only/this sub/.gitignore sub/build/x.txt sub/c.log"; strings.Join(got, " ") != want {
		t.Errorf("Glob: %s\nwant  %s", strings.Join(got, " "), want)
	}
	all := good(t, s, "Glob", in{"pattern": "**/*", "include_ignored": "true"})
	wants(t, all, ".git/config", "sub/node_modules/m/x.txt", "build/x.txt")
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = dir
		s := newSet(t, o)
		if got := strings.ReplaceAll(good(t, s, "Grep", in{"pattern": "needle"}), "\n", " "); strings.Join(sorted(strings.Fields(got)), " ") != notIgnored {
			t.Errorf("Grep: %s\nwant  %s", got, notIgnored)
		}
		// From a folder below, the rules above hold; an ignored folder that is named is searched.
		if got := good(t, s, "Grep", in{"pattern": "needle", "path": "sub"}); strings.Join(sorted(strings.Fields(got)), " ") != "sub/build/x.txt sub/c.log" {
			t.Errorf("below: %s", got)
		}
		if got := good(t, s, "Grep", in{"pattern": "needle", "path": "sub/node_modules"}); got != "sub/node_modules/m/x.txt" {
			t.Errorf("named: %s", got)
		}
		if got := good(t, s, "Grep", in{"pattern": "needle", "path": "b.log"}); got != "b.log" {
			t.Errorf("named file: %s", got)
		}
	})
	if got := good(t, s, "Glob", in{"pattern": "sub/node_modules/**/*.txt"}); got != "sub/node_modules/m/x.txt" {
		t.Errorf("named: %s", got)
	}
}

func TestIgnore_rules_are_those_of_git(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := ignoring(t)
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	// What ripgrep does otherwise: to git braces are plain characters.
	put(t, dir, "more/.gitignore", "weird{a,b}.txt\n[!a]z\n")
	for _, name := range []string{"weird{a,b}.txt", "weirda.txt", "az", "bz"} {
		put(t, dir, "more/"+name, "")
	}
	for _, args := range [][]string{{"init", "-q"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	put(t, dir, ".git/info/exclude", "excluded.txt\n")
	cmd := exec.Command(git, "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=off", "ls-files", "-co", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	s := newSet(t, tool.Options{Workspace: dir})
	got := strings.Join(sorted(strings.Split(good(t, s, "Glob", in{"pattern": "**"}), "\n")), "\n")
	if want := strings.Join(sorted(strings.Split(strings.TrimSpace(string(out)), "\n")), "\n"); got != want {
		t.Errorf("Glob:\n%s\ngit:\n%s", got, want)
	}
}

// each runs a test with ripgrep, if there is one, and without.
func each(t *testing.T, f func(t *testing.T, o tool.Options)) {
	t.Run("ripgrep", func(t *testing.T) {
		if _, err := exec.LookPath("rg"); err != nil {
			t.Skip("ripgrep is not installed")
		}
		f(t, tool.Options{})
	})
	t.Run("own", func(t *testing.T) { f(t, tool.Options{NoRipgrep: true}) })
}

func TestGrep_modes(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "a.go", "package a\n\nfunc One() {}\nfunc Two() {}\n\n\n\nfunc three() {}\n")
	put(t, dir, "b/c.py", "def One():\r\n    pass\r\n")
	put(t, dir, "b/binary", "func\x00 One")
	put(t, dir, "b/bad", "One \xff\xfe\n")
	put(t, dir, "multi", "start\nmiddle\nend\nstart end\n")
	put(t, dir, "dash-1-x", "One\n")
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = dir
		s := newSet(t, o)
		for _, c := range []struct {
			input in
			want  string
		}{
			{in{"pattern": "One"}, "a.go\nb/bad\nb/c.py\ndash-1-x"},
			{in{"pattern": "One", "output_mode": "count"}, "a.go:1\nb/bad:1\nb/c.py:1\ndash-1-x:1"},
			{in{"pattern": "One", "output_mode": "content"}, "a.go:3:func One() {}\nb/bad:1:One \uFFFD\nb/c.py:1:def One():\ndash-1-x:1:One"},
			{in{"pattern": "One", "output_mode": "content", "-n": false, "glob": "*.go"}, "a.go:func One() {}"},
			{in{"pattern": "^FUNC t", "-i": true, "output_mode": "content"}, "a.go:4:func Two() {}\na.go:8:func three() {}"},
			{in{"pattern": "one", "path": "a.go"}, "no match"},
			{in{"pattern": "Two", "path": "a.go", "output_mode": "content"}, "4:func Two() {}"},
			{in{"pattern": "Two|three", "path": "a.go", "output_mode": "content", "-C": 1}, "3-func One() {}\n4:func Two() {}\n5-\n--\n7-\n8:func three() {}"},
			{in{"pattern": "One", "path": "a.go", "output_mode": "content", "-A": 1, "-B": "2"}, "1-package a\n2-\n3:func One() {}\n4-func Two() {}"},
			{in{"pattern": "One", "type": "py"}, "b/c.py"},
			{in{"pattern": "One", "glob": "b/**"}, "b/bad\nb/c.py"},
			{in{"pattern": "One", "glob": "!*.{go,py}"}, "b/bad\ndash-1-x"},
			{in{"pattern": "start.*middle", "path": "multi"}, "no match"},
			{in{"pattern": "start.middle", "path": "multi", "multiline": true, "output_mode": "content"}, "1:start\n2:middle"},
			{in{"pattern": "One", "head_limit": 2}, "a.go\nb/bad\n[there is more: go on with offset 2, or narrow the search]"},
			{in{"pattern": "One", "head_limit": 2, "offset": 2}, "b/c.py\ndash-1-x"},
			{in{"pattern": "One", "offset": 9}, "[the result has 4 lines; offset is past its end]"},
			{in{"pattern": "func", "head_limit": 0, "output_mode": "count"}, "a.go:3"},
			{in{"pattern": "func", "output_mode": "content", "-A": 1, "head_limit": 1, "offset": 1}, "a.go:4:func Two() {}\n[there is more: go on with offset 2, or narrow the search]"},
		} {
			if got := good(t, s, "Grep", c.input); got != c.want {
				t.Errorf("%v:\n%s\nwant:\n%s", c.input, got, c.want)
			}
		}
		wants(t, bad(t, s, "Grep", in{"pattern": "x", "path": "b/c.pi"}), "did you mean", "c.py")
		wants(t, bad(t, s, "Grep", in{"pattern": "x", "output_mode": "lines"}), "not one of")
		wants(t, bad(t, s, "Grep", in{"pattern": "x", "-A": -1}), "negative")
		wants(t, bad(t, s, "Grep", in{"pattern": ""}), "pattern is empty")
	})
}

func TestGrep_long_lines_and_results_are_bounded(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "long", strings.Repeat("é", 3_000_000)+"\n")
	put(t, dir, "many", strings.Repeat(strings.Repeat("needle ", 60)+"\n", 3000))
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = dir
		s := newSet(t, o)
		text := good(t, s, "Grep", in{"pattern": "é+", "output_mode": "content", "path": "long"})
		if len(text) > 1200 || !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") {
			t.Errorf("%d bytes: %s", len(text), short(text))
		}
		wants(t, good(t, s, "Grep", in{"pattern": "needle", "output_mode": "content"}), "there is more: go on with offset")
		text = good(t, s, "Grep", in{"pattern": "needle", "output_mode": "content", "head_limit": 0})
		if n := utf8.RuneCountInString(text); n > 30_200 {
			t.Errorf("%d characters", n)
		}
	})
}

// slowTree is a folder that takes long to search: a file that is all line.
func slowTree(t *testing.T) string {
	dir := tempDir(t)
	put(t, dir, "a/first.txt", "aaaaaaaaab\n")
	for i := range 40 {
		put(t, dir, fmt.Sprintf("z/%02d.txt", i), strings.Repeat(strings.Repeat("a", 200)+"\n", 1500))
	}
	return dir
}

func TestF090_a_search_that_times_out_says_so_and_is_partial(t *testing.T) {
	dir := slowTree(t)
	s := newSet(t, tool.Options{Workspace: dir, NoRipgrep: true, Limits: tool.Limits{GrepTimeout: 150 * time.Millisecond}})
	r := run(t, s, "Grep", in{"pattern": "(a|aa)+b"})
	if !r.IsError || structured(t, r)["timed_out"] != true {
		t.Errorf("%+v", r)
	}
	wants(t, r.Text(), "timed out after 150ms", "not complete", "a/first.txt")
	none := newSet(t, tool.Options{Workspace: dir, Limits: tool.Limits{GrepTimeout: time.Nanosecond}})
	for name, pattern := range map[string]string{"Grep": "b", "Glob": "**"} {
		wants(t, bad(t, none, name, in{"pattern": pattern}), "timed out", "not complete")
	}
}

func TestF007_a_cancelled_search_ends_alone(t *testing.T) {
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = slowTree(t)
		s := newSet(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan tool.Result, 1)
		go func() { done <- runCtx(t, ctx, s, "Grep", in{"pattern": "(a|aa)+(b|c)+d", "-i": true}) }()
		time.Sleep(5 * time.Millisecond)
		cancel()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("the search goes on")
		}
		wants(t, good(t, s, "Bash", in{"command": "echo the turn goes on"}), "goes on")
	})
}

func TestGrep_says_what_could_not_be_searched(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read anything")
	}
	dir := tempDir(t)
	put(t, dir, "a", "needle\n")
	if err := os.Chmod(put(t, dir, "b", "needle\n"), 0); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, o tool.Options) {
		o.Workspace = dir
		wants(t, good(t, newSet(t, o), "Grep", in{"pattern": "needle"}), "a\n[not complete: ")
	})
}

func TestGrep_finds_the_same_with_and_without_ripgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	dir := ignoring(t)
	for i := range 30 {
		put(t, dir, fmt.Sprintf("d%d/f%d.%s", i%4, i, []string{"go", "md", "log", "txt"}[i%4]), strings.Repeat(fmt.Sprintf("alpha %d\nbeta\nGamma\n\n", i), i%5+1))
	}
	rg, own := newSet(t, tool.Options{Workspace: dir}), newSet(t, tool.Options{Workspace: dir, NoRipgrep: true})
	for _, pattern := range []string{"^beta$", `(?i)GAMMA|\d+`, "^$|needle"} {
		for _, mode := range []string{"files_with_matches", "content", "count"} {
			for _, more := range []in{{"glob": "*.log"}, {"glob": "**/d1/**", "-C": 1}, {"-B": 2, "-i": true, "type": "go"}, {"-A": 3, "offset": 3, "head_limit": 7}} {
				input := in{"pattern": pattern, "output_mode": mode}
				for k, v := range more {
					input[k] = v
				}
				if a, b := good(t, rg, "Grep", input), good(t, own, "Grep", input); a != b {
					t.Fatalf("%v: ripgrep:\n%s\nown:\n%s", input, a, b)
				}
			}
		}
	}
}

func sorted(s []string) []string {
	out := append([]string(nil), s...)
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}
