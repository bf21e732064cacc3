package document

import (
	"strings"
	"testing"
)

// A word in two rows of the table would mean whatever comes last.
func TestWordRows_hold_each_word_once(t *testing.T) {
	seen := map[string]class{}
	for _, row := range wordRows {
		for _, cell := range []string{row.en, row.zh, row.es, row.de} {
			for _, text := range cells(cell) {
				if text != strings.TrimSpace(text) || text == "" {
					t.Errorf("%q has blanks around it", text)
				}
				for _, s := range spellings(text) {
					if before, ok := seen[s]; ok && before != row.class {
						t.Errorf("%q is in the rows of class %d and of class %d", s, before, row.class)
					}
					seen[s] = row.class
				}
			}
		}
	}
}
