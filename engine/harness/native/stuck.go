package native

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// How often something happens in a row before the model is told.
const (
	sameResult = 4 // the same calls with the same results
	sameError  = 3 // the same calls, failing alike
	alternate  = 6 // A, B, A, B, … : so many rounds in all

	grace       = 2 // rounds after the warning before the turn ends
	maxWarnings = 3 // the turn ends instead of another
)

// round is what one answer of the model led to: its calls and their results.
type round struct {
	calls  [sha256.Size]byte // names and inputs
	whole  [sha256.Size]byte // with the results
	failed bool              // all calls failed
	names  string
}

// stuck watches for a thread that goes in circles. What it says depends on the
// rounds alone.
type stuck struct {
	seen     int
	last     round
	before   round // the one before last
	same     int   // rounds in a row equal to last, itself included
	failing  int   // rounds in a row with the calls of last, all failed
	swapping int   // rounds in a row that equal the one two before them

	warned   bool // about what is still going on
	warnings int
}

// polling are tools that are meant to be asked again and again.
var polling = map[string]bool{"BashOutput": true, "mcp__human__inbox": true, askTool: true}

// watch takes a round. It returns the pattern that the round completes, and
// whether it is time to end; empty when all is well or has been said.
func (s *stuck) watch(results []*result) (pattern string, end bool) {
	r, counts := newRound(results)
	if !counts {
		return "", false
	}
	s.count(r)
	pattern, over := s.pattern()
	switch {
	case pattern == "":
		s.warned = false
		return "", false
	case !s.warned:
		s.warned = true
		s.warnings++
		return pattern, s.warnings > maxWarnings
	case over >= grace:
		return pattern, true
	}
	return "", false
}

func (s *stuck) count(r round) {
	s.same = streak(s.same, s.seen > 0 && r.whole == s.last.whole)
	s.failing = streak(s.failing, s.seen > 0 && r.calls == s.last.calls && s.last.failed)
	if !r.failed {
		s.failing = 0
	}
	if s.seen > 1 && r.whole == s.before.whole && r.whole != s.last.whole {
		s.swapping++
	} else {
		s.swapping = 0
	}
	s.before, s.last = s.last, r
	s.seen++
}

// streak is a count of rounds in a row after one more.
func streak(n int, goesOn bool) int {
	if goesOn {
		return n + 1
	}
	return 1
}

// pattern names what the last rounds have in common, and by how many rounds they
// are over the limit.
func (s *stuck) pattern() (name string, over int) {
	switch {
	case s.failing >= sameError:
		return fmt.Sprintf("the same call (%s) failed %d times in a row", s.last.names, s.failing), s.failing - sameError
	case s.same >= sameResult:
		return fmt.Sprintf("the same call (%s) gave the same result %d times in a row", s.last.names, s.same), s.same - sameResult
	case s.swapping >= alternate-2:
		return fmt.Sprintf("two steps (%s and %s) alternated %d times with the same results", s.before.names, s.last.names, s.swapping+2), s.swapping + 2 - alternate
	}
	return "", 0
}

// newRound makes a round of a turn's results; counts is false where only polling
// was done.
func newRound(results []*result) (r round, counts bool) {
	calls, whole := sha256.New(), sha256.New()
	var names []string
	r.failed = true
	for _, x := range results {
		counts = counts || !polling[x.call.name]
		r.failed = r.failed && x.failed
		fmt.Fprintf(calls, "%q %s\n", x.call.name, x.call.input)
		fmt.Fprintf(whole, "%q %s %s\n", x.call.name, x.call.input, x.content)
		if !slices.Contains(names, x.call.name) {
			names = append(names, x.call.name)
		}
	}
	calls.Sum(r.calls[:0])
	whole.Sum(r.whole[:0])
	r.names = strings.Join(names, ", ")
	return r, counts
}

// noteStuck tells the model about a pattern.
func noteStuck(pattern string) string {
	return "You are going in circles: " + pattern + ". Nothing new comes of it. Think about why, and do something else; if you wait for something, wait longer within one call; if you cannot go on, say so and end. If this goes on, the step is ended."
}
