package shell_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/flowerlua/flower/engine/shell"
)

func TestEphemeral_cases(t *testing.T) {
	f, err := os.Open("testdata/ephemeral.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var c struct {
			ID, In string
			Want   bool
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := shell.Ephemeral(c.In); got != c.Want {
			t.Errorf("%s: Ephemeral(%q) = %v, want %v (%s)", c.ID, c.In, got, c.Want, shell.Explain(c.In))
		}
	}
	if n < 500 {
		t.Errorf("there are only %d cases", n)
	}
}

// classes are the lines of testdata/classes.txt with their verdicts.
func classes(t testing.TB) map[string]bool {
	data, err := os.ReadFile("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.SplitSeq(string(data), "\n") {
		verdict, text, _ := strings.Cut(line, " ")
		if verdict != "+" && verdict != "-" {
			continue
		}
		out[strings.NewReplacer("␤", "\n", "␍", "\r").Replace(text)] = verdict == "+"
	}
	return out
}

func TestEphemeral_classes(t *testing.T) {
	lines := classes(t)
	for line, want := range lines {
		if got := shell.Ephemeral(line); got != want {
			t.Errorf("Ephemeral(%q) = %v, want %v (%s)", line, got, want, shell.Explain(line))
		}
	}
	if len(lines) < 500 {
		t.Errorf("there are only %d lines", len(lines))
	}
}

// However a line is put, a part that writes makes all of it not ephemeral.
func TestEphemeral_a_writer_anywhere_decides(t *testing.T) {
	frames := []string{
		"%s", "ls; %s", "ls && %s", "ls || %s", "ls | %s", "ls\n%s", "(%s)", "{ %s; }", "! %s", "time %s",
		"if %s; then ls; fi", "if ls; then %s; fi", "if ls; then pwd; elif %s; then ls; fi", "if ls; then pwd; else %s; fi",
		"while %s; do ls; done", "while ls; do %s; done", "until ls; do %s; done", "for f in a; do %s; done", "for f in $(%s); do ls; done",
		"case x in x) %s;; esac", "case $(%s) in x) ls;; esac", "case x in $(%s)) ls;; esac",
		"echo $(%s)", "echo `%s`", "echo \"a $(%s)\"", "echo ${x:-$(%s)}", "echo ${x#$(%s)}", "echo ${x/a/$(%s)}", "cat <(%s)", "cat <<< $(%s)", "cat < $(%s)",
		"cat <<EOF\n$(%s)\nEOF", "A=$(%s) ls", "ls 2>/dev/null $(%s)", "[[ -n $(%s) ]]", "[ \"$(%s)\" ]", "env A=1 %s", "nice %s", "timeout 5 %s", "command %s",
		"find \"$(%s)\"", "echo $((1 + $(%s)))", "export -p | %s", "while read f; do %s; done", "ls >/dev/null; %s",
	}
	for _, writer := range []string{"rm -rf x", "touch x", "git push", "sort -o x y", "ls > x", "sed -i s/a/b/ x", "./run.sh", "unset x", "find . -delete"} {
		for _, frame := range frames {
			if line := fmt.Sprintf(frame, writer); shell.Ephemeral(line) {
				t.Errorf("Ephemeral(%q) = true", line)
			}
		}
	}
	for _, frame := range frames {
		line := fmt.Sprintf(frame, "ls")
		// These two hand the output of ls to something that may run or obey it.
		if strings.HasPrefix(line, "find") || strings.Contains(line, "((") {
			continue
		}
		if !shell.Ephemeral(line) {
			t.Errorf("Ephemeral(%q) = false: %s", line, shell.Explain(line))
		}
	}
}

func TestEphemeral_bounds_its_input(t *testing.T) {
	deep := strings.Repeat("(", 50) + "ls" + strings.Repeat(")", 50)
	for _, c := range []struct {
		line string
		want bool
	}{
		{"echo " + strings.Repeat("x", shell.MaxLen-5), true},
		{"echo " + strings.Repeat("x", shell.MaxLen-4), false},
		{deep, true},
		{"(" + strings.Repeat("(", 50) + deep + strings.Repeat(")", 50) + ")", false},
		{strings.Repeat("ls && ", 500) + "ls", true},
		{strings.Repeat("ls && ", 500) + "rm x", false},
		{strings.Repeat("if ls; then ", 200) + "ls" + strings.Repeat("; fi", 200), false},
		{strings.Repeat("env ", 3000) + "ls", true},
		{"echo \x00", false},
		{"echo \xff", false},
	} {
		if got := shell.Ephemeral(c.line); got != c.want {
			t.Errorf("Ephemeral of %d bytes, %.20q… = %v, want %v: %.200s", len(c.line), c.line, got, c.want, shell.Explain(c.line))
		}
	}
}

func TestEphemeral_is_safe_for_concurrent_use(t *testing.T) {
	lines := classes(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for line, want := range lines {
				if got := shell.Ephemeral(line); got != want {
					t.Errorf("Ephemeral(%q) = %v, want %v", line, got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestExplain_names_the_part_that_decided(t *testing.T) {
	for _, c := range []struct {
		line, part string
		row, col   int
		reason     string
	}{
		{"ls; rm -rf x", "rm", 1, 5, "rm changes files"},
		{"git status\n  git commit -m x", "commit", 2, 7, "git commit is not in the table"},
		{"echo hi > out.txt", "> out.txt", 1, 9, "writes to a file"},
		{"ls &", "ls &", 1, 1, "drop the &"},
		{"git branch topic", "branch", 1, 5, "unless -l, --list or --contains says to list"},
		{"sort -u -o out in", "-o", 1, 9, "-o is not among the options of sort"},
		{"cat x | xargs wc", "xargs", 1, 9, "use a loop"},
		{"sort $f", "$f", 1, 6, "quote it"},
		{"sort \"$f\"", `"$f"`, 1, 6, "put -- or ./ before it"},
		{"PAGER=./x git log", "PAGER=./x", 1, 1, "PAGER is a variable that makes programs run"},
		{"git -c core.pager=x log", "core.pager=x", 1, 8, "the setting core.pager may make git run something"},
		{"sed '1w out' f", "'1w out'", 1, 5, "w in a sed script writes a file"},
		{"awk '{print > \"f\"}' x", "'{print > \"f\"}'", 1, 5, "> in an awk program writes a file"},
		{"$cmd x", "$cmd", 1, 1, "not literal"},
		{"x=1; ls", "x=1", 1, 1, "assigns a variable"},
		{"node run.js", "node", 1, 1, "prints its version: --version or -v"},
		{"frobnicate --now", "frobnicate", 1, 1, "frobnicate is not in the table"},
		{"crontab x", "crontab", 1, 1, "only reads with -l"},
		{"uniq a b", "uniq", 1, 1, "1 arguments at most"},
		{"systemctl restart x", "restart", 1, 11, "systemctl restart is not in the table"},
		{"f() { ls; }", "f() { ls; }", 1, 1, "defines a function"},
		{"ls | | wc", "| | wc", 1, 4, "does not parse"},
		{"", "", 1, 1, "no command in it"},
		{"# x", "# x", 1, 1, "no command in it"},
		{"echo 中文; mv a b", "mv", 1, 14, "mv changes files"},
	} {
		got := shell.Explain(c.line)
		if got.Ephemeral || got.Part != c.part || got.Line != c.row || got.Col != c.col || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("Explain(%q) = %+v, want %q at %d:%d with %q in the reason", c.line, got, c.part, c.row, c.col, c.reason)
		}
	}
}

func TestExplain_agrees_with_Ephemeral(t *testing.T) {
	for line := range classes(t) {
		e := shell.Explain(line)
		if e.Ephemeral != shell.Ephemeral(line) || e.Reason == "" || e.Line < 1 || e.Col < 1 || !strings.Contains(line, e.Part) {
			t.Errorf("Explain(%q) = %+v", line, e)
		}
		if strings.ContainsAny(e.Reason, "\x00\n") || strings.Contains(e.Reason, "%!") {
			t.Errorf("the reason of %q cannot be read: %q", line, e.Reason)
		}
	}
}

func TestExplanation_String_is_one_line(t *testing.T) {
	for line, want := range map[string]string{
		"ls":                            "ephemeral: every command in it is known to only read",
		"":                              "not ephemeral: there is no command in it",
		"ls; rm x":                      "not ephemeral: `rm` at 1:5: rm changes files",
		"ls\n(pwd\nls) &":               "not ephemeral: `(pwd…` at 2:1: it runs in the background and outlives the line: drop the &",
		strings.Repeat("x", 200) + " y": "not ephemeral: `" + strings.Repeat("x", 80) + "…` at 1:1: " + strings.Repeat("x", 200) + " is not in the table of commands known to only read",
	} {
		if got := shell.Explain(line).String(); got != want {
			t.Errorf("Explain(%.20q).String() = %q, want %q", line, got, want)
		}
	}
}
