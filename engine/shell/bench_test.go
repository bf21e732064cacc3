package shell_test

import (
	"testing"

	"github.com/flowerlua/flower/engine/shell"
)

func BenchmarkEphemeral(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"one_part", "ls -la"},
		{"three_parts", "git status -s && echo --- && git log --oneline -5"},
		{"refused", "git status -s && echo --- && git commit -m done"},
		{"script", "for f in ./*.go; do echo \"== $f\"; sed -n '1,5p' \"$f\" | awk '{print $1}'; done 2>/dev/null"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				shell.Ephemeral(c.line)
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		shell.Explain("git status -s && echo --- && git commit -m done")
	}
}
