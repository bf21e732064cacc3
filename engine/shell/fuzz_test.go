package shell_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/shell"
)

func FuzzEphemeral(f *testing.F) {
	for line := range classes(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, e := shell.Ephemeral(line), shell.Explain(line)
		if e.Ephemeral != got {
			t.Fatalf("Explain(%q) = %+v, Ephemeral = %v", line, e, got)
		}
		if !strings.Contains(line, e.Part) || e.Reason == "" || e.String() == "" {
			t.Fatalf("Explain(%q) = %+v", line, e)
		}
		// A backslash at the end would join the next line.
		if got && !strings.HasSuffix(line, `\`) && shell.Ephemeral(line+"\nrm x") {
			t.Fatalf("%q hides what follows it", line)
		}
	})
}
