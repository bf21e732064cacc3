package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const grepSchema = `{"type":"object","properties":{
"pattern":{"type":"string","description":"A regular expression"},
"path":{"type":"string","description":"The file or folder to search; the working directory if not given"},
"glob":{"type":"string","description":"Only files like this, such as *.go, src/**/*.{ts,tsx}, !*_test.go"},
"type":{"type":"string","description":"Only files of this kind, such as go, py, js, rust, java, md"},
"output_mode":{"type":"string","enum":["files_with_matches","content","count"],"description":"Paths (if not given), lines, or numbers of lines"},
"-i":{"type":"boolean","description":"Upper and lower case are the same"},
"-n":{"type":"boolean","description":"Line numbers with content; on if not given"},
"-A":{"type":"integer","description":"Lines after each match"},
"-B":{"type":"integer","description":"Lines before each match"},
"-C":{"type":"integer","description":"Lines on both sides of each match"},
"multiline":{"type":"boolean","description":"A match may go over line ends, and . matches them"},
"head_limit":{"type":"integer","description":"How many lines of the result to give"},
"offset":{"type":"integer","description":"How many lines of the result to pass over first"}},
"required":["pattern"]}`

type grepInput struct {
	Pattern   string  `json:"pattern"`
	Path      string  `json:"path"`
	Glob      string  `json:"glob"`
	Type      string  `json:"type"`
	Mode      string  `json:"output_mode"`
	Fold      truth   `json:"-i"`
	Numbers   *truth  `json:"-n"`
	After     number  `json:"-A"`
	Before    number  `json:"-B"`
	Around    number  `json:"-C"`
	Context   number  `json:"context"`
	Multiline truth   `json:"multiline"`
	HeadLimit *number `json:"head_limit"`
	Offset    number  `json:"offset"`
}

// search is one Grep call, ready for either engine.
type search struct {
	pattern   string
	root      string // a folder or a file, links kept
	file      bool   // root is a file
	glob      string
	kind      string
	mode      string
	fold      bool
	numbers   bool
	before    int
	after     int
	multiline bool
}

const (
	grepColumns = 500 // bytes of a line in a result
	maxContext  = 1000
)

func (s *Set) grep(ctx context.Context, c Call) Result {
	var in grepInput
	if err := decode(c, &in, "pattern"); err != nil {
		return inputError("Grep", err)
	}
	q, err := s.newSearch(in)
	if err != nil {
		return inputError("Grep", err)
	}
	if strings.ContainsRune(in.Pattern, 0) {
		return TextResult("no match: no text file holds a NUL")
	}
	if !s.begin() {
		return ErrorResult("the session has ended; no search can be started any more")
	}
	defer s.calls.Done()
	ctx, stop := s.bound(ctx, s.lim.GrepTimeout)
	defer stop()
	hits := s.newHits(in)
	engine := s.ownGrep
	if rg, err := exec.LookPath("rg"); err == nil && !s.o.NoRipgrep {
		engine = func(ctx context.Context, q search, hits *hitList) (string, error) { return s.ripgrep(ctx, rg, q, hits) }
	}
	note, err := engine(ctx, q, hits)
	switch {
	case hits.full:
		// It was ended on purpose.
	case ctx.Err() != nil:
		r := ErrorResult(stopped(ctx, s.lim.GrepTimeout) + "; this is what was found until then:\n" + hits.text(note))
		return r.with(record{TimedOut: errors.Is(ctx.Err(), context.DeadlineExceeded)})
	case err != nil:
		return ErrorResult(fmt.Sprintf("the search failed: %v", err))
	}
	return TextResult(hits.text(note))
}

func (s *Set) newSearch(in grepInput) (search, error) {
	q := search{
		pattern:   in.Pattern,
		glob:      in.Glob,
		kind:      in.Type,
		mode:      cmp.Or(in.Mode, "files_with_matches"),
		fold:      bool(in.Fold),
		numbers:   in.Numbers == nil || bool(*in.Numbers),
		before:    int(max(in.Before, in.Around, in.Context)),
		after:     int(max(in.After, in.Around, in.Context)),
		multiline: bool(in.Multiline),
	}
	switch {
	case in.Pattern == "":
		return q, errors.New("the pattern is empty")
	case q.mode != "files_with_matches" && q.mode != "content" && q.mode != "count":
		return q, fmt.Errorf("output_mode %q is not one of files_with_matches, content, count", q.mode)
	case min(in.Before, in.After, in.Around, in.Context, in.Offset) < 0 || in.HeadLimit != nil && *in.HeadLimit < 0:
		return q, errors.New("numbers of lines cannot be negative")
	case strings.ContainsRune(in.Glob+in.Type, 0):
		return q, errors.New("glob and type cannot hold a NUL")
	}
	q.before, q.after = min(q.before, maxContext), min(q.after, maxContext)
	root, err := s.abs(cmp.Or(in.Path, "."))
	if err != nil {
		return q, err
	}
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return q, s.missing(root)
	case err != nil:
		return q, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return q, fmt.Errorf("%s is neither a folder nor a regular file", root)
	}
	q.root, q.file = root, !info.IsDir()
	return q, nil
}

// hits collects the lines of a result: some are passed over, so many are kept.
type hitList struct {
	shown  func(path string) string
	skip   int
	room   int // lines
	chars  int // characters
	lines  []string
	passed int
	full   bool // there are more than there is room for
}

func (s *Set) newHits(in grepInput) *hitList {
	h := &hitList{shown: s.shown, skip: int(in.Offset), room: s.lim.GrepLines, chars: s.lim.OutputChars}
	if in.HeadLimit != nil {
		h.room = int(*in.HeadLimit)
		if h.room == 0 {
			h.room = 1 << 30 // the characters still bound it
		}
	}
	return h
}

// add takes a line; false when there is no room, and the search can end.
func (h *hitList) add(line string) bool {
	if h.skip > 0 {
		h.skip--
		h.passed++
		return true
	}
	n := chars(line) + 1
	if len(h.lines) >= h.room || len(h.lines) > 0 && n > h.chars {
		h.full = true
		return false
	}
	h.lines = append(h.lines, line)
	h.chars -= n
	return true
}

// line is one line of a file in a result; sep is ':' for a match, '-' beside it.
func (h *hitList) line(q search, path string, number int, sep byte, text string) bool {
	b := make([]byte, 0, len(text)+64)
	if !q.file {
		b = append(append(b, h.shown(path)...), sep)
	}
	if q.numbers {
		b = append(fmt.Append(b, number), sep)
	}
	return h.add(clean(append(b, text...)))
}

// file is the line of a file that matches; with the number of its matching lines
// if count is not negative.
func (h *hitList) file(q search, rel string, count int) bool {
	text := clean([]byte(h.shown(q.absolute(rel))))
	if count >= 0 {
		text = fmt.Sprintf("%s:%d", text, count)
	}
	return h.add(text)
}

func (h *hitList) text(note string) string {
	lines := h.lines
	switch {
	case h.full:
		lines = append(lines, fmt.Sprintf("[there is more: go on with offset %d, or narrow the search]", h.passed+len(h.lines)))
	case len(lines) == 0 && h.passed > 0:
		lines = []string{fmt.Sprintf("[the result has %s; offset is past its end]", plural(h.passed, "line"))}
	case len(lines) == 0:
		lines = []string{"no match"}
	}
	if note != "" {
		lines = append(lines, "["+note+"]")
	}
	return strings.Join(lines, "\n")
}

// absolute is a path that a search engine gave, which is relative to the root.
func (q search) absolute(rel string) string {
	if q.file {
		return q.root
	}
	return filepath.Join(q.root, rel)
}
