package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

func BenchmarkBash(b *testing.B) {
	s := newSet(b, tool.Options{})
	for b.Loop() {
		good(b, s, "Bash", in{"command": "true"})
	}
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	put(b, dir, "f", strings.Repeat("a line of some fifty characters, as code has them\n", 1000))
	s := newSet(b, tool.Options{Workspace: dir})
	for b.Loop() {
		good(b, s, "Read", in{"file_path": "f"})
	}
}

func BenchmarkEdit(b *testing.B) {
	dir := b.TempDir()
	put(b, dir, "f", strings.Repeat("a line of some fifty characters, as code has them\n", 1000)+"odd\n")
	s := newSet(b, tool.Options{Workspace: dir})
	good(b, s, "Read", in{"file_path": "f"})
	words := []string{"odd", "even"}
	for i := 0; b.Loop(); i++ {
		good(b, s, "Edit", in{"file_path": "f", "old_string": words[i%2], "new_string": words[(i+1)%2]})
	}
}

func BenchmarkGrep(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		put(b, dir, fmt.Sprintf("d%d/f%d.go", i%30, i), strings.Repeat("a line of some fifty characters, as code has them\n", 100)+"needle\n")
	}
	for name, own := range map[string]bool{"ripgrep": false, "own": true} {
		b.Run(name, func(b *testing.B) {
			s := newSet(b, tool.Options{Workspace: dir, NoRipgrep: own, Limits: tool.Limits{GrepLines: 2000}})
			for b.Loop() {
				good(b, s, "Grep", in{"pattern": "need.e"})
			}
		})
	}
}
