package workbench_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/workbench"
)

// write makes a file and its folders.
func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, root, workspace string, options *workbench.Options) *workbench.Bench {
	t.Helper()
	bench, err := workbench.Open(root, workspace, options)
	if err != nil {
		t.Fatal(err)
	}
	return bench
}

// refreshed gives the index after a Refresh.
func refreshed(t testing.TB, bench *workbench.Bench) string {
	t.Helper()
	if err := bench.Refresh(); err != nil {
		t.Fatal(err)
	}
	return read(t, bench.IndexFile())
}

func TestOpen_makes_folders_and_keeps_version_control_away(t *testing.T) {
	workspace := t.TempDir()
	for range 2 {
		bench := open(t, "", workspace, nil)
		for _, dir := range []string{bench.Scripts(), bench.Artifacts(), bench.Notes(), bench.Spills()} {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: %v", dir, err)
			}
		}
		if got, want := bench.Root(), filepath.Join(workspace, ".flower"); got != want {
			t.Errorf("root %s, want %s", got, want)
		}
		if got := read(t, filepath.Join(bench.Root(), ".gitignore")); got != "*\n" {
			t.Errorf(".gitignore holds %q", got)
		}
	}
}

func TestIgnore_leaves_what_is_there(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	path := filepath.Join(dir, ".gitignore")
	write(t, path, "*.log\n")
	if err := workbench.Ignore(dir); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "*.log\n" {
		t.Errorf("holds %q", got)
	}
}

func TestNew_touches_nothing(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "not", "there")
	bench, err := workbench.New("", workspace, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := bench.Prompt(); !strings.Contains(got, "Nothing is there yet.") {
		t.Errorf("prompt %q", got)
	}
	if _, err := os.Stat(workspace); !os.IsNotExist(err) {
		t.Errorf("the workspace came to be: %v", err)
	}
}

func TestOpen_errors_say_what_to_do(t *testing.T) {
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, ".flower", "scripts"), "a file")
	taken := filepath.Join(workspace, ".flower", "scripts")
	for _, c := range []struct {
		name, workspace string
		options         *workbench.Options
		want            string
	}{
		{"no workspace", "", nil, "workbench: the workspace is empty: give its folder"},
		{"unknown language", workspace, &workbench.Options{Lang: "fr"}, `workbench: language "fr" is not known: use en or zh`},
		{"a file in the way", workspace, nil, "workbench: " + taken + " is not a folder: move it away: mkdir " + taken + ": not a directory"},
	} {
		if _, err := workbench.Open("", c.workspace, c.options); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestHome(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "project")
	if got, want := workbench.Home(workspace, false), filepath.Join(workspace, ".flower"); got != want {
		t.Errorf("inside: %s, want %s", got, want)
	}
	if got, want := workbench.Home(workspace, true), filepath.Join(filepath.Dir(workspace), ".flower-project"); got != want {
		t.Errorf("outside: %s, want %s", got, want)
	}
	t.Chdir(filepath.Dir(workspace))
	if got, want := workbench.Home(".", true), workbench.Home(filepath.Dir(workspace), true); got != want {
		t.Errorf("of the current folder: %s, want %s", got, want)
	}
}

func TestRefresh_lists_path_description_size(t *testing.T) {
	workspace := t.TempDir()
	bench := open(t, "", workspace, nil)
	write(t, filepath.Join(bench.Scripts(), "build.sh"), "#!/bin/sh\n# desc: builds the docs\n")
	write(t, filepath.Join(bench.Scripts(), "lib", "a.lua"), "-- helpers\n")
	write(t, filepath.Join(bench.Scripts(), "z.bin"), "\x00\x01")
	write(t, filepath.Join(bench.Scripts(), ".hidden"), "# no")
	write(t, filepath.Join(bench.Scripts(), ".git", "config"), "# no")
	write(t, filepath.Join(bench.Artifacts(), "a b.log"), strings.Repeat("x", 1536))
	write(t, filepath.Join(bench.Spills(), "0123456789abcdef.txt"), "spilled")
	want := strings.Join([]string{
		"# Workbench",
		"",
		"Written anew after every change; edits here are lost.",
		"",
		"## scripts (3)",
		"",
		"- `.flower/scripts/build.sh` — builds the docs (34 B)",
		"- `.flower/scripts/z.bin` (2 B)",
		"- `.flower/scripts/lib/a.lua` — helpers (11 B)",
		"",
		"## artifacts (1)",
		"",
		"- `.flower/artifacts/a b.log` (1.5 KiB)",
		"",
		"## notes (0)",
		"",
		"(empty)",
		"",
	}, "\n")
	if got := refreshed(t, bench); got != want {
		t.Errorf("index\n%s\nwant\n%s", got, want)
	}
}

func TestRefresh_prints_sizes_short(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10 * 1024: "10 KiB", 1023 * 1024: "1.0 MiB",
		5 << 20: "5.0 MiB", 1 << 40: "1.0 TiB",
	} {
		path := filepath.Join(bench.Artifacts(), "file")
		write(t, path, "")
		if err := os.Truncate(path, bytes); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		if index := refreshed(t, bench); !strings.Contains(index, "- `.flower/artifacts/file` ("+want+")\n") {
			t.Errorf("%d bytes are not %s in\n%s", bytes, want, index)
		}
	}
}

func TestRefresh_is_bounded(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	write(t, filepath.Join(bench.Notes(), "top.md"), "# Top\n")
	write(t, filepath.Join(bench.Notes(), strings.Repeat("d/", 40), "deep.md"), "# Deep\n")
	index := refreshed(t, bench)
	if !strings.Contains(index, "top.md` — Top") || strings.Contains(index, "deep.md") || !strings.Contains(index, "\n- … and more that are not listed\n") {
		t.Errorf("forty folders deep:\n%s", index)
	}
	if err := os.RemoveAll(bench.Notes()); err != nil {
		t.Fatal(err)
	}
	// Links to one file are quicker made than files.
	first := filepath.Join(bench.Artifacts(), "first")
	write(t, first, "")
	for i := range 20_050 {
		if err := os.Link(first, filepath.Join(bench.Artifacts(), strconv.Itoa(i))); err != nil {
			t.Skipf("not so many links here: %v", err)
		}
	}
	index = refreshed(t, bench)
	if n := strings.Count(index, "\n- `"); n != 20_000 || !strings.Contains(index, "\n- … and more that are not listed\n") {
		t.Errorf("%d files are listed, want 20000 and a word on the rest", n)
	}
}

func TestRefresh_writes_only_what_changed(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	refreshed(t, bench)
	before, err := os.Stat(bench.IndexFile())
	if err != nil {
		t.Fatal(err)
	}
	refreshed(t, bench)
	after, err := os.Stat(bench.IndexFile())
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("an unchanged index was replaced")
	}
	write(t, bench.IndexFile(), "somebody's edit")
	if got := refreshed(t, bench); !strings.HasPrefix(got, "# Workbench\n") {
		t.Errorf("an edited index stays: %q", got)
	}
}

func TestRefresh_makes_again_what_was_removed(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	if err := os.RemoveAll(bench.Root()); err != nil {
		t.Fatal(err)
	}
	refreshed(t, bench)
	if _, err := os.Stat(bench.Notes()); err != nil {
		t.Error(err)
	}
}

func TestRefresh_cannot_be_led_astray_by_names(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	names := map[string]string{
		"a\n- `fake`": strconv.Quote(".flower/notes/a\n- `fake`"),
		"b`c":         strconv.Quote(".flower/notes/b`c"),
		"d\xffe":      strconv.Quote(".flower/notes/d\xffe"),
		"目标.md":       "`.flower/notes/目标.md`",
	}
	for name := range names {
		write(t, filepath.Join(bench.Notes(), name), "# desc: x\x1b[2J\x07y\n")
	}
	index := refreshed(t, bench)
	for _, shown := range names {
		if line := "\n- " + shown + " — x [2J y ("; !strings.Contains(index, line) {
			t.Errorf("no line %q in\n%s", line, index)
		}
	}
}

func TestPrompt_en(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	write(t, filepath.Join(bench.Scripts(), "check.sh"), "# desc: "+strings.Repeat("w", 150)+"\n")
	write(t, filepath.Join(bench.Notes(), "brief.md"), "# Brief\n")
	want := "# Workbench\n\n" +
		"What shall outlive this session goes into files here:\n\n" +
		"1. A script that will run a second time: into .flower/scripts/, with `# desc: what it does` among its first lines. Look there before you write one.\n" +
		"2. Output of more than 2000 characters: into .flower/artifacts/; your reply gives only its path and the conclusion.\n" +
		"3. Decisions: into .flower/notes/, one file each, with the reason.\n" +
		"\n.flower/scripts/\n- `.flower/scripts/check.sh` — " + strings.Repeat("w", 100) + "…\n" +
		"\n.flower/notes/\n- `.flower/notes/brief.md` — Brief\n"
	if got := bench.Prompt(); got != want {
		t.Errorf("prompt\n%s\nwant\n%s", got, want)
	}
}

func TestPrompt_zh(t *testing.T) {
	bench := open(t, "", t.TempDir(), &workbench.Options{Lang: "zh"})
	got := bench.Prompt()
	for _, want := range []string{"# 工作台\n", "放进 .flower/scripts/", "超过 2000 个字符的输出：放进 .flower/artifacts/", "决定：放进 .flower/notes/", "目前还没有内容。\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if index := refreshed(t, bench); !strings.HasPrefix(index, "# 工作台\n") || !strings.Contains(index, "（空）") {
		t.Errorf("index\n%s", index)
	}
}

func TestPrompt_names_forty_files_a_folder(t *testing.T) {
	for lang, more := range map[string]string{
		"en": "- … and 3 more, see .flower/INDEX.md\n",
		"zh": "- ……还有 3 个，见 .flower/INDEX.md\n",
	} {
		bench := open(t, "", t.TempDir(), &workbench.Options{Lang: lang})
		for i := range 43 {
			write(t, filepath.Join(bench.Artifacts(), "file"+strconv.Itoa(100+i)), "")
		}
		for i := range 40 {
			write(t, filepath.Join(bench.Notes(), "note"+strconv.Itoa(100+i)), "")
		}
		got := bench.Prompt()
		if !strings.Contains(got, more) {
			t.Errorf("%s: no %q in\n%s", lang, more, got)
		}
		if n := strings.Count(got, "\n- `"); n != 80 {
			t.Errorf("%s: %d files, want 40 a folder", lang, n)
		}
		if !strings.Contains(got, "file139") || strings.Contains(got, "file140") {
			t.Errorf("%s: not the first forty", lang)
		}
		if n := strings.Count(refreshed(t, bench), "\n- `"); n != 83 {
			t.Errorf("%s: the index lists %d files, want all", lang, n)
		}
	}
}

func TestPrompt_changes_only_with_files_and_descriptions(t *testing.T) {
	bench := open(t, "", t.TempDir(), nil)
	log := filepath.Join(bench.Artifacts(), "run.log")
	write(t, log, "// desc: a log\nline 1\n")
	before := bench.Prompt()
	write(t, log, "// desc: a log\nline 1\nline 2\n")
	if got := bench.Prompt(); got != before {
		t.Error("a longer log changed the block")
	}
	write(t, log, "// desc: another log\n")
	if got := bench.Prompt(); got == before {
		t.Error("a new description did not")
	}
}

func TestOutside_paths_are_absolute(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "project")
	for lang, sentence := range map[string]string{"en": "outside the workspace", "zh": "工作区之外"} {
		bench := open(t, workbench.Home(workspace, true), workspace, &workbench.Options{Lang: lang})
		script := filepath.Join(bench.Scripts(), "a.sh")
		write(t, script, "# desc: a\n")
		if !bench.Outside() {
			t.Error("not outside")
		}
		if got := bench.Prompt(); !strings.Contains(got, sentence) || !strings.Contains(got, "- `"+script+"` — a\n") {
			t.Errorf("%s: prompt\n%s", lang, got)
		}
		if got := refreshed(t, bench); !strings.Contains(got, "- `"+script+"` — a") {
			t.Errorf("%s: index\n%s", lang, got)
		}
		inside := open(t, "", workspace, &workbench.Options{Lang: lang})
		if inside.Outside() || strings.Contains(inside.Prompt(), sentence) {
			t.Errorf("%s: the inner bench is called outside", lang)
		}
	}
}

func TestShown(t *testing.T) {
	parent := t.TempDir()
	workspace := filepath.Join(parent, "project")
	bench := open(t, "", workspace, nil)
	symlink(t, workspace, filepath.Join(parent, "other-name"))
	for path, want := range map[string]string{
		filepath.Join(workspace, "a", "b"):        "a/b",
		filepath.Join(workspace, "a", "..", "b"):  "b",
		workspace:                                 ".",
		"notes/x":                                 "notes/x",
		filepath.Join(workspace, "..name"):        "..name",
		filepath.Join(parent, "project-two", "a"): filepath.Join(parent, "project-two", "a"),
		parent:       parent,
		"../sibling": filepath.Join(parent, "sibling"),
		filepath.Join(parent, "other-name", ".flower", "new"): ".flower/new",
		filepath.Join(parent, "other-name", "not", "there"):   "not/there",
	} {
		if got := bench.Shown(path); got != want {
			t.Errorf("Shown(%s) = %s, want %s", path, got, want)
		}
	}
}

func TestContains(t *testing.T) {
	parent := t.TempDir()
	workspace := filepath.Join(parent, "project")
	bench := open(t, "", workspace, nil)
	symlink(t, bench.Notes(), filepath.Join(workspace, "notes"))
	symlink(t, parent, filepath.Join(bench.Artifacts(), "out"))
	symlink(t, workspace, filepath.Join(parent, "other-name"))
	for path, want := range map[string]bool{
		filepath.Join(bench.Scripts(), "new.sh"):                       true,
		".flower/notes/x.md":                                           true,
		filepath.Join(workspace, "notes", "x.md"):                      true,
		filepath.Join(parent, "other-name", ".flower", "scripts", "a"): true,
		bench.Root():                                          true,
		filepath.Join(workspace, "main.go"):                   false,
		filepath.Join(workspace, ".flower-two", "x"):          false,
		filepath.Join(bench.Scripts(), "..", "..", "main.go"): false,
		filepath.Join(bench.Artifacts(), "out", "secret"):     false,
		"/etc/passwd": false,
	} {
		if got := bench.Contains(path); got != want {
			t.Errorf("Contains(%s) = %t, want %t", path, got, want)
		}
	}
}

func BenchmarkRefresh(b *testing.B) {
	bench := open(b, "", b.TempDir(), nil)
	const files = 10_000
	for i := range files {
		name := filepath.Join(strconv.Itoa(i%100), "script"+strconv.Itoa(i)+".sh")
		write(b, filepath.Join(bench.Scripts(), name), "#!/bin/sh\n# desc: script number "+strconv.Itoa(i)+"\n"+strings.Repeat("echo\n", 1000))
	}
	for b.Loop() {
		if err := bench.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(files, "files/op")
}

func BenchmarkPrompt(b *testing.B) {
	bench := open(b, "", b.TempDir(), nil)
	for i := range 100 {
		write(b, filepath.Join(bench.Scripts(), "script"+strconv.Itoa(i)+".sh"), "# desc: script\n")
	}
	for b.Loop() {
		bench.Prompt()
	}
}
