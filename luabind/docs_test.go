package luabind_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/stdlib"
)

// sample is a piece of Lua in a text for people.
type sample struct{ name, source string }

// samples are the blocks of a text that are fenced as Lua; every line may have a
// prefix, that of a comment.
func samples(file, text, prefix string) (found []sample) {
	var block []string
	begin := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimPrefix(line, prefix)
		switch {
		case begin == 0 && line == "```lua":
			begin, block = i+2, nil
		case begin > 0 && line == "```":
			found = append(found, sample{fmt.Sprintf("%s:%d", filepath.Base(file), begin), strings.Join(block, "\n")})
			begin = 0
		case begin > 0:
			block = append(block, line)
		}
	}
	return found
}

// documented are all blocks of Lua in the texts for people, by file.
func documented(t *testing.T) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob("../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]sample{}
	for _, file := range append(files, "../README.md") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = samples(file, string(raw), "")
	}
	return all
}

func TestDocs_every_block_of_Lua_compiles(t *testing.T) {
	all := documented(t)
	for file, least := range map[string]int{"README.md": 1, "guide.md": 2, "lua.md": 20} {
		if len(all[file]) < least {
			t.Errorf("%s has %d blocks of Lua; are they found?", file, len(all[file]))
		}
	}
	for _, blocks := range all {
		for _, b := range blocks {
			if _, err := luabind.Load(b.name, b.source, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

// isTest: the block is a file of tests.
func isTest(source string) bool { return regexp.MustCompile(`\bit(\.skip)?\(`).MatchString(source) }

// rehearsedDocs is the native harness with the rehearsal that docs/lua.md gives for
// its workflows.
func rehearsedDocs(t *testing.T) harness.Harness {
	t.Helper()
	for _, b := range documented(t)["lua.md"] {
		if isRehearsal(b.source) && strings.Contains(b.source, "·verdict#") {
			return native.New(native.Config{Model: rehearse(t, b.source)})
		}
	}
	t.Fatal("docs/lua.md has no rehearsal for its workflows")
	return nil
}

func isRehearsal(source string) bool {
	return strings.HasPrefix(source, "return function") || strings.Contains(source, "\nreturn function")
}

// succeeds runs a script to its end; all its steps pass.
func succeeds(t *testing.T, source string) {
	t.Helper()
	p := play(t, rehearsedDocs(t), source, nil)
	if p.err != nil || len(p.errors) > 0 || !p.ending.OK {
		t.Errorf("%v %q %s", p.err, p.errors, p.ending.Reason)
	}
}

// TestDocs_the_reference_runs: every block of the reference is a script that runs
// to its end, a rehearsal, or a file of tests that pass; its asserts hold.
func TestDocs_the_reference_runs(t *testing.T) {
	for _, b := range documented(t)["lua.md"] {
		t.Run(b.name, func(t *testing.T) {
			switch {
			case isTest(b.source):
				passAll(t, b.source)
			case isRehearsal(b.source):
				if _, _, err := reply(t, rehearse(t, b.source), ask("go on")); err != nil {
					t.Error(err)
				}
			default:
				succeeds(t, b.source)
			}
		})
	}
}

// TestDocs_the_tests_in_the_guide_pass, of the script it begins with.
func TestDocs_the_tests_in_the_guide_pass(t *testing.T) {
	blocks := documented(t)["guide.md"]
	tests := slices.IndexFunc(blocks, func(b sample) bool { return isTest(b.source) })
	if tests < 0 || !strings.Contains(blocks[0].source, `name = "notes"`) {
		t.Fatal("where are the script and its tests?")
	}
	passAll(t, blocks[tests].source, "notes.lua", blocks[0].source)
}

// TestMeta_examples_run: so does every example in the annotations.
func TestMeta_examples_run(t *testing.T) {
	count := 0
	err := fs.WalkDir(stdlib.Meta, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := stdlib.Meta.ReadFile(path)
		if err != nil {
			return err
		}
		for _, b := range samples(path, string(raw), "--- ") {
			count++
			t.Run(b.name, func(t *testing.T) {
				if isTest(b.source) {
					passAll(t, b.source)
					return
				}
				succeeds(t, b.source)
			})
		}
		return nil
	})
	if err != nil || count < 50 {
		t.Errorf("%d examples, %v", count, err)
	}
}
