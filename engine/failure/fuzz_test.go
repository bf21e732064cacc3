package failure_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

func addCases(f *testing.F) {
	for _, file := range []string{"classify.jsonl", "overflow.jsonl"} {
		for _, c := range loadCases(f, file) {
			for _, text := range c.texts() {
				f.Add(text)
			}
		}
	}
	f.Add("\xff\xfe 429 \xe4\xbd")
	f.Add(strings.Repeat("connection ", 300))
}

func FuzzClassifyText(f *testing.F) {
	addCases(f)
	f.Fuzz(func(t *testing.T, text string) {
		class := failure.ClassifyText(text)
		if class != failure.Unknown && class != failure.Transient && class != failure.Fatal {
			t.Errorf("class %d", class)
		}
		// How it is spaced and wrapped changes nothing.
		if len(text) < 4000 {
			if spaced := failure.ClassifyText("  " + text + " \n"); spaced != class {
				t.Errorf("%v, but %v with blanks around", class, spaced)
			}
		}
		if failure.Overflow(text) && class != failure.Fatal {
			t.Errorf("an overflow is %v", class)
		}
		if got := failure.Classify(errors.New(text)); got != class {
			t.Errorf("Classify gives %v, ClassifyText %v", got, class)
		}
		if d := failure.RetryAfter(errors.New(text)); d < 0 || d > 24*time.Hour {
			t.Errorf("retry after %v", d)
		}
	})
}

func FuzzOverflow(f *testing.F) {
	addCases(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := failure.Overflow(text)
		if failure.Overflow("", "ok", text) != got {
			t.Errorf("%t alone, something else among others", got)
		}
	})
}
