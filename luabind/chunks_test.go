package luabind_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

// The files testdata/*.lua hold scripts, separated by lines of ---. Each is run;
// a comment
//
//	-- ### "regular expression"
//
// at the end of a line says that an error is expected there, several of them that
// there are several. Nothing else may go wrong.

var expected = regexp.MustCompile(`### "((?:[^"\\]|\\.)*)"`)

// placed is an error with its line.
type placed struct {
	line int
	text string
}

// inReason finds the places in the reason of a workflow that ended.
var inReason = regexp.MustCompile(`(?s)^(.*?)\w+\.lua:(\d+): (.*)$`)

func TestScripts_err_in_the_right_place(t *testing.T) {
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line := 0
			for _, chunk := range strings.SplitAfter(string(source), "\n---\n") {
				checkChunk(t, file, strings.TrimSuffix(chunk, "---\n"), line)
				line += strings.Count(chunk, "\n")
			}
		})
	}
}

// checkChunk runs one script, which begins behind line lines of its file.
func checkChunk(t *testing.T, file, source string, line int) {
	t.Helper()
	var want []placed
	for i, text := range strings.Split(source, "\n") {
		for _, m := range expected.FindAllStringSubmatch(text, -1) {
			want = append(want, placed{line + i + 1, strings.ReplaceAll(m[1], `\"`, `"`)})
		}
	}
	p := play(t, &echo{}, strings.Repeat("\n", line)+source, &luabind.Options{ComputeLimit: 300 * time.Millisecond})
	got := errorsOf(p)
	for _, w := range want {
		i := slices.IndexFunc(got, func(g placed) bool {
			return g.line == w.line && regexp.MustCompile(w.text).MatchString(g.text)
		})
		if i < 0 {
			t.Errorf("%s:%d: no error that matches %q", file, w.line, w.text)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	for _, g := range got {
		t.Errorf("%s:%d: unexpected: %s", file, g.line, g.text)
	}
}

// errorsOf are the errors of a run, wherever they came to light.
func errorsOf(p played) (list []placed) {
	var one *luabind.Error
	var many *luabind.Mistakes
	switch {
	case errors.As(p.err, &many):
		for _, m := range many.List {
			list = append(list, placed{m.Line, strings.TrimPrefix(m.Path+": "+m.Text, ": ")})
		}
	case errors.As(p.err, &one):
		list = append(list, placed{one.Line, one.Message})
	case p.err != nil:
		list = append(list, placed{0, p.err.Error()})
	}
	for _, text := range p.errors {
		if m := inReason.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[2])
			list = append(list, placed{line, m[1] + m[3]})
		} else {
			list = append(list, placed{0, text})
		}
	}
	return list
}
