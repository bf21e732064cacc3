package failure_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/flowerlua/flower/engine/failure"
)

type final bool

func (f final) Error() string { return "overloaded, try again in 3 s" }
func (f final) Final() bool   { return bool(f) }

func TestFinal_decides_before_types_and_words(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		final bool
		class failure.Class
	}{
		{"none", nil, false, failure.Unknown},
		{"final", final(true), true, failure.Fatal},
		{"wrapped beside a transient one", fmt.Errorf("ask: %w", errors.Join(io.ErrUnexpectedEOF, final(true))), true, failure.Fatal},
		{"it says it is not", final(false), false, failure.Transient},
		{"another", io.ErrUnexpectedEOF, false, failure.Transient},
	} {
		if got := failure.Final(c.err); got != c.final {
			t.Errorf("%s: Final = %v", c.name, got)
		}
		if got := failure.Classify(c.err); got != c.class {
			t.Errorf("%s: class %v, want %v", c.name, got, c.class)
		}
	}
}
