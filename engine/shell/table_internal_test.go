package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTable_every_row_can_be_read(t *testing.T) {
	if _, err := loadTable(); err != nil {
		t.Fatal(err)
	}
}

func TestTable_a_row_that_cannot_be_read_is_an_error(t *testing.T) {
	for _, c := range []struct {
		row, want string
	}{
		{"ls | |", ""},
		{"ls | *", "want: command"},
		{"ls | some |", "some: this says nothing"},
		{"ls | max=many |", "max=many"},
		{"ls | never=x |", "never=x: this says nothing"},
		{"ls | none | l", "l is no option"},
		{"ls | none | *", "do not matter"},
		{"ls | | -kt:", "one letter"},
		{"ls | | -kt?", "one letter"},
		{"ls | | @nothing", "no set @nothing"},
		{"ls deep | |", "no row for ls above it"},
		{"ls/ls | |", "two rows for ls"},
	} {
		empty := &table{commands: map[string]*rule{}, sets: map[string]*options{}}
		fields := strings.Split(c.row, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		err := empty.addCommand(fields)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("row %q: error %v, want %q", c.row, err, c.want)
		}
	}
}

func TestTable_refused_commands_are_in_no_row(t *testing.T) {
	own := map[string]string{ // they have a row that only tells their version or lists
		"curl": "version", "wget": "version", "rsync": "version",
	}
	for name := range tables().refused {
		if tables().commands[name] != nil && own[name] == "" {
			t.Errorf("%s is in refused.txt and in a table", name)
		}
	}
}

// Options with these names write, run or change something in most commands.
// Where one of them only reads, this test is told so.
func TestTable_options_that_usually_write_are_known_exceptions(t *testing.T) {
	usual := strings.Fields(`output output-file out outfile in-place inplace exec execute exec-batch delete remove write pager editor
		command compress-program use-compress-program pre edit set add unset force fix to-command ext-diff textconv output-directory install kill o i w`)
	formats := "the format of what is printed"
	exceptions := map[string]string{
		"journalctl output": formats, "stdbuf output": "how output is buffered",
		"xxd o": "an offset", "xxd i": "prints C source", "go list e": "goes on after errors", "ip o": "one line each",
		"openssl version o": "prints options", "nvidia-smi i": "which device",
		"find o": "or", "env unset": "for the command only",
	}
	each(tables().commands, func(r *rule) {
		for _, name := range longNames(&r.options) {
			family, _, _ := strings.Cut(r.name, " ")
			_, known := exceptions[r.name+" "+name]
			if name == "output" && slices.Contains([]string{"kubectl", "helm", "systemctl"}, family) {
				known = true // their formats
			}
			if slices.Contains(usual, name) && !known {
				t.Errorf("%s lists %s: make sure that it only reads, and say so here", r.name, name)
			}
		}
	})
}

func each(rules map[string]*rule, do func(*rule)) {
	for _, r := range rules {
		do(r)
		each(r.subs, do)
	}
}

func longNames(o *options) []string {
	var out []string
	for name := range o.long {
		out = append(out, name)
	}
	for _, s := range o.sets {
		out = append(out, longNames(s)...)
	}
	return out
}

func TestTable_readme_names_every_file(t *testing.T) {
	readme, err := os.ReadFile("tables/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tableFiles.ReadDir("tables")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(string(readme), "`"+f.Name()+"`") {
			t.Errorf("tables/README.md does not name %s", f.Name())
		}
	}
	if len(files) != len(commandFiles)+2 {
		t.Errorf("%d files of tables, but %d and two are read", len(files), len(commandFiles))
	}
}

func TestNames_patterns(t *testing.T) {
	n := &tables().variables
	for name, denied := range map[string]bool{
		"FOO": false, "LANG": false, "LC_ALL": false, "TZ": false, "NO_COLOR": false, "COLUMNS": false, "TERM": false, "f": false, "file": false, "i": false, "GIT_DIR": false, "GOOS": false,
		"PATH": true, "MANPATH": true, "LD_PRELOAD": true, "PAGER": true, "GIT_PAGER": true, "GIT_SSH_COMMAND": true, "GIT_EXTERNAL_DIFF": true, "EDITOR": true, "VISUAL": true,
		"LESSOPEN": true, "BASH_ENV": true, "ENV": true, "IFS": true, "HOME": true, "PYTHONSTARTUP": true, "NODE_OPTIONS": true, "TAR_OPTIONS": true, "GOFLAGS": true,
		"RIPGREP_CONFIG_PATH": true, "KUBECONFIG": true, "GIT_TRACE": true, "path": true, "SECONDS": true, "SSLKEYLOGFILE": true,
	} {
		if n.denied(name) != denied {
			t.Errorf("%s denied = %v, want %v", name, !denied, denied)
		}
	}
	s := &tables().settings
	for key, allowed := range map[string]bool{
		"color.ui": true, "core.quotepath": true, "core.pager": false, "alias.x": false, "core.fsmonitor": false, "diff.external": false, "diff.x.textconv": false, "pager.log": false, "": false,
	} {
		if s.allowed(key) != allowed {
			t.Errorf("%s allowed = %v, want %v", key, !allowed, allowed)
		}
	}
}

func TestLineGenerator_makes_the_same_lines_from_a_seed(t *testing.T) {
	all := func(string) bool { return true }
	a, b := newLineGenerator(t, 7, all, "files.txt"), newLineGenerator(t, 7, all, "files.txt")
	for range 50 {
		if x, y := a.line(), b.line(); x != y {
			t.Fatalf("%q and %q", x, y)
		}
	}
}

func BenchmarkLoadTable(b *testing.B) {
	for b.Loop() {
		if _, err := loadTable(); err != nil {
			b.Fatal(err)
		}
	}
}
