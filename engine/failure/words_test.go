package failure_test

import (
	"testing"

	"github.com/flowerlua/flower/engine/failure"
)

func TestClassifyText_answers_every_case(t *testing.T) {
	for _, file := range []string{"classify.jsonl", "classify_more.jsonl"} {
		for _, c := range loadCases(t, file) {
			t.Run(c.ID, func(t *testing.T) {
				text := c.texts()[0]
				if got := failure.ClassifyText(text).String(); got != c.Want {
					t.Errorf("ClassifyText(%q) = %s, want %s (%s)", text, got, c.Want, c.Note)
				}
			})
		}
	}
}

func TestOverflow_answers_every_case(t *testing.T) {
	for _, file := range []string{"overflow.jsonl", "overflow_more.jsonl"} {
		for _, c := range loadCases(t, file) {
			t.Run(c.ID, func(t *testing.T) {
				if got := failure.Overflow(c.texts()...); got != c.Want {
					t.Errorf("Overflow(%q) = %t, want %t (%s)", c.texts(), got, c.Want, c.Note)
				}
			})
		}
	}
}
