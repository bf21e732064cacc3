package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// Code in a guide is read, copied and never compiled; so it is taken from code
// that runs.
func TestEmbedding_guide_shows_code_that_runs(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"../../examples/*/*.go", "../../engine/example*_test.go", "../../engine/model/*/example*_test.go", "../../luabind/example*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			sources = append(sources, unindented(t, f))
		}
	}
	guide, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks found", len(blocks))
	}
	for _, b := range blocks {
		if !shown(sources, b[1]) {
			t.Errorf("no example holds this code of docs/embedding.md:\n%s", b[1])
		}
	}
}

// shown looks for every statement of a block, a piece without an indented line in
// its middle, in one and the same source.
func shown(sources []string, block string) bool {
	pieces := pieces(block)
	for _, s := range sources {
		n := 0
		for _, p := range pieces {
			if strings.Contains(s, p) {
				n++
			}
		}
		if n == len(pieces) {
			return true
		}
	}
	return false
}

// pieces splits a block at its statements, since an example may do more between
// them.
func pieces(block string) []string {
	var out []string
	for _, line := range strings.SplitAfter(strings.TrimSpace(block)+"\n", "\n") {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "}") || strings.HasPrefix(line, ")") {
			out[len(out)-1] += line
			continue
		}
		out = append(out, line)
	}
	for i, p := range out {
		lines := strings.Split(p, "\n")
		for j := range lines {
			lines[j] = strings.TrimLeft(lines[j], "\t")
		}
		out[i] = strings.Join(lines, "\n")
	}
	return out
}

func unindented(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}
