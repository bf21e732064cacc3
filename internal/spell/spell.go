// Package spell finds what a person meant: the near match that error messages
// offer for an unknown name.
package spell

import "slices"

// maxEdits is how far a near match may be from the word.
const maxEdits = 2

// Near returns the candidate with the fewest single-character edits from word, at
// most two and fewer than the word has characters; of equals the first in
// alphabetical order. ok is false when there is none.
func Near(word string, candidates []string) (match string, ok bool) {
	w := []rune(word)
	best := min(maxEdits, len(w)-1) + 1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := distance(w, []rune(c)); d < best {
			match, best, ok = c, d, true
		}
	}
	return match, ok
}

// Hint is " — did you mean X?" when there is a near match, else "".
func Hint(word string, candidates []string) string {
	if match, ok := Near(word, candidates); ok {
		return ` — did you mean "` + match + `"?`
	}
	return ""
}

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b []rune) int {
	if n := len(a) - len(b); n > maxEdits || n < -maxEdits {
		return maxEdits + 1
	}
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(next[j]+1, row[j+1]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
