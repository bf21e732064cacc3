package tool

import (
	"encoding/json"
	"os"

	"github.com/aymanbagabas/go-udiff"
)

// written is what the newest write left in a file.
type written struct {
	path    string // with links resolved
	content []byte
}

// diffChars bounds the difference that Refresh shows.
const diffChars = 4000

// wrote keeps the receipt of a file that a call has written; whole says whether
// the model knows all of the content.
func (s *Set) wrote(path string, content []byte, whole bool) receipt {
	r := receipt{Path: path, Hash: hashOf(content)}
	if !whole {
		r.Seen = [][2]int{{1, 0}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receipts[path] = r
	s.written = written{path, content}
	return r
}

func (s *Set) refresh(r Result) Result {
	var rec record
	if r.IsError || len(r.Structured) == 0 || json.Unmarshal(r.Structured, &rec) != nil || len(rec.Receipts) != 1 {
		return r
	}
	s.mu.Lock()
	w := s.written
	s.mu.Unlock()
	if w.path == "" || w.path != rec.Receipts[0].Path {
		return r
	}
	now, err := os.ReadFile(w.path)
	if err != nil || int64(len(now)) > s.lim.EditBytes || string(now) == string(w.content) {
		return r
	}
	diff := udiff.Unified("as written", "now", clean(w.content), clean(now))
	if chars(diff) > diffChars {
		diff = firstChars(diff, diffChars) + "\n[… the rest is cut: read the file before you go on …]"
		return r.note("the file was changed right after the call, by what runs after edits here (a formatter, say):\n" + diff)
	}
	// All of the change is shown, so the new content counts as seen.
	rec.Receipts[0] = s.wrote(w.path, now, len(rec.Receipts[0].Seen) == 0)
	return r.note("the file was changed right after the call, by what runs after edits here (a formatter, say):\n" + diff).with(rec)
}

// note returns r with a further text at its end; r's own content is not touched.
func (r Result) note(text string) Result {
	content := make([]Content, 0, len(r.Content)+1)
	r.Content = append(append(content, r.Content...), Content{Text: text})
	return r
}
